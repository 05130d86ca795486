import { printReport, type WordOptions } from '../../app/report.ts';
import { listSkillFiles } from '../../config/conventions/skills.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { requireSkill } from '../../engine/tools/skills.ts';

const MAX_FILES = 1000;

export async function run(options: WordOptions, app: App): Promise<number> {
  const [wanted, ...more] = options.args;
  if (wanted === undefined || more.length > 0) {
    throw new AppError('usage', 'skills show takes one name', { hint: 'To see the names: gmn skills list' });
  }
  const skill = await requireSkill(wanted, app);
  const { name, description, file, directory, scope, extension, body } = skill;
  const files = await listSkillFiles(skill, MAX_FILES);
  const list =
    files.length === 0
      ? ''
      : `\nFiles in ${sanitize(directory)}:\n${files.map((each) => `  ${sanitize(each)}\n`).join('')}`;
  const json = { name, description, file, directory, source: scope, extension, files, body };
  return printReport(
    { text: `${name}: ${sanitize(description)}\n\n${body}\n${list}`, json, isVerbatim: true },
    options,
    app,
  );
}
