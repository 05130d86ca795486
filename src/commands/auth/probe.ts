import { createNoticeCollector } from '../../app/notice-collector.ts';
import type { App, Settings } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { type ChosenCredential, openBackend } from '../../engine/backend.ts';
import { createQueries } from '../../engine/queries.ts';

export interface ProbeRow {
  readonly ok: boolean;
  readonly text: string;
  readonly hints?: readonly string[];
}

/** Asks the backend whether it accepts the credential, and for the remaining quota. Throws only the signal's reason. */
export async function probeCredential(
  bearer: ChosenCredential,
  app: App,
  settings: Settings,
): Promise<readonly ProbeRow[]> {
  try {
    const { notify } = createNoticeCollector({}, app);
    const queries = await createQueries(await openBackend(bearer, { app, settings, notify }), app);
    const { lines } = await queries.checkAccount(app.signal);
    return lines.map((text) => ({ ok: true, text }));
  } catch (thrown) {
    if (app.signal.aborted) throw app.signal.reason;
    const { shortMessage: text, hint } = AppError.from(thrown);
    return [{ ok: false, text, hints: hint === undefined ? undefined : [hint] }];
  }
}
