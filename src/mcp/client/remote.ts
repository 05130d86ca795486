import type { CallOptions, Connection, Listing, ListKind, RequestOptions } from './connection.ts';
import type { NamedServer } from './definition.ts';
import { faultOf } from './fault.ts';
import type { Link } from './link.ts';
import { allPages, type PagedList } from './pages.ts';
import {
  parseCallResult,
  parseContents,
  parsePrompt,
  parsePromptResult,
  parseResource,
  parseTemplate,
  parseTool,
} from './remote-values.ts';
import type { Sdk, SdkClient } from './sdk.ts';

export interface Greeted {
  readonly server: NamedServer;
  readonly client: SdkClient;
  readonly link: Link;
  readonly sdk: Sdk;
  /** Tells of lists that are others by now; see `Connection.onListChanged`. */
  readonly changes: ChangeBoard;
}

/** Who wants to know that a list has changed. */
export interface ChangeBoard {
  readonly listeners: Set<(kind: ListKind) => void>;
}

/** Everything is let through: gmn reads what it needs itself, and one odd item must not cost the whole list. */
const ANYTHING = {
  '~standard': { version: 1, vendor: 'gmn', validate: (value: unknown) => ({ value }) },
} as const;

/** A connection over a client that was greeted. */
export function connectionOf(greeted: Greeted): Connection {
  const { server, client, link, changes } = greeted;
  const offered = client.getServerCapabilities() ?? {};
  const capabilities = {
    tools: offered.tools !== undefined,
    prompts: offered.prompts !== undefined,
    resources: offered.resources !== undefined,
  };
  const instructions = client.getInstructions();
  const { name = '', version = '' } = client.getServerVersion() ?? {};
  const ask = asker(greeted);
  const greeting = client.getProtocolEra() === 'modern' ? 'server/discover' : 'ping';
  let isClosed = false;
  return {
    name: server.name,
    serverInfo: { name, version },
    protocolVersion: client.getNegotiatedProtocolVersion() ?? '',
    ...(instructions ? { instructions } : {}),
    capabilities,
    ...listsOf(ask, capabilities),
    callTool: async (tool, args, options) =>
      parseCallResult(await ask('tools/call', { name: tool, arguments: args }, options)),
    getPrompt: async (prompt, args, options) =>
      parsePromptResult(await ask('prompts/get', { name: prompt, arguments: args }, options)),
    readResource: async (uri, options) => parseContents(await ask('resources/read', { uri }, options)),
    ping: async (options) => void (await ask(greeting, {}, options)),
    onListChanged(listener) {
      changes.listeners.add(listener);
      return () => void changes.listeners.delete(listener);
    },
    get isOpen() {
      return !isClosed && client.transport !== undefined;
    },
    async close() {
      isClosed = true;
      changes.listeners.clear();
      await link.close();
      await client.close();
    },
  };
}

type Lists = Pick<Connection, 'listTools' | 'listPrompts' | 'listResources' | 'listResourceTemplates'>;

function listsOf(ask: Ask, { tools, prompts, resources }: Connection['capabilities']): Lists {
  const list = <Item>(isOffered: boolean, method: string, paged: Omit<PagedList<Item>, 'ask'>) => {
    return async (options?: RequestOptions): Promise<Listing<Item>> => {
      if (!isOffered) return { items: [] };
      return allPages({ ...paged, ask: (cursor) => ask(method, cursor === undefined ? {} : { cursor }, options) });
    };
  };
  return {
    listTools: list(tools, 'tools/list', { key: 'tools', parse: parseTool }),
    listPrompts: list(prompts, 'prompts/list', { key: 'prompts', parse: parsePrompt }),
    listResources: list(resources, 'resources/list', { key: 'resources', parse: parseResource }),
    listResourceTemplates: list(resources, 'resources/templates/list', {
      key: 'resourceTemplates',
      parse: parseTemplate,
    }),
  };
}

type Ask = (method: string, params: Readonly<Record<string, unknown>>, options?: CallOptions) => Promise<unknown>;

/** Asks one thing, in the words of the protocol. Tools declare which arguments the modern era repeats in headers. */
function asker(greeted: Greeted): Ask {
  const { server, client, link, sdk } = greeted;
  return async (what, params, options = {}) => {
    const { signal, timeoutMs = server.definition.timeoutMs, onProgress } = options;
    signal?.throwIfAborted();
    const settings = {
      timeout: timeoutMs,
      resetTimeoutOnProgress: true,
      // Wanted even if nobody looks: it starts the timeout anew.
      ...(what === 'tools/call' ? { onprogress: onProgress ?? (() => {}) } : {}),
      ...(signal === undefined ? {} : { signal }),
    };
    try {
      return await client.request({ method: what, params }, ANYTHING, settings);
    } catch (thrown) {
      signal?.throwIfAborted();
      throw await faultOf(thrown, { server, sdk, link, what, timeoutMs });
    }
  };
}
