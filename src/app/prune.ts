import { join } from 'node:path';
import type { App } from '../core/app.ts';
import { DAY_MS } from '../core/text/format.ts';
import { readModifiedTime, writeAtomicSync } from '../platform/files/write-sync.ts';

/** Removes expired sessions, at most once a day. Never throws. */
export async function pruneIfDue(app: App): Promise<void> {
  const marker = join(app.homes().gmn, 'sessions', '.pruned');
  const last = readModifiedTime(marker);
  if (last === undefined) return createMarker(marker);
  if (Math.abs(app.clock.now() - last) >= DAY_MS) await (await import('./sessions.ts')).pruneExpired(app);
}

/** A new installation has nothing to prune, so only the marker is created. */
function createMarker(marker: string): void {
  try {
    writeAtomicSync(marker, '');
  } catch {
    // Without write access there is nothing to prune.
  }
}
