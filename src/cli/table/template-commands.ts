import { type Command, command } from './command.ts';
import { APP_FLAGS, REPORT_FLAGS } from './flags.ts';

/** `gmn templates …` */
export const TEMPLATES: Command = command({
  name: 'templates',
  summary: 'Stored prompts, for --template',
  flags: APP_FLAGS,
  subcommands: [
    command({
      name: 'list',
      summary: 'Your templates and those of this folder, with what they are for',
      flags: REPORT_FLAGS,
      load: () => import('../../commands/templates/list.ts'),
    }),
    command({
      name: 'show',
      summary: 'The text of a template',
      args: '<template>',
      flags: REPORT_FLAGS,
      load: () => import('../../commands/templates/show.ts'),
    }),
    command({
      name: 'path',
      summary: 'The directories that are looked through',
      flags: REPORT_FLAGS,
      load: () => import('../../commands/templates/path.ts'),
    }),
  ],
});
