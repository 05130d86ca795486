import { type FileHandle, open, unlink } from 'node:fs/promises';
import { errnoOf } from '../runtime/system.ts';

/**
 * Creates a file, for our eyes only, from pieces; `exists`: something is there, and was left alone. Throws what the system
 * says, and then no part of the file stays.
 */
export async function createNewFile(path: string, pieces: Iterable<string>): Promise<'created' | 'exists'> {
  let handle: FileHandle;
  try {
    handle = await open(path, 'wx', 0o600);
  } catch (thrown) {
    if (errnoOf(thrown) === 'EEXIST') return 'exists';
    throw thrown;
  }
  try {
    // Each goes on where the last one ended.
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
