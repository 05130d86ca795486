import { AppError } from '../core/error.ts';
import { findNearestNames } from '../core/text/names.ts';
import { defineTool, type ToolContext } from './define.ts';

export const activateSkill = defineTool({
  name: 'activate_skill',
  claudeNames: ['Skill'],
  set: 'read',
  about: 'reads the instructions of a skill, if there are any skills',
  description:
    'Gives the instructions of a skill, which you then follow for this task, and lets you read the files in its folder.',
  effect: 'read',
  isOffered: ({ skills = [] }) => skills.length > 0,
  input: {
    properties: { name: { type: 'string', description: 'As in the list of skills.' } },
    required: ['name'],
  },
  handle: ({ skills = [], workspace }: Pick<ToolContext, 'skills' | 'workspace'>) => ({
    async run({ name }) {
      const skill = skills.find((each) => each.name === name);
      if (skill === undefined) {
        const names = skills.map((each) => each.name);
        const near = findNearestNames(name, names);
        throw new AppError('usage', 'there is no such skill', {
          hint: `There are: ${(near.length > 0 ? near : names).join(', ')}`,
        });
      }
      workspace.allowReading(skill.directory);
      const files = await skill.listFiles();
      return { ok: true, response: { output: skill.body, folder: skill.directory, files }, summary: name };
    },
  }),
});
