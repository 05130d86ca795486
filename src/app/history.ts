import { join } from 'node:path';
import { createMemoryHistory } from '../agent/agent.ts';
import type { App } from '../core/app.ts';
import { DAY_MS } from '../core/text/format.ts';
import { readModifiedTime, writeAtomicSync } from '../platform/files/write-sync.ts';
import { randomId } from '../platform/runtime/random-id.ts';
import { createOneShotHistory, NOT_SAVED } from '../session/one-shot.ts';
import type { PromptHistory, SessionOptions, ToolChoice } from './sessions.ts';

const NO_NOTICES = { notices: [], close: async () => {} } as const;

/**
 * Opens the conversation that the flags ask for: new, saved or unsaved, or continued. With tools it is saved after
 * every step, since they take time and change things; otherwise at the end. Throws AppError `usage` if there is no
 * such session, or if the flags contradict each other.
 */
export async function openHistory(options: SessionOptions & ToolChoice, app: App): Promise<PromptHistory> {
  const pace = hasTools(options) ? 'as-it-goes' : 'when-over';
  if (wantsSession(options)) return (await import('./sessions.ts')).openSessionHistory(options, app, pace);
  const { cwd, clock, version, homes } = app;
  const { gmn: home, isMissing } = homes();
  if (options.noSession || options.demo || isMissing || (await app.settings()).keepsOneShots === false) {
    return { ...NO_NOTICES, history: createMemoryHistory(), save: async () => NOT_SAVED };
  }
  if (pace === 'as-it-goes') return (await import('./sessions.ts')).openSessionHistory(options, app, pace);
  const history = createOneShotHistory({ home, cwd, clock, version, id: randomId() });
  return { ...NO_NOTICES, history, sessionId: history.id, keepSetup: history.keepSetup, save: history.save };
}

export function hasTools({ tools = 'none', mcpConfig, allowedMcpServerNames }: ToolChoice): boolean {
  return tools !== 'none' || mcpConfig !== undefined || allowedMcpServerNames !== undefined;
}

function wantsSession(options: SessionOptions): boolean {
  const { resume, sessionName, sessionId } = options;
  return (
    options.continue || options.fork || resume !== undefined || sessionName !== undefined || sessionId !== undefined
  );
}

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
