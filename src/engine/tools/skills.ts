import { findSkills, type Skill } from '../../config/conventions/skills.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { findNearestNames } from '../../core/text/names.ts';
import { sanitize } from '../../core/text/terminal.ts';
import type { Workspace } from '../../tools/workspace/workspace.ts';

type PlaceApp = Pick<App, 'env' | 'cwd' | 'homes' | 'settings'>;

/** Their texts for the beginning of a prompt, each once. Throws AppError `usage` if there is none of that name. */
export async function activateSkills(
  names: readonly string[],
  app: PlaceApp,
  { workspace }: { readonly workspace?: Pick<Workspace, 'allowReading'> },
): Promise<readonly string[]> {
  const skills: Skill[] = [];
  for (const name of new Set(names)) skills.push(await requireSkill(name, app));
  return skills.map(({ name, directory, body }) => {
    workspace?.allowReading(directory);
    return `Follow the instructions of the skill ${name} for this. Its files are in ${directory}\n\n${body}`;
  });
}

/** Throws AppError `usage`, which names similar ones. */
export async function requireSkill(name: string, app: PlaceApp): Promise<Skill> {
  const { skills, skipped } = await findSkills({ ...app, settings: await app.settings() });
  const skill = skills.find((each) => each.name === name);
  if (skill === undefined) {
    const faulty = skipped.find((each) => each.name === name);
    if (faulty !== undefined) {
      const hint =
        faulty.pendingIn === undefined
          ? 'Fix that file.'
          : `To review and approve it, run: gmn trust ${sanitize(faulty.pendingIn)}`;
      throw new AppError('usage', `${faulty.file} is not used: ${faulty.why}`, { hint });
    }
    const near = findNearestNames(
      name,
      skills.map((each) => each.name),
    ).map(sanitize);
    throw new AppError('usage', `there is no skill "${sanitize(name)}"`, {
      hint: near.length > 0 ? `Did you mean ${near.join(' or ')}?` : 'To see which there are: gmn skills list',
    });
  }
  return skill;
}

/** `/skill:name words`, as a prompt or in a chat; undefined for any other text. */
export function trySplitSkillEntry(text: string): { readonly name: string; readonly words: string } | undefined {
  const [, name, words = ''] = /^\/skill:(\S+)(?:\s+([\s\S]*))?$/.exec(text.trim()) ?? [];
  return name === undefined ? undefined : { name, words: words === '' ? `Use the skill ${name}.` : words };
}
