import {
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { type FileHandle, link, open, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import type { Clock } from '../../core/io.ts';
import { joinLines } from '../../core/text/trim.ts';
import { acquireLock } from './lock.ts';
import { pathExists, temporaryPath } from './path.ts';
import { readTextFile } from './read.ts';
import { makePrivateDirectory, replaceFile, syncDirectory, writeAtomic } from './write.ts';
import { tryRemoveSync } from './write-sync.ts';

const FLAGS = constants.O_RDWR | constants.O_APPEND | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
const LINE_FEED = 10;
const BLOCK = 65_536;

/** A file of lines that only grows, with this process as its only writer. */
export interface AppendFile {
  /** Whole lines. `overtaken`: another process changed the file, and nothing was added. Nor after an error. */
  append(text: string): Promise<'written' | 'overtaken'>;
  sync(): Promise<void>;
  readonly length: number;
  close(): Promise<void>;
}

/** Each piece is whole lines. The private file appears when complete. Nothing is left after an error. */
export async function createAppendFile(
  path: string,
  pieces: Iterable<string> | AsyncIterable<string>,
): Promise<AppendFile> {
  await makePrivateDirectory(dirname(path));
  const temporary = temporaryPath(path);
  const descriptor = openSync(temporary, FLAGS | constants.O_CREAT | constants.O_EXCL, 0o600);
  const opened = { descriptor, path: temporary, length: 0, unsynced: dirname(path) };
  const file = toAppendFile(opened);
  try {
    for await (const piece of pieces) {
      if ((await file.append(piece)) === 'overtaken') throw new Error('another process writes to it');
    }
    await replaceFile(temporary, path);
    opened.path = path;
    return file;
  } catch (thrown) {
    await file.close();
    tryRemoveSync(temporary);
    throw thrown;
  }
}

interface OpenOptions {
  readonly now: number;
  /** Where the last whole line ended when the file was read; if that differs now, another process has written to it. */
  readonly end?: number;
  /** Both cut off an incomplete last line; `keep`, the default, copies it to `<path>.torn-<time>` first. */
  readonly torn?: 'keep' | 'drop';
  /** Creates the file if it is missing, with these permission bits, less the umask. */
  readonly createMode?: number;
}

export async function openAppendFile(path: string, options: OpenOptions): Promise<AppendFile> {
  const { now, end, torn = 'keep', createMode } = options;
  const isNew = createMode !== undefined && !pathExists(path);
  const descriptor = openSync(path, createMode === undefined ? FLAGS : FLAGS | constants.O_CREAT, createMode);
  try {
    const status = fstatSync(descriptor);
    if (!status.isFile()) throw new Error('it is not a regular file');
    const whole = findLastLineEnd(descriptor, status.size);
    if (whole < status.size && whole === (end ?? whole)) {
      const stamp = new Date(now).toISOString().replace(/[-:.]/g, '');
      if (torn === 'keep') quarantineFragment(descriptor, whole, status.size, `${path}.torn-${stamp}`);
      truncateTo(whole, descriptor, path);
    }
    return toAppendFile({ descriptor, path, length: end ?? whole, unsynced: isNew ? dirname(path) : undefined });
  } catch (thrown) {
    closeSync(descriptor);
    throw thrown;
  }
}

interface OpenedForAppending {
  readonly descriptor: number;
  readonly path: string;
  readonly length: number;
  /** The directory whose entry is not on disk yet. */
  readonly unsynced?: string;
}

/** Synchronous but for the sync: an answer waits for it. */
function toAppendFile(opened: OpenedForAppending): AppendFile {
  /** -1 once it is closed: the system may give the number to another file. */
  let { descriptor, length, unsynced: directory } = opened;
  let syncing: Promise<void> | undefined;
  let torn = 0;
  const repair = (): void => {
    // Bytes that another process added since must stay.
    if (fstatSync(descriptor).size === length + torn) truncateTo(length, descriptor, opened.path);
    torn = 0;
  };
  return {
    async append(text) {
      if (torn > 0) repair();
      if (fstatSync(descriptor).size !== length) return 'overtaken';
      const bytes = Buffer.from(text);
      try {
        // On a partial write (disk full) the next write throws the reason.
        while (torn < bytes.length) torn += writeSync(descriptor, bytes, torn);
      } catch (thrown) {
        if (torn > 0) tryRepair(repair);
        throw thrown;
      }
      torn = 0;
      length += bytes.length;
      return 'written';
    },
    async sync() {
      syncing = promisify(fdatasync)(descriptor);
      await syncing;
      if (directory !== undefined) await syncDirectory(directory);
      directory = undefined;
    },
    get length() {
      return length;
    },
    async close() {
      await syncing?.catch(() => {});
      if (descriptor >= 0) closeSync(descriptor);
      descriptor = -1;
    },
  };
}

/** On Windows what is open for appending cannot be truncated, so this opens the same file once more. */
function truncateTo(length: number, descriptor: number, path: string): void {
  if (process.platform !== 'win32') {
    ftruncateSync(descriptor, length);
    return;
  }
  const second = openSync(path, constants.O_RDWR);
  try {
    const [wanted, found] = [descriptor, second].map((file) => fstatSync(file, { bigint: true }));
    if (wanted?.ino !== found?.ino || wanted?.dev !== found?.dev) throw new Error('it was replaced meanwhile');
    ftruncateSync(second, length);
  } finally {
    closeSync(second);
  }
}

function tryRepair(repair: () => void): void {
  try {
    repair();
  } catch {
    // The next append tries again.
  }
}

function findLastLineEnd(descriptor: number, size: number): number {
  for (let end = size; end > 0; end -= BLOCK) {
    const start = Math.max(0, end - BLOCK);
    const last = readExactly(descriptor, start, end - start).lastIndexOf(LINE_FEED);
    if (last !== -1) return start + last + 1;
  }
  return 0;
}

/** The copy is on disk when this returns, because the original is cut off then. */
function quarantineFragment(descriptor: number, from: number, to: number, path: string): void {
  const copy = openSync(path, 'w', 0o600);
  try {
    for (let start = from; start < to; start += BLOCK) {
      writeFileSync(copy, readExactly(descriptor, start, Math.min(BLOCK, to - start)));
    }
    fsyncSync(copy);
  } finally {
    closeSync(copy);
  }
}

function readExactly(descriptor: number, start: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let filled = 0; filled < length; ) {
    const count = readSync(descriptor, bytes, filled, length - filled, start + filled);
    if (count === 0) throw new Error('it was truncated meanwhile');
    filled += count;
  }
  return bytes;
}

const MAX_BYTES = 50_000_000;

/** The non-empty lines of a file; none if it is missing or unreadable. Never throws or blocks on a FIFO. */
export async function readLines(path: string): Promise<readonly string[]> {
  return splitNonEmptyLines((await readTextFile(path, MAX_BYTES).catch(() => undefined)) ?? '');
}

/** Appends a line with one write, so that concurrent writers do not mix. Never throws; it may fail. */
export async function appendLine(path: string, line: string): Promise<void> {
  try {
    await makePrivateDirectory(dirname(path));
    // If the file was replaced meanwhile, the line is written to the new one, too.
    while ((await appendOnce(path, line, { isSynced: false })) === 'replaced');
  } catch {}
}

/** Appends a line to a private file; it is on disk when this resolves. Throws system errors. */
export async function appendDurably(path: string, line: string): Promise<void> {
  await makePrivateDirectory(dirname(path));
  await appendOnce(path, line, { isSynced: true });
}

/** Keeps only the last `keep` lines, and lines that others append meanwhile. Never throws; it may do nothing. */
export async function trimLines(
  path: string,
  keep: number,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<void> {
  const old = temporaryPath(path);
  const lock = await acquireLock(`${path}.lock`, { clock, signal, maxWaitMs: 0, isDone: async () => false }).catch(
    () => undefined,
  );
  try {
    if (!lock?.isHeld) return;
    // A second name of the old file. On Windows a file that is open cannot be replaced.
    await link(path, old);
    const before = await readFile(old);
    const lines = splitNonEmptyLines(before.toString());
    await writeAtomic(path, joinLines(lines.slice(-keep)), { mode: 0o600 });
    // Lines appended since went to the old file.
    const since = (await readFile(old)).subarray(before.length);
    for (const line of splitNonEmptyLines(since.toString())) await appendLine(path, line);
  } catch {
    // Best effort: the file stays longer than necessary.
  } finally {
    tryRemoveSync(old);
    await lock?.release();
  }
}

async function appendOnce(
  path: string,
  line: string,
  { isSynced }: { readonly isSynced: boolean },
): Promise<'appended' | 'replaced'> {
  const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | (constants.O_NONBLOCK ?? 0);
  const handle = await open(path, flags, 0o600);
  try {
    const before = await handle.stat();
    if (!before.isFile()) throw new Error('it is not a regular file');
    if (process.platform !== 'win32' && (before.mode & 0o077) !== 0) await handle.chmod(0o600);
    // Do not join our line to one that a crash cut off.
    const start = (await endsWithLine(handle, before.size)) ? '' : '\n';
    await handle.appendFile(`${start}${line}\n`);
    if (isSynced) await handle.datasync();
    const now = await stat(path).catch(() => before);
    return now.ino === before.ino ? 'appended' : 'replaced';
  } finally {
    await handle.close();
  }
}

async function endsWithLine(handle: FileHandle, size: number): Promise<boolean> {
  if (size === 0) return true;
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0] === LINE_FEED;
}

function splitNonEmptyLines(text: string): readonly string[] {
  return text.split('\n').filter((line) => line !== '');
}
