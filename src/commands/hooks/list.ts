import { formatTable, type PrintOptions, printReport } from '../../app/report.ts';
import type { App } from '../../core/app.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { surveyConventions } from '../../engine/tools/conventions.ts';

/** The hooks of the settings, the folder and extensions, with the reason why one is not used. Runs none. */
export async function run(options: PrintOptions, app: App): Promise<number> {
  const { hooks } = await surveyConventions(app);
  const rows = hooks.map(({ name, about, file, why }) => [
    sanitize(name),
    sanitize(why === undefined ? about : `not used: ${why}`),
    sanitize(file),
  ]);
  const text = rows.length === 0 ? 'There are no hooks. How to add one: gmn help extending\n' : formatTable(rows);
  const json = { hooks: hooks.map(({ name, about: command, file, why }) => ({ name, command, file, notUsed: why })) };
  return printReport({ text, json }, options, app);
}
