import { dirname, join } from 'node:path';
import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import { acquireLock } from '../platform/files/lock.ts';
import { realPath } from '../platform/files/path.ts';
import { readFileState } from '../platform/files/read.ts';
import { createAtomic, makePrivateDirectory, writeAtomic } from '../platform/files/write.ts';
import { sha256 } from '../platform/runtime/native.ts';
import { errorReason } from '../platform/runtime/system.ts';

/** Long enough for fifty processes that start together. */
const LOCK_WAIT_MS = 60_000;
const MAX_ATTEMPTS = 50;

interface EditOptions {
  /** From the old text to the new one; the same text leaves the file alone. A missing file has the empty text. */
  readonly edit: (text: string) => string | Promise<string>;
  /** The permission bits of a file that is created: those that the umask leaves if `shared`. */
  readonly access?: 'private' | 'shared';
}

/**
 * Changes a small text file atomically. Changes of another gmn at the same time are not lost; the mode stays. A missing
 * file is created. Throws AppError `config` if it cannot be read or written, and whatever `edit` throws; the file is
 * then untouched.
 */
export async function editFile(
  file: string,
  { clock, signal, homes }: Pick<App, 'clock' | 'signal' | 'homes'>,
  options: EditOptions,
): Promise<'written' | 'unchanged'> {
  // Not beside the file: that folder may be under version control.
  const path = join(homes().gmn, 'locks', `${sha256(realPath(file) ?? file).slice(0, 32)}.lock`);
  const lock = await acquireLock(path, { clock, signal, maxWaitMs: LOCK_WAIT_MS, isDone: async () => false });
  try {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const outcome = await tryEdit(file, options);
      if (outcome !== 'changed') return outcome;
    }
  } finally {
    await lock?.release();
  }
  throw new AppError('config', `cannot write ${file}: another program keeps changing it`, { hint: 'Try again.' });
}

async function tryEdit(
  file: string,
  { edit, access = 'private' }: EditOptions,
): Promise<'written' | 'unchanged' | 'changed'> {
  const state = await readFileState(file);
  if (state.kind === 'unreadable') {
    throw new AppError('config', `cannot read ${file}: ${state.why}`, { hint: 'Fix or remove that file.' });
  }
  const text = state.kind === 'absent' ? '' : state.text;
  const edited = await edit(text);
  if (edited === text) return 'unchanged';
  if (state.kind === 'text') return writeAtomic(file, edited, { expected: state.version });
  await makePrivateDirectory(dirname(file));
  return createIfAbsent(file, edited, access);
}

async function createIfAbsent(
  file: string,
  text: string,
  access: 'private' | 'shared',
): Promise<'written' | 'changed'> {
  try {
    const created = await createAtomic(file, text, { mode: access === 'private' ? 0o600 : undefined });
    return created === 'created' ? 'written' : 'changed';
  } catch (cause) {
    throw new AppError('config', `cannot write ${file}: ${errorReason(cause)}`, {
      cause,
      hint: 'Check the free space and the permissions there.',
    });
  }
}
