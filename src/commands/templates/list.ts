import { type PrintOptions, printReport, table } from '../../app/report.ts';
import { type FoundTemplate, findTemplates, readTemplate, templatePlaces } from '../../config/templates.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { visible } from '../../core/text/terminal.ts';

export async function run(options: PrintOptions, app: App): Promise<number> {
  const places = await templatePlaces(app);
  const found = await findTemplates(places);
  const templates = found.filter(({ place }) => place.ignored === undefined).map(described);
  const rows = templates.map(({ name, description, file }) => [
    visible(name),
    visible(description ?? ''),
    visible(file),
  ]);
  const notices = places.flatMap(({ directory, ignored }) =>
    ignored === undefined ? [] : [`${directory} is not used: ${ignored}. To trust the folder, run: gmn trust`],
  );
  const none = 'There are none. Where they belong: gmn templates path\n';
  const text = rows.length === 0 ? none : table(rows);
  await printReport({ text, json: { templates }, notices, folds: true }, options, app);
  return 0;
}

/** Lists an invalid template too, with its error as description. */
function described(found: FoundTemplate) {
  const { name, file, kind } = found;
  try {
    const { description } = readTemplate(found);
    return { name, ...(description === undefined ? {} : { description }), kind, file };
  } catch (thrown) {
    return { name, description: `(${AppError.from(thrown).message})`, kind, file };
  }
}
