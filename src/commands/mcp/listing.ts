import { type PrintOptions, printReport } from '../../app/report.ts';
import { requireArguments } from '../../app/servers/arguments.ts';
import { openProgress } from '../../app/servers/progress.ts';
import { toErrorJson } from '../../app/servers/view.ts';
import type { App } from '../../core/app.ts';
import { type AppError, FAULTS } from '../../core/error.ts';
import type { JsonObject } from '../../core/json.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { type Inspection, inspectServers, type SessionOptions } from '../../engine/tools/servers/session.ts';
import type { ConfiguredServer } from '../../mcp/client/servers.ts';
import type { Connection } from '../../mcp/client/types.ts';

export interface InspectOptions extends PrintOptions, SessionOptions {
  readonly args: readonly string[];
}

interface ListSpec<Found> {
  readonly command: string;
  readonly none: string;
  load(connection: Connection, server: ConfiguredServer): Promise<Found>;
  formatLines(found: Found): readonly string[];
  toJson(found: Found): JsonObject;
  listNotices(found: Found, server: string): readonly string[];
}

/** A failing server is reported on stderr, and the exit code is 5. Throws AppError if the named server fails. */
export async function printLists<Found>(options: InspectOptions, app: App, spec: ListSpec<Found>): Promise<number> {
  const [name] = requireArguments(options.args, 1, spec.command);
  const progress = openProgress(name ?? 'the servers', options, app);
  const { inspections, notices } = await inspectServers(name, { options, app }, spec.load).finally(progress.end);
  const failed = inspections.flatMap((inspection) => ('error' in inspection ? [inspection] : []));
  if (name !== undefined && failed[0] !== undefined) throw failed[0].error;
  const found = inspections.flatMap((inspection) => ('value' in inspection ? [inspection] : []));
  const serverNotices = found.flatMap(({ name: server, value }) =>
    spec.listNotices(value, server).map((notice) => `${sanitize(server)}: ${notice}`),
  );
  const sections = found.map(({ name: server, value }) => formatServerList(server, value, spec, name === undefined));
  const text = inspections.length === 0 ? 'No usable MCP server. To see why, run: gmn mcp list\n' : sections.join('\n');
  const report = { text, json: { servers: inspections.map((inspection) => toInspectionJson(inspection, spec)) } };
  const errors = options.json ? [] : failed.map(({ error }) => formatInline(error));
  await printReport({ ...report, notices: [...notices, ...serverNotices, ...errors] }, options, app);
  return failed.length > 0 ? FAULTS.mcp.exitCode : 0;
}

function formatServerList<Found>(server: string, found: Found, spec: ListSpec<Found>, isTitled: boolean): string {
  const lines = spec.formatLines(found);
  const shown = lines.length === 0 ? [`(${spec.none})`] : lines;
  const text = shown.map((line) => `${isTitled ? '  ' : ''}${line}\n`).join('');
  return isTitled ? `${sanitize(server)}\n${text}` : text;
}

function toInspectionJson<Found>(inspection: Inspection<Found>, spec: ListSpec<Found>): JsonObject {
  const { name } = inspection;
  return 'error' in inspection
    ? { name, error: toErrorJson(inspection.error) }
    : { name, ...spec.toJson(inspection.value) };
}

function formatInline({ message, hint }: AppError): string {
  return hint === undefined ? message : `${message}. ${hint}`;
}
