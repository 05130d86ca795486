import { AppError } from '../../../core/error.ts';
import { sanitize } from '../../../core/text/terminal.ts';
import type { Tool } from '../../../core/tool.ts';
import { createDeadline } from '../../../platform/runtime/clock.ts';
import { mcpError } from '../errors.ts';
import { openServers, type ServerPool } from '../pool.ts';
import type { ConfiguredServer } from '../servers.ts';
import type { ClientContext, RemoteTool } from '../types.ts';
import { isToolAllowed } from './allowed.ts';
import { findChangedTools, hashTool, readKnownNames, readToolList, recordTools, type ServerIdentity } from './cache.ts';
import { type CallHandling, createRemoteCalls, createToolListFetcher, type FetchToolList } from './calls.ts';
import {
  formatOmitted,
  type RegisteredTool,
  type Registration,
  type RegistrationOptions,
  registerTools,
  type ToolSource,
} from './registration.ts';

const MAX_INSTRUCTION_CHARS = 4000;

export interface ToolsetOptions extends CallHandling {
  readonly servers: readonly ConfiguredServer[];
  readonly unused?: readonly ServerIdentity[];
  readonly context: ClientContext;
  readonly reserved: readonly string[];
  /** From `--allowed-tools`: `server__*`, `server__tool`, or a tool's name as the model knows it. */
  readonly allowedTools?: readonly string[];
  /** From the user's `tools.allowed`, in the same forms. */
  readonly allowedBySettings?: readonly string[];
  readonly isPreview?: boolean;
  readonly ignoresCache?: boolean;
  readonly notices?: readonly string[];
  /** How long to wait for servers without a cached tool list; slower ones are skipped. Default: no limit. */
  readonly maxWaitMs?: number;
}

export interface McpTools {
  readonly tools: readonly Tool[];
  readonly table: readonly RegisteredTool[];
  readonly servers: readonly UsedServer[];
  /** Whether a tool runs without asking, because of the user's `trust` or `allowedTools`. */
  readonly isTrusted: (tool: Tool) => boolean;
  /** The servers that have a tool of this name and withhold it, or are not ready and may have one. */
  findOwners(tool: string): readonly string[];
  readonly notices: readonly string[];
  /** Fetches lists that came from the cache or change; `onChange` gets new notices. Ends with the signal. Never throws. */
  watch(onChange: (notices: readonly string[]) => void, signal: AbortSignal): void;
  /** Only from servers the user trusts; still untrusted text. */
  readonly instructions: readonly { readonly server: string; readonly text: string }[];
  readonly pool: ServerPool;
  close(): Promise<void>;
}

interface UsedServer {
  readonly server: ConfiguredServer;
  readonly fault?: string;
  readonly withheld?: readonly string[];
}

/** Servers without a cached tool list start now, the others when the model calls them. Throws only the signal's reason. */
export async function openMcpTools(options: ToolsetOptions, signal: AbortSignal): Promise<McpTools> {
  const { servers, context } = options;
  const pool = openServers(context);
  let onStale: (server: ConfiguredServer) => void = () => {};
  const fetchList = options.isPreview
    ? refuseToStart
    : createToolListFetcher(context, pool, (server) => onStale(server));
  try {
    const found = await Promise.all(
      servers.map((server) => loadServerTools(server, { ...options, fetchList }, signal)),
    );
    const registry = createRegistry(options, found, createRemoteCalls(pool, fetchList, options));
    const notices = [...(options.notices ?? []), ...found.flatMap((each) => each.notices), ...registry.notices()];
    const filterNewNotices = createNoticeFilter(notices);
    return {
      get tools() {
        return registry.table().map(({ tool }) => tool);
      },
      get table() {
        return registry.table();
      },
      get servers() {
        return servers.map((server, index) => {
          const { source, withheld = [], notices: [fault = ''] = [] } = found[index] ?? NO_TOOLS;
          return { server, withheld, fault: source === undefined ? fault : undefined };
        });
      },
      isTrusted: registry.isTrusted,
      findOwners: (tool) =>
        [
          ...servers.filter((server, index) => mayHaveTool(found[index] ?? NO_TOOLS, server, { tool, context })),
          ...(options.unused ?? []).filter((server) => readKnownNames(server, context)?.includes(tool) ?? true),
        ].map(({ name }) => name),
      notices,
      get instructions() {
        return collectInstructions(found);
      },
      watch(onChange, watchSignal) {
        onStale = (server) => void refresh(server);
        const refresh = async (server: ConfiguredServer): Promise<void> => {
          const fresh = await loadServerTools(
            server,
            { ...options, fetchList, maxWaitMs: 0, ignoresCache: true },
            watchSignal,
          ).catch(() => NO_TOOLS);
          // Keep the known tools; a call will report the error.
          if (fresh.source === undefined || watchSignal.aborted) return;
          found[servers.indexOf(server)] = fresh;
          const hasChanged = registry.refreshTools();
          const news = filterNewNotices([...fresh.notices, ...registry.notices()]);
          if (hasChanged || news.length > 0) onChange(news);
        };
        servers.forEach((server, index) => {
          if (!found[index]?.isFetched) void refresh(server);
        });
      },
      pool,
      close: pool.close,
    };
  } catch (thrown) {
    await pool.close();
    throw thrown;
  }
}

function createNoticeFilter(before: readonly string[]): (notices: readonly string[]) => readonly string[] {
  const reported = new Set(before);
  return (notices) => {
    const news = notices.filter((notice) => !reported.has(notice));
    for (const notice of news) reported.add(notice);
    return news;
  };
}

const refuseToStart: FetchToolList = async (server) => {
  throw mcpError(server, 'its tools are not known yet, and a preview starts nothing', {
    hint: `To load them, run: gmn mcp tools ${sanitize(server.name)}`,
  });
};

function createRegistry(options: ToolsetOptions, found: readonly ServerTools[], call: RegistrationOptions['call']) {
  const {
    servers,
    unused = [],
    context,
    reserved,
    allowedTools: patterns = [],
    allowedBySettings: ownPatterns = [],
  } = options;
  const names = [...servers, ...unused].map(({ name }) => name);
  const register = (earlier: readonly RegisteredTool[]): Registration =>
    registerTools(
      found.flatMap(({ source }) => source ?? []),
      { reserved, servers: names, earlier, call },
    );
  let current = register([]);
  let earlier = current.registered;
  const absent = servers.flatMap((server, index) =>
    found[index]?.source === undefined ? [{ server, before: readKnownNames(server, context) }] : [],
  );
  return {
    table: () => current.registered,
    notices: () => current.notices,
    isTrusted(tool: Tool): boolean {
      const entry = earlier.find((each) => each.tool === tool);
      return (
        entry !== undefined &&
        isToolAllowed(entry, { patterns, ownPatterns, table: current.registered, servers, absent })
      );
    },
    refreshTools(): boolean {
      const before = current.registered;
      current = register(earlier);
      earlier = [...earlier, ...current.registered];
      return formatSignature(before) !== formatSignature(current.registered);
    },
  };
}

function formatSignature(table: readonly RegisteredTool[]): string {
  return JSON.stringify(table.map(({ tool, remote }) => [tool.name, hashTool(remote)]));
}

function collectInstructions(found: readonly ServerTools[]): McpTools['instructions'] {
  return found.flatMap(({ source, instructions: text }) =>
    source?.server.isTrusted && text
      ? [{ server: source.server.name, text: text.slice(0, MAX_INSTRUCTION_CHARS) }]
      : [],
  );
}

interface ServerTools {
  readonly source?: ToolSource;
  readonly instructions?: string;
  readonly withheld?: readonly string[];
  readonly notices: readonly string[];
  readonly isFetched?: boolean;
}

const NO_TOOLS: ServerTools = { notices: [] };

function mayHaveTool(
  { source, withheld = [] }: ServerTools,
  server: ConfiguredServer,
  { tool, context }: { readonly tool: string; readonly context: ClientContext },
): boolean {
  if (source === undefined) return readKnownNames(server, context)?.includes(tool) ?? true;
  return withheld.includes(tool) || source.tools.some(({ name }) => name === tool);
}

async function loadServerTools(
  server: ConfiguredServer,
  { context, fetchList, maxWaitMs = 0, ignoresCache = false }: ToolsetOptions & { readonly fetchList: FetchToolList },
  signal: AbortSignal,
): Promise<ServerTools> {
  const deadline = createDeadline(signal, maxWaitMs, () =>
    mcpError(server, 'it was not ready in time, and is not used'),
  );
  try {
    const known = ignoresCache ? undefined : readToolList(server, context);
    const { tools, instructions, omitted } = known ?? (await fetchList(server, deadline.signal));
    const changed = findChangedTools(server, tools, context);
    await recordTools(server, tools, { context, which: 'new' });
    const source = { server, tools: tools.filter((tool) => !changed.includes(tool)) };
    return {
      source,
      instructions,
      withheld: changed.map(({ name }) => name),
      notices: [
        ...(omitted === undefined ? [] : [`MCP server ${sanitize(server.name)}: ${omitted}`]),
        ...(changed.length === 0 ? [] : [formatChangeNotice(server, changed)]),
      ],
      isFetched: known === undefined,
    };
  } catch (thrown) {
    signal.throwIfAborted();
    const { message, hint } = AppError.from(thrown);
    return { notices: [hint ? `${message}. ${hint}` : message] };
  } finally {
    deadline.clear();
  }
}

function formatChangeNotice(server: ConfiguredServer, changed: readonly RemoteTool[]): string {
  const next = `To review and allow it, run in a terminal: gmn mcp tools ${sanitize(server.name)}`;
  const names = changed.map(({ name }) => name);
  return `${formatOmitted(server, names, 'its definition has changed')}. ${next}`;
}
