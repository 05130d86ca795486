import { AppError } from '../../core/error.ts';
import type { JsonObject } from '../../core/json.ts';
import type { Tool, ToolOutcome } from '../../core/tool.ts';
import { visible } from '../../core/visible.ts';
import { deadline } from '../../platform/clock.ts';
import { orAborted } from './abort.ts';
import type { Connection, RemoteTool } from './connection.ts';
import type { ClientContext } from './context.ts';
import { serverFault } from './fault.ts';
import { type KeepOutput, outcomeOf } from './outcome.ts';
import { openServers, type ServerPool } from './pool.ts';
import { type RegisteredTool, registerTools, type ToolSource } from './registration.ts';
import type { ConfiguredServer } from './servers.ts';
import { cachedTools, cacheTools, changedTools, markSeen, toolHash } from './tool-memory.ts';

export interface ToolsetOptions {
  /** In the order of the files. */
  readonly servers: readonly ConfiguredServer[];
  readonly context: ClientContext;
  /** Names of built-in tools. */
  readonly reserved: readonly string[];
  /** `--allowed-tools`: those with `server__*`, `server__tool` or a tool's name as the model has it count here. */
  readonly allowedTools?: readonly string[];
  readonly keepOutput?: KeepOutput;
  /** How long to wait for servers whose tools are not known yet; they are left out then. Until they are there, unless given. */
  readonly patienceMs?: number;
}

/** The remote tools of a run. */
export interface McpTools {
  readonly tools: readonly Tool[];
  /** Which tool of which server each of them is. */
  readonly table: readonly RegisteredTool[];
  /** For the policy: whether it runs unasked, by the user's own `trust` or by `allowedTools`. */
  readonly isTrusted: (tool: Tool) => boolean;
  /** What could not be offered, and why; every server suffers only for itself. */
  readonly notices: readonly string[];
  /** The connections behind them; one is opened when it is first wanted. */
  readonly pool: ServerPool;
  /** Must be called before the process ends. Never throws. */
  close(): Promise<void>;
}

/**
 * The tools of these servers. What a server offered not long ago is taken from a cache, and the server started only when
 * the model calls it; others are started at once, all together. Throws only the signal's reason; then nothing is left open.
 */
export async function mcpTools(options: ToolsetOptions, signal: AbortSignal): Promise<McpTools> {
  const { servers, context, reserved, allowedTools = [] } = options;
  const pool = openServers(context);
  try {
    const found = await Promise.all(servers.map((server) => sourceOf(server, { ...options, pool }, signal)));
    const sources = found.flatMap(({ source }) => source ?? []);
    const call = caller(pool, options);
    const { registered, notices } = registerTools(sources, { reserved, call });
    const origins = new Map(registered.map((entry) => [entry.tool, entry]));
    return {
      tools: registered.map(({ tool }) => tool),
      table: registered,
      isTrusted: (tool) => isAllowed(origins.get(tool), allowedTools),
      notices: [...found.flatMap((each) => each.notices), ...notices],
      pool,
      close: pool.close,
    };
  } catch (thrown) {
    await pool.close();
    throw thrown;
  }
}

interface Found {
  readonly source?: ToolSource;
  readonly notices: readonly string[];
}

async function sourceOf(
  server: ConfiguredServer,
  { context, pool, patienceMs = 0 }: ToolsetOptions & { readonly pool: ServerPool },
  signal: AbortSignal,
): Promise<Found> {
  const limit = deadline(signal, patienceMs, () => serverFault(server, 'it was not ready in time, and is left out'));
  try {
    const known = cachedTools(server, context);
    const { tools, notices } =
      known === undefined ? await listed(server, { context, pool }, limit.signal) : { tools: known, notices: [] };
    const changed = changedTools(server.name, tools, context);
    await markSeen(server.name, tools, { place: context, which: 'new' });
    const source = { server, tools: tools.filter((tool) => !changed.includes(tool)) };
    return { source, notices: [...notices, ...changed.map((tool) => changeNotice(server, tool))] };
  } catch (thrown) {
    signal.throwIfAborted();
    const { message, hint } = AppError.from(thrown);
    return { notices: [hint ? `${message}. ${hint}` : message] };
  } finally {
    limit.clear();
  }
}

interface Around {
  readonly context: ClientContext;
  readonly pool: ServerPool;
}

/** Asks the server, and remembers what it says. */
async function listed(server: ConfiguredServer, { context, pool }: Around, signal: AbortSignal) {
  const connection = await pool.connection(server, signal);
  const { items, omitted } = await connection.listTools({ signal });
  await cacheTools(server, items, context);
  return { tools: items, notices: omitted === undefined ? [] : [`MCP server ${visible(server.name)}: ${omitted}`] };
}

function changeNotice({ name }: ConfiguredServer, tool: RemoteTool): string {
  const shown = visible(name);
  return `MCP server ${shown}: ${visible(tool.name)} says something else about itself than before, not offered. To look and allow it, run: gmn mcp tools ${shown}`;
}

type Call = (
  origin: Pick<RegisteredTool, 'server' | 'remote'>,
  args: JsonObject,
  signal: AbortSignal,
) => Promise<ToolOutcome>;

function caller(pool: ServerPool, { context, keepOutput = async () => undefined }: ToolsetOptions): Call {
  const lists = new WeakMap<Connection, Promise<ReadonlyMap<string, string>>>();
  /** What the server says today: the model was told what it said when it was last asked. */
  const hashes = (server: ConfiguredServer, connection: Connection, signal: AbortSignal) => {
    const known = lists.get(connection);
    if (known !== undefined) return orAborted(known, signal);
    const asking = listed(server, { context, pool }, signal).then(
      ({ tools }) => new Map(tools.map((tool) => [tool.name, toolHash(tool)])),
    );
    lists.set(connection, asking);
    asking.catch(() => lists.delete(connection));
    connection.onListChanged((kind) => void (kind === 'tools' && lists.delete(connection)));
    return asking;
  };
  return async ({ server, remote }, args, signal) => {
    try {
      const connection = await pool.connection(server, signal);
      const hash = (await hashes(server, connection, signal)).get(remote.name);
      if (hash !== toolHash(remote)) return refusal(changedWords(server, remote, hash));
      return await outcomeOf(await connection.callTool(remote.name, args, { signal }), keepOutput);
    } catch (thrown) {
      signal.throwIfAborted();
      if (!(thrown instanceof AppError)) throw thrown;
      return refusal(thrown.message);
    }
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

/** By the table, not by the look of a name, which a server chooses. */
function isAllowed(entry: RegisteredTool | undefined, allowed: readonly string[]): boolean {
  if (entry === undefined) return false;
  const { server, remote, tool } = entry;
  const names = [`${server.name}__*`, `${server.name}__${remote.name}`, tool.name];
  return server.isTrusted || allowed.some((pattern) => names.includes(pattern));
}
