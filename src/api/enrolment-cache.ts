import { join } from 'node:path';
import type { Clock } from '../core/io.ts';
import { isObject } from '../core/json.ts';
import { isRecent, readMemo, writeMemo } from '../platform/files/memo-file.ts';
import { sha256 } from '../platform/runtime/native.ts';
import type { Enrolment } from './code-assist-place.ts';

const DAY_MS = 86_400_000;

/** What one account was told at Code Assist, kept for a day. */
export interface EnrolmentCache {
  /** Undefined if nothing is known, or nothing that can be believed. Never throws. */
  read(): Enrolment | undefined;
  /** It is only a memory aid: if it cannot be written, nothing happens. */
  write(enrolment: Enrolment): Promise<void>;
}

/** Whose enrolment it is: another server, account or wish is another matter. */
export interface EnrolmentOwner {
  readonly endpoint: string;
  /** `Credential.account` */
  readonly account: string;
  readonly project: string | undefined;
}

interface Entry extends Enrolment {
  /** Milliseconds since the epoch. */
  readonly time: number;
}

type Entries = ReadonlyMap<string, Entry>;

/** The cache in gmn's home, one private file for all accounts. */
export function enrolmentCache(home: string, owner: EnrolmentOwner, clock: Pick<Clock, 'now'>): EnrolmentCache {
  const file = join(home, 'code-assist.json');
  const key = sha256(JSON.stringify([owner.endpoint, owner.account, owner.project ?? ''])).slice(0, 16);
  const recent = (): Entries => {
    const entries = [...(readMemo(file, parseEntries) ?? [])];
    return new Map(entries.filter(([, { time }]) => isRecent(time, clock.now(), DAY_MS)));
  };
  return {
    read: () => recent().get(key),
    async write({ project, tier }) {
      const accounts = Object.fromEntries([...recent(), [key, { project, tier, time: clock.now() }]]);
      await writeMemo(file, { version: 1, accounts });
    },
  };
}

function parseEntries(value: unknown): Entries | undefined {
  if (!isObject(value) || value.version !== 1 || !isObject(value.accounts)) return undefined;
  return new Map(
    Object.entries(value.accounts).flatMap(([key, entry]) => {
      if (!isObject(entry)) return [];
      const { project, tier, time } = entry;
      if (typeof project !== 'string' || project === '' || typeof tier !== 'string' || typeof time !== 'number') {
        return [];
      }
      return [[key, { project, tier, time }] as const];
    }),
  );
}
