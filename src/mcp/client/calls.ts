import { AppError } from '../../core/error.ts';
import type { JsonObject } from '../../core/json.ts';
import type { ToolOutcome } from '../../core/tool.ts';
import { visible } from '../../core/visible.ts';
import { orAborted } from './abort.ts';
import type { Connection, Progress, RemoteTool } from './connection.ts';
import type { ClientContext } from './context.ts';
import { type KeepOutput, outcomeOf } from './outcome.ts';
import type { ServerPool } from './pool.ts';
import type { RegisteredTool, RegistrationOptions } from './registration.ts';
import type { ConfiguredServer } from './servers.ts';
import { cacheOffer, type Offer, toolHash } from './tool-memory.ts';

interface Around {
  readonly context: ClientContext;
  readonly pool: ServerPool;
}

export interface CallHandling {
  readonly keepOutput?: KeepOutput;
  /** Called when a server says how far a call is. */
  readonly onProgress?: (progress: Progress) => void;
}

/** What a server offers today, which is remembered, and what of it had to be left out. Throws as a connection does. */
export async function askedOffer(
  server: ConfiguredServer,
  { context, pool }: Around,
  signal: AbortSignal,
): Promise<{ readonly offer: Offer; readonly notices: readonly string[] }> {
  const connection = await pool.connection(server, signal);
  const { items, omitted } = await connection.listTools({ signal });
  const offer = { tools: items, instructions: connection.instructions };
  await cacheOffer(server, offer, context);
  return { offer, notices: omitted === undefined ? [] : [`MCP server ${visible(server.name)}: ${omitted}`] };
}

/**
 * How calls reach their servers. A server that was started for the first call is asked once more what its tools say about
 * themselves: one that says something else than the model was told is not run.
 */
export function remoteCalls(
  around: Around,
  { keepOutput = async () => undefined, onProgress = () => {} }: CallHandling = {},
): RegistrationOptions['call'] {
  const hashesOf = todaysHashes(around);
  const attempt = async ({ server, remote }: Origin, args: JsonObject, signal: AbortSignal): Promise<ToolOutcome> => {
    const connection = await around.pool.connection(server, signal);
    const hash = (await hashesOf(server, connection, signal)).get(remote.name);
    if (hash !== toolHash(remote)) return refusal(changedWords(server, remote, hash));
    return outcomeOf(await connection.callTool(remote.name, args, { signal, onProgress }), keepOutput);
  };
  return async (origin, args, signal) => {
    try {
      return await attempt(origin, args, signal).catch((thrown: unknown) => {
        // The server has forgotten the session, and did nothing: a new one is worth a try.
        if (thrown instanceof AppError && thrown.status === 404) return attempt(origin, args, signal);
        throw thrown;
      });
    } catch (thrown) {
      signal.throwIfAborted();
      if (!(thrown instanceof AppError)) throw thrown;
      return refusal(thrown.message);
    }
  };
}

type Origin = Pick<RegisteredTool, 'server' | 'remote'>;
type Hashes = ReadonlyMap<string, string>;

function todaysHashes(around: Around) {
  const lists = new WeakMap<Connection, Promise<Hashes>>();
  return (server: ConfiguredServer, connection: Connection, signal: AbortSignal): Promise<Hashes> => {
    const known = lists.get(connection);
    if (known !== undefined) return orAborted(known, signal);
    const asking = askedOffer(server, around, signal).then(
      ({ offer }) => new Map(offer.tools.map((tool) => [tool.name, toolHash(tool)])),
    );
    lists.set(connection, asking);
    asking.catch(() => lists.delete(connection));
    connection.onListChanged((kind) => void (kind === 'tools' && lists.delete(connection)));
    return asking;
  };
}

function refusal(error: string): ToolOutcome {
  return { ok: false, response: { error } };
}

function changedWords({ name }: ConfiguredServer, remote: RemoteTool, hash: string | undefined): string {
  const server = visible(name);
  if (hash === undefined) return `the MCP server ${server} no longer has the tool ${visible(remote.name)}`;
  return `${visible(remote.name)} was not run: it says something else about itself than before. The user can look at it and allow it with: gmn mcp tools ${server}`;
}
