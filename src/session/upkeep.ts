import { basename, join } from 'node:path';
import { AppError } from '../core/error.ts';
import type { SessionSummary } from '../core/session.ts';
import { shortId } from '../core/text/uuid.ts';
import { openAppendFile } from '../platform/files/append.ts';
import { fileNames } from '../platform/files/lines.ts';
import { removeFiles } from '../platform/files/write.ts';
import { writtenAt } from '../platform/files/write-sync.ts';
import { glanceAt } from './find.ts';
import { refuseNewer } from './load.ts';
import { nameClaim } from './name-claim.ts';
import { lineText } from './record.ts';
import { expiredSessions, isExpired } from './retention.ts';
import type { FilePlace } from './session-file.ts';
import { removeWithMedia, sweepBlobs } from './sweep.ts';
import { troubleOf } from './trouble.ts';

/** Gives a session a name. Throws AppError `usage` if another has it, while somebody has it open, and if it is of a newer gmn. */
export async function renameSession(place: FilePlace, summary: SessionSummary, name: string): Promise<void> {
  const claim = nameClaim(place);
  const kept = await claim.take(name, summary.id);
  const write = async (): Promise<void> => {
    const glance = glanceAt(summary);
    if (glance === undefined) throw new AppError('usage', `there is no session ${summary.id} any more`, LIST);
    refuseNewer(summary.id, glance.version);
    const now = place.clock.now();
    const standing = { turn: 0, ...glance.last?.standing, name: kept };
    const line = { seq: (glance.last?.seq ?? 0) + 1, at: now, standing, entry: { kind: 'name' } } as const;
    const file = await openAppendFile(summary.file, { now });
    const outcome = await file.append(lineText(line)).finally(() => file.close());
    if (outcome === 'overtaken') throw inUse(summary);
  };
  await exclusively(place, summary, write).finally(claim.release);
}

/** Removes a session for good, with the media that only it has. Throws AppError `usage` while somebody has it open. */
export async function removeSession(place: FilePlace, summary: SessionSummary): Promise<void> {
  const { signal } = new AbortController();
  await exclusively(place, summary, () =>
    removeWithMedia(summary.file, () => removeFile(place, summary), { ...place, signal }),
  );
}

/** With what was torn off it. */
async function removeFile({ directory }: FilePlace, { file }: SessionSummary): Promise<void> {
  const name = basename(file);
  await removeFiles(directory, (found) => found === name || found.startsWith(`${name}.torn-`));
}

/** What `prune` of the store promises. */
export async function pruneSessions(
  place: FilePlace,
  before: number | undefined,
  signal: AbortSignal,
): Promise<readonly SessionSummary[]> {
  const { directory, clock } = place;
  const removed: SessionSummary[] = [];
  const removeIfOld = async (summary: SessionSummary, limit: number): Promise<void> => {
    // Somebody may have gone on with it, or named it, since we looked.
    const glance = glanceAt(summary);
    if (glance === undefined || !isExpired(glance, limit)) return;
    await removeFile(place, summary);
    removed.push(summary);
  };
  try {
    for (const summary of before === undefined ? [] : expiredSessions(directory, before)) {
      signal.throwIfAborted();
      // One that is open, or not ours to remove, stays.
      await exclusively(place, summary, () => removeIfOld(summary, before ?? 0)).catch(() => {});
    }
    await removeLeftovers(place, signal);
    await sweepBlobs({ ...place, signal }, clock.now());
  } catch {
    // There is another day for what is left.
  }
  return removed;
}

/** What dead processes left behind: locks, and files that never got their name. Throws what the system says. */
async function removeLeftovers({ directory, clock, lock }: FilePlace, signal: AbortSignal): Promise<void> {
  for (const name of fileNames(directory)) {
    signal.throwIfAborted();
    if (name.endsWith('.lock')) await (await lock(name.slice(0, -'.lock'.length))).release();
  }
  const isOld = (name: string): boolean => clock.now() - (writtenAt(join(directory, name)) ?? 0) >= LEFT_MS;
  await removeFiles(directory, (name) => name.endsWith('.tmp') && isOld(name));
}

/** Nobody takes so long to write a file. */
const LEFT_MS = 86_400_000;

const LIST = { hint: 'Run: gmn sessions list --all' } as const;

/** Does something to a session that nobody has open. Throws AppError `usage` if somebody has, `config` if it cannot be done. */
async function exclusively(place: FilePlace, summary: SessionSummary, work: () => Promise<void>): Promise<void> {
  const lock = await place.lock(summary.id);
  try {
    if (lock.isTaken) throw inUse(summary);
    await work();
  } catch (thrown) {
    if (thrown instanceof AppError) throw thrown;
    throw new AppError('config', `cannot change the session ${shortId(summary.id)}: ${troubleOf(thrown)}`, {
      cause: thrown,
      hint: 'Check the free space and the permissions: gmn sessions path',
    });
  } finally {
    await lock.release();
  }
}

function inUse({ id }: SessionSummary): AppError {
  return new AppError('usage', `the session ${shortId(id)} is open elsewhere`, { hint: 'Close it there first.' });
}
