import { formatTable, type PrintOptions, printReport } from '../../app/report.ts';
import { type FoundTemplate, findTemplates, listTemplateDirectories, readTemplate } from '../../config/templates.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { sanitize } from '../../core/text/terminal.ts';

export async function run(options: PrintOptions, app: App): Promise<number> {
  const places = await listTemplateDirectories(app);
  const found = await findTemplates(places);
  const templates = found.filter(({ place }) => place.ignored === undefined).map(describeTemplate);
  const rows = templates.map(({ name, description, file }) => [
    sanitize(name),
    sanitize(description ?? ''),
    sanitize(file),
  ]);
  const notices = places.flatMap(({ directory, ignored }) =>
    ignored === undefined ? [] : [`${directory} is not used: ${ignored}. To trust the folder, run: gmn trust`],
  );
  const none = 'There are none. Where to put them: gmn templates path\n';
  const text = rows.length === 0 ? none : formatTable(rows);
  await printReport({ text, json: { templates }, notices, folds: true }, options, app);
  return 0;
}

/** An invalid template is listed, too, with its error as description. */
function describeTemplate(found: FoundTemplate) {
  const { name, file, kind } = found;
  try {
    const { description } = readTemplate(found);
    return { name, ...(description === undefined ? {} : { description }), kind, file };
  } catch (thrown) {
    return { name, description: `(${AppError.from(thrown).message})`, kind, file };
  }
}
