import { dirname } from 'node:path';
import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import type { JsonObject } from '../core/json.ts';
import { acquireLock } from '../platform/files/lock.ts';
import { realPath } from '../platform/files/path.ts';
import { readFileState } from '../platform/files/read.ts';
import { makePrivateDirectory, writeAtomic } from '../platform/files/write.ts';
import { tryCreateExclusive } from '../platform/files/write-sync.ts';
import { sha256 } from '../platform/runtime/native.ts';
import { parseSettingsText } from './document.ts';
import type { Edit } from './jsonc-edit.ts';

/** Long enough for fifty processes that start together. */
const LOCK_WAIT_MS = 60_000;
const MAX_ATTEMPTS = 50;

/**
 * Changes a settings file atomically: `decide` gets its content and returns the changes; an empty list leaves the file
 * alone. Changes of another gmn at the same time are not lost; comments, order and mode stay. A missing file is
 * created. Throws AppError `config` if the file is broken or cannot be written, and whatever `decide` throws; the file
 * is then untouched.
 */
export async function editSettings(
  file: string,
  { clock, signal, homes }: Pick<App, 'clock' | 'signal' | 'homes'>,
  decide: (document: JsonObject) => readonly Edit[],
): Promise<'written' | 'unchanged'> {
  // Not beside the file: that folder may be under version control.
  const path = `${homes().gmn}/locks/${sha256(realPath(file) ?? file).slice(0, 32)}.lock`;
  const lock = await acquireLock(path, { clock, signal, maxWaitMs: LOCK_WAIT_MS, isDone: async () => false });
  try {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const outcome = await tryEdit(file, decide);
      if (outcome !== 'changed') return outcome;
    }
  } finally {
    await lock?.release();
  }
  throw new AppError('config', `cannot write ${file}: another program keeps changing it`, { hint: 'Try again.' });
}

async function tryEdit(
  file: string,
  decide: (document: JsonObject) => readonly Edit[],
): Promise<'written' | 'unchanged' | 'changed'> {
  const state = await readFileState(file);
  if (state.kind === 'unreadable') {
    throw new AppError('config', `cannot read ${file}: ${state.why}`, { hint: 'Fix or remove that file.' });
  }
  const text = state.kind === 'absent' ? '' : state.text;
  const edits = decide(await parseSettingsText({ file, text }));
  const { editJsonc } = await import('./jsonc-edit.ts');
  const edited = edits.reduce(editJsonc, text);
  if (edited === text) return 'unchanged';
  // Never write what could not be read again.
  await parseSettingsText({ file, text: edited });
  if (state.kind === 'text') return writeAtomic(file, edited, { expected: state.version });
  await makePrivateDirectory(dirname(file));
  const created = tryCreateExclusive(file, edited);
  if (created === 'created') return 'written';
  if (created === 'exists') return 'changed';
  throw new AppError('config', `cannot write ${file}`, { hint: 'Check the free space and the permissions there.' });
}
