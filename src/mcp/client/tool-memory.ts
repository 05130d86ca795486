import { canonicalJson, isObject, objectsOf, stringOf } from '../../core/json.ts';
import { sha256 } from '../../platform/hash.ts';
import { isRecent, readMemo, writeMemo } from '../../platform/memo-file.ts';
import type { RemoteTool } from './connection.ts';
import type { ClientContext } from './context.ts';
import { parseTool } from './remote-values.ts';
import type { ConfiguredServer } from './servers.ts';

type Place = Pick<ClientContext, 'homes' | 'clock'>;

/** A list this old may be of a server that is another by now. */
const KEPT_MS = 7 * 24 * 60 * 60 * 1000;

/** What a server offers, and how it wants to be used. */
export interface Offer {
  readonly tools: readonly RemoteTool[];
  readonly instructions?: string | undefined;
}

/** What a server of this very definition offered when it was last asked; undefined if that was long ago, or never. */
export function cachedOffer({ fingerprint }: ConfiguredServer, { homes, clock }: Place): Offer | undefined {
  return readMemo(cacheFile(homes().gmn, fingerprint), (value) => {
    if (!isObject(value) || value.version !== 1 || typeof value.at !== 'number') return undefined;
    if (!isRecent(value.at, clock.now(), KEPT_MS)) return undefined;
    const tools = objectsOf(value.tools).flatMap((tool) => parseTool(tool) ?? []);
    return { tools, instructions: stringOf(value.instructions) };
  });
}

/** Remembers it. Never throws. */
export async function cacheOffer(server: ConfiguredServer, offer: Offer, { homes, clock }: Place): Promise<void> {
  await writeMemo(cacheFile(homes().gmn, server.fingerprint), { version: 1, at: clock.now(), ...offer });
}

/** Those of the tools that say something else about themselves than when they were last seen. A new tool is not changed. */
export function changedTools(server: string, tools: readonly RemoteTool[], place: Place): readonly RemoteTool[] {
  const seen = readSeen(server, place);
  return tools.filter((tool) => seen.has(tool.name) && seen.get(tool.name) !== toolHash(tool));
}

/** Remembers what new tools say about themselves; with `all`, what changed ones say now, since a person has seen it. */
export async function markSeen(
  server: string,
  tools: readonly RemoteTool[],
  { place, which }: { readonly place: Place; readonly which: 'new' | 'all' },
): Promise<void> {
  const before = readSeen(server, place);
  const after = new Map(before);
  for (const tool of tools) if (which === 'all' || !before.has(tool.name)) after.set(tool.name, toolHash(tool));
  const isSame = after.size === before.size && [...after].every(([name, hash]) => before.get(name) === hash);
  if (!isSame) await writeMemo(seenFile(place.homes().gmn, server), { version: 1, server, tools: [...after] });
}

/** Differs whenever what the model, or the person, is told of a tool does. */
export function toolHash({ name, description, inputSchema }: RemoteTool): string {
  return sha256(canonicalJson([name, description, inputSchema]));
}

function readSeen(server: string, { homes }: Place): ReadonlyMap<string, string> {
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

/** Not below cache/: what was seen must outlive a cache that is cleared. The name of a server may be anything. */
function seenFile(home: string, server: string): string {
  return `${home}/mcp/seen-${sha256(server)}.json`;
}
