import { AppError } from '../../core/error.ts';
import type { Tool } from '../../core/tool.ts';
import { visible } from '../../core/visible.ts';
import { deadline } from '../../platform/clock.ts';
import { askedOffer, type CallHandling, remoteCalls } from './calls.ts';
import type { RemoteTool } from './connection.ts';
import type { ClientContext } from './context.ts';
import { serverFault } from './fault.ts';
import { openServers, type ServerPool } from './pool.ts';
import { type RegisteredTool, registerTools, type ToolSource } from './registration.ts';
import type { ConfiguredServer } from './servers.ts';
import { cachedOffer, changedTools, markSeen } from './tool-memory.ts';

/** Of one server, for the model. */
const MAX_INSTRUCTIONS = 4000;

export interface ToolsetOptions extends CallHandling {
  /** In the order of the files. */
  readonly servers: readonly ConfiguredServer[];
  readonly context: ClientContext;
  /** Names of built-in tools. */
  readonly reserved: readonly string[];
  /** `--allowed-tools`: those with `server__*`, `server__tool` or a tool's name as the model has it count here. */
  readonly allowedTools?: readonly string[];
  /** How long to wait for servers whose tools are not known yet; they are left out then. Until they are there, unless given. */
  readonly patienceMs?: number;
}

/** The remote tools of a run. */
export interface McpTools {
  readonly tools: readonly Tool[];
  /** Which tool of which server each of them is. */
  readonly table: readonly RegisteredTool[];
  /** All servers that were asked for; `fault` says why one has nothing to offer. */
  readonly servers: readonly { readonly server: ConfiguredServer; readonly fault?: string }[];
  /** For the policy: whether it runs unasked, by the user's own `trust` or by `allowedTools`. */
  readonly isTrusted: (tool: Tool) => boolean;
  /** What could not be offered, and why; every server suffers only for itself. */
  readonly notices: readonly string[];
  /** How the servers that the user trusts want to be used, for the model; untrusted text all the same. */
  readonly instructions: readonly { readonly server: string; readonly text: string }[];
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
    const found = await Promise.all(
      servers.map(async (server) => ({ server, ...(await sourceOf(server, { ...options, pool }, signal)) })),
    );
    const sources = found.flatMap(({ source }) => source ?? []);
    const call = remoteCalls({ context, pool }, options);
    const { registered, notices } = registerTools(sources, { reserved, call });
    const origins = new Map(registered.map((entry) => [entry.tool, entry]));
    return {
      tools: registered.map(({ tool }) => tool),
      table: registered,
      servers: found.map(({ server, source, notices: [fault = ''] }) => (source ? { server } : { server, fault })),
      isTrusted: (tool) => isAllowed(origins.get(tool), allowedTools),
      notices: [...found.flatMap((each) => each.notices), ...notices],
      instructions: found.flatMap(({ source, instructions: text }) =>
        source?.server.isTrusted && text ? [{ server: source.server.name, text: text.slice(0, MAX_INSTRUCTIONS) }] : [],
      ),
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
  readonly instructions?: string | undefined;
  readonly notices: readonly string[];
}

async function sourceOf(
  server: ConfiguredServer,
  { context, pool, patienceMs = 0 }: ToolsetOptions & { readonly pool: ServerPool },
  signal: AbortSignal,
): Promise<Found> {
  const limit = deadline(signal, patienceMs, () => serverFault(server, 'it was not ready in time, and is left out'));
  try {
    const known = cachedOffer(server, context);
    const { offer, notices } =
      known === undefined ? await askedOffer(server, { context, pool }, limit.signal) : { offer: known, notices: [] };
    const { tools, instructions } = offer;
    const changed = changedTools(server.name, tools, context);
    await markSeen(server.name, tools, { place: context, which: 'new' });
    const source = { server, tools: tools.filter((tool) => !changed.includes(tool)) };
    return { source, instructions, notices: [...notices, ...changed.map((tool) => changeNotice(server, tool))] };
  } catch (thrown) {
    signal.throwIfAborted();
    const { message, hint } = AppError.from(thrown);
    return { notices: [hint ? `${message}. ${hint}` : message] };
  } finally {
    limit.clear();
  }
}

function changeNotice({ name }: ConfiguredServer, tool: RemoteTool): string {
  const shown = visible(name);
  return `MCP server ${shown}: ${visible(tool.name)} says something else about itself than before, not offered. To look and allow it, run: gmn mcp tools ${shown}`;
}

/** By the table, not by the look of a name, which a server chooses. */
function isAllowed(entry: RegisteredTool | undefined, allowed: readonly string[]): boolean {
  if (entry === undefined) return false;
  const { server, remote, tool } = entry;
  const names = [`${server.name}__*`, `${server.name}__${remote.name}`, tool.name];
  return server.isTrusted || allowed.some((pattern) => names.includes(pattern));
}
