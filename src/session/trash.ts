import { basename, dirname, join } from 'node:path';
import { AppError } from '../core/error.ts';
import type { SessionSummary } from '../core/session.ts';
import { DAY_MS } from '../core/text/format.ts';
import { isNewestWord } from '../core/text/names.ts';
import { sanitize } from '../core/text/terminal.ts';
import { tryListFileNames } from '../platform/files/lines.ts';
import { entryExists } from '../platform/files/path.ts';
import { readDirectory } from '../platform/files/read.ts';
import { makePrivateDirectory, moveFile, removeEmptyDirectory, removeFiles } from '../platform/files/write.ts';
import { appendName, sessionGoneError, withSessionLock } from './change.ts';
import { ambiguityError, canBeNamed, createReservation, isIdTaken, matchReference, readFileSummary } from './find.ts';
import { findSessionId } from './parse.ts';
import { formatIsoTime, VERSION } from './record.ts';
import type { StoreContext } from './session-file.ts';

export const TRASH_DAYS = 7;

/** A deleted session; the file of its summary is in the trash. */
export interface TrashedSession {
  readonly summary: SessionSummary;
  readonly deletedAt: number;
}

/** Moves a session to the trash, with the incomplete last lines that were saved beside it. Needs its lock. */
export async function moveToTrash({ trash, clock, directory }: StoreContext, summary: SessionSummary): Promise<void> {
  if (readFileSummary(summary) === undefined) throw sessionGoneError(summary);
  const stamp = formatIsoTime(clock.now()).replace(/[-:.]/g, '');
  const entry = join(trash, `${stamp}-${summary.id}`);
  await makePrivateDirectory(entry);
  await moveSessionFiles(directory, entry, basename(summary.file));
}

export async function trashSession(place: StoreContext, summary: SessionSummary): Promise<void> {
  await withSessionLock(place, summary, () => moveToTrash(place, summary));
}

/** The session itself last: until then it is where it was. */
async function moveSessionFiles(from: string, to: string, name: string): Promise<void> {
  const torn = tryListFileNames(from).filter((found) => found.startsWith(`${name}.torn-`));
  for (const each of [...torn, name]) await moveFile(join(from, each), join(to, each));
}

const ENTRY = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z-(\w[\w-]{0,63})$/;

interface TrashEntry {
  readonly path: string;
  readonly id: string;
  readonly deletedAt: number;
}

/** A directory for each deletion, named by its time and the id. The newest first. */
async function listTrashEntries(trash: string): Promise<readonly TrashEntry[]> {
  if (!entryExists(trash)) return [];
  const found = (await readDirectory(trash)).flatMap(({ name, kind }): readonly TrashEntry[] => {
    const deletedAt = Date.parse(name.replace(ENTRY, '$1-$2-$3T$4:$5:$6.$7Z'));
    const id = ENTRY.exec(name)?.[8];
    return kind !== 'directory' || id === undefined || Number.isNaN(deletedAt)
      ? []
      : [{ path: join(trash, name), id, deletedAt }];
  });
  return found.toReversed();
}

/** The session files in the trash, whether they can be read or not. Throws AppError `usage`. */
export async function listTrashFiles(trash: string): Promise<readonly string[]> {
  return (await listTrashEntries(trash)).flatMap(({ path }) =>
    tryListFileNames(path).flatMap((name) => (name.endsWith('.jsonl') ? [join(path, name)] : [])),
  );
}

export async function listTrash(trash: string): Promise<readonly TrashedSession[]> {
  return (await listTrashEntries(trash)).flatMap(({ path, deletedAt }) =>
    tryListFileNames(path).flatMap((name) => {
      const id = findSessionId(name);
      const summary = id === undefined ? undefined : readFileSummary({ id, file: join(path, name) })?.summary;
      return summary === undefined ? [] : [{ summary, deletedAt }];
    }),
  );
}

const TRASH_HINT = { hint: 'To see what is in the trash: gmn sessions restore' } as const;

/** By id, name, the beginning of a generated id, or `last` for what was deleted last. Throws AppError `usage`. */
export async function findTrashed(trash: string, reference: string): Promise<TrashedSession> {
  const all = await listTrash(trash);
  const wanted = reference.trim();
  // One that was deleted, made again and deleted again has two entries; the newer one counts.
  const { exact, begun } = matchReference(
    all.map(({ summary }) => summary),
    wanted,
  );
  const matches = exact.length > 0 ? exact : begun;
  if (matches.length > 1) throw ambiguityError(wanted, matches, TRASH_HINT);
  const found = isNewestWord(wanted) ? all[0] : all.find(({ summary }) => summary === matches[0]);
  if (found !== undefined) return found;
  throw new AppError('usage', `"${sanitize(wanted)}" is not in the trash`, TRASH_HINT);
}

/**
 * Brings a session back, as if it had been changed now, so that it does not expire at once. False if another session has
 * its name by now: then it comes back without one. Throws AppError `usage` if another has its id, or is just being given
 * its name.
 */
export async function restoreSession(place: StoreContext, { summary }: TrashedSession): Promise<boolean> {
  const { directory } = place;
  await makePrivateDirectory(directory);
  const reservation = createReservation(place);
  return withSessionLock(place, summary, async () => {
    const found = readFileSummary(summary);
    if (found === undefined) throw sessionGoneError(summary);
    if (isIdTaken(directory, summary.id)) {
      throw new AppError('usage', `there is another session with the id ${summary.id} now`, {
        hint: `Delete that one first: gmn sessions delete ${summary.id}`,
      });
    }
    const { name } = summary;
    const canKeep = name !== undefined && canBeNamed(directory, name, summary.id);
    const kept = canKeep ? await reservation.reserve(name, summary.id) : undefined;
    // A session of a newer gmn is not written to, and never expires.
    if (found.version <= VERSION) await appendName(place, summary, kept);
    const entry = dirname(summary.file);
    await moveSessionFiles(entry, directory, basename(summary.file));
    await removeEmptyDirectory(entry);
    return kept === name;
  }).finally(reservation.release);
}

/** Removes for good what was deleted long ago. What cannot be removed stays. Throws AppError `usage`. */
export async function pruneTrash(place: StoreContext, signal: AbortSignal): Promise<void> {
  const before = place.clock.now() - TRASH_DAYS * DAY_MS;
  for (const entry of await listTrashEntries(place.trash)) {
    signal.throwIfAborted();
    if (entry.deletedAt >= before) continue;
    await withSessionLock(place, entry, async () => {
      await removeFiles(entry.path, () => true);
      await removeEmptyDirectory(entry.path);
    }).catch(() => {});
  }
}
