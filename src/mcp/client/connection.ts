import { AppError, findStatus } from '../../core/error.ts';
import { settlesWithin } from '../../core/io.ts';
import { isObject, type JsonObject, toNonEmptyString } from '../../core/json.ts';
import { formatDuration, joinFirst } from '../../core/text/format.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { createDeadline, type Deadline, systemClock } from '../../platform/runtime/clock.ts';
import { MAX_TIMER_MS, type NamedServer } from './definition.ts';
import { mcpError, redactServerText, toServerError } from './errors.ts';
import { MAX_ITEMS, MAX_PAGES, toListTimeout } from './limits.ts';
import {
  parseContents,
  parsePromptResult,
  parseSuggestions,
  tryParseCallResult,
  tryParsePrompt,
  tryParseResource,
  tryParseTemplate,
  tryParseTool,
} from './parse.ts';
import type { Sdk, SdkClient } from './sdk.ts';
import type {
  CallOptions,
  CallResult,
  Connection,
  Listing,
  ListKind,
  Progress,
  RemoteTool,
  RequestOptions,
  ServerTransport,
} from './types.ts';

interface InitializedClient {
  readonly server: NamedServer;
  readonly client: SdkClient;
  readonly transport: ServerTransport;
  readonly sdk: Sdk;
  readonly listeners: Set<(kind: ListKind) => void>;
  readonly deadlines: Set<Deadline>;
}

/** Methods that prove a server works; listing what it has does not. */
const WORK_METHODS: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);

/** Accepts every result: gmn parses what it needs itself, so that one odd item does not cost the whole list. */
const ANY_RESULT = {
  '~standard': { version: 1, vendor: 'gmn', validate: (value: unknown) => ({ value }) },
} as const;

export function createConnection(initialized: InitializedClient): Connection {
  const { server, client, transport, listeners } = initialized;
  const declared = client.getServerCapabilities() ?? {};
  const capabilities = {
    tools: declared.tools !== undefined,
    prompts: declared.prompts !== undefined,
    resources: declared.resources !== undefined,
  };
  const { name = '', version = '' } = client.getServerVersion() ?? {};
  let isClosed = false;
  let servedAt: number | undefined;
  const send = createSdkRequestSender(initialized, (method) => {
    if (WORK_METHODS.has(method)) servedAt = performance.now();
  });
  const ended = new Promise<void>((resolve) => {
    client.onclose = resolve;
  });
  return {
    name: server.name,
    serverInfo: { name, version },
    protocolVersion: client.getNegotiatedProtocolVersion() ?? '',
    instructions: client.getInstructions() || undefined,
    capabilities,
    ...createRequestMethods(initialized, send, capabilities),
    onListChanged(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    redact: (text) => redactServerText(server, text, transport.secrets?.()),
    get hasServed() {
      return servedAt !== undefined;
    },
    async waitForEnd(ms) {
      const leftMs = servedAt === undefined ? 0 : servedAt + ms - performance.now();
      if (leftMs > 0) await settlesWithin(ended, leftMs, systemClock);
    },
    get isOpen() {
      return !isClosed && client.transport !== undefined;
    },
    async close() {
      isClosed = true;
      listeners.clear();
      await transport.close();
      await client.close();
    },
  };
}

type Requests = Lists & Pick<Connection, 'callTool' | 'getPrompt' | 'completePrompt' | 'readResource'>;

function createRequestMethods(
  { client, sdk, server }: InitializedClient,
  sendSdk: SendSdkRequest,
  capabilities: Connection['capabilities'],
): Requests {
  const send: SendRequest = (method, params, options = {}) =>
    sendSdk(method, options, (settings) => client.request({ method, params }, ANY_RESULT, settings));
  const lists = createLists(server, send, capabilities);
  const plain: Requests = {
    ...lists,
    callTool: async (tool, args, options) =>
      requireCallResult(await send('tools/call', { name: tool, arguments: args }, options), server),
    getPrompt: async (prompt, args, options) =>
      parsePromptResult(await send('prompts/get', { name: prompt, arguments: args }, options)),
    async completePrompt({ prompt, argument, given }, options) {
      if (client.getServerCapabilities()?.completions === undefined) return [];
      const params = { ref: { type: 'ref/prompt', name: prompt }, argument, context: { arguments: given } };
      return parseSuggestions(await send('completion/complete', params, options));
    },
    readResource: async (uri, options) => parseContents(await send('resources/read', { uri }, options)),
  };
  if (client.getProtocolEra() !== 'modern') return plain;
  const modern = createModernTools(client, sdk, sendSdk, lists);
  return {
    ...plain,
    listTools: capabilities.tools ? withDeadline(server, 'tools/list', modern.listTools) : lists.listTools,
    callTool: async (tool, args, options = {}) =>
      requireCallResult(await sendSdk('tools/call', options, (settings) => modern.call(tool, args, settings)), server),
  };
}

function requireCallResult(answer: unknown, server: NamedServer): CallResult {
  const result = tryParseCallResult(answer);
  if (result === undefined) throw mcpError(server, 'its answer to tools/call is not a tool result');
  return result;
}

type Lists = Pick<Connection, 'listTools' | 'listPrompts' | 'listResources' | 'listResourceTemplates'>;

function createLists(
  server: NamedServer,
  send: SendRequest,
  { tools, prompts, resources }: Connection['capabilities'],
): Lists {
  const list = <Item>(isOffered: boolean, method: string, paged: Omit<PagedList<Item>, 'send'>) =>
    withDeadline(server, method, async (options) => {
      if (!isOffered) return { items: [] };
      return fetchAllPages({
        ...paged,
        send: (cursor) => send(method, cursor === undefined ? {} : { cursor }, options),
      });
    });
  return {
    listTools: list(tools, 'tools/list', { key: 'tools', parse: tryParseTool }),
    listPrompts: list(prompts, 'prompts/list', { key: 'prompts', parse: tryParsePrompt }),
    listResources: list(resources, 'resources/list', { key: 'resources', parse: tryParseResource }),
    listResourceTemplates: ignoreMissing(
      list(resources, 'resources/templates/list', { key: 'resourceTemplates', parse: tryParseTemplate }),
    ),
  };
}

type List<Item> = (options?: RequestOptions) => Promise<Listing<Item>>;

/** Of a server that has resources, and no such method: many have none. */
function ignoreMissing<Item>(list: List<Item>): List<Item> {
  return (options) =>
    list(options).catch((thrown: unknown) => {
      if (thrown instanceof AppError && isObject(thrown.cause) && thrown.cause.code === METHOD_NOT_FOUND)
        return { items: [] };
      throw thrown;
    });
}

const METHOD_NOT_FOUND = -32_601;

/** Puts a deadline on the whole list, since each page on its own could be just in time. */
function withDeadline<Item>(server: NamedServer, method: string, list: List<Item>): List<Item> {
  const ms = toListTimeout(server);
  return async (options = {}) => {
    const createError = () => mcpError(server, `no complete answer to ${method} within ${formatDuration(ms)}`);
    const deadline = createDeadline(options.signal ?? new AbortController().signal, ms, createError);
    return list({ ...options, signal: deadline.signal }).finally(deadline.clear);
  };
}

type SendRequest = (
  method: string,
  params: Readonly<Record<string, unknown>>,
  options?: CallOptions,
) => Promise<unknown>;

/** Each request gets a deadline, and an AppError for what the SDK throws. `onAnswer` gets the method that succeeded. */
function createSdkRequestSender(initialized: InitializedClient, onAnswer: (method: string) => void): SendSdkRequest {
  const { server, transport, sdk, deadlines } = initialized;
  return async (method, options: CallOptions, run) => {
    const { signal, timeoutMs = server.definition.timeoutMs, onProgress } = options;
    signal?.throwIfAborted();
    const createError = () => new sdk.SdkError(sdk.SdkErrorCode.RequestTimeout, method);
    const deadline = createDeadline(signal ?? new AbortController().signal, timeoutMs, createError);
    const onprogress = (progress: Progress): void => {
      deadline.restart();
      onProgress?.(progress);
    };
    // The SDK's timer cannot be paused while a person is asked.
    const settings = {
      timeout: MAX_TIMER_MS,
      signal: deadline.signal,
      onprogress: method === 'tools/call' ? onprogress : undefined,
    };
    deadlines.add(deadline);
    try {
      for (let signIns = countSignIns(transport); ; signIns = countSignIns(transport)) {
        try {
          const answer = await run(settings);
          onAnswer(method);
          return answer;
        } catch (thrown) {
          signal?.throwIfAborted();
          if (deadline.signal.aborted)
            throw await toRequestError(deadline.signal.reason, initialized, { method, timeoutMs });
          // Somebody has signed in since: try again with the new token.
          if (countSignIns(transport) <= signIns)
            throw await toRequestError(thrown, initialized, { method, timeoutMs });
          deadline.restart();
        }
      }
    } finally {
      deadlines.delete(deadline);
      deadline.clear();
    }
  };
}

async function toRequestError(
  thrown: unknown,
  { server, client, transport, sdk }: InitializedClient,
  request: { readonly method: string; readonly timeoutMs: number },
): Promise<AppError> {
  const fault = await toServerError(thrown, {
    server,
    sdk,
    transport,
    ...request,
    isClosed: client.transport === undefined,
  });
  // The server has dropped the session; only a new handshake starts another.
  if (findStatus(fault) === 404 && client.transport?.sessionId !== undefined) await client.close();
  return fault;
}

function countSignIns(transport: ServerTransport): number {
  return transport.signIns?.() ?? 0;
}

type SdkOptions = NonNullable<Parameters<SdkClient['callTool']>[1]>;

type SendSdkRequest = <Value>(
  method: string,
  options: RequestOptions,
  run: (settings: SdkOptions) => Promise<Value>,
) => Promise<Value>;

/**
 * Tools over Streamable HTTP since 2026-07-28: some arguments are repeated in headers, as the tool's schema declares,
 * and a tool that declares them wrongly must not be used. The SDK's own methods take care of both.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/transports
 */
function createModernTools(client: SdkClient, sdk: Sdk, send: SendSdkRequest, plain: Pick<Connection, 'listTools'>) {
  const known = new Map<string, RemoteTool>();
  const listTools = async (options: RequestOptions = {}): Promise<Listing<RemoteTool>> => {
    try {
      const { tools } = await send('tools/list', options, (settings) =>
        client.listTools(undefined, { ...settings, cacheMode: 'refresh' }),
      );
      return parseItems(tools, { key: 'tools', parse: tryParseTool });
    } catch (thrown) {
      // The SDK rejects the whole list for one odd tool or too many pages.
      if (!isListRejected(thrown, sdk)) throw thrown;
      return plain.listTools(options);
    }
  };
  return {
    async listTools(options?: RequestOptions): Promise<Listing<RemoteTool>> {
      const listing = await listTools(options);
      for (const tool of listing.items) known.set(tool.name, tool);
      return listing;
    },
    /** The raw result. For a tool that was not listed, the SDK learns the headers it needs from the server's error. */
    call(name: string, args: JsonObject, settings: SdkOptions): Promise<unknown> {
      const tool = known.get(name);
      const definition = tool === undefined ? {} : { toolDefinition: toSdkTool(tool) };
      return client.callTool({ name, arguments: { ...args } }, { ...settings, ...definition });
    },
  };
}

function isListRejected(thrown: unknown, { SdkError, SdkErrorCode }: Sdk): boolean {
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  return (
    cause instanceof SdkError &&
    (cause.code === SdkErrorCode.InvalidResult || cause.code === SdkErrorCode.ListPaginationExceeded)
  );
}

/** Without the output schema: gmn does not validate results. */
function toSdkTool({ name, inputSchema }: RemoteTool): NonNullable<SdkOptions['toolDefinition']> {
  return { name, inputSchema } as unknown as NonNullable<SdkOptions['toolDefinition']>;
}

interface ListKey<Item> {
  readonly key: string;
  readonly parse: (value: Readonly<Record<string, unknown>>) => Item | undefined;
}

interface PagedList<Item> extends ListKey<Item> {
  readonly send: (cursor: string | undefined) => Promise<unknown>;
}

const MAX_NAMES = 3;

/** Stops at gmn's limits; `omitted` says what is missing. */
async function fetchAllPages<Item>({ send, ...list }: PagedList<Item>): Promise<Listing<Item>> {
  const { key } = list;
  const found: unknown[] = [];
  const cursors = new Set<string>();
  for (let cursor: string | undefined, page = 1; ; page += 1) {
    const answer = await send(cursor);
    const { [key]: listed, nextCursor } = isObject(answer) ? answer : {};
    for (const value of Array.isArray(listed) ? listed : []) {
      found.push(value);
      if (found.length > MAX_ITEMS) return parseItems(found, list);
    }
    cursor = toNonEmptyString(nextCursor);
    if (cursor === undefined) return parseItems(found, list);
    if (cursors.has(cursor)) return parseItems(found, list, `the list of ${key} repeats without end`);
    if (page === MAX_PAGES) return parseItems(found, list, `only the first ${MAX_PAGES} pages of ${key} are used`);
    cursors.add(cursor);
  }
}

function parseItems<Item>(found: readonly unknown[], { key, parse }: ListKey<Item>, cut?: string): Listing<Item> {
  const items: Item[] = [];
  const unreadable: string[] = [];
  for (const value of found.slice(0, MAX_ITEMS)) {
    const item = isObject(value) ? parse(value) : undefined;
    if (item === undefined) unreadable.push(formatItemName(value));
    else items.push(item);
  }
  const omitted = [
    ...(unreadable.length === 0 ? [] : [formatUnreadable(unreadable)]),
    ...(found.length > MAX_ITEMS ? [`only the first ${MAX_ITEMS} ${key} are used`] : []),
    ...(cut === undefined ? [] : [cut]),
  ];
  return omitted.length === 0 ? { items } : { items, omitted: omitted.join('; ') };
}

function formatItemName(value: unknown): string {
  const { name, uri } = isObject(value) ? value : {};
  return sanitize((toNonEmptyString(name) ?? toNonEmptyString(uri) ?? 'one without a name').slice(0, 80));
}

function formatUnreadable(names: readonly string[]): string {
  return `${joinFirst(names, MAX_NAMES)} skipped: gmn cannot read how the server describes it`;
}
