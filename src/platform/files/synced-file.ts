import { type FileHandle, open, rename, unlink } from 'node:fs/promises';

/**
 * Writes a file that must not exist yet, in pieces, so that it would survive a loss of power. It gets these permission bits,
 * or without them those that a new file has; `prepare` may change what else there is about it, besides its content. Throws
 * what the system says; nothing is left then.
 */
export async function createDurably(
  path: string,
  pieces: Iterable<string | Uint8Array>,
  mode: number | undefined,
  prepare?: (handle: FileHandle) => Promise<void>,
): Promise<void> {
  const handle = await open(path, 'wx', mode === undefined ? 0o666 : 0o600);
  try {
    // writeFile on a handle continues at the current position.
    for (const piece of pieces) await handle.writeFile(piece);
    await prepare?.(handle);
    // The mode given to open is cut by the umask, and a change of owner may take bits of it.
    if (mode !== undefined) await handle.chmod(mode);
    await handle.sync();
  } catch (thrown) {
    await unlink(path).catch(() => {});
    throw thrown;
  } finally {
    await handle.close();
  }
}

/** A suffix that no other process uses. */
export function temporarySuffix(): string {
  return `${process.pid}.${process.hrtime.bigint().toString(36)}.tmp`;
}

/** Replaces a private file atomically, synced to disk. Throws system errors. */
export async function writeDurably(path: string, bytes: Uint8Array): Promise<void> {
  const temporary = `${path}.${temporarySuffix()}`;
  await createDurably(temporary, [bytes], 0o600);
  await rename(temporary, path).catch(async (thrown: unknown) => {
    await unlink(temporary).catch(() => {});
    throw thrown;
  });
}
