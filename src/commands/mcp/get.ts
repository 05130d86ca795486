import { type PrintOptions, printReport, table } from '../../app/report.ts';
import { onlyWords } from '../../app/servers/arguments.ts';
import { type RosterOptions, readRoster, type ServerEntry, unknownServer } from '../../app/servers/roster.ts';
import { entryJson, scopeWord, shownServer, stateWords } from '../../app/servers/view.ts';
import type { App } from '../../core/app.ts';
import { visible } from '../../core/text/terminal.ts';
import { type SignInStatus, signInStatus } from '../../mcp/client/sign-in.ts';

interface McpGetOptions extends PrintOptions, RosterOptions {
  readonly args: readonly string[];
}

/** Prints a server as its file defines it, secrets redacted. Starts nothing. Throws AppError `mcp` if there is none. */
export async function run(options: McpGetOptions, app: App): Promise<number> {
  const [name = ''] = onlyWords(options.args, 1, 'mcp get');
  const { entries, notices } = await readRoster(options, app);
  const named = entries.filter((known) => known.name === name);
  const entry = named.find(({ state }) => state.kind === 'ready') ?? named[0];
  if (entry === undefined)
    throw unknownServer(
      visible(name),
      entries.map((known) => known.name),
    );
  const signIn = signInOf(entry, app);
  const json = { ...entryJson(entry), ...(signIn === undefined ? {} : { signIn: { ...signIn } }) };
  await printReport({ text: textOf(entry, signIn), json, notices }, options, app);
  return 0;
}

function signInOf({ state }: ServerEntry, app: App): SignInStatus | undefined {
  if (state.kind !== 'ready' || state.server.definition.kind === 'stdio') return undefined;
  const status = signInStatus(state.server.definition, app);
  return status.isSignedIn ? status : undefined;
}

function signInWords({ isRefreshable, expiresAt }: SignInStatus): string {
  if (isRefreshable) return 'signed in, renewed by itself';
  return expiresAt === undefined ? 'signed in' : `signed in until ${new Date(expiresAt).toISOString()}`;
}

function textOf(entry: ServerEntry, signIn: SignInStatus | undefined): string {
  const { name, commandLine, details } = shownServer(entry);
  const words = stateWords(entry.state);
  return table([
    [name, commandLine],
    ['  from', `${entry.file} (${scopeWord(entry)})`],
    ...(words === '' ? [] : [['  state', words]]),
    ...(signIn === undefined ? [] : [['  sign-in', signInWords(signIn)]]),
    ...details.map((detail) => {
      const at = detail.indexOf(': ');
      return [`  ${detail.slice(0, at)}`, detail.slice(at + 2)];
    }),
  ]);
}
