import { createLimit, type Limit, raceWithAbort } from '../../core/async.ts';
import { AppError } from '../../core/error.ts';
import { mcpError } from './errors.ts';
import type { ConfiguredServer } from './servers.ts';
import type { ClientContext, Connection } from './types.ts';

export type ServerPool = ReturnType<typeof openServers>;

const MAX_STARTS = 3;
/** How long a program may take to exit after its first work before it gets more; see `runSafely`. */
const EXIT_MS = 250;
/** The same for a program that has exited after its work before: it will most likely do so again. */
const EXPECTED_EXIT_MS = 1000;

interface PoolEntry {
  /** Starts since the server last did some work. */
  starts: number;
  opening: Promise<Connection>;
  /** How long it may take to exit after its work; 0 once it is known to stay. */
  exitMs: number;
}

/** The connections of one run: each is opened on first use, and all are closed together. */
export function openServers(context: ClientContext) {
  const closing = new AbortController();
  const entries = new Map<string, PoolEntry>();
  // Not async, so that concurrent callers find this start.
  const start = (server: ConfiguredServer, starts: number, last?: Connection): PoolEntry => {
    const exitMs = last?.hasServed ? EXPECTED_EXIT_MS : EXIT_MS;
    const open = async (): Promise<Connection> => {
      await last?.close();
      // Loads sockets and child processes, which a run that starts no server does without.
      const { connectServer } = await import('./connect.ts');
      return connectServer(server, hideRoots(server, context), closing.signal);
    };
    const opening = open();
    // There may be no caller left to handle the rejection.
    opening.catch(() => {});
    const entry = { starts, opening, exitMs: server.definition.kind === 'stdio' ? exitMs : 0 };
    entries.set(server.name, entry);
    return entry;
  };
  const requireConnection = async (server: ConfiguredServer): Promise<Connection> => {
    const entry = entries.get(server.name) ?? start(server, 1);
    const connection = await entry.opening.catch((thrown: unknown) => {
      if (entry.starts >= MAX_STARTS || closing.signal.aborted) throw thrown;
      return undefined;
    });
    if (connection?.isOpen && connection.hasServed) {
      await connection.waitForEnd(entry.exitMs);
      if (connection.isOpen) entry.exitMs = 0;
    }
    if (connection?.isOpen) return connection;
    if (entry !== entries.get(server.name)) return requireConnection(server);
    // Some servers exit after every call and still work.
    const failures = connection?.hasServed ? 0 : entry.starts;
    if (failures >= MAX_STARTS) throw mcpError(server, `it ended ${MAX_STARTS} times, and is not started again`);
    return start(server, failures + 1, connection).opening;
  };
  const limits = new Map<string, Limit>();
  const hasStayed = ({ name, definition }: ConfiguredServer): boolean =>
    definition.kind !== 'stdio' || entries.get(name)?.exitMs === 0;
  return {
    /** Opened if there is none or the last one has ended; callers share it. A server that failed three times is not tried again. */
    connect: (server: ConfiguredServer, signal: AbortSignal): Promise<Connection> =>
      raceWithAbort(requireConnection(server), signal),
    /**
     * For work that must not be lost, such as a tool call. Runs one at a time until the program is known to stay after
     * its work: if it exits after its answer, calls already written to it are lost, and must not be repeated.
     */
    async runSafely<Value>(server: ConfiguredServer, run: () => Promise<Value>, signal: AbortSignal): Promise<Value> {
      if (hasStayed(server)) return run();
      const known = limits.get(server.name);
      const limit = known ?? createLimit({ maxRunning: 1 });
      limits.set(server.name, limit);
      const release = await limit.acquire({ signal });
      try {
        if (known !== undefined) {
          // Wait to see whether it exits after the last work.
          await raceWithAbort(requireConnection(server), signal);
          if (hasStayed(server)) release();
        }
        return await run();
      } finally {
        release();
      }
    },
    async close(): Promise<void> {
      closing.abort(new AppError('interrupted', 'The connection was closed.'));
      const opened = await Promise.allSettled([...entries.values()].map(({ opening }) => opening));
      await Promise.all(opened.map((result) => (result.status === 'fulfilled' ? result.value.close() : undefined)));
    },
  };
}

function hideRoots({ isTrusted }: ConfiguredServer, context: ClientContext): ClientContext {
  const { roots: _, ...others } = context;
  return isTrusted ? context : others;
}
