import { join } from 'node:path';
import type { App } from '../core/app.ts';
import { retentionMs } from '../session/retention.ts';
import { type LocalStore, sessionStore } from '../session/store.ts';

/** The user's sessions, for a chat or another command; what could not be saved or read is told to `report`. */
export function openStore(
  app: Pick<App, 'homes' | 'clock' | 'version'>,
  report: (message: string) => void,
  by: 'chat' | 'prompt' = 'prompt',
): LocalStore {
  return sessionStore({ home: app.homes().gmn, clock: app.clock, version: app.version, report, by });
}

/** Where they are. */
export function sessionsDirectory(app: Pick<App, 'homes'>): string {
  return join(app.homes().gmn, 'sessions');
}

/** The setting `sessions.retention` as the time before which a session is old; undefined: none ever is. Throws AppError `config`. */
export async function expiry(app: App): Promise<number | undefined> {
  const ms = retentionMs((await app.settings()).retention);
  return ms === undefined ? undefined : app.clock.now() - ms;
}
