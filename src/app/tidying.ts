import { join } from 'node:path';
import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import { touchFile } from '../platform/files/write.ts';
import { deadline } from '../platform/runtime/clock.ts';
import { expiry, openStore, sessionsDirectory } from './session-store.ts';

/** Somebody has their answer, and waits for the prompt of their shell. */
const LIMIT_MS = 2000;

/**
 * Removes the sessions that are kept no longer, and remembers that this was done today. What takes too long is left for
 * tomorrow, and so is everything when a signal of the system comes. Never throws.
 */
export async function tidy(app: App): Promise<void> {
  const limit = deadline(app.signal, LIMIT_MS, () => new AppError('limit', 'tidying took too long'));
  try {
    // First: others who come meanwhile need not do the same.
    await touchFile(join(sessionsDirectory(app), '.pruned'), app.clock.now());
    await openStore(app, () => {}).prune(await expiry(app), limit.signal);
  } catch {
    // Tomorrow is another day.
  } finally {
    limit.clear();
  }
}
