import { formatTable, printReport } from '../../app/report.ts';
import { rejectArguments } from '../../app/servers/arguments.ts';
import { openProgress } from '../../app/servers/progress.ts';
import {
  describeEntry,
  formatRowLine,
  formatServerScope,
  formatState,
  formatTransport,
  toEntryJson,
} from '../../app/servers/view.ts';
import type { App } from '../../core/app.ts';
import { FAULTS } from '../../core/error.ts';
import { readRoster, type ServerEntry } from '../../engine/tools/servers/roster.ts';
import type { InspectOptions } from './listing.ts';

interface McpListOptions extends InspectOptions {
  readonly check?: boolean;
}

/** Starts nothing without `--check`; with it, the exit code is 5 if a server fails. */
export async function run(options: McpListOptions, app: App): Promise<number> {
  rejectArguments(options.args, 'mcp list');
  const { entries, notices } = await readRoster(options, app);
  if (options.check) {
    const { checkServers } = await import('./check.ts');
    const progress = openProgress('the servers', options, app);
    const onWait = (names: readonly string[]): void =>
      progress.onProgress({ progress: 0, message: `still starting: ${names.join(', ')}` });
    const { timeout } = options;
    const checking = checkServers(entries, app, { timeout, onWait }).finally(progress.end);
    const { rows, servers, remedies, hasFailed } = await checking;
    const text = rows.length === 0 ? NO_SERVERS : formatTable(rows);
    await printReport({ text, json: { servers }, notices: [...notices, ...remedies], hasMarks: true }, options, app);
    return hasFailed ? FAULTS.mcp.exitCode : 0;
  }
  const text = entries.length === 0 ? NO_SERVERS : formatTable(entries.map(formatEntryRow));
  const json = { servers: entries.map(toEntryJson) };
  await printReport({ text, json, notices, hasMarks: true }, options, app);
  return 0;
}

const NO_SERVERS = 'No MCP servers are configured. To add one: gmn mcp add <name> <command or address>\n';

const MARKS: Readonly<Record<ServerEntry['state']['kind'], string>> = {
  ready: ' ',
  disabled: '–',
  unapproved: '–',
  faulty: '✗',
};

function formatEntryRow(entry: ServerEntry): readonly string[] {
  const shown = describeEntry(entry);
  const { state } = entry;
  return [
    `${MARKS[state.kind]} ${shown.name}`,
    formatTransport(entry),
    formatRowLine(shown),
    formatServerScope(entry),
    formatState(state),
  ];
}
