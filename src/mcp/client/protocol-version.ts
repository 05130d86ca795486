import { canonicalJson, isObject } from '../../core/json.ts';
import { DAY_MS } from '../../core/text/format.ts';
import { isRecent, readCache, writeCache } from '../../platform/files/small-file.ts';
import { sha256 } from '../../platform/runtime/native.ts';
import type { ClientContext } from './types.ts';

/** A server may be updated any day; asking again costs one round trip. */
const CACHE_MS = DAY_MS;

/** Whether the server at this address was recently found to support only versions before 2026-07-28. */
export function isKnownLegacy(url: string, { homes, clock }: Pick<ClientContext, 'homes' | 'clock'>): boolean {
  const at = readCache(versionCachePath(url, homes().gmn), parseLegacyTime);
  return at !== undefined && isRecent(at, clock.now(), CACHE_MS);
}

export async function cacheLegacy(
  url: string,
  { homes, clock }: Pick<ClientContext, 'homes' | 'clock'>,
): Promise<void> {
  await writeCache(versionCachePath(url, homes().gmn), { era: 'legacy', at: clock.now() });
}

export async function clearLegacy(
  url: string,
  { homes, clock }: Pick<ClientContext, 'homes' | 'clock'>,
): Promise<void> {
  await writeCache(versionCachePath(url, homes().gmn), { era: 'unknown', at: clock.now() });
}

function versionCachePath(url: string, home: string): string {
  return `${home}/cache/mcp/era-${sha256(canonicalJson(url))}.json`;
}

function parseLegacyTime(value: unknown): number | undefined {
  return isObject(value) && value.era === 'legacy' && typeof value.at === 'number' ? value.at : undefined;
}
