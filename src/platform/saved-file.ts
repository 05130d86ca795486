import { writeFile } from 'node:fs/promises';
import { AppError } from '../core/error.ts';
import { reasonOf } from './errno.ts';

/** Writes what the person asked to keep; a file that is there is replaced. Throws AppError `usage` if that fails. */
export async function saveFile(path: string, bytes: Uint8Array, name = path): Promise<void> {
  try {
    await writeFile(path, bytes);
  } catch (cause) {
    throw new AppError('usage', `cannot write ${name}: ${reasonOf(cause)}`, {
      cause,
      hint: 'Name a file in a directory that exists and that you may write to.',
    });
  }
}
