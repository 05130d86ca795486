import type { App } from '../../../core/app.ts';
import type { Part } from '../../../core/content.ts';
import { AppError } from '../../../core/error.ts';
import { sniffMedia } from '../../../core/text/media.ts';
import type { ConfineServer } from '../../../mcp/client/definition.ts';
import type { McpTools } from '../../../mcp/client/tools/toolset.ts';
import type { Connection, ContentBlock, PromptCompletion, RemotePrompt } from '../../../mcp/client/types.ts';
import type { Workspace } from '../../../tools/workspace/workspace.ts';
import type { Host } from '../../host.ts';
import { collectMedia, formatBlock } from './content.ts';
import { createResourceReader } from './resources.ts';
import type { Roster, ServerEntry } from './roster.ts';

export interface ServersContext {
  readonly app: App;
  readonly host: Host;
  readonly workspace: Workspace;
  readonly signal: AbortSignal;
  readonly isPreview?: boolean;
  readonly ignoresCache?: boolean;
  /** For programs that the folder brings; undefined if there is no sandbox. */
  readonly confine?: ConfineServer;
}

/** An MCP server of a run, for the user. All strings come from the server and are untrusted. */
export interface UsedServer {
  readonly name: string;
  /** Short: `ready`, or why the server cannot be used. */
  readonly state: string;
  readonly tools: readonly string[];
  /** Tools kept from the model because their descriptions changed since they were allowed. */
  readonly withheld: readonly string[];
  readonly isUsable: boolean;
}

export type ServerPrompt = RemotePrompt;

export type PromptArguments = Readonly<Record<string, string>>;

export type Servers = ReturnType<typeof createServers>;

/** Its methods throw AppError `mcp`. */
export function createServers({ entries }: Roster, tools: McpTools) {
  const connect = (name: string, signal: AbortSignal): Promise<Connection> => {
    const found = tools.servers.find(({ server }) => server.name === name);
    if (found === undefined) throw new AppError('mcp', `MCP server ${name} is not used`, { hint: 'To see why: /mcp' });
    return tools.pool.connect(found.server, signal);
  };
  return {
    get all(): readonly UsedServer[] {
      return entries.map((entry) => toUsedServer(entry, tools));
    },
    listPrompts: async (server: string, signal: AbortSignal) =>
      (await (await connect(server, signal)).listPrompts({ signal })).items,
    async getPrompt(
      { server, name, args }: { readonly server: string; readonly name: string; readonly args: PromptArguments },
      signal: AbortSignal,
    ): Promise<readonly Part[]> {
      const { messages } = await (await connect(server, signal)).getPrompt(name, args, { signal });
      const isOne = messages.length === 1;
      return messages.flatMap(({ role, content }) => [
        ...(isOne ? [] : [{ text: `${role}:` }]),
        ...toPromptParts(content),
      ]);
    },
    completePrompt: async (
      { server, ...completion }: PromptCompletion & { readonly server: string },
      signal: AbortSignal,
    ) => (await connect(server, signal)).completePrompt(completion, { signal }),
    listResources: async (server: string, signal: AbortSignal) =>
      (await (await connect(server, signal)).listResources({ signal })).items,
    readResource: createResourceReader(tools),
  };
}

function toUsedServer({ name, state }: ServerEntry, { servers, table }: McpTools): UsedServer {
  const tools = table.flatMap(({ server, tool }) => (server.name === name ? [tool.name] : []));
  switch (state.kind) {
    case 'ready': {
      const { fault, withheld = [] } = servers.find(({ server }) => server.name === name) ?? {};
      return { name, tools, withheld, state: fault ?? 'ready', isUsable: true };
    }
    case 'disabled':
      return { name, tools: [], withheld: [], state: state.why, isUsable: false };
    case 'faulty':
      return { name, tools: [], withheld: [], state: `its definition cannot be used: ${state.why}`, isUsable: false };
    case 'unapproved':
      return { name, tools: [], withheld: [], state: 'not approved; to review it, run: gmn trust', isUsable: false };
  }
}

/** Sends only media whose bytes show its type. */
function toPromptParts(block: ContentBlock): readonly Part[] {
  const text = formatBlock(block);
  if (text !== undefined) return [{ text }];
  return collectMedia([block]).map(({ data, mimeType: claimed }) => {
    const mimeType = sniffMedia(Buffer.from(data, 'base64'));
    return mimeType === undefined
      ? { text: `[${claimed}: cannot be sent to the model]` }
      : { inlineData: { mimeType, data } };
  });
}
