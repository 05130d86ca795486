import { constants } from 'node:fs';
import { access, type FileHandle, open, rename, stat, unlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { AppError } from '../../core/error.ts';
import { errnoOf, reasonOf } from '../runtime/system.ts';
import { writingTarget } from './path.ts';

/** A place for an answer. */
export interface OutputFile {
  /** Puts the text or the bytes there, whole or not at all; says how many bytes it has. Throws AppError `usage`. */
  write(content: string | Uint8Array): Promise<number>;
}

/**
 * Finds out whether a file can be written there, and changes nothing. One that exists will be replaced in one step and keeps
 * its permissions; a device or a pipe is written to, a link followed as `writingTarget` does. Throws AppError `usage` if it
 * cannot; `name` is what the person calls it.
 */
export async function openOutputFile(path: string, name: string): Promise<OutputFile> {
  try {
    const target = writingTarget(path);
    const before = await stat(target).catch(ifAbsent);
    if (before?.isDirectory()) throw new Error('it is a directory');
    if (before !== undefined) await access(target, constants.W_OK);
    const canReplace = await isWritable(dirname(target));
    if (before === undefined && !canReplace) await access(dirname(target), constants.W_OK);
    const isReplaced = (before === undefined || before.isFile()) && canReplace;
    const mode = isReplaced ? (before?.mode ?? 0o666) : undefined;
    return { write: (content) => written({ target, name, content, mode }) };
  } catch (cause) {
    throw fault(name, cause);
  }
}

function ifAbsent(thrown: unknown): undefined {
  if (errnoOf(thrown) === 'ENOENT') return undefined;
  throw thrown;
}

function isWritable(directory: string): Promise<boolean> {
  return access(directory, constants.W_OK).then(
    () => true,
    () => false,
  );
}

interface Writing {
  readonly target: string;
  readonly name: string;
  readonly content: string | Uint8Array;
  /** The permissions of the file that takes its place; undefined: the one that is there is written to. */
  readonly mode: number | undefined;
}

async function written({ target, name, content, mode }: Writing): Promise<number> {
  const bytes = Buffer.from(content);
  try {
    if (mode === undefined) await writeFile(target, bytes);
    else await replace(target, bytes, mode);
    return bytes.length;
  } catch (cause) {
    throw fault(name, cause);
  }
}

async function replace(target: string, bytes: Uint8Array, mode: number): Promise<void> {
  const temporary = join(dirname(target), `.${basename(target)}.${process.pid}.tmp`);
  // A new file gets what the umask leaves of its mode, as from any other program.
  const handle = await open(temporary, 'wx', 0o666);
  try {
    if (mode !== 0o666) await handle.chmod(mode & 0o7777);
    await handle.writeFile(bytes);
    await handle.close();
    await rename(temporary, target);
  } catch (thrown) {
    await handle.close().catch(() => {});
    await unlink(temporary).catch(() => {});
    throw thrown;
  }
}

/**
 * Writes bytes to a file that must not be there yet, whole or not at all. `exists`: something has that name, and is left as it
 * is. Throws AppError `usage`.
 */
export async function createOutputFile(path: string, name: string, bytes: Uint8Array): Promise<'created' | 'exists'> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(path, 'wx', 0o666);
    await handle.writeFile(bytes);
    return 'created';
  } catch (cause) {
    if (handle === undefined && errnoOf(cause) === 'EEXIST') return 'exists';
    if (handle !== undefined) await unlink(path).catch(() => {});
    throw fault(name, cause);
  } finally {
    await handle?.close();
  }
}

function fault(name: string, cause: unknown): AppError {
  return new AppError('usage', `cannot write ${name}: ${reasonOf(cause)}`, {
    cause,
    hint: 'Name a file in a directory that exists and that you may write to.',
  });
}
