import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { connectServer } from '../../mcp/client/connect.ts';
import type { NamedServer } from '../../mcp/client/definition.ts';
import { MAX_TIMER_MS } from '../../mcp/client/limits.ts';
import type { ConfiguredServer } from '../../mcp/client/servers.ts';
import type { ClientContext, Connection } from '../../mcp/client/types.ts';
import { maxProgramsAtOnce } from '../../platform/process/child.ts';
import { type Roster, type RosterOptions, readRoster, unknownServerError } from './roster.ts';

/** One retry: a server that drops two sessions will drop the next as well. */
const MAX_SESSIONS = 2;

export interface SessionOptions extends RosterOptions {
  /** In milliseconds; overrides the server's own. 0 means no limit. */
  readonly timeout?: number;
}

/**
 * The server of this name, if it may be used. Throws AppError `mcp` if there is none, `config` if it is disabled, not
 * approved or invalid; the hint says what to do.
 */
export function requireReadyServer({ entries }: Roster, name: string): ConfiguredServer {
  const named = entries.filter((entry) => entry.name === name);
  const entry = named.find(({ state }) => state.kind === 'ready') ?? named[0];
  const shown = sanitize(name);
  if (entry === undefined)
    throw unknownServerError(
      shown,
      entries.map((known) => known.name),
    );
  const { state } = entry;
  switch (state.kind) {
    case 'ready':
      return state.server;
    case 'disabled':
      throw new AppError('config', `MCP server ${shown} is not used: ${state.why}`, { hint: state.hint });
    case 'unapproved':
      throw new AppError('config', `MCP server ${shown} is new or changed in ${entry.file}, and not approved`, {
        hint: 'To review and approve it, run: gmn trust',
      });
    case 'faulty':
      throw new AppError('config', `${entry.file}: mcpServers.${shown}: ${state.why}`, {
        hint: `To see it, run: gmn mcp get ${shown}`,
      });
  }
}

/** Also returns the notices of the settings. Throws as `requireReadyServer` does. */
export async function requireServer(
  name: string,
  { options, app }: { readonly options: RosterOptions; readonly app: App },
): Promise<{ readonly server: ConfiguredServer; readonly notices: readonly string[] }> {
  const roster = await readRoster(options, app);
  return { server: requireReadyServer(roster, name), notices: roster.notices };
}

interface SessionContext extends Pick<ClientContext, 'elicit'> {
  readonly options: SessionOptions;
  readonly app: App;
  /** Called before connecting; may throw. */
  readonly check?: (server: NamedServer) => void;
}

/**
 * Connects to one configured server while `use` runs; nothing is left running afterwards. If the server drops its
 * session, `use` runs once more in a new one. Throws as `requireReadyServer`, `check`, `connect` and `use` do.
 */
export async function withServer<Value>(
  name: string,
  { options, app, check, ...more }: SessionContext,
  use: (connection: Connection, notices: readonly string[]) => Promise<Value>,
): Promise<Value> {
  const { server, notices } = await requireServer(name, { options, app });
  check?.(server);
  const inSession = async (number: number): Promise<Value> => {
    const connection = await connectServer(withTimeout(server, options.timeout), { ...app, ...more }, app.signal);
    try {
      return await use(connection, notices);
    } catch (thrown) {
      const isForgotten = thrown instanceof AppError && thrown.status === 404;
      if (!isForgotten || number === MAX_SESSIONS) throw thrown;
    } finally {
      await connection.close();
    }
    return inSession(number + 1);
  };
  return inSession(1);
}

/** Applies `--timeout` to the start, to lists and to every request. */
export function withTimeout<Server extends NamedServer>(server: Server, timeout: number | undefined): Server {
  if (timeout === undefined) return server;
  const limitMs = timeout === 0 ? MAX_TIMER_MS : timeout;
  return { ...server, limitMs, definition: { ...server.definition, timeoutMs: limitMs } };
}

export type TakeTurn = <Value>(server: NamedServer, work: () => Promise<Value>) => Promise<Value>;

/**
 * Limits how many programs start at once: each keeps a core busy while it loads, and all of them would be late. Remote
 * servers do not wait.
 */
export function createProgramTurns(atOnce = maxProgramsAtOnce()): TakeTurn {
  let free = atOnce;
  const waiting: (() => void)[] = [];
  return async (server, work) => {
    if (server.definition.kind !== 'stdio') return work();
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}

export type Inspection<Value> = { readonly name: string } & ({ readonly value: Value } | { readonly error: AppError });

/**
 * Connects to the named server, or to all that may be used, several at once; a failing one does not affect the others.
 * A named server must be usable. Throws as `requireReadyServer` does, and the signal's reason.
 */
export async function inspectServers<Value>(
  name: string | undefined,
  { options, app }: { readonly options: SessionOptions; readonly app: App },
  use: (connection: Connection, server: ConfiguredServer) => Promise<Value>,
): Promise<{ readonly looks: readonly Inspection<Value>[]; readonly notices: readonly string[] }> {
  const roster = await readRoster(options, app);
  const servers = name === undefined ? listReadyServers(roster) : [requireReadyServer(roster, name)];
  const takeTurn = createProgramTurns();
  const looks = await Promise.all(
    servers.map((server) =>
      takeTurn(server, () =>
        inspectServer(withTimeout(server, options.timeout), { context: app, signal: app.signal }, (connection) =>
          use(connection, server),
        ),
      ),
    ),
  );
  app.signal.throwIfAborted();
  return { looks, notices: roster.notices };
}

export function listReadyServers({ entries }: Roster): readonly ConfiguredServer[] {
  return entries.flatMap(({ state }) => (state.kind === 'ready' ? [state.server] : []));
}

/** Connects, runs `use`, closes; an error is returned as data. Never throws. */
export async function inspectServer<Value>(
  server: NamedServer,
  { context, signal }: { readonly context: ClientContext; readonly signal: AbortSignal },
  use: (connection: Connection) => Promise<Value>,
): Promise<Inspection<Value>> {
  const { name } = server;
  let connection: Connection | undefined;
  try {
    connection = await connectServer(server, context, signal);
    return { name, value: await use(connection) };
  } catch (thrown) {
    return { name, error: AppError.from(thrown) };
  } finally {
    await connection?.close();
  }
}
