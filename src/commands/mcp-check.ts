import type { App } from '../core/app.ts';
import { formatDuration } from '../core/duration.ts';
import { AppError } from '../core/error.ts';
import type { JsonObject } from '../core/json.ts';
import { visible } from '../core/visible.ts';
import type { Connection } from '../mcp/client/connection.ts';
import type { ClientContext } from '../mcp/client/context.ts';
import type { ConfiguredServer } from '../mcp/client/servers.ts';
import { cacheOffer, changedTools } from '../mcp/client/tool-memory.ts';
import { deadline } from '../platform/clock.ts';
import type { ServerEntry } from './mcp-roster.ts';
import { lookAt } from './mcp-session.ts';
import { changedWords, entryJson, errorJson, kindOf, rowLine, shownServer, stateWords } from './mcp-view.ts';

/** How long a server may take to be taken for alive. */
const CHECK_MS = 5000;
/** Names of tools that are shown in a row. */
const MAX_NAMES = 5;

export interface Checked {
  readonly rows: readonly (readonly string[])[];
  readonly servers: readonly JsonObject[];
  /** What to do about the failures, and about tools that changed, a line each. */
  readonly remedies: readonly string[];
  readonly hasFailed: boolean;
}

interface Outcome {
  readonly row: readonly string[];
  readonly json: JsonObject;
  readonly remedy?: string;
  readonly isFailure: boolean;
}

type CheckContext = ClientContext & Pick<App, 'signal'>;

/** Connects to all servers that may be used, at once, five seconds at most. Throws nothing but the signal's reason. */
export async function checkServers(entries: readonly ServerEntry[], app: CheckContext): Promise<Checked> {
  const outcomes = await Promise.all(entries.map((entry) => check(entry, app)));
  app.signal.throwIfAborted();
  return {
    rows: outcomes.map(({ row }) => row),
    servers: outcomes.map(({ json }) => json),
    remedies: outcomes.flatMap(({ remedy }) => remedy ?? []),
    hasFailed: outcomes.some(({ isFailure }) => isFailure),
  };
}

async function check(entry: ServerEntry, app: CheckContext): Promise<Outcome> {
  const { state } = entry;
  const shown = shownServer(entry);
  const { name } = shown;
  const commandLine = rowLine(shown);
  const head = (mark: string, what: string): readonly string[] => [`${mark} ${name}`, kindOf(entry), what];
  if (state.kind === 'disabled' || state.kind === 'unapproved') {
    return { row: head('–', `(${stateWords(state)})`), json: entryJson(entry), isFailure: false };
  }
  if (state.kind === 'faulty') {
    return {
      row: [...head('✗', commandLine), stateWords(state)],
      json: entryJson(entry),
      remedy: `${name}: to see it, run: gmn mcp get ${name}`,
      isFailure: true,
    };
  }
  const startedAt = app.clock.now();
  const limit = deadline(app.signal, CHECK_MS, tooSlow);
  const look = await lookAt(state.server, { context: app, signal: limit.signal }, async (connection) => {
    const offer = await offers(connection, state.server, { app, signal: limit.signal });
    // Before it is closed, which can take longer than all the rest.
    return { ...offer, ms: app.clock.now() - startedAt };
  }).finally(limit.clear);
  if ('error' in look) {
    const { error } = look;
    const { words, remedy } = failureWords(error, name);
    const json = { ...entryJson(entry), ok: false, error: errorJson(error) };
    return { row: [...head('✗', commandLine), words], json, remedy, isFailure: true };
  }
  const { tools, changed, ms } = look.value;
  const json = { ...entryJson(entry), ok: true, tools, ...(changed.length === 0 ? {} : { changed }), ms };
  const row = [...head('✓', commandLine), toolWords(tools, changed.length), formatDuration(ms)];
  const remedy = changed.length === 0 ? {} : { remedy: `${name}: ${changedWords(entry.name)}` };
  return { row, json, ...remedy, isFailure: false };
}

/** The names of its tools, and of those that say something else than before; what it offers is remembered for the model. */
async function offers(
  connection: Connection,
  server: ConfiguredServer,
  { app, signal }: { readonly app: CheckContext; readonly signal: AbortSignal },
): Promise<{ readonly tools: readonly string[]; readonly changed: readonly string[] }> {
  const { items } = await connection.listTools({ signal });
  await cacheOffer(server, { tools: items, instructions: connection.instructions }, app);
  const changed = changedTools(server, items, app);
  return { tools: items.map(({ name }) => name), changed: changed.map(({ name }) => name) };
}

function toolWords(names: readonly string[], changed: number): string {
  if (names.length === 0) return 'no tools';
  const shown = names.slice(0, MAX_NAMES).map(visible);
  const more = names.length > MAX_NAMES ? ', …' : '';
  const withheld = changed === 0 ? '' : ` (${changed} changed, not offered)`;
  return `${names.length} ${names.length === 1 ? 'tool' : 'tools'}: ${shown.join(', ')}${more}${withheld}`;
}

function tooSlow(): AppError {
  return new AppError('mcp', `no answer within ${formatDuration(CHECK_MS)}`, {
    hint: 'Start it by hand once to see what it waits for.',
  });
}

function failureWords({ status, words, hint = '' }: AppError, name: string): { words: string; remedy: string } {
  if (status !== 401)
    return { words, remedy: `${name}: ${hint === '' ? `to see it, run: gmn mcp get ${name}` : hint}` };
  return {
    words: '401 Unauthorized',
    remedy: `${name}: this server wants a sign-in. Try: gmn mcp auth ${name}`,
  };
}
