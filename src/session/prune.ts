import { basename, dirname, join } from 'node:path';
import { AppError } from '../core/error.ts';
import type { SessionSummary } from '../core/session.ts';
import { DAY_MS, tryParseDuration } from '../core/text/format.ts';
import { listFileNames, readLineBatches } from '../platform/files/lines.ts';
import { removeEmptyDirectory, removeFiles, removeTemporaries } from '../platform/files/write.ts';
import { readModifiedTime } from '../platform/files/write-sync.ts';
import { withSessionLock } from './change.ts';
import { type FileSummary, readFileSummaries, readFileSummary } from './find.ts';
import { checkVersion } from './load.ts';
import { tryParseHeader } from './parse.ts';
import { VERSION } from './record.ts';
import type { StoreContext } from './session-file.ts';
import { listTrashFiles, moveToTrash, pruneTrash } from './trash.ts';

export async function removeSession(place: StoreContext, summary: SessionSummary): Promise<void> {
  const { signal } = new AbortController();
  await withSessionLock(place, summary, () =>
    removeWithMedia(summary.file, () => removeSessionFiles(place, summary), { ...place, signal }),
  );
}

/** Also removes the incomplete last lines that were saved beside it, and its entry in the trash. */
async function removeSessionFiles({ directory }: StoreContext, { file }: SessionSummary): Promise<void> {
  const [name, folder] = [basename(file), dirname(file)];
  await removeFiles(folder, (found) => found === name || found.startsWith(`${name}.torn-`));
  if (folder !== directory) await removeEmptyDirectory(folder);
}

export interface PruneOptions {
  /** The sessions are not removed for good: they can be restored for a week. */
  readonly keepsInTrash?: boolean;
}

export async function pruneSessions(
  place: StoreContext,
  before: number | undefined,
  { signal, keepsInTrash }: PruneOptions & { readonly signal: AbortSignal },
): Promise<readonly SessionSummary[]> {
  const { directory, clock } = place;
  const removed: SessionSummary[] = [];
  const removeIfOld = async (summary: SessionSummary, limit: number): Promise<void> => {
    // It may have been continued or named since it was listed.
    const found = readFileSummary(summary);
    if (found === undefined || !isExpired(found, limit)) return;
    await (keepsInTrash ? moveToTrash : removeSessionFiles)(place, summary);
    removed.push(summary);
  };
  try {
    for (const summary of before === undefined ? [] : listExpired(directory, before)) {
      signal.throwIfAborted();
      // A session that is open or cannot be removed stays.
      await withSessionLock(place, summary, () => removeIfOld(summary, before ?? 0)).catch(() => {});
    }
    await pruneTrash(place, signal);
    await removeLeftovers(place, signal);
    await pruneBlobs({ ...place, signal }, clock.now());
  } catch {
    // The next prune gets the rest.
  }
  return removed;
}

/** Removes locks and temporary files of dead processes. Throws what the system throws. */
async function removeLeftovers({ directory, clock, lock }: StoreContext, signal: AbortSignal): Promise<void> {
  for (const name of listFileNames(directory)) {
    signal.throwIfAborted();
    if (name.endsWith('.lock')) await (await lock(name.slice(0, -'.lock'.length))).release();
  }
  await removeTemporaries(directory, clock.now() - LEFTOVER_AGE_MS);
}

/** A temporary file older than this has no writer any more. */
const LEFTOVER_AGE_MS = DAY_MS;

/** A blob is written before the record that refers to it, so young blobs stay. */
const GRACE_MS = DAY_MS;
const SLACK_MS = 1000;

interface BlobScope extends Pick<StoreContext, 'directory' | 'trash' | 'blobs'> {
  readonly signal: AbortSignal;
}

/** Removes blobs that no session uses. Throws, and removes nothing, if a session cannot be read. */
async function pruneBlobs(scope: BlobScope, now: number): Promise<void> {
  const { blobs, signal } = scope;
  if (await blobs.isEmpty()) return;
  const wanted = await readFingerprints(await listUsers(scope), signal);
  await blobs.prune((print) => !wanted.has(print), now - GRACE_MS);
}

/** Unless the blobs were written again later. If other sessions cannot be read, they stay for the next prune. */
async function removeWithMedia(file: string, removal: () => Promise<void>, scope: BlobScope): Promise<void> {
  const { blobs, signal } = scope;
  const own = await readFingerprints([file], signal).catch(() => new Set());
  const before = (readModifiedTime(file) ?? 0) + SLACK_MS;
  await removal();
  if (own.size === 0) return;
  try {
    const wanted = await readFingerprints(await listUsers(scope), signal);
    await blobs.prune((print) => own.has(print) && !wanted.has(print), before);
  } catch {
    // The session itself is removed; the next prune gets its blobs.
  }
}

/** All that may use blobs: sessions, and those in the trash. Looks twice, as one may be restored meanwhile. */
async function listUsers({ directory, trash }: BlobScope): Promise<readonly string[]> {
  const before = listSessionFiles(directory);
  const deleted = await listTrashFiles(trash);
  return [...new Set([...before, ...deleted, ...listSessionFiles(directory)])];
}

/** Damaged sessions included. Throws what the system throws. */
function listSessionFiles(directory: string): readonly string[] {
  return listFileNames(directory).flatMap((name) => (name.endsWith('.jsonl') ? [join(directory, name)] : []));
}

/** The blobs these files use. Throws if a file cannot be read or was written by a newer gmn. */
async function readFingerprints(files: readonly string[], signal: AbortSignal): Promise<ReadonlySet<string>> {
  const prints = new Set<string>();
  for (const file of files) {
    let isFirst = true;
    for await (const { lines } of readLineBatches(file)) {
      signal.throwIfAborted();
      if (isFirst) checkVersion(file, tryParseHeader(lines[0] ?? '')?.v ?? 0);
      isFirst = false;
      for (const line of lines) for (const print of findFingerprints(line)) prints.add(print);
    }
  }
  return prints;
}

/** `blobs` or `outputs` is the last key of a line. A match inside a text only keeps a blob too long. */
function findFingerprints(line: string): readonly string[] {
  const start = Math.max(line.lastIndexOf('"blobs":[['), line.lastIndexOf('"outputs":[['));
  return start === -1 ? [] : (line.slice(start).match(/[0-9a-f]{64}/g) ?? []);
}

/** Milliseconds of a duration, with days (`30d`) and weeks (`2w`) too; undefined if it is not a duration. */
export function tryParseAge(text: string): number | undefined {
  const [, count, unit] = /^(\d+(?:\.\d+)?)([dw])$/.exec(text) ?? [];
  return count === undefined ? tryParseDuration(text) : Number(count) * (unit === 'w' ? 7 : 1) * DAY_MS;
}

/** The setting `sessions.retention` in milliseconds; undefined means for ever. Throws AppError `config`. */
export function parseRetention(setting: string): number | undefined {
  if (setting === 'never') return undefined;
  const ms = tryParseAge(setting);
  if (ms !== undefined) return ms;
  throw new AppError('config', `sessions.retention: "${setting}" is neither a duration nor "never"`, {
    hint: 'Example: "sessions": { "retention": "30d" }',
  });
}

/** Named sessions and those of a newer gmn never expire. */
function isExpired({ summary, version }: FileSummary, before: number): boolean {
  return summary.name === undefined && summary.updatedAt < before && version <= VERSION;
}

export function listExpired(directory: string, before: number): readonly SessionSummary[] {
  return readFileSummaries(directory).flatMap((found) => (isExpired(found, before) ? [found.summary] : []));
}
