import { constants } from 'node:fs';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makePrivateDirectory, syncDirectory } from './atomic-file.ts';

const FLAGS = constants.O_RDWR | constants.O_APPEND | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
const LINE_FEED = 10;
const BLOCK = 65_536;

/** A file of lines that only ever grows, in the hands of one writer. */
export interface AppendFile {
  /**
   * Adds whole lines with one write. `overtaken`: somebody else has changed the file meanwhile, and nothing was added.
   * Throws what the system says; the file then ends where it did before.
   */
  append(text: string): Promise<'written' | 'overtaken'>;
  /** Resolves when what was added would survive a loss of power. Throws what the system says. */
  sync(): Promise<void>;
  /** How many bytes of it are ours, or were there when we came. */
  readonly length: number;
  close(): Promise<void>;
  /** Closes and removes it. Never throws. */
  discard(): Promise<void>;
}

/** Creates a file, readable by us alone, that begins with `text`. Throws if it exists, or cannot be written; it is gone then. */
export async function createAppendFile(path: string, text: string): Promise<AppendFile> {
  await makePrivateDirectory(dirname(path));
  const handle = await open(path, FLAGS | constants.O_CREAT | constants.O_EXCL, 0o600);
  const file = appendFile(handle, path, 0);
  try {
    await file.append(text);
    await syncDirectory(dirname(path));
    return file;
  } catch (thrown) {
    await file.discard();
    throw thrown;
  }
}

/**
 * Opens a file to go on with it. What stands after its last newline was cut off in the middle: it is copied to
 * `<path>.torn-<time>`, and taken away. Throws what the system says, and if it is not a regular file.
 */
export async function openAppendFile(path: string, now: number): Promise<AppendFile> {
  const handle = await open(path, FLAGS);
  try {
    const status = await handle.stat();
    if (!status.isFile()) throw new Error('it is not a regular file');
    const whole = await wholeLength(handle, status.size);
    if (whole < status.size) {
      await setFragmentAside(handle, { path, from: whole, to: status.size, now });
      await handle.truncate(whole);
    }
    return appendFile(handle, path, whole);
  } catch (thrown) {
    await handle.close();
    throw thrown;
  }
}

function appendFile(handle: FileHandle, path: string, start: number): AppendFile {
  let length = start;
  /** What a failed write left behind, and could not be taken away then. */
  let isTorn = false;
  const mend = async (): Promise<void> => {
    isTorn = true;
    await handle.truncate(length);
    isTorn = false;
  };
  return {
    async append(text) {
      if (isTorn) await mend();
      if ((await handle.stat()).size !== length) return 'overtaken';
      const bytes = Buffer.from(text);
      try {
        const { bytesWritten } = await handle.write(bytes);
        if (bytesWritten < bytes.length) throw new Error('there is no room');
      } catch (thrown) {
        await mend().catch(() => {});
        throw thrown;
      }
      length += bytes.length;
      return 'written';
    },
    sync: () => handle.datasync(),
    get length() {
      return length;
    },
    close: () => handle.close(),
    async discard() {
      await handle.close().catch(() => {});
      await unlink(path).catch(() => {});
    },
  };
}

/** How far the file consists of whole lines. */
async function wholeLength(handle: FileHandle, size: number): Promise<number> {
  for (let end = size; end > 0; end -= BLOCK) {
    const start = Math.max(0, end - BLOCK);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(end - start), 0, end - start, start);
    const last = buffer.subarray(0, bytesRead).lastIndexOf(LINE_FEED);
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

async function setFragmentAside(handle: FileHandle, { path, from, to, now }: Fragment): Promise<void> {
  const stamp = new Date(now).toISOString().replace(/[-:.]/g, '');
  const copy = await open(`${path}.torn-${stamp}`, 'w', 0o600);
  try {
    for (let start = from; start < to; start += BLOCK) {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(BLOCK), 0, Math.min(BLOCK, to - start), start);
      await copy.write(buffer, 0, bytesRead);
    }
  } finally {
    await copy.close();
  }
}
