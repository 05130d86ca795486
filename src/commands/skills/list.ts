import { formatTable, type PrintOptions, printReport } from '../../app/report.ts';
import { findSkills } from '../../config/conventions/skills.ts';
import type { App } from '../../core/app.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { formatSkipped } from '../../engine/tools/conventions.ts';

export async function run(options: PrintOptions, app: App): Promise<number> {
  const { skills, skipped } = await findSkills({ ...app, settings: await app.settings() });
  const rows = skills.map(({ name, description, file }) => [name, sanitize(description), sanitize(file)]);
  const json = {
    skills: skills.map(({ name, description, file, directory, scope, extension, isForUser }) => ({
      ...{ name, description, file, directory, source: scope, extension },
      forUserOnly: isForUser,
    })),
    skipped: skipped.map(({ name, file, why }) => ({ name, file, why })),
  };
  const text = rows.length === 0 ? 'There are no skills.\n' : formatTable(rows);
  return printReport({ text, json, notices: formatSkipped(skipped) }, options, app);
}
