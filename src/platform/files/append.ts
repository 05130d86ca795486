import { constants, fstatSync, writeSync } from 'node:fs';
import { type FileHandle, open, rename, stat, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Clock } from '../../core/io.ts';
import { acquireLock } from './lock.ts';
import { makePrivateDirectory, replaceFile, syncDirectory } from './write.ts';

const FLAGS = constants.O_RDWR | constants.O_APPEND | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
const LINE_FEED = 10;
const BLOCK = 65_536;

/** A file of lines that only ever grows, in the hands of one writer. */
export interface AppendFile {
  /**
   * Adds whole lines, with one write where there is room. `overtaken`: somebody else has changed the file meanwhile, and nothing was added.
   * Throws what the system says; the file then ends where it did before.
   */
  append(text: string): Promise<'written' | 'overtaken'>;
  /** Resolves when what was added would survive a loss of power. Throws what the system says. */
  sync(): Promise<void>;
  /** How many bytes of it are ours, or were there when we came. */
  readonly length: number;
  close(): Promise<void>;
}

/**
 * Creates a file of these pieces, each of them whole lines, for our eyes only. It appears under its name when all of them are
 * in it, and takes the place of what has that name. Throws what the system says, or the pieces throw; then nothing is left.
 */
export async function createAppendFile(
  path: string,
  pieces: Iterable<string> | AsyncIterable<string>,
): Promise<AppendFile> {
  await makePrivateDirectory(dirname(path));
  const temporary = `${path}.${process.pid}.tmp`;
  const handle = await open(temporary, FLAGS | constants.O_CREAT | constants.O_EXCL, 0o600);
  try {
    const file = appendFile(handle, 0, dirname(path));
    for await (const piece of pieces) {
      if ((await file.append(piece)) === 'overtaken') throw new Error('somebody else writes to it');
    }
    await rename(temporary, path);
    return file;
  } catch (thrown) {
    await handle.close();
    await unlink(temporary).catch(() => {});
    throw thrown;
  }
}

interface Opening {
  readonly now: number;
  /** Where its last whole line ended when it was read; if that is elsewhere by now, somebody has overtaken us. */
  readonly end?: number;
}

/**
 * Opens a file to go on with it. What stands after its last newline was cut off in the middle: it is copied to
 * `<path>.torn-<time>`, and taken away. Throws what the system says, and if it is not a regular file.
 */
export async function openAppendFile(path: string, { now, end }: Opening): Promise<AppendFile> {
  const handle = await open(path, FLAGS);
  try {
    const status = await handle.stat();
    if (!status.isFile()) throw new Error('it is not a regular file');
    const whole = await wholeLength(handle, status.size);
    if (whole < status.size && whole === (end ?? whole)) {
      await setFragmentAside(handle, { path, from: whole, to: status.size, now });
      await handle.truncate(whole);
    }
    return appendFile(handle, end ?? whole);
  } catch (thrown) {
    await handle.close();
    throw thrown;
  }
}

/** `unsynced` is the directory that does not know the file for sure yet. */
function appendFile(handle: FileHandle, start: number, unsynced?: string): AppendFile {
  let length = start;
  let directory = unsynced;
  /** How much of a failed write is in the file, and could not be taken away yet. */
  let torn = 0;
  const mend = async (): Promise<void> => {
    // What somebody else added since is not ours to take away.
    if ((await handle.stat()).size === length + torn) await handle.truncate(length);
    torn = 0;
  };
  return {
    // The two steps are shorter than it takes to tell a thread of one, and an answer waits for them.
    async append(text) {
      if (torn > 0) await mend();
      if (fstatSync(handle.fd).size !== length) return 'overtaken';
      const bytes = Buffer.from(text);
      try {
        // Where there is room for a part only, the next write says why.
        while (torn < bytes.length) torn += writeSync(handle.fd, bytes, torn);
      } catch (thrown) {
        if (torn > 0) await mend().catch(() => {});
        throw thrown;
      }
      torn = 0;
      length += bytes.length;
      return 'written';
    },
    async sync() {
      await handle.datasync();
      if (directory !== undefined) await syncDirectory(directory);
      directory = undefined;
    },
    get length() {
      return length;
    },
    close: () => handle.close(),
  };
}

/** How far the file consists of whole lines. */
async function wholeLength(handle: FileHandle, size: number): Promise<number> {
  for (let end = size; end > 0; end -= BLOCK) {
    const start = Math.max(0, end - BLOCK);
    const last = (await readAt(handle, start, end - start)).lastIndexOf(LINE_FEED);
    if (last !== -1) return start + last + 1;
  }
  return 0;
}

interface Fragment {
  readonly path: string;
  readonly from: number;
  readonly to: number;
  readonly now: number;
}

/** Resolves when the copy would survive a loss of power: the fragment is taken away then. */
async function setFragmentAside(handle: FileHandle, { path, from, to, now }: Fragment): Promise<void> {
  const stamp = new Date(now).toISOString().replace(/[-:.]/g, '');
  const copy = await open(`${path}.torn-${stamp}`, 'w', 0o600);
  try {
    for (let start = from; start < to; start += BLOCK) {
      await copy.appendFile(await readAt(handle, start, Math.min(BLOCK, to - start)));
    }
    await copy.sync();
  } finally {
    await copy.close();
  }
}

/** So many bytes, and no fewer. */
async function readAt(handle: FileHandle, start: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  for (let filled = 0; filled < length; ) {
    const { bytesRead } = await handle.read(bytes, filled, length - filled, start + filled);
    if (bytesRead === 0) throw new Error('it was cut short meanwhile');
    filled += bytesRead;
  }
  return bytes;
}

const MAX_BYTES = 50_000_000;
const LF = 0x0a;

/** The lines of a file of ours; none if it is not there, or cannot be read. Never throws or waits on a FIFO. */
export async function readLines(path: string): Promise<readonly string[]> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const status = await handle.stat();
    if (!status.isFile() || status.size > MAX_BYTES) return [];
    return linesOf(await handle.readFile('utf8'));
  } catch {
    return [];
  } finally {
    await handle?.close();
  }
}

/** Appends a line, readable by us alone, whole and in one write, however many do so at once. Never throws; it may fail. */
export async function appendLine(path: string, line: string): Promise<void> {
  try {
    await makePrivateDirectory(dirname(path));
    // A file that was replaced meanwhile gets the line, too: better twice than not at all.
    while ((await append(path, line)) === 'replaced');
  } catch {
    // Whoever wants to know reads it.
  }
}

/** Leaves only the last `keep` lines. Lines that others append meanwhile stay. Never throws; it may do nothing. */
export async function trimLines(
  path: string,
  keep: number,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<void> {
  let old: FileHandle | undefined;
  const lock = await acquireLock(`${path}.lock`, { clock, signal, patienceMs: 0, isDone: async () => false }).catch(
    () => undefined,
  );
  try {
    if (!lock?.isHeld) return;
    old = await open(path, constants.O_RDONLY);
    const lines = linesOf(await old.readFile('utf8'));
    await replaceFile(
      path,
      lines
        .slice(-keep)
        .map((line) => `${line}\n`)
        .join(''),
      { mode: 0o600 },
    );
    // What came while that was done went to the old file.
    for (const line of linesOf(await old.readFile('utf8'))) await appendLine(path, line);
  } catch {
    // It is a little longer than it need be.
  } finally {
    await old?.close();
    await lock?.release();
  }
}

async function append(path: string, line: string): Promise<'appended' | 'replaced'> {
  const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | (constants.O_NONBLOCK ?? 0);
  const handle = await open(path, flags, 0o600);
  try {
    const before = await handle.stat();
    if (!before.isFile()) return 'appended';
    if (process.platform !== 'win32' && (before.mode & 0o077) !== 0) await handle.chmod(0o600);
    // A line that was cut off by a crash must not take ours with it.
    const start = (await endsWithLine(handle, before.size)) ? '' : '\n';
    await handle.write(`${start}${line}\n`);
    const now = await stat(path).catch(() => before);
    return now.ino === before.ino ? 'appended' : 'replaced';
  } finally {
    await handle.close();
  }
}

async function endsWithLine(handle: FileHandle, size: number): Promise<boolean> {
  if (size === 0) return true;
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0] === LF;
}

function linesOf(text: string): readonly string[] {
  return text.split('\n').filter((line) => line !== '');
}
