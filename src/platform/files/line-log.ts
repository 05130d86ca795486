import { constants } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Clock } from '../../core/io.ts';
import { acquireLock } from './lock.ts';
import { makePrivateDirectory, replaceFile } from './write.ts';

const MAX_BYTES = 50_000_000;
const LINE_FEED = 0x0a;

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
  return buffer[0] === LINE_FEED;
}

function linesOf(text: string): readonly string[] {
  return text.split('\n').filter((line) => line !== '');
}
