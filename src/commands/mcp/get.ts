import { formatTable, printReport } from '../../app/report.ts';
import { requireArguments } from '../../app/servers/arguments.ts';
import { describeEntry, formatServerScope, formatState, toEntryJson } from '../../app/servers/view.ts';
import type { App } from '../../core/app.ts';
import { readRoster, requireEntry, type ServerEntry } from '../../engine/tools/servers/roster.ts';
import { readSignInStatus, type SignInStatus } from '../../mcp/client/sign-in.ts';
import type { InspectOptions } from './listing.ts';

/** Redacts secrets. Starts nothing. Throws AppError `mcp` if there is no such server. */
export async function run(options: InspectOptions, app: App): Promise<number> {
  const [name = ''] = requireArguments(options.args, 1, 'mcp get');
  const roster = await readRoster(options, app);
  const entry = requireEntry(roster, name);
  const signIn = findSignIn(entry, app);
  const json = { ...toEntryJson(entry), signIn: signIn && { ...signIn } };
  await printReport(
    { text: formatDefinition(entry, signIn), json, notices: roster.notices, isVerbatim: true },
    options,
    app,
  );
  return 0;
}

function findSignIn({ state }: ServerEntry, app: App): SignInStatus | undefined {
  if (state.kind !== 'ready' || state.server.definition.kind === 'stdio') return undefined;
  const status = readSignInStatus(state.server.definition, app);
  return status.isSignedIn ? status : undefined;
}

function formatSignIn({ isRefreshable, expiresAt }: SignInStatus): string {
  if (isRefreshable) return 'signed in, refreshed automatically';
  return expiresAt === undefined ? 'signed in' : `signed in until ${new Date(expiresAt).toISOString()}`;
}

function formatDefinition(entry: ServerEntry, signIn: SignInStatus | undefined): string {
  const { name, commandLine, details } = describeEntry(entry);
  const state = formatState(entry.state);
  return formatTable([
    [name, commandLine],
    ['  from', `${entry.file} (${formatServerScope(entry)})`],
    ...(state === '' ? [] : [['  state', state]]),
    ...(signIn === undefined ? [] : [['  sign-in', formatSignIn(signIn)]]),
    ...details.map((detail) => {
      const at = detail.indexOf(': ');
      return [`  ${detail.slice(0, at)}`, detail.slice(at + 2)];
    }),
  ]);
}
