import type { App } from '../core/app.ts';
import { visible } from '../core/visible.ts';
import { onlyWords } from './mcp-arguments.ts';
import { type RosterOptions, readRoster, type ServerEntry } from './mcp-roster.ts';
import { unknownServer } from './mcp-session.ts';
import { entryJson, shownServer, stateWords } from './mcp-view.ts';
import { type PrintOptions, printReport, table } from './report.ts';

export interface McpGetOptions extends PrintOptions, RosterOptions {
  readonly args: readonly string[];
}

/** One server as its file defines it, secrets hidden. Starts nothing. Throws AppError `usage` if there is none. */
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
  await printReport({ text: textOf(entry), json: entryJson(entry), notices }, options, app);
  return 0;
}

function textOf(entry: ServerEntry): string {
  const { name, commandLine, details } = shownServer(entry);
  const words = stateWords(entry.state);
  return table([
    [name, commandLine],
    ['  from', `${entry.file} (${entry.scope})`],
    ...(words === '' ? [] : [['  state', words]]),
    ...details.map((detail) => {
      const at = detail.indexOf(': ');
      return [`  ${detail.slice(0, at)}`, detail.slice(at + 2)];
    }),
  ]);
}
