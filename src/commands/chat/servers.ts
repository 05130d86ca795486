import { collectMedia, formatBlock } from '../../app/servers/content.ts';
import { createResourceReader } from '../../app/servers/resources.ts';
import type { Roster, ServerEntry } from '../../app/servers/roster.ts';
import type { ChatServer, Servers } from '../../chat/assistant.ts';
import type { Part } from '../../core/content.ts';
import { AppError } from '../../core/error.ts';
import { sniffMedia } from '../../core/text/media.ts';
import type { McpTools } from '../../mcp/client/tools/toolset.ts';
import type { Connection, ContentBlock } from '../../mcp/client/types.ts';

export function createChatServers({ entries }: Roster, tools: McpTools): Servers {
  const connect = (name: string, signal: AbortSignal): Promise<Connection> => {
    const found = tools.servers.find(({ server }) => server.name === name);
    if (found === undefined) throw new AppError('mcp', `MCP server ${name} is not used`, { hint: 'To see why: /mcp' });
    return tools.pool.connect(found.server, signal);
  };
  return {
    get all() {
      return entries.map((entry) => toChatServer(entry, tools));
    },
    listPrompts: async (server, signal) => (await (await connect(server, signal)).listPrompts({ signal })).items,
    async getPrompt({ server, name, args }, signal) {
      const { messages } = await (await connect(server, signal)).getPrompt(name, args, { signal });
      const isOne = messages.length === 1;
      return messages.flatMap(({ role, content }) => [
        ...(isOne ? [] : [{ text: `${role}:` }]),
        ...toPromptParts(content),
      ]);
    },
    completePrompt: async ({ server, ...completion }, signal) =>
      (await connect(server, signal)).completePrompt(completion, { signal }),
    listResources: async (server, signal) => (await (await connect(server, signal)).listResources({ signal })).items,
    readResource: createResourceReader(tools),
  };
}

function toChatServer({ name, state }: ServerEntry, { servers, table }: McpTools): ChatServer {
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
