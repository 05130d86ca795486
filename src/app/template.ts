import { resolve } from 'node:path';
import {
  type FoundTemplate,
  findTemplates,
  readTemplate,
  type Template,
  templateAt,
  templatePlaces,
} from '../config/templates.ts';
import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import { nearestNames } from '../core/text/names.ts';
import { visible } from '../core/text/terminal.ts';
import { lookUp } from '../platform/files/read.ts';

/** The template of that name, or in the file of that path. Throws AppError: `usage` if there is none, `config` if it is broken. */
export async function chooseTemplate(wanted: string, app: App): Promise<Template> {
  const found = await findTemplates(await templatePlaces(app));
  const name = wanted.replaceAll(/[\\/]/g, ':');
  const template = found.find((candidate) => candidate.name === name);
  if (template !== undefined) return readTemplate(counted(template));
  const file = resolve(app.cwd, wanted);
  if ((await lookUp(file, wanted))?.kind === 'file') return readTemplate(templateAt(file));
  const [near] = nearestNames(
    name,
    found.map((candidate) => candidate.name),
  );
  throw new AppError('usage', `there is no template "${visible(wanted)}"`, {
    hint: near === undefined ? 'To see what there is, and where: gmn templates list' : `Did you mean ${visible(near)}?`,
  });
}

function counted(template: FoundTemplate): FoundTemplate {
  const { ignored } = template.place;
  if (ignored === undefined) return template;
  throw new AppError('usage', `${template.file} is not used: ${ignored}`, {
    hint: 'To trust the folder, run: gmn trust',
  });
}
