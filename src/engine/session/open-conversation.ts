import type { App } from '../../core/app.ts';
import type { Notify } from '../../core/event.ts';
import { randomId } from '../../platform/runtime/random-id.ts';
import { createOneShotHistory } from '../../session/one-shot.ts';
import {
  createUnsavedConversation,
  hasTools,
  type OpenedConversation,
  type SessionOptions,
  type ToolChoice,
} from './conversation.ts';

/** With tools it is saved after every step, since they take time and change things; otherwise at the end. Throws AppError `usage`. */
export async function openConversation(
  options: SessionOptions & ToolChoice,
  app: App,
  notify: Notify,
): Promise<OpenedConversation> {
  const pace = hasTools(options) ? 'as-it-goes' : 'when-over';
  const openSession = async (): Promise<OpenedConversation> =>
    (await import('./sessions.ts')).openSavedConversation(options, app, { pace, notify });
  if (wantsSession(options)) return openSession();
  const { cwd, clock, version, homes } = app;
  const { gmn: home, isMissing } = homes();
  if (options.noSession || options.demo || isMissing || (await app.settings()).keepsOneShots === false) {
    return createUnsavedConversation();
  }
  if (pace === 'as-it-goes') return openSession();
  const history = createOneShotHistory({ home, cwd, clock, version, id: randomId() });
  const { id: sessionId, keepSetup, save } = history;
  return { history, sessionId, keepSetup, save, close: async () => {} };
}

function wantsSession(options: SessionOptions): boolean {
  const { resume, sessionName, sessionId } = options;
  return (
    options.continue || options.fork || resume !== undefined || sessionName !== undefined || sessionId !== undefined
  );
}
