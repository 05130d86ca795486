import { join } from 'node:path';
import { canonicalJson, filterObjects, isObject, toNonEmptyString } from '../../../core/json.ts';
import { DAY_MS } from '../../../core/text/format.ts';
import { isRecent, readCache, writeCache } from '../../../platform/files/small-file.ts';
import { sha256 } from '../../../platform/runtime/native.ts';
import { tryParseTool } from '../parse.ts';
import type { ConfiguredServer } from '../servers.ts';
import type { ClientContext, Connection, RemoteTool } from '../types.ts';

/** Identifies a server across runs: its name alone may belong to another server in another folder. */
export type ServerIdentity = Pick<ConfiguredServer, 'name' | 'scope' | 'file'>;

type CacheContext = Pick<ClientContext, 'homes' | 'clock'>;

const CACHE_MS = 7 * DAY_MS;

const LOCK_MS = 2000;

export interface ToolList {
  readonly tools: readonly RemoteTool[];
  readonly instructions?: string;
  readonly omitted?: string;
}

export function readToolList({ fingerprint }: ConfiguredServer, { homes, clock }: CacheContext): ToolList | undefined {
  return readCache(toolCachePath(homes().gmn, fingerprint), (value) => {
    if (!isObject(value) || value.version !== 1 || typeof value.at !== 'number') return undefined;
    if (!isRecent(value.at, clock.now(), CACHE_MS)) return undefined;
    const tools = filterObjects(value.tools).flatMap((tool) => tryParseTool(tool) ?? []);
    return { tools, instructions: toNonEmptyString(value.instructions), omitted: toNonEmptyString(value.omitted) };
  });
}

export async function fetchToolList(
  server: ConfiguredServer,
  connection: Connection,
  { context, signal }: { readonly context: CacheContext; readonly signal: AbortSignal },
): Promise<ToolList> {
  const { items, omitted } = await connection.listTools({ signal });
  const toolList = { tools: items, instructions: connection.instructions, omitted };
  const { homes, clock } = context;
  await writeCache(toolCachePath(homes().gmn, server.fingerprint), { version: 1, at: clock.now(), ...toolList });
  return toolList;
}

/** Compares declarations with those seen last. A new tool does not count as changed. */
export function findChangedTools(
  server: ServerIdentity,
  tools: readonly RemoteTool[],
  context: CacheContext,
): readonly RemoteTool[] {
  const seen = readKnownTools(server, context);
  return tools.filter((tool) => seen.has(tool.name) && seen.get(tool.name) !== hashTool(tool));
}

export function readKnownNames(server: ServerIdentity, context: CacheContext): readonly string[] | undefined {
  const names = [...readKnownTools(server, context).keys()];
  return names.length === 0 ? undefined : names;
}

/** Records the declarations of new tools; with `all` also those of changed tools, since a person has reviewed them. */
export async function recordTools(
  server: ServerIdentity,
  tools: readonly RemoteTool[],
  { context, which }: { readonly context: CacheContext; readonly which: 'new' | 'all' },
): Promise<void> {
  const mergeKnownTools = (): ReadonlyMap<string, string> | undefined => {
    const before = readKnownTools(server, context);
    const after = new Map(before);
    for (const tool of tools) if (which === 'all' || !before.has(tool.name)) after.set(tool.name, hashTool(tool));
    const isSame = after.size === before.size && [...after].every(([name, hash]) => before.get(name) === hash);
    return isSame ? undefined : after;
  };
  if (mergeKnownTools() === undefined) return;
  const file = knownToolsPath(context.homes().gmn, server);
  const { acquireLock } = await import('../../../platform/files/lock.ts');
  const { signal } = new AbortController();
  const lock = await acquireLock(`${file}.lock`, {
    clock: context.clock,
    signal,
    maxWaitMs: LOCK_MS,
    isDone: async () => mergeKnownTools() === undefined,
  });
  try {
    const after = mergeKnownTools();
    if (after !== undefined) await writeCache(file, { version: 1, server: server.name, tools: [...after] });
  } finally {
    await lock?.release();
  }
}

/** Changes whenever the name, description or schema does: what the model and the person are told. */
export function hashTool({ name, description, inputSchema }: RemoteTool): string {
  return sha256(canonicalJson([name, description, inputSchema]));
}

function readKnownTools(server: ServerIdentity, { homes }: CacheContext): ReadonlyMap<string, string> {
  const pairs = readCache(knownToolsPath(homes().gmn, server), (value) =>
    isObject(value) && value.version === 1 && Array.isArray(value.tools) ? value.tools.filter(isPair) : undefined,
  );
  return new Map(pairs);
}

function isPair(value: unknown): value is readonly [string, string] {
  return Array.isArray(value) && value.length === 2 && value.every((item) => typeof item === 'string');
}

function toolCachePath(home: string, fingerprint: string): string {
  return join(home, 'cache', 'mcp', `tools-${fingerprint}.json`);
}

/** Not below cache/: this record must survive clearing the cache. */
function knownToolsPath(home: string, { scope, file, name }: ServerIdentity): string {
  return join(home, 'mcp', `seen-${sha256(canonicalJson([scope, file, name]))}.json`);
}
