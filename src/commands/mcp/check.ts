import type { ServerEntry } from '../../app/servers/roster.ts';
import { lookAt, patient, programTurns, type TakeTurn } from '../../app/servers/session.ts';
import {
  changedWords,
  entryJson,
  errorJson,
  kindOf,
  rowLine,
  shownServer,
  stateWords,
} from '../../app/servers/view.ts';
import type { App } from '../../core/app.ts';
import type { AppError } from '../../core/error.ts';
import type { JsonObject } from '../../core/json.ts';
import { formatDuration } from '../../core/text/format.ts';
import { visible } from '../../core/text/terminal.ts';
import { LateStart } from '../../mcp/client/connect.ts';
import type { ConfiguredServer } from '../../mcp/client/servers.ts';
import { askOffer, changedTools } from '../../mcp/client/tools/memory.ts';
import { schemaFaults } from '../../mcp/client/tools/registration.ts';
import type { ClientContext, Connection } from '../../mcp/client/types.ts';

/** How many tool names a row shows. */
const MAX_NAMES = 5;

interface Checked {
  readonly rows: readonly (readonly string[])[];
  readonly servers: readonly JsonObject[];
  /** One line each for failures and changed tools. */
  readonly remedies: readonly string[];
  readonly hasFailed: boolean;
}

interface Outcome {
  readonly row: readonly string[];
  readonly json: JsonObject;
  readonly remedies: readonly string[];
  readonly isFailure: boolean;
}

type CheckContext = ClientContext & Pick<App, 'signal'>;

interface CheckOptions {
  /** In milliseconds; overrides the servers' own. 0 means no limit. */
  readonly timeout?: number;
  readonly takeTurn?: TakeTurn;
  /** Called with the names of the servers that are still starting, whenever that set changes. */
  readonly onWait?: (names: readonly string[]) => void;
}

/**
 * Connects to all usable servers, several at once; each deadline counts from that server's own start. Throws only the
 * signal's reason.
 */
export async function checkServers(
  entries: readonly ServerEntry[],
  app: CheckContext,
  { timeout, takeTurn = programTurns(), onWait = () => {} }: CheckOptions = {},
): Promise<Checked> {
  const starting = new Set<ServerEntry>();
  const connected = async (entry: ServerEntry, server: ConfiguredServer): Promise<Outcome> => {
    starting.add(entry);
    onWait([...starting].map(({ name }) => name));
    const outcome = await connectTo(entry, patient(server, timeout), app);
    starting.delete(entry);
    onWait([...starting].map(({ name }) => name));
    return outcome;
  };
  const outcomes = await Promise.all(
    entries.map((entry) => {
      const { state } = entry;
      if (state.kind !== 'ready') return unused(entry);
      return takeTurn(state.server, () => connected(entry, state.server));
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

function rowHead(entry: ServerEntry, mark: string, what: string): readonly string[] {
  return [`${mark} ${shownServer(entry).name}`, kindOf(entry), what];
}

function unused(entry: ServerEntry): Outcome {
  const json = entryJson(entry);
  if (entry.state.kind !== 'faulty') {
    return { row: rowHead(entry, '–', `(${stateWords(entry.state)})`), json, remedies: [], isFailure: false };
  }
  const shown = shownServer(entry);
  return {
    row: [...rowHead(entry, '✗', rowLine(shown)), stateWords(entry.state)],
    json,
    remedies: [`${shown.name}: to see it, run: gmn mcp get ${shown.name}`],
    isFailure: true,
  };
}

async function connectTo(entry: ServerEntry, server: ConfiguredServer, app: CheckContext): Promise<Outcome> {
  const shown = shownServer(entry);
  const { signal } = app;
  const startedAt = app.clock.now();
  const look = await lookAt(server, { context: app, signal }, async (connection) => {
    const offer = await offers(connection, server, app);
    // Measured before closing, which can take longer than everything else.
    return { ...offer, ms: app.clock.now() - startedAt };
  });
  if ('error' in look) {
    const { error } = look;
    const { words, remedy } = failureWords(error, shown.name);
    const json = { ...entryJson(entry), ok: false, error: { ...errorJson(error), message: words } };
    return { row: [...rowHead(entry, '✗', rowLine(shown)), words], json, remedies: [remedy], isFailure: true };
  }
  const { tools, changed, notes, ms } = look.value;
  const json = { ...entryJson(entry), ok: true, tools, ...(changed.length === 0 ? {} : { changed }), ms };
  const row = [...rowHead(entry, '✓', rowLine(shown)), toolWords(tools, changed.length), formatDuration(ms)];
  return { row, json, remedies: notes.map((note) => `${shown.name}: ${note}`), isFailure: false };
}

/** The names of the tools and of the changed ones; also caches the tool list. */
async function offers(
  connection: Connection,
  server: ConfiguredServer,
  app: CheckContext,
): Promise<{
  readonly tools: readonly string[];
  readonly changed: readonly string[];
  readonly notes: readonly string[];
}> {
  const { tools, omitted } = await askOffer(server, connection, { place: app, signal: app.signal });
  const changed = changedTools(server, tools, app).map(({ name }) => name);
  const notes = [
    ...(omitted === undefined ? [] : [omitted]),
    ...schemaFaults(server, tools),
    ...(changed.length === 0 ? [] : [changedWords(server.name)]),
  ];
  return { tools: tools.map(({ name }) => name), changed, notes };
}

function toolWords(names: readonly string[], changed: number): string {
  if (names.length === 0) return 'no tools';
  const shown = names.slice(0, MAX_NAMES).map(visible);
  const more = names.length > MAX_NAMES ? ', …' : '';
  const withheld = changed === 0 ? '' : ` (${changed} changed, not offered)`;
  return `${names.length} ${names.length === 1 ? 'tool' : 'tools'}: ${shown.join(', ')}${more}${withheld}`;
}

function failureWords(error: AppError, name: string): { words: string; remedy: string } {
  const { status, words, hint = '', cause } = error;
  if (cause instanceof LateStart)
    return { words: `still starting: ${words}`, remedy: `${name}: ${hint} To wait longer: gmn mcp list --check -t 5m` };
  if (status !== 401)
    return { words, remedy: `${name}: ${hint === '' ? `to see it, run: gmn mcp get ${name}` : hint}` };
  return {
    words: '401 Unauthorized',
    remedy: `${name}: this server wants a sign-in. Try: gmn mcp auth ${name}`,
  };
}
