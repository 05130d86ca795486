import { AppError } from '../core/error.ts';
import { visible } from '../core/text/terminal.ts';
import { createNewFile } from '../platform/files/new-file.ts';
import { writingTarget } from '../platform/files/path.ts';
import { lookUp } from '../platform/files/read.ts';
import { replaceFile } from '../platform/files/write.ts';
import { reasonOf } from '../platform/runtime/system.ts';

/** Where an export goes. */
export interface ExportPlace {
  readonly path: string;
  /** As the person wrote it. */
  readonly name: string;
  /** Whether a file that is there is replaced. */
  readonly force: boolean;
  /** What to do if there is one and it is not. */
  readonly hint: string;
}

/**
 * Writes an export, for its owner's eyes only. Throws AppError `usage` if there is a file and `force` is not set, if what is
 * there is no regular file, and if it cannot be written; what was there is then untouched.
 */
export async function writeExport(place: ExportPlace, pieces: Iterable<string>): Promise<void> {
  const { path, force, hint } = place;
  const name = visible(place.name);
  const found = await lookUp(path, place.name);
  if (found !== undefined && found.kind !== 'file') {
    throw new AppError('usage', `${name} is not a regular file`, { hint: 'Name a file that gmn may write.' });
  }
  try {
    if (force) await replaceFile(writingTarget(path), pieces, { mode: 0o600 });
    else if (found !== undefined || (await createNewFile(path, pieces)) === 'exists') {
      throw new AppError('usage', `${name} exists`, { hint });
    }
  } catch (cause) {
    if (cause instanceof AppError && cause.fault === 'usage') throw cause;
    const why = cause instanceof AppError ? cause.message : `cannot write ${name}: ${reasonOf(cause)}`;
    throw new AppError('usage', why, { cause, hint: 'Check the free space and the permissions there.' });
  }
}
