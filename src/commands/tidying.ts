import { join } from 'node:path';
import type { App } from '../core/app.ts';
import { touchFile } from '../platform/atomic-file.ts';
import { expiry, openStore, sessionsDirectory } from './session-store.ts';

/** Removes the sessions that are kept no longer, and remembers that this was done today. Never throws. */
export async function tidy(app: App): Promise<void> {
  try {
    // First: others who come meanwhile need not do the same.
    await touchFile(join(sessionsDirectory(app), '.pruned'), app.clock.now());
    const before = await expiry(app);
    if (before !== undefined) await openStore(app, () => {}).prune(before);
  } catch {
    // Tomorrow is another day.
  }
}
