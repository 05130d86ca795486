import { type Command, command } from './command.ts';
import { APP_FLAGS, AUTH_FLAG, BACKEND_FLAG, REPORT_FLAGS } from './flags.ts';

export const FILES: Command = command({
  name: 'files',
  summary: 'Files that Google keeps for you for 48 hours: list, delete',
  defaultSubcommand: 'list',
  flags: APP_FLAGS,
  examples: [
    ['gmn -f talk.mp4 "what is said in it?"', 'a large file is uploaded on its own'],
    ['gmn files list', 'what is there, and until when'],
  ],
  subcommands: [
    command({
      name: 'list',
      summary: 'The files of this account, with their size, type, state and when they go',
      flags: [AUTH_FLAG, BACKEND_FLAG, ...REPORT_FLAGS],
      load: () => import('../../commands/files/list.ts'),
    }),
    command({
      name: 'delete',
      summary: 'Remove files from the service, by the names in the list',
      args: '[file...]',
      flags: [
        { long: 'all', help: 'All files of this account; needs --yes' },
        { long: 'yes', help: 'Confirm --all' },
        AUTH_FLAG,
        BACKEND_FLAG,
        ...REPORT_FLAGS,
      ],
      load: () => import('../../commands/files/delete.ts'),
    }),
  ],
});
