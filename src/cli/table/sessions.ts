import { SOURCE_LABELS } from '../../core/session.ts';
import { type Command, command } from './command.ts';
import { APP_FLAGS, QUIET_FLAG, REPORT_FLAGS } from './flags.ts';

export const SESSIONS: Command = command({
  name: 'sessions',
  summary: 'Saved conversations: list, read, rename, delete, restore',
  flags: APP_FLAGS,
  defaultSubcommand: 'list',
  subcommands: [
    command({
      name: 'list',
      summary: 'The sessions of this directory, newest first, with the numbers that -r takes',
      flags: [
        { long: 'all', help: 'Those of every directory' },
        {
          long: 'from',
          value: 'name',
          choices: Object.values(SOURCE_LABELS),
          help: 'Only those from a chat, from one-shots, or from other agents (gmn mcp serve)',
        },
        { long: 'grep', value: 'words', help: 'Only those with all these words, in the name or in what was said' },
        {
          long: 'limit',
          value: 'n',
          kind: 'integer',
          fallback: '20 on a terminal, else all',
          help: 'List at most this many; 0: all',
        },
        { long: 'gemini', help: 'Those of the official CLI, which gmn sessions import copies' },
        ...REPORT_FLAGS,
      ],
      load: () => import('../../commands/sessions/list.ts'),
    }),
    command({
      name: 'show',
      summary: 'What was said in a session',
      args: '<session>',
      flags: [{ long: 'md', conflicts: ['--json'], help: 'As Markdown, like gmn sessions export' }, ...REPORT_FLAGS],
      load: () => import('../../commands/sessions/show.ts'),
    }),
    command({
      name: 'rename',
      summary: 'Give a session a name; named ones are never pruned',
      args: '<session> <name...>',
      flags: REPORT_FLAGS,
      load: () => import('../../commands/sessions/rename.ts'),
    }),
    command({
      name: 'delete',
      summary: 'Delete sessions; for 7 days gmn sessions restore brings them back',
      args: '<session...>',
      flags: [
        { long: 'permanently', help: 'Do not keep them in the trash; one that is there goes by its whole id or name' },
        ...REPORT_FLAGS,
      ],
      examples: [
        ['gmn sessions delete 2', 'the second of gmn sessions list, if it is of this directory'],
        ['gmn sessions delete 7c1e', 'by the first characters of an id that gmn made, at least 4'],
      ],
      load: () => import('../../commands/sessions/delete.ts'),
    }),
    command({
      name: 'restore',
      summary: 'Bring a deleted session back; alone, list what is in the trash',
      args: '[deleted...]',
      flags: REPORT_FLAGS,
      load: () => import('../../commands/sessions/restore.ts'),
    }),
    command({
      name: 'export',
      summary: 'Write a session as Markdown, JSON or one HTML page',
      args: '<session> [file]',
      flags: [
        {
          long: 'format',
          value: 'name',
          choices: ['md', 'json', 'html'],
          fallback: "by the file's ending, md on stdout",
          help: 'What to write',
        },
        { long: 'force', help: 'Replace a file that exists' },
        { long: 'json', help: 'JSON on stdout: the session, or with a file what was written' },
        QUIET_FLAG,
        ...APP_FLAGS,
      ],
      examples: [
        ['gmn sessions export last talk.html', 'the newest session as a page to read, search or print'],
        ['gmn sessions export last --format json | jq .usage', 'on stdout, for scripts'],
      ],
      load: () => import('../../commands/sessions/export.ts'),
    }),
    command({
      name: 'prune',
      summary: 'Remove old sessions without a name; gmn does so once a day on its own',
      flags: [
        { long: 'older-than', value: 'age', fallback: '30d, or sessions.retention', help: 'How old: 30d, 2w, 12h' },
        { long: 'dry-run', help: 'Only list them' },
        ...REPORT_FLAGS,
      ],
      load: () => import('../../commands/sessions/prune.ts'),
    }),
    command({
      name: 'import',
      summary: 'Copy a session of the official CLI',
      args: '<session>',
      flags: REPORT_FLAGS,
      examples: [
        ['gmn sessions import latest', 'the newest of this directory'],
        ['gmn sessions import session.jsonl', 'a file'],
      ],
      load: () => import('../../commands/sessions/import.ts'),
    }),
    command({
      name: 'path',
      summary: 'Where sessions are kept',
      flags: REPORT_FLAGS,
      load: () => import('../../commands/sessions/path.ts'),
    }),
  ],
});
