import {
  describeEntry,
  formatChangedHint,
  formatRowLine,
  formatState,
  formatTransport,
  toEntryJson,
  toErrorJson,
} from '../../app/servers/view.ts';
import type { App } from '../../core/app.ts';
import { type AppError, findStatus } from '../../core/error.ts';
import type { JsonObject } from '../../core/json.ts';
import { formatDuration } from '../../core/text/format.ts';
import { sanitize } from '../../core/text/terminal.ts';
import type { ServerEntry } from '../../engine/tools/servers/roster.ts';
import {
  createStartLimiter,
  inspectServer,
  type LimitStarts,
  withTimeout,
} from '../../engine/tools/servers/session.ts';
import { StartTimeout } from '../../mcp/client/connect.ts';
import type { ConfiguredServer } from '../../mcp/client/servers.ts';
import { fetchToolList, findChangedTools } from '../../mcp/client/tools/cache.ts';
import { describeSchemaFaults, selectUsableTools } from '../../mcp/client/tools/registration.ts';
import type { ClientContext, Connection, RemoteTool } from '../../mcp/client/types.ts';

const MAX_NAMES = 5;

interface ServerCheck {
  readonly row: readonly string[];
  readonly json: JsonObject;
  readonly remedies: readonly string[];
  readonly isFailure: boolean;
}

type CheckContext = ClientContext & Pick<App, 'signal'>;

interface CheckOptions {
  /** In milliseconds; overrides the servers' own. 0 means no limit. */
  readonly timeout?: number;
  readonly limitStarts?: LimitStarts;
  readonly onWait?: (names: readonly string[]) => void;
}

/** Several at once; each deadline counts from that server's own start. Throws only the signal's reason. */
export async function checkServers(
  entries: readonly ServerEntry[],
  app: CheckContext,
  { timeout, limitStarts = createStartLimiter(), onWait = () => {} }: CheckOptions = {},
) {
  const starting = new Set<ServerEntry>();
  const checkConnected = async (entry: ServerEntry, server: ConfiguredServer): Promise<ServerCheck> => {
    starting.add(entry);
    onWait([...starting].map(({ name }) => name));
    const outcome = await checkServer(entry, withTimeout(server, timeout), app);
    starting.delete(entry);
    onWait([...starting].map(({ name }) => name));
    return outcome;
  };
  const outcomes = await Promise.all(
    entries.map((entry) => {
      const { state } = entry;
      if (state.kind !== 'ready') return describeUnused(entry);
      return limitStarts(state.server, () => checkConnected(entry, state.server));
    }),
  );
  app.signal.throwIfAborted();
  return {
    rows: outcomes.map(({ row }) => row),
    servers: outcomes.map(({ json }) => json),
    remedies: outcomes.flatMap((outcome) => outcome.remedies),
    hasFailed: outcomes.some(({ isFailure }) => isFailure),
  };
}

function formatRowHead(entry: ServerEntry, mark: string, what: string): readonly string[] {
  return [`${mark} ${describeEntry(entry).name}`, formatTransport(entry), what];
}

function describeUnused(entry: ServerEntry): ServerCheck {
  const json = toEntryJson(entry);
  if (entry.state.kind !== 'faulty') {
    return { row: formatRowHead(entry, '–', `(${formatState(entry.state)})`), json, remedies: [], isFailure: false };
  }
  const shown = describeEntry(entry);
  return {
    row: [...formatRowHead(entry, '✗', formatRowLine(shown)), formatState(entry.state)],
    json,
    remedies: [`${shown.name}: to see it, run: gmn mcp get ${shown.name}`],
    isFailure: true,
  };
}

async function checkServer(entry: ServerEntry, server: ConfiguredServer, app: CheckContext): Promise<ServerCheck> {
  const shown = describeEntry(entry);
  const { signal } = app;
  const startedAt = app.clock.now();
  const inspection = await inspectServer(server, { context: app, signal }, async (connection) => {
    const toolCheck = await fetchOfferedTools(connection, server, app);
    // Measured before closing, which can take longer than everything else.
    return { ...toolCheck, ms: app.clock.now() - startedAt };
  });
  if ('error' in inspection) {
    const { error } = inspection;
    const { detail, remedy } = explainFailure(error, shown.name);
    const json = { ...toEntryJson(entry), ok: false, error: { ...toErrorJson(error), message: detail } };
    return {
      row: [...formatRowHead(entry, '✗', formatRowLine(shown)), detail],
      json,
      remedies: [remedy],
      isFailure: true,
    };
  }
  const { tools, notOffered, changed, notes, ms } = inspection.value;
  const json = {
    ...toEntryJson(entry),
    ok: true,
    tools,
    notOffered: notOffered.length === 0 ? undefined : notOffered,
    changed: changed.length === 0 ? undefined : changed,
    ms,
  };
  const row = [...formatRowHead(entry, '✓', formatRowLine(shown)), formatTools(tools, notOffered), formatDuration(ms)];
  return { row, json, remedies: notes.map((note) => `${shown.name}: ${note}`), isFailure: false };
}

async function fetchOfferedTools(connection: Connection, server: ConfiguredServer, app: CheckContext) {
  const { tools, omitted } = await fetchToolList(server, connection, { context: app, signal: app.signal });
  const changed = findChangedTools(server, tools, app);
  const offered = selectUsableTools(server, tools).filter((tool) => !changed.includes(tool));
  // By name: of two tools with one name the first is offered.
  const names = new Set(listToolNames(offered));
  const notOffered = tools.filter(({ name }) => !names.has(name));
  const notes = [
    ...(omitted === undefined ? [] : [omitted]),
    ...describeSchemaFaults(server, tools),
    ...(changed.length === 0 ? [] : [formatChangedHint(server.name)]),
  ];
  return {
    tools: listToolNames(offered),
    notOffered: listToolNames(notOffered),
    changed: listToolNames(changed),
    notes,
  };
}

function listToolNames(tools: readonly RemoteTool[]): readonly string[] {
  return tools.map(({ name }) => name);
}

function formatTools(names: readonly string[], notOffered: readonly string[]): string {
  const count = names.length === 1 ? '1 tool' : `${names.length} tools`;
  const offered = names.length === 0 ? 'no tools' : `${count}: ${joinNames(names)}`;
  return notOffered.length === 0 ? offered : `${offered} (not offered: ${joinNames(notOffered)})`;
}

function joinNames(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).map(sanitize).join(', ');
  return names.length > MAX_NAMES ? `${shown}, …` : shown;
}

function explainFailure(error: AppError, name: string): { detail: string; remedy: string } {
  const { shortMessage: detail, hint = '', cause } = error;
  if (cause instanceof StartTimeout)
    return {
      detail: `still starting: ${detail}`,
      remedy: `${name}: ${hint} To wait longer: gmn mcp list --check -t 5m`,
    };
  if (findStatus(error) !== 401)
    return { detail, remedy: `${name}: ${hint === '' ? `to see it, run: gmn mcp get ${name}` : hint}` };
  return {
    detail: '401 Unauthorized',
    remedy: `${name}: this server needs a sign-in. Try: gmn mcp auth ${name}`,
  };
}
