import { AppError } from '../core/error.ts';
import { fileTooLargeError, MAX_FILE_BYTES } from '../core/files.ts';
import { createSpool } from '../platform/files/spool.ts';
import { errorCode, errorReason } from '../platform/runtime/system.ts';
import type { StdinSpool } from './stdin.ts';

/** A private temporary file, which is removed when gmn ends. */
export async function openStdinSpool(): Promise<StdinSpool> {
  const spool = createSpool();
  const file = await spool.create().catch(throwSpoolError);
  return {
    async append(chunk) {
      await file.append(chunk).catch(throwSpoolError);
      if (file.bytes > MAX_FILE_BYTES) throw fileTooLargeError('stdin', file.bytes);
    },
    async finish() {
      await file.finish();
      return file.path;
    },
  };
}

export async function keepInput(bytes: Uint8Array): Promise<string> {
  const spool = await openStdinSpool();
  await spool.append(bytes);
  return spool.finish();
}

function throwSpoolError(cause: unknown): never {
  const why = errorCode(cause) === 'ENOSPC' ? 'the disk is full' : errorReason(cause);
  throw new AppError('usage', `stdin is too long for the memory, and cannot be kept in a temporary file: ${why}`, {
    cause,
    hint: 'Write it to a file and attach that: -f <path>',
  });
}
