import { canonicalJson, isObject, objectsOf, stringOf } from '../../../core/json.ts';
import { isRecent, readMemo, writeMemo } from '../../../platform/files/small-file.ts';
import { sha256 } from '../../../platform/runtime/native.ts';
import { parseTool } from '../parse.ts';
import type { ConfiguredServer } from '../servers.ts';
import type { ClientContext, Connection, RemoteTool } from '../types.ts';

/** Identifies a server across runs: its name alone may belong to another server in another folder. */
export type SeenServer = Pick<ConfiguredServer, 'name' | 'scope' | 'file'>;

type Place = Pick<ClientContext, 'homes' | 'clock'>;

const KEPT_MS = 7 * 24 * 60 * 60 * 1000;

/** How long to wait for another process that is writing. */
const LOCK_MS = 2000;

export interface Offer {
  readonly tools: readonly RemoteTool[];
  readonly instructions?: string | undefined;
  /** What it lists but gmn does not use, as text for the user. */
  readonly omitted?: string | undefined;
}

/** The cached tool list of a server with exactly this definition; undefined if there is none or it is too old. */
export function cachedOffer({ fingerprint }: ConfiguredServer, { homes, clock }: Place): Offer | undefined {
  return readMemo(cacheFile(homes().gmn, fingerprint), (value) => {
    if (!isObject(value) || value.version !== 1 || typeof value.at !== 'number') return undefined;
    if (!isRecent(value.at, clock.now(), KEPT_MS)) return undefined;
    const tools = objectsOf(value.tools).flatMap((tool) => parseTool(tool) ?? []);
    return { tools, instructions: stringOf(value.instructions), omitted: stringOf(value.omitted) };
  });
}

/** Fetches the tool list and caches it. Throws as a connection does. */
export async function askOffer(
  server: ConfiguredServer,
  connection: Connection,
  { place, signal }: { readonly place: Place; readonly signal: AbortSignal },
): Promise<Offer> {
  const { items, omitted } = await connection.listTools({ signal });
  const offer = { tools: items, instructions: connection.instructions, omitted };
  await cacheOffer(server, offer, place);
  return offer;
}

/** Never throws. */
async function cacheOffer(server: ConfiguredServer, offer: Offer, { homes, clock }: Place): Promise<void> {
  await writeMemo(cacheFile(homes().gmn, server.fingerprint), { version: 1, at: clock.now(), ...offer });
}

/** The tools whose declaration differs from when they were last seen. A new tool does not count as changed. */
export function changedTools(server: SeenServer, tools: readonly RemoteTool[], place: Place): readonly RemoteTool[] {
  const seen = readSeen(server, place);
  return tools.filter((tool) => seen.has(tool.name) && seen.get(tool.name) !== toolHash(tool));
}

/** The names of all tools ever seen on a server; undefined if it never was seen. */
export function seenNames(server: SeenServer, place: Place): readonly string[] | undefined {
  const names = [...readSeen(server, place).keys()];
  return names.length === 0 ? undefined : names;
}

/** Records the declarations of new tools; with `all` also those of changed tools, since a person has reviewed them. */
export async function markSeen(
  server: SeenServer,
  tools: readonly RemoteTool[],
  { place, which }: { readonly place: Place; readonly which: 'new' | 'all' },
): Promise<void> {
  const merged = (): ReadonlyMap<string, string> | undefined => {
    const before = readSeen(server, place);
    const after = new Map(before);
    for (const tool of tools) if (which === 'all' || !before.has(tool.name)) after.set(tool.name, toolHash(tool));
    const isSame = after.size === before.size && [...after].every(([name, hash]) => before.get(name) === hash);
    return isSame ? undefined : after;
  };
  if (merged() === undefined) return;
  const file = seenFile(place.homes().gmn, server);
  const { acquireLock } = await import('../../../platform/files/lock.ts');
  const { signal } = new AbortController();
  const lock = await acquireLock(`${file}.lock`, {
    clock: place.clock,
    signal,
    patienceMs: LOCK_MS,
    isDone: async () => merged() === undefined,
  });
  try {
    const after = merged();
    if (after !== undefined) await writeMemo(file, { version: 1, server: server.name, tools: [...after] });
  } finally {
    await lock?.release();
  }
}

/** Changes whenever what the model or the person is told about a tool does. */
export function toolHash({ name, description, inputSchema }: RemoteTool): string {
  return sha256(canonicalJson([name, description, inputSchema]));
}

function readSeen(server: SeenServer, { homes }: Place): ReadonlyMap<string, string> {
  const pairs = readMemo(seenFile(homes().gmn, server), (value) =>
    isObject(value) && value.version === 1 && Array.isArray(value.tools) ? value.tools.filter(isPair) : undefined,
  );
  return new Map(pairs);
}

function isPair(value: unknown): value is readonly [string, string] {
  return Array.isArray(value) && value.length === 2 && value.every((item) => typeof item === 'string');
}

function cacheFile(home: string, fingerprint: string): string {
  return `${home}/cache/mcp/tools-${fingerprint}.json`;
}

/**
 * Not below cache/: this record must survive clearing the cache. Servers of one name in two settings files are
 * different.
 */
function seenFile(home: string, { scope, file, name }: SeenServer): string {
  return `${home}/mcp/seen-${sha256(canonicalJson([scope, file, name]))}.json`;
}
