import { join } from 'node:path';
import { type Agent, memoryHistory } from '../agent/agent.ts';
import type { App } from '../core/app.ts';
import type { Content } from '../core/content.ts';
import { settle, type TurnEvent } from '../core/event.ts';
import { createWholeFile, writtenAt } from '../platform/files/write-sync.ts';
import { randomId } from '../platform/runtime/random-id.ts';
import { NOT_SAVED, oneShotHistory, type Saving } from '../session/one-shot.ts';
import type { RunTurn } from './answer-shape.ts';
import type { PromptHistory, SessionOptions, ToolChoice } from './sessions.ts';

const NEITHER = { notices: [], close: async () => {} } as const;

/**
 * Opens the conversation that the flags ask for: new, saved or unsaved, or continued. With tools it is saved after
 * every step, since they take time and change things; otherwise at the end. Throws AppError `usage` if there is no
 * such session, or if the flags contradict each other.
 */
export async function promptHistory(options: SessionOptions & ToolChoice, app: App): Promise<PromptHistory> {
  const pace = hasTools(options) ? 'as-it-goes' : 'when-over';
  if (wantsSession(options)) return (await import('./sessions.ts')).sessionHistory(options, app, pace);
  const { cwd, clock, version, homes } = app;
  const { gmn: home, isMissing } = homes();
  if (options.noSession || options.demo || isMissing || (await app.settings()).keepsOneShots === false) {
    return { ...NEITHER, history: memoryHistory(), save: async () => NOT_SAVED };
  }
  if (pace === 'as-it-goes') return (await import('./sessions.ts')).sessionHistory(options, app, pace);
  const history = oneShotHistory({ home, cwd, clock, version, id: randomId() });
  return { ...NEITHER, history, sessionId: history.id, save: history.save };
}

function hasTools({ tools = 'none', mcpConfig, allowedMcpServerNames }: ToolChoice): boolean {
  return tools !== 'none' || mcpConfig !== undefined || allowedMcpServerNames !== undefined;
}

function wantsSession(options: SessionOptions): boolean {
  const { resume, sessionName, sessionId } = options;
  return (
    options.continue || options.fork || resume !== undefined || sessionName !== undefined || sessionId !== undefined
  );
}

interface SavedTurn {
  readonly kept: PromptHistory;
  readonly prompt: Content;
  readonly signal: AbortSignal;
  readonly run: RunTurn;
}

/**
 * Runs the turn and saves it before the final event, which says whether it was saved; also if the turn fails or the
 * consumer stops reading. Never throws for the turn: its failure is an event.
 */
export async function* runAndSave(agent: Agent, { kept, run, ...turn }: SavedTurn): AsyncGenerator<TurnEvent, void> {
  let saving: Promise<Saving> | undefined;
  const save = (): Promise<Saving> => (saving ??= kept.save());
  const idOf = (sessionId: string | undefined) => (sessionId === undefined ? {} : { sessionId });
  try {
    for await (const event of settle(run(agent, { ...turn, history: kept.history }))) {
      if (event.type === 'begin') {
        yield { ...event, ...idOf(kept.sessionId), ...(kept.isResumable ? { isResumable: true } : {}) };
      } else if (event.type !== 'end' && event.type !== 'failure') yield event;
      else {
        const { notices, sessionId } = await save();
        for (const message of notices) yield { type: 'notice', message };
        yield { ...event, ...idOf(sessionId) };
      }
    }
  } finally {
    await save();
  }
}

const DAY_MS = 86_400_000;

/** Removes expired sessions, at most once a day. Never throws. */
export async function tidySessions(app: App): Promise<void> {
  const marker = join(app.homes().gmn, 'sessions', '.pruned');
  const last = writtenAt(marker);
  if (last === undefined) return begin(marker);
  if (Math.abs(app.clock.now() - last) >= DAY_MS) await (await import('./sessions.ts')).tidy(app);
}

/** A new installation has nothing to prune, so only the marker is created. */
function begin(marker: string): void {
  try {
    createWholeFile(marker, '');
  } catch {
    // Without write access there is nothing to prune.
  }
}
