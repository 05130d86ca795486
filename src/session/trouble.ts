import { errnoOf, reasonOf } from '../platform/runtime/system.ts';

const WORDS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file would be larger than allowed',
  EROFS: 'the file system is read-only',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ENOTDIR: 'a file is where a directory should be',
  EMFILE: 'too many open files',
  ENFILE: 'too many open files',
};

/** Why something could not be kept, in words for the person. */
export function troubleOf(thrown: unknown): string {
  return WORDS[errnoOf(thrown)] ?? reasonOf(thrown);
}
