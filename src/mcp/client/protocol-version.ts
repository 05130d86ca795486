import { join } from 'node:path';
import { canonicalJson, isObject } from '../../core/json.ts';
import { DAY_MS } from '../../core/text/format.ts';
import { isRecent, readCache, writeCache } from '../../platform/files/small-file.ts';
import { tryRemoveSync } from '../../platform/files/write-sync.ts';
import { sha256 } from '../../platform/runtime/native.ts';
import type { NamedServer } from './definition.ts';
import type { ClientContext } from './types.ts';

/** A server may be updated any day; asking again costs one round trip. */
const CACHE_MS = DAY_MS;

interface Address {
  readonly server: NamedServer;
  readonly context: Pick<ClientContext, 'homes' | 'clock'>;
}

export function isKnownLegacy({ server: { definition }, context: { homes, clock } }: Address): boolean {
  if (definition.kind === 'stdio') return false;
  const at = readCache(versionCachePath(definition.url, homes().gmn), tryParseLegacyTime);
  return at !== undefined && isRecent(at, clock.now(), CACHE_MS);
}

export async function cacheLegacy({ server: { definition }, context: { homes, clock } }: Address): Promise<void> {
  if (definition.kind === 'stdio') return;
  await writeCache(versionCachePath(definition.url, homes().gmn), { era: 'legacy', at: clock.now() });
}

/** False if the cache still has it, for example on a full disk: another try would find the same. */
export function clearLegacy(address: Address): boolean {
  const { server, context } = address;
  if (server.definition.kind === 'stdio') return false;
  tryRemoveSync(versionCachePath(server.definition.url, context.homes().gmn));
  return !isKnownLegacy(address);
}

function versionCachePath(url: string, home: string): string {
  return join(home, 'cache', 'mcp', `era-${sha256(canonicalJson(url))}.json`);
}

function tryParseLegacyTime(value: unknown): number | undefined {
  return isObject(value) && value.era === 'legacy' && typeof value.at === 'number' ? value.at : undefined;
}
