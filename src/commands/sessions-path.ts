import type { App } from '../core/app.ts';
import { type PrintOptions, printReport } from './report.ts';
import { sessionsDirectory } from './session-store.ts';

/** Where the sessions are. */
export async function run(options: PrintOptions, app: App): Promise<number> {
  const path = sessionsDirectory(app);
  await printReport({ text: `${path}\n`, json: { path }, notices: [] }, options, app);
  return 0;
}
