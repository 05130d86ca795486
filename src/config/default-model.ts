import { dirname } from 'node:path';
import type { App } from '../core/app.ts';
import { isObject } from '../core/json.ts';
import type { Backend } from '../core/models.ts';
import { readStateFile } from '../platform/state-file.ts';

const DAY_MS = 86_400_000;

/** Whose default it is: what is retired for one account may still serve another. */
export interface DefaultOwner {
  readonly backend: Backend;
  /** `Credential.account` */
  readonly account: string;
}

/** What was learned within the last day to stand in for the retired default; undefined if nothing was. Never throws. */
export function rememberedDefault(
  { homes, clock }: Pick<App, 'homes' | 'clock'>,
  owner: DefaultOwner,
): string | undefined {
  const entries = readEntries(fileIn(homes().gmn));
  // Most often there is no such file, and the account may have to be worked out.
  const entry = entries.size === 0 ? undefined : entries.get(keyOf(owner));
  return entry !== undefined && isFresh(entry, clock.now()) ? entry.model : undefined;
}

/** Keeps `model` for a day as this owner's default. It is only a memory aid: if it cannot be written, nothing happens. */
export async function rememberDefault(
  { homes, clock }: Pick<App, 'homes' | 'clock'>,
  owner: DefaultOwner,
  model: string,
): Promise<void> {
  try {
    const { makePrivateDirectory, replaceFile } = await import('../platform/atomic-file.ts');
    const file = fileIn(homes().gmn);
    const now = clock.now();
    const fresh = [...readEntries(file)].filter(([, entry]) => isFresh(entry, now));
    const entries = Object.fromEntries([...fresh, [keyOf(owner), { model, time: now }]]);
    await makePrivateDirectory(dirname(file));
    await replaceFile(file, `${JSON.stringify(entries, null, 2)}\n`, { mode: 0o600 });
  } catch {
    // The next run finds out again.
  }
}

interface Entry {
  readonly model: string;
  /** Milliseconds since the epoch. */
  readonly time: number;
}

function fileIn(gmnHome: string): string {
  return `${gmnHome}/default-models.json`;
}

function keyOf({ backend, account }: DefaultOwner): string {
  return `${backend} ${account}`;
}

/** A time in the future is a clock gone wrong, not a fresh memory. */
function isFresh({ time }: Entry, now: number): boolean {
  return time <= now && now - time < DAY_MS;
}

function readEntries(file: string): ReadonlyMap<string, Entry> {
  try {
    return parseEntries(JSON.parse(readStateFile(file) ?? '{}'));
  } catch {
    return new Map();
  }
}

function parseEntries(value: unknown): ReadonlyMap<string, Entry> {
  if (!isObject(value)) return new Map();
  return new Map(
    Object.entries(value).flatMap(([key, entry]) => {
      if (!isObject(entry) || typeof entry.model !== 'string' || typeof entry.time !== 'number') return [];
      return [[key, { model: entry.model, time: entry.time }] as const];
    }),
  );
}
