import { orAborted } from '../../../core/abort.ts';
import { AppError } from '../../../core/error.ts';
import type { JsonObject } from '../../../core/json.ts';
import { visible } from '../../../core/text/terminal.ts';
import type { ToolOutcome } from '../../../core/tool.ts';
import type { ClientContext } from '../context.ts';
import type { ServerPool } from '../pool.ts';
import type { ConfiguredServer } from '../servers.ts';
import type { Connection, Progress, RemoteTool } from '../types.ts';
import { askOffer, type Offer, toolHash } from './memory.ts';
import { type KeepOutput, outcomeOf } from './outcome.ts';
import type { RegisteredTool, RegistrationOptions } from './registration.ts';

interface Around {
  readonly context: ClientContext;
  readonly pool: ServerPool;
}

export interface CallHandling {
  readonly keepOutput?: KeepOutput;
  /** Called when a server says how far a call is. */
  readonly onProgress?: (progress: Progress) => void;
}

/** What a server offers today, which is remembered; each connection is asked once. Throws as a connection does. */
export type AskOffer = (server: ConfiguredServer, signal: AbortSignal) => Promise<Offer>;

/** Asks servers what they offer, and anew after they said that it is something else by now: then `onStale` is called too. */
export function offerAsker({ context, pool }: Around, onStale: (server: ConfiguredServer) => void): AskOffer {
  const asked = new WeakMap<Connection, Promise<Offer>>();
  const watched = new WeakSet<Connection>();
  return async (server, signal) => {
    const connection = await pool.connection(server, signal);
    const known = asked.get(connection);
    if (known !== undefined) return orAborted(known, signal);
    const asking = askOffer(server, connection, { place: context, signal });
    asked.set(connection, asking);
    asking.catch(() => asked.delete(connection));
    if (!watched.has(connection)) {
      watched.add(connection);
      connection.onListChanged((kind) => {
        if (kind !== 'tools') return;
        asked.delete(connection);
        onStale(server);
      });
    }
    return asking;
  };
}

/**
 * How calls reach their servers. A server that was started for the first call is asked once more what its tools say about
 * themselves: one that says something else than the model was told is not run.
 */
export function remoteCalls(
  pool: ServerPool,
  ask: AskOffer,
  { keepOutput = async () => undefined, onProgress = () => {} }: CallHandling = {},
): RegistrationOptions['call'] {
  const attempt = async ({ server, remote }: Origin, args: JsonObject, signal: AbortSignal): Promise<ToolOutcome> => {
    const offer = await ask(server, signal);
    const today = offer.tools.find(({ name }) => name === remote.name);
    if (today === undefined || toolHash(today) !== toolHash(remote))
      return refusal(changedWords(server, remote, today));
    const connection = await pool.connection(server, signal);
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
function refusal(error: string): ToolOutcome {
  return { ok: false, response: { error } };
}

function changedWords({ name }: ConfiguredServer, remote: RemoteTool, today: RemoteTool | undefined): string {
  const server = visible(name);
  if (today === undefined) return `the MCP server ${server} no longer has the tool ${visible(remote.name)}`;
  return `${visible(remote.name)} was not run: it says something else about itself than before. The user can look at it and allow it, on a terminal, with: gmn mcp tools ${server}`;
}
