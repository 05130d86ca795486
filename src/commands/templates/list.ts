import { formatTable, type PrintOptions, printReport } from '../../app/report.ts';
import { type FoundTemplate, findTemplates, listTemplateDirectories, readTemplate } from '../../config/templates.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { sanitize } from '../../core/text/terminal.ts';

export async function run(options: PrintOptions, app: App): Promise<number> {
  const places = await listTemplateDirectories(app);
  const found = await findTemplates(places);
  const usable = found.filter(({ place }) => place.ignored === undefined);
  const templates = await Promise.all(usable.map(describeTemplate));
  const rows = templates.map(({ name, description, file }) => [
    sanitize(name),
    sanitize(description ?? ''),
    sanitize(file),
  ]);
  const notices = places.flatMap(({ directory, ignored }) =>
    ignored === undefined ? [] : [`${directory} is not used: ${ignored}. To trust the folder, run: gmn trust`],
  );
  return printReport({ text: formatTable(rows), json: { templates }, notices }, options, app);
}

async function describeTemplate(found: FoundTemplate) {
  const { name, file, kind, place } = found;
  const rest = { kind, file, source: place.scope };
  try {
    const { description } = await readTemplate(found);
    return { name, description, ...rest };
  } catch (thrown) {
    return { name, description: `(${AppError.from(thrown).message})`, ...rest };
  }
}
