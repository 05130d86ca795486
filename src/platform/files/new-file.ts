import { type FileHandle, open, unlink } from 'node:fs/promises';
import { errorCode } from '../runtime/system.ts';

/**
 * Creates a private file from pieces; `exists`: the path is taken, and was left alone. Throws system errors; no partial
 * file stays.
 */
export async function createExclusive(path: string, pieces: Iterable<string>): Promise<'created' | 'exists'> {
  let handle: FileHandle;
  try {
    handle = await open(path, 'wx', 0o600);
  } catch (thrown) {
    if (errorCode(thrown) === 'EEXIST') return 'exists';
    throw thrown;
  }
  try {
    // writeFile on a handle continues at the current position.
    for (const piece of pieces) await handle.writeFile(piece);
    await handle.sync();
    return 'created';
  } catch (thrown) {
    await unlink(path).catch(() => {});
    throw thrown;
  } finally {
    await handle.close();
  }
}
