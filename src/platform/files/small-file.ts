import { closeSync, constants, fstatSync, openSync, readFileSync, statSync } from 'node:fs';
import { AppError } from '../../core/error.ts';

const MAX_BYTES = 10_000_000;

/**
 * The text of a small file that configures us; undefined if there is none. Synchronous, because it stands between
 * argv and the request. Never blocks on a FIFO. Throws AppError `config` if it is there and cannot be read.
 */
export function readStateFile(path: string): string | undefined {
  let descriptor: number | undefined;
  try {
    // Most of these files are not there, and an exception for each would cost a start more than reading them.
    if (statSync(path, { throwIfNoEntry: false }) === undefined) return undefined;
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const status = fstatSync(descriptor);
    if (!status.isFile()) throw unreadable(path, 'it is not a regular file');
    if (status.size > MAX_BYTES) throw unreadable(path, 'it is larger than 10 MB');
    return readFileSync(descriptor, 'utf8');
  } catch (thrown) {
    if (thrown instanceof AppError) throw thrown;
    const { code, message } = errno(thrown);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw unreadable(path, message, thrown);
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

function errno(thrown: unknown): { code: string; message: string } {
  if (!(thrown instanceof Error)) return { code: '', message: String(thrown) };
  return {
    code: 'code' in thrown ? String(thrown.code) : '',
    message: thrown.message,
  };
}

function unreadable(path: string, why: string, cause?: unknown): AppError {
  return new AppError('config', `cannot read ${path}: ${why}`, {
    cause,
    hint: 'Mend or remove that file.',
  });
}
