import { type Command, command } from './command.ts';
import { APP_FLAGS, REPORT_FLAGS } from './flags.ts';

export const SKILLS: Command = command({
  name: 'skills',
  summary: 'Instructions for certain kinds of work, which the model or you can choose',
  flags: APP_FLAGS,
  defaultSubcommand: 'list',
  examples: [
    ['gmn --skill pdf --tools read "what is in the forms?"', 'one that the model follows from the start'],
    ['gmn -p "/skill:pdf what is in the forms?"', 'a prompt that begins with a skill, as in a chat'],
  ],
  subcommands: [
    command({
      name: 'list',
      summary: "Your skills, this folder's and those of extensions, and which are not used and why",
      flags: REPORT_FLAGS,
      load: () => import('../../commands/skills/list.ts'),
    }),
    command({
      name: 'show',
      summary: 'The instructions of a skill, and its files',
      args: '<skill>',
      flags: REPORT_FLAGS,
      load: () => import('../../commands/skills/show.ts'),
    }),
  ],
});

export const HOOKS: Command = command({
  name: 'hooks',
  summary: 'Commands that run before and after tools and turns',
  flags: APP_FLAGS,
  defaultSubcommand: 'list',
  subcommands: [
    command({
      name: 'list',
      summary: "Your hooks, this folder's and those of extensions, and which are not used and why",
      flags: REPORT_FLAGS,
      load: () => import('../../commands/hooks/list.ts'),
    }),
  ],
});
