import { type PrintOptions, printReport } from '../../app/report.ts';
import { listTemplateDirectories } from '../../config/templates.ts';
import type { App } from '../../core/app.ts';

/** The first directory that has a template wins. */
export async function run(options: PrintOptions, app: App): Promise<number> {
  const places = await listTemplateDirectories(app);
  const lines = places.map(({ directory, ignored }) => `${directory}${ignored === undefined ? '' : ` (${ignored})`}\n`);
  const json = { places: places.map(({ reviewed: _, ...place }) => place) };
  return printReport({ text: lines.join(''), json, isVerbatim: true }, options, app);
}
