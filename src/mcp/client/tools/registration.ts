import type { JsonObject } from '../../../core/json.ts';
import { visible } from '../../../core/text/terminal.ts';
import type { Preview, Tool, ToolOutcome } from '../../../core/tool.ts';
import { isWantedTool } from '../definition.ts';
import type { ConfiguredServer } from '../servers.ts';
import type { RemoteTool } from '../types.ts';
import { type ToolOrigin, toolNames } from './names.ts';
import { usableSchema } from './schema.ts';

/** A server and the tools it lists, in its order. */
export interface ToolSource {
  readonly server: ConfiguredServer;
  readonly tools: readonly RemoteTool[];
}

/** A remote tool as the agent sees it, and whose it is. */
export interface RegisteredTool {
  readonly tool: Tool;
  readonly server: ConfiguredServer;
  readonly remote: RemoteTool;
}

export interface Registration {
  readonly registered: readonly RegisteredTool[];
  /** What was left out, and why. */
  readonly notices: readonly string[];
}

export interface RegistrationOptions {
  /** Names no remote tool may have: the built-in ones. */
  readonly reserved: readonly string[];
  /** Names of all servers there are, used or not: no other's tool may look like theirs. */
  readonly servers: readonly string[];
  /** What was registered earlier in this run: a tool keeps its name, and no other gets it. */
  readonly earlier?: readonly RegisteredTool[];
  /** Runs a call; as `Tool.invoke`. */
  readonly call: (
    origin: Pick<RegisteredTool, 'server' | 'remote'>,
    args: JsonObject,
    signal: AbortSignal,
  ) => Promise<ToolOutcome>;
}

/** What the API takes in one request, with room to spare: https://github.com/google-gemini/gemini-cli/issues/19083 */
const MAX_DECLARATIONS = 500;
/** What a model should have to read about one tool. */
const MAX_DESCRIPTION = 2048;

/** Which tools of a server are lost or mended for their schema, in words for the person. */
export function schemaFaults(server: ConfiguredServer, tools: readonly RemoteTool[]): readonly string[] {
  return faultWords(sortedOut({ server, tools }));
}

/**
 * Remote tools as plain Tools, in the order of the sources, always under the same names. A tool that cannot be offered is
 * left out alone; if there are too many, a server that has more than its share loses of its own. Every one of them may do anything, so
 * the policy asks before it runs.
 */
export function registerTools(sources: readonly ToolSource[], options: RegistrationOptions): Registration {
  const nameOf = stableNames(options);
  const sorted = sources.map(sortedOut);
  const shares = fairShares(
    sorted.map(({ usable }) => usable.length),
    MAX_DECLARATIONS - options.reserved.length,
  );
  const registered: RegisteredTool[] = [];
  const notices: string[] = [];
  for (const [index, source] of sorted.entries()) {
    const { server, usable } = source;
    const share = shares[index] ?? 0;
    for (const { remote, input } of usable.slice(0, share)) {
      const name = nameOf({ server: server.name, tool: remote.name });
      registered.push({ tool: toolOf({ server, remote }, { name, input, call: options.call }), server, remote });
    }
    const beyond = usable.slice(share).map(({ remote }) => remote.name);
    notices.push(...faultWords(source).map((words) => `MCP server ${visible(server.name)}: ${words}`));
    if (beyond.length > 0) notices.push(leftOut(server, beyond, 'there are too many; choose with includeTools'));
  }
  return { registered, notices };
}

function sortedOut({ server, tools }: ToolSource) {
  const mended: string[] = [];
  const all = wanted(server, tools).map((remote) => {
    let isMended = false;
    const input = usableSchema(remote.inputSchema, () => {
      isMended = true;
    });
    if (isMended && input !== undefined) mended.push(remote.name);
    return { remote, input };
  });
  return {
    server,
    usable: all.flatMap(({ remote, input }) => (input === undefined ? [] : [{ remote, input }])),
    unusable: all.flatMap(({ remote, input }) => (input === undefined ? [remote.name] : [])),
    mended,
  };
}

function faultWords({
  unusable,
  mended,
}: Pick<ReturnType<typeof sortedOut>, 'unusable' | 'mended'>): readonly string[] {
  return [
    ...(unusable.length === 0 ? [] : [notOffered(unusable, 'its schema cannot be used')]),
    ...(mended.length === 0 ? [] : [`the schema of ${fewNames(mended)} is faulty, and was mended for the model`]),
  ];
}

/** What the person allowed by a name must not come to mean another tool. */
function stableNames({ reserved, servers, earlier = [] }: RegistrationOptions): (origin: ToolOrigin) => string {
  const key = ({ server, tool }: ToolOrigin): string => JSON.stringify([server, tool]);
  const known = new Map(
    earlier.map(({ tool, server, remote }) => [key({ server: server.name, tool: remote.name }), tool.name]),
  );
  const newName = toolNames([...reserved, ...known.values()], servers);
  return (origin) => known.get(key(origin)) ?? newName(origin);
}

/** Of two with one name the first counts: the server could not tell them apart either. */
function wanted({ definition }: ConfiguredServer, tools: readonly RemoteTool[]): readonly RemoteTool[] {
  const seen = new Set<string>();
  return tools.filter(({ name }) => {
    if (seen.has(name)) return false;
    seen.add(name);
    return isWantedTool(definition, name);
  });
}

/** Tells which tools of a server are not offered, by a few of their names, and why. */
export function leftOut({ name }: ConfiguredServer, tools: readonly string[], why: string): string {
  return `MCP server ${visible(name)}: ${notOffered(tools, why)}`;
}

function notOffered(tools: readonly string[], why: string): string {
  return `${fewNames(tools)} not offered: ${why}`;
}

function fewNames(tools: readonly string[]): string {
  const shown = tools.slice(0, 3).map((tool) => visible(tool.slice(0, 80)));
  const more = tools.length > shown.length ? ` and ${tools.length - shown.length} more` : '';
  return `${shown.join(', ')}${more}`;
}

function toolOf(
  origin: Pick<RegisteredTool, 'server' | 'remote'>,
  { name, input, call }: { readonly name: string; readonly input: JsonObject } & Pick<RegistrationOptions, 'call'>,
): Tool {
  const { server, remote } = origin;
  const description = remote.description.slice(0, MAX_DESCRIPTION).toWellFormed();
  return {
    name,
    description: description || `The tool ${remote.name} of the MCP server ${server.name}.`,
    effect: 'execute',
    input,
    preview: async (args): Promise<Preview> => ({ kind: 'text', text: previewText(origin, args) }),
    invoke: (args, signal) => call(origin, args, signal),
  };
}

/** The real names, whatever the model calls it. */
function previewText({ server, remote }: Pick<RegisteredTool, 'server' | 'remote'>, args: JsonObject): string {
  return `MCP server: ${visible(server.name)}\nTool: ${visible(remote.name)}\nArguments: ${JSON.stringify(args, null, 2)}`;
}

/** How many of so many each may have where there is room for `room` in all: what one does not need is for those who need more. */
export function fairShares(counts: readonly number[], room: number): readonly number[] {
  const shares = counts.map(() => 0);
  let left = Math.max(0, room);
  const smallestFirst = [...counts.entries()].sort(([, a], [, b]) => a - b);
  for (const [place, [index, count]] of smallestFirst.entries()) {
    const share = Math.min(count, Math.floor(left / (counts.length - place)));
    shares[index] = share;
    left -= share;
  }
  return shares;
}
