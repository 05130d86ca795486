import { openLines } from '../../chat/lines.ts';
import { pickSession } from '../../chat/session-picker.ts';
import type { App } from '../../core/app.ts';
import { checkSessionFlags } from '../../engine/session/sessions.ts';
import type { PromptOptions } from './options.ts';

/** `-r` alone, for one prompt: the session that the person chooses; undefined if none. Throws AppError `usage`. */
export async function chooseResumed(options: PromptOptions, app: App): Promise<string | undefined> {
  checkSessionFlags(options);
  const lines = openLines(app, app.env.TERM === 'dumb' || options.screenReader === true, () => undefined);
  try {
    return await pickSession(app, lines);
  } finally {
    await lines.close();
  }
}
