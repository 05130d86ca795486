import { AppError } from '../../core/error.ts';
import { errorCode, errorReason } from '../../platform/runtime/system.ts';

/** By the system's code: what it means, and what the model can do. */
const FILE_ERRORS: Readonly<Record<string, readonly [what: string, hint: string]>> = {
  ENOENT: ['there is no such file or directory', 'Look with list_directory or glob.'],
  ENOTDIR: ['a part of the path is a file, not a directory', 'Look with list_directory.'],
  EACCES: ['permission denied', 'It cannot be used.'],
  EPERM: ['permission denied', 'It cannot be used.'],
  ENAMETOOLONG: ['the name is too long', 'Use a shorter one.'],
  ELOOP: ['it has too many symbolic links', 'Name the file itself.'],
  EISDIR: ['it is a directory', 'Name a file in it.'],
  ENOSPC: ['the disk is full', 'Nothing was changed.'],
  EDQUOT: ['the disk quota is used up', 'Nothing was changed.'],
  EMOVED: ['the directories on its path are being changed', 'Nothing was done. Try again.'],
  EROFS: ['the file system is read-only', 'Nothing was changed.'],
};

/** An AppError `usage` that begins with the file's name. Anything that is not a system error is returned unchanged. */
export function toFileError(thrown: unknown, name: string): unknown {
  if (thrown instanceof AppError) {
    return new AppError('usage', `${name}: ${thrown.message}`, { cause: thrown, hint: thrown.hint });
  }
  if (errorCode(thrown) === '') return thrown;
  const [what, hint] = FILE_ERRORS[errorCode(thrown)] ?? [
    `the system says ${errorReason(thrown)}`,
    'It cannot be used.',
  ];
  return new AppError('usage', `${name}: ${what}`, { cause: thrown, hint });
}
