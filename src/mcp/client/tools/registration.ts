import type { JsonObject } from '../../../core/json.ts';
import { joinFirst } from '../../../core/text/format.ts';
import { sanitize } from '../../../core/text/terminal.ts';
import type { Preview, Tool, ToolResult } from '../../../core/tool.ts';
import { isWantedTool } from '../definition.ts';
import type { ConfiguredServer } from '../servers.ts';
import type { RemoteTool } from '../types.ts';
import { createNamer, type ToolOrigin } from './names.ts';
import { toUsableSchema } from './schema.ts';

export interface ToolSource {
  readonly server: ConfiguredServer;
  readonly tools: readonly RemoteTool[];
}

export interface RegisteredTool {
  readonly tool: Tool;
  readonly server: ConfiguredServer;
  readonly remote: RemoteTool;
}

export type Registration = ReturnType<typeof registerTools>;

export interface RegistrationOptions {
  readonly reserved: readonly string[];
  /** Names of all configured servers, used or not: no tool of another server may look like theirs. */
  readonly servers: readonly string[];
  /** Tools registered earlier in this run: each keeps its name, and no other tool gets it. */
  readonly earlier?: readonly RegisteredTool[];
  readonly call: (
    origin: Pick<RegisteredTool, 'server' | 'remote'>,
    args: JsonObject,
    signal: AbortSignal,
  ) => Promise<ToolResult>;
}

/** Below the API's limit for one request: https://github.com/google-gemini/gemini-cli/issues/19083 */
const MAX_DECLARATIONS = 500;
const MAX_DESCRIPTION = 2048;

export function describeSchemaFaults(server: ConfiguredServer, tools: readonly RemoteTool[]): readonly string[] {
  return formatSchemaFaults(checkSchemas({ server, tools }));
}

export function selectUsableTools(server: ConfiguredServer, tools: readonly RemoteTool[]): readonly RemoteTool[] {
  return checkSchemas({ server, tools }).usable.map(({ remote }) => remote);
}

/** An unusable tool is skipped on its own. All have the effect `execute`, so the policy asks before they run. */
export function registerTools(sources: readonly ToolSource[], options: RegistrationOptions) {
  const nameTool = createStableNamer(options);
  const sorted = sources.map(checkSchemas);
  const shares = computeShares(
    sorted.map(({ usable }) => usable.length),
    MAX_DECLARATIONS - options.reserved.length,
  );
  const registered: RegisteredTool[] = [];
  const notices: string[] = [];
  for (const [index, source] of sorted.entries()) {
    const { server, usable } = source;
    const share = shares[index] ?? 0;
    for (const { remote, input } of usable.slice(0, share)) {
      const name = nameTool({ server: server.name, tool: remote.name });
      registered.push({ tool: toTool({ server, remote }, { name, input, call: options.call }), server, remote });
    }
    const beyond = usable.slice(share).map(({ remote }) => remote.name);
    notices.push(...formatSchemaFaults(source).map((fault) => `MCP server ${sanitize(server.name)}: ${fault}`));
    if (beyond.length > 0) notices.push(formatOmitted(server, beyond, 'there are too many; choose with includeTools'));
  }
  return { registered, notices };
}

function checkSchemas({ server, tools }: ToolSource) {
  const repaired: string[] = [];
  const all = selectRemoteTools(server, tools).map((remote) => {
    let isRepaired = false;
    const input = toUsableSchema(remote.inputSchema, () => {
      isRepaired = true;
    });
    if (isRepaired && input !== undefined) repaired.push(remote.name);
    return { remote, input };
  });
  return {
    server,
    usable: all.flatMap(({ remote, input }) => (input === undefined ? [] : [{ remote, input }])),
    unusable: all.flatMap(({ remote, input }) => (input === undefined ? [remote.name] : [])),
    repaired,
  };
}

function formatSchemaFaults({
  unusable,
  repaired,
}: Pick<ReturnType<typeof checkSchemas>, 'unusable' | 'repaired'>): readonly string[] {
  return [
    ...(unusable.length === 0 ? [] : [formatNotOffered(unusable, 'its schema cannot be used')]),
    ...(repaired.length === 0
      ? []
      : [`the schema of ${joinFirstNames(repaired)} is invalid, and was repaired for the model`]),
  ];
}

/** A name stays with its tool for the whole run: what the user allowed by name must not come to mean another tool. */
function createStableNamer({ reserved, servers, earlier = [] }: RegistrationOptions): (origin: ToolOrigin) => string {
  const toKey = ({ server, tool }: ToolOrigin): string => JSON.stringify([server, tool]);
  const known = new Map(
    earlier.map(({ tool, server, remote }) => [toKey({ server: server.name, tool: remote.name }), tool.name]),
  );
  const createName = createNamer([...reserved, ...known.values()], servers);
  return (origin) => known.get(toKey(origin)) ?? createName(origin);
}

/** Of two tools with one name the first counts: the server could not tell them apart either. */
function selectRemoteTools({ definition }: ConfiguredServer, tools: readonly RemoteTool[]): readonly RemoteTool[] {
  const seen = new Set<string>();
  return tools.filter(({ name }) => {
    if (seen.has(name)) return false;
    seen.add(name);
    return isWantedTool(definition, name);
  });
}

export function formatOmitted({ name }: ConfiguredServer, tools: readonly string[], why: string): string {
  return `MCP server ${sanitize(name)}: ${formatNotOffered(tools, why)}`;
}

function formatNotOffered(tools: readonly string[], why: string): string {
  return `${joinFirstNames(tools)} not offered: ${why}`;
}

function joinFirstNames(tools: readonly string[]): string {
  return joinFirst(tools, 3, (tool) => sanitize(tool.slice(0, 80)));
}

function toTool(
  origin: Pick<RegisteredTool, 'server' | 'remote'>,
  { name, input, call }: { readonly name: string; readonly input: JsonObject } & Pick<RegistrationOptions, 'call'>,
): Tool {
  const { server, remote } = origin;
  const description = remote.description.slice(0, MAX_DESCRIPTION).toWellFormed();
  return {
    name,
    description: description || `The tool ${remote.name} of the MCP server ${server.name}.`,
    effect: 'execute',
    remote: { server: server.name, fingerprint: server.fingerprint, tool: remote.name },
    annotations: remote.annotations,
    input,
    preview: async (args): Promise<Preview> => ({ kind: 'text', text: formatPreview(origin, args) }),
    invoke: (args, signal) => call(origin, args, signal),
  };
}

/** Shows the server's own names, not the one the model uses. */
function formatPreview({ server, remote }: Pick<RegisteredTool, 'server' | 'remote'>, args: JsonObject): string {
  return `MCP server: ${sanitize(server.name)}\nTool: ${sanitize(remote.name)}\nArguments: ${JSON.stringify(args, null, 2)}`;
}

/** Equal shares; what one server does not need goes to those that need more. */
export function computeShares(counts: readonly number[], room: number): readonly number[] {
  const shares = counts.map(() => 0);
  let left = Math.max(0, room);
  const smallestFirst = [...counts.entries()].sort(([, a], [, b]) => a - b);
  for (const [position, [index, count]] of smallestFirst.entries()) {
    const share = Math.min(count, Math.floor(left / (counts.length - position)));
    shares[index] = share;
    left -= share;
  }
  return shares;
}
