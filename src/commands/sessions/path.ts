import { type PrintOptions, printReport } from '../../app/report.ts';
import { toSessionsDirectory } from '../../app/sessions.ts';
import type { App } from '../../core/app.ts';

export async function run(options: PrintOptions, app: App): Promise<number> {
  const path = toSessionsDirectory(app);
  return printReport({ text: `${path}\n`, json: { path }, isVerbatim: true }, options, app);
}
