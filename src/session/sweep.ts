import { join } from 'node:path';
import type { BlobFiles } from '../platform/files/blobs.ts';
import { fileNames, lineBatches } from '../platform/files/lines.ts';
import { writtenAt } from '../platform/files/write-sync.ts';
import { refuseNewer } from './load.ts';
import { parseHeader } from './parse.ts';

/** A blob may be younger than the record that will name it. */
const GRACE_MS = 86_400_000;
/** The clock that stamps a blob and the one that stamps a session's file may differ by so much. */
const SLACK_MS = 1000;

export interface Sweep {
  /** Of the sessions. */
  readonly directory: string;
  readonly blobs: BlobFiles;
  readonly signal: AbortSignal;
}

/** Removes media that no session names any more. Throws, and removes nothing, if a session cannot be read. */
export async function sweepBlobs({ directory, blobs, signal }: Sweep, now: number): Promise<void> {
  if (await blobs.isEmpty()) return;
  const wanted = await printsOf(sessionFiles(directory), signal);
  await blobs.sweep((print) => !wanted.has(print), now - GRACE_MS);
}

/**
 * Makes a session's file go, and its media with it: those that no other session names, and that nobody has kept since it was
 * written. Throws what `removal` throws; media that cannot be told apart stay for the next sweep.
 */
export async function removeWithMedia(
  file: string,
  removal: () => Promise<void>,
  { directory, blobs, signal }: Sweep,
): Promise<void> {
  const own = await printsOf([file], signal).catch(() => new Set());
  const before = (writtenAt(file) ?? 0) + SLACK_MS;
  await removal();
  if (own.size === 0) return;
  try {
    const wanted = await printsOf(sessionFiles(directory), signal);
    await blobs.sweep((print) => own.has(print) && !wanted.has(print), before);
  } catch {
    // The session is gone, and that was asked for.
  }
}

/** Everything that may be a session, damaged ones too. Throws what the system says. */
function sessionFiles(directory: string): readonly string[] {
  return fileNames(directory).flatMap((name) => (name.endsWith('.jsonl') ? [join(directory, name)] : []));
}

/** Which media these files name. Throws if one cannot be read, or if it is of a newer gmn: nobody knows then. */
async function printsOf(files: readonly string[], signal: AbortSignal): Promise<ReadonlySet<string>> {
  const prints = new Set<string>();
  for (const file of files) {
    let isFirst = true;
    for await (const { lines } of lineBatches(file)) {
      signal.throwIfAborted();
      if (isFirst) refuseNewer(file, parseHeader(lines[0] ?? '')?.v ?? 0);
      isFirst = false;
      for (const line of lines) for (const print of printsIn(line)) prints.add(print);
    }
  }
  return prints;
}

/** The key is the last of its line; what looks like it in a text does no harm. */
function printsIn(line: string): readonly string[] {
  const start = line.lastIndexOf('"blobs":[[');
  return start === -1 ? [] : (line.slice(start).match(/[0-9a-f]{64}/g) ?? []);
}
