import type { App } from '../core/app.ts';
import { isObject } from '../core/json.ts';
import { isRecent, readMemo, writeMemo } from '../platform/files/memo-file.ts';
import { type Backend, DEFAULT_MODEL } from './table.ts';

const REMEMBERED_MS = 30 * 86_400_000;

/** Whose default it is: what is retired for one account may still serve another. */
export interface DefaultOwner {
  readonly backend: Backend;
  /** `Credential.account` */
  readonly account: string;
}

/** What was learned within the last 30 days to stand in for a retired default; undefined if nothing was. Never throws. */
export function rememberedDefault(
  { homes, clock }: Pick<App, 'homes' | 'clock'>,
  owner: DefaultOwner,
  retired = DEFAULT_MODEL,
): string | undefined {
  // Most often there is no such file, and the account may have to be worked out.
  const entry = readMemo(fileIn(homes().gmn), parseEntries)?.get(keyOf(owner, retired));
  return entry !== undefined && isRecent(entry.time, clock.now(), REMEMBERED_MS) ? entry.model : undefined;
}

/** Keeps `model` for 30 days as this owner's default. It is only a memory aid: if it cannot be written, nothing happens. */
export async function rememberDefault(
  { homes, clock }: Pick<App, 'homes' | 'clock'>,
  owner: DefaultOwner,
  model: string,
  retired = DEFAULT_MODEL,
): Promise<void> {
  const file = fileIn(homes().gmn);
  const now = clock.now();
  const before = readMemo(file, parseEntries) ?? new Map<string, Entry>();
  const fresh = [...before].filter(([, { time }]) => isRecent(time, now, REMEMBERED_MS));
  await writeMemo(file, Object.fromEntries([...fresh, [keyOf(owner, retired), { model, time: now }]]));
}

interface Entry {
  readonly model: string;
  /** Milliseconds since the epoch. */
  readonly time: number;
}

function fileIn(gmnHome: string): string {
  return `${gmnHome}/default-models.json`;
}

/** The first default there was has no name in it: the file is as old as that. */
function keyOf({ backend, account }: DefaultOwner, retired: string): string {
  return [backend, account, ...(retired === DEFAULT_MODEL ? [] : [retired])].join(' ');
}

function parseEntries(value: unknown): ReadonlyMap<string, Entry> | undefined {
  if (!isObject(value)) return undefined;
  return new Map(
    Object.entries(value).flatMap(([key, entry]) => {
      if (!isObject(entry) || typeof entry.model !== 'string' || typeof entry.time !== 'number') return [];
      return [[key, { model: entry.model, time: entry.time }] as const];
    }),
  );
}
