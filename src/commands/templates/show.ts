import { printReport, type WordOptions } from '../../app/report.ts';
import { chooseTemplate } from '../../app/template.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';

export async function run(options: WordOptions, app: App): Promise<number> {
  const [wanted, ...more] = options.args;
  if (wanted === undefined || more.length > 0) {
    throw new AppError('usage', 'templates show takes one name', { hint: 'To see the names: gmn templates list' });
  }
  const { name, file, kind, description, body, defaults } = await chooseTemplate(wanted, app);
  const json = { name, description, kind, file, defaults: Object.fromEntries(defaults), body };
  return printReport({ text: `${body}\n`, json, isVerbatim: true }, options, app);
}
