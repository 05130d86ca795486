import { join } from 'node:path';
import type { Clock } from '../core/io.ts';
import { isObject } from '../core/json.ts';
import { makePrivateDirectory, readFileState, replaceFile } from '../platform/atomic-file.ts';
import { sha256 } from '../platform/hash.ts';
import type { Enrolment } from './code-assist-enrolment.ts';

const DAY_MS = 86_400_000;

/** What one account was told at Code Assist, kept for a day. */
export interface EnrolmentCache {
  /** Undefined if nothing is known, or nothing that can be believed. Never throws. */
  read(): Promise<Enrolment | undefined>;
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

/** The cache in gmn's home, one private file for all accounts. */
export function enrolmentCache(home: string, owner: EnrolmentOwner, clock: Clock): EnrolmentCache {
  const file = join(home, 'code-assist.json');
  const key = sha256(JSON.stringify([owner.endpoint, owner.account, owner.project ?? ''])).slice(0, 16);
  return {
    async read() {
      const entry = (await readEntries(file)).get(key);
      return entry !== undefined && isFresh(entry, clock.now()) ? entry : undefined;
    },
    async write({ project, tier }) {
      try {
        const now = clock.now();
        const kept = [...(await readEntries(file))].filter(([, entry]) => isFresh(entry, now));
        const accounts = Object.fromEntries([...kept, [key, { project, tier, time: now }]]);
        await makePrivateDirectory(home);
        await replaceFile(file, `${JSON.stringify({ version: 1, accounts }, null, 2)}\n`, { mode: 0o600 });
      } catch {
        // The next run asks again.
      }
    },
  };
}

/** A time in the future is a clock gone wrong, not a fresh memory. */
function isFresh({ time }: Entry, now: number): boolean {
  return time <= now && now - time < DAY_MS;
}

async function readEntries(file: string): Promise<ReadonlyMap<string, Entry>> {
  const state = await readFileState(file);
  // Somebody else's file could make us charge somebody else's project.
  if (state.kind !== 'text' || !state.isOurs) return new Map();
  try {
    return parseEntries(JSON.parse(state.text));
  } catch {
    return new Map();
  }
}

function parseEntries(value: unknown): ReadonlyMap<string, Entry> {
  if (!isObject(value) || value.version !== 1 || !isObject(value.accounts)) return new Map();
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
