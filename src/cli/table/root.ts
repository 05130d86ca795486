import { OUTPUT_FORMATS } from '../../core/app.ts';
import { ENGINE_NAMES } from '../../core/confine.ts';
import { BATCH } from './batch.ts';
import { type Command, command } from './command.ts';
import { DECIDE } from './decide.ts';
import { HOOKS, SKILLS } from './extending.ts';
import { FILES } from './files.ts';
import {
  APP_FLAGS,
  AUTH_FLAG,
  BACKEND_FLAG,
  EMBED_FLAGS,
  IGNORE_FLAG,
  MATCH_FLAG,
  MODEL_FLAGS,
  QUIET_FLAG,
  REPORT_FLAGS,
} from './flags.ts';
import { MCP, MCP_SERVER } from './mcp.ts';
import { ACP_FLAGS, CHAT_FLAGS, IMAGE_FLAGS, PROMPT_FLAGS } from './prompt.ts';
import { IGNORED_FLAGS, IGNORED_IN_CHATS, REFUSED_FLAGS, REFUSED_IN_CHATS } from './refused.ts';
import { JOBS, RESEARCH } from './research.ts';
import { SESSIONS } from './sessions.ts';

const TEMPLATES: Command = command({
  name: 'templates',
  summary: 'Stored prompts, for --template',
  flags: APP_FLAGS,
  defaultSubcommand: 'list',
  examples: [
    ['git diff | gmn --template review', 'gmn comes with review, commit, explain, fix, summarise'],
    ['gmn templates new review', 'one of your own, which replaces it'],
  ],
  subcommands: [
    command({
      name: 'list',
      summary: "Your templates, this folder's and those that gmn comes with, with what they are for",
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
      name: 'new',
      summary: 'Write a template in your editor; one that gmn comes with is where you begin, if it has that name',
      args: '<name>',
      flags: REPORT_FLAGS,
      load: () => import('../../commands/templates/new.ts'),
    }),
    command({
      name: 'path',
      summary: 'The directories where gmn looks for templates',
      flags: REPORT_FLAGS,
      load: () => import('../../commands/templates/path.ts'),
    }),
  ],
});

const AUTH = command({
  name: 'auth',
  summary: 'Which credential gmn uses, and the API key it keeps',
  flags: APP_FLAGS,
  defaultSubcommand: 'status',
  subcommands: [
    command({
      name: 'status',
      summary: 'Show which credential would be used, from where, until when',
      flags: [
        { long: 'online', help: 'Also ask Google: does it work, what is left of the quota' },
        AUTH_FLAG,
        ...REPORT_FLAGS,
      ],
      load: () => import('../../commands/auth/status.ts'),
    }),
    command({
      name: 'set-key',
      summary: 'Keep an API key: in the keyring of the system if there is one, else in a private file',
      flags: [{ long: 'stdin', help: 'Read the key from stdin' }, QUIET_FLAG, ...APP_FLAGS],
      load: () => import('../../commands/auth/set-key.ts'),
    }),
    command({
      name: 'logout',
      summary: 'Forget what gmn has stored; ~/.gemini is left alone',
      flags: REPORT_FLAGS,
      load: () => import('../../commands/auth/logout.ts'),
    }),
  ],
});

const CONFIG = command({
  name: 'config',
  summary: 'See and change the settings, and where each one comes from',
  flags: APP_FLAGS,
  defaultSubcommand: 'list',
  subcommands: [
    command({
      name: 'list',
      summary: 'All settings, merged',
      flags: [{ long: 'all', help: 'Every key that gmn reads, with its default' }, ...REPORT_FLAGS],
      load: () => import('../../commands/config/list.ts'),
    }),
    command({
      name: 'get',
      summary: 'The value of one key',
      args: '<key>',
      flags: REPORT_FLAGS,
      load: () => import('../../commands/config/get.ts'),
    }),
    command({
      name: 'explain',
      summary: 'The value of one key, and every layer that sets it',
      args: '<key>',
      flags: REPORT_FLAGS,
      load: () => import('../../commands/config/explain.ts'),
    }),
    command({
      name: 'set',
      summary: "Set a key in gmn's own file, ~/.gmn/config.json; comments stay",
      args: '<key> <value...>',
      flags: REPORT_FLAGS,
      examples: [
        ['gmn config set model pro', 'the model to ask; model is short for model.name'],
        ['gmn config set sessions.retention never', 'keep every session'],
        ['gmn config set tools.exclude run_shell_command web_fetch', 'a list'],
      ],
      load: () => import('../../commands/config/set.ts'),
    }),
    command({
      name: 'unset',
      summary: "Remove a key from gmn's own file",
      args: '<key>',
      flags: REPORT_FLAGS,
      load: () => import('../../commands/config/unset.ts'),
    }),
    command({
      name: 'path',
      summary: 'The files that are looked for, and which are used',
      flags: REPORT_FLAGS,
      load: () => import('../../commands/config/path.ts'),
    }),
  ],
});

const ALL_PROJECTS = { long: 'all', help: 'Of all directories, not of this one alone' } as const;

const PERMISSIONS = command({
  name: 'permissions',
  defaultSubcommand: 'list',
  summary: 'What runs without asking in a project, because you answered A, P or S',
  flags: APP_FLAGS,
  subcommands: [
    command({
      name: 'list',
      summary: 'What is allowed in this directory, with numbers',
      flags: [ALL_PROJECTS, ...REPORT_FLAGS],
      load: () => import('../../commands/permissions/list.ts'),
    }),
    command({
      name: 'remove',
      summary: 'Ask about it again; the number is that of the list',
      args: '<number...>',
      flags: [ALL_PROJECTS, ...REPORT_FLAGS],
      load: () => import('../../commands/permissions/remove.ts'),
    }),
  ],
});

const DEMO = command({
  name: 'demo',
  summary: 'A tour of two minutes with the offline model; each step can be skipped',
  flags: APP_FLAGS,
  load: () => import('../../commands/demo/demo.ts'),
  subcommands: [
    command({
      name: 'serve',
      summary: 'Serve the offline model on 127.0.0.1, for your own tests',
      flags: [
        { long: 'port', value: 'n', kind: 'integer', fallback: '0, a free one', help: 'Port to listen on' },
        { long: 'script', value: 'file', help: "Answers as JSON lines, in the official CLI's fake-response format" },
        {
          long: 'record',
          value: 'file',
          conflicts: ['--script', '--fault', '--replay'],
          help: 'Pass requests on to the service, and add each exchange to this file',
        },
        {
          long: 'upstream',
          value: 'url',
          fallback: 'https://generativelanguage.googleapis.com',
          help: 'With --record: the service that is asked',
        },
        {
          long: 'replay',
          value: 'file',
          conflicts: ['--script'],
          help: 'Answer from a recording; what is not in it is refused with the difference',
        },
        MATCH_FLAG,
        IGNORE_FLAG,
        {
          long: 'speed',
          value: 'factor',
          kind: 'number',
          fallback: '0, without pauses',
          help: 'With --replay: 1 is as recorded, 2 twice as fast',
        },
        {
          long: 'chunks',
          value: 'how',
          choices: ['as-recorded', '1', 'split'],
          fallback: 'as-recorded',
          help: 'With --replay: how answers are divided; split cuts at random bytes',
        },
        { long: 'seed', value: 'n', kind: 'integer', fallback: '1', help: 'With --chunks split: other cuts' },
        { long: 'allow-unused', help: 'With --replay: exchanges that nobody asked for are no failure' },
        {
          long: 'record-missing',
          help: 'With --replay: ask the service for what is not in the recording, and add it',
        },
        {
          long: 'fault',
          value: 'spec',
          repeatable: true,
          help: 'Misbehave: 429, 503x1, cut-after=2, … (gmn help demo)',
        },
        QUIET_FLAG,
        ...APP_FLAGS,
      ],
      examples: [
        ['gmn demo serve --port 8080 --fault 503x1', 'the first request fails, the next ones work'],
        ['gmn demo serve --record calls.jsonl', 'record what a client and the service say'],
        ['gmn demo serve --replay calls.jsonl', 'the same once more, offline'],
      ],
      load: () => import('../../commands/demo/serve.ts'),
    }),
  ],
});

/** The command tree. To add a command, add an entry; parsing, help and docs follow. */
export const ROOT: Command = command({
  name: 'gmn',
  summary: 'Gemini in your shell: one prompt, one answer.',
  args: '[prompt...]',
  flags: [...MODEL_FLAGS, ...PROMPT_FLAGS, QUIET_FLAG, ...APP_FLAGS],
  refused: REFUSED_FLAGS,
  ignored: IGNORED_FLAGS,
  essentials: {
    model: 'Which model: pro, flash, or an id (gmn models)',
    file: 'Add a file, picture, PDF, directory or glob',
    continue: "Continue this directory's newest conversation",
    tools: 'Let it read or edit files: read, edit, all',
    template: 'Use a stored prompt (gmn templates list)',
    system: 'Instruction for the model, or @file',
    'output-format': OUTPUT_FORMATS.join(', '),
    extract: 'Print only the first code block',
    usage: 'Show tokens, time and cost at the end',
    demo: 'Use the offline model: no account, no network',
  },
  examples: [
    ['gmn "why is the sky blue?"', 'one prompt, one answer'],
    ['git diff | gmn "review this change"', 'stdin goes before the prompt'],
    ['gmn -f notes.md -f chart.png "summarise"', 'files and images'],
    ['gmn -o json "hello" | jq -r .response', 'for scripts'],
    ['gmn --demo "hello"', 'no account needed'],
  ],
  load: () => import('../../commands/prompt/prompt.ts'),
  subcommands: [
    command({
      name: 'chat',
      summary: 'Talk with the model, which may use tools',
      args: '[prompt...]',
      flags: [...MODEL_FLAGS, ...CHAT_FLAGS, QUIET_FLAG, ...APP_FLAGS],
      refused: REFUSED_IN_CHATS,
      ignored: IGNORED_IN_CHATS,
      essentials: {
        model: 'Which model: pro, flash, or an id (gmn models)',
        file: 'Add a file, picture, PDF, directory or glob',
        continue: "Continue this directory's newest conversation",
        resume: 'Continue another: last, its id, name or number; alone: choose',
        tools: 'What the model may use: none, read, edit, all',
        'approval-mode': 'What runs without asking: default, auto_edit, plan, yolo',
        shell: 'Let it run commands, in this shell',
        system: 'Instruction for the model, or @file',
        'no-session': 'Do not save the conversation',
        demo: 'Use the offline model: no account, no network',
      },
      examples: [
        ['gmn chat', 'begin; /help lists the commands'],
        ['gmn chat -r last', 'continue where you stopped'],
        ['printf "hello\\nthanks\\n" | gmn chat', 'every line is a turn'],
      ],
      load: () => import('../../commands/chat/chat.ts'),
    }),
    command({
      name: 'acp',
      summary: 'Be an agent in an editor, which starts this itself: the Agent Client Protocol on stdin and stdout',
      args: '[auth...]',
      flags: [...MODEL_FLAGS, ...ACP_FLAGS, ...APP_FLAGS],
      examples: [
        ['gmn acp', 'the command for the settings of an editor, such as agent_servers of Zed'],
        ['gmn acp --demo', 'the offline model, to try it'],
        ['gmn acp auth set-key', 'what an editor runs in a terminal to sign in'],
      ],
      load: () => import('../../commands/acp.ts'),
    }),
    command({
      name: 'image',
      summary: 'Make a picture, or change one',
      args: '[prompt...]',
      flags: [...IMAGE_FLAGS, ...MODEL_FLAGS.slice(1), QUIET_FLAG, ...APP_FLAGS],
      examples: [
        ['gmn image "a red fox in the snow"', 'saved in this directory, and shown if the terminal can'],
        ['gmn image "a red fox" > fox.png', 'the bytes themselves'],
        ['gmn image -f fox.png "make it winter" --output-file winter.png', 'change a picture'],
        ['gmn image -c "and at night"', 'change the one before'],
      ],
      load: () => import('../../commands/image.ts'),
    }),
    command({
      name: 'embed',
      summary: 'Vectors of texts, as JSON lines: of each line of stdin or of files',
      args: '[file...]',
      flags: [...EMBED_FLAGS, AUTH_FLAG, BACKEND_FLAG, ...REPORT_FLAGS],
      examples: [
        ['gmn embed < lines.txt > vectors.jsonl', 'one vector for each line'],
        ['gmn embed --whole docs/*.md > vectors.jsonl', 'one for each file'],
        ['gmn embed reviews.csv --column text > vectors.jsonl', 'one for each row'],
        ['gmn embed --similar "it broke" vectors.jsonl', 'the lines nearest to it, best first'],
        ['echo "red fox" | gmn embed --task-type retrieval-query --dimensions 768', 'a short one, to search with'],
      ],
      load: () => import('../../commands/embed/embed.ts'),
    }),
    DECIDE,
    RESEARCH,
    JOBS,
    BATCH,
    AUTH,
    command({
      name: 'models',
      summary: 'Models you can use, what they can do, and their short names',
      flags: [
        { long: 'refresh', help: 'Ask the service which models this account has' },
        { long: 'all', help: 'Models of every backend' },
        AUTH_FLAG,
        BACKEND_FLAG,
        ...REPORT_FLAGS,
      ],
      load: () => import('../../commands/models.ts'),
    }),
    MCP,
    MCP_SERVER,
    CONFIG,
    command({
      name: 'trust',
      summary: 'Trust a folder: use its settings, MCP servers, hooks, skills and agents',
      args: '[dir]',
      flags: [
        { long: 'deny', conflicts: ['--remove'], help: 'Do not trust it, and say nothing about it any more' },
        { long: 'list', conflicts: ['--remove', '--deny'], help: 'List the folders that are trusted, or not' },
        { long: 'remove', help: 'Forget the answer: neither trusted nor refused' },
        {
          long: 'yes',
          conflicts: ['--list', '--remove', '--deny'],
          help: 'Do not ask; without a terminal this is always so',
        },
        ...REPORT_FLAGS,
      ],
      load: () => import('../../commands/trust.ts'),
    }),
    PERMISSIONS,
    command({
      name: 'undo',
      summary: 'Put back the files that the last run with tools changed',
      flags: REPORT_FLAGS,
      load: () => import('../../commands/undo.ts'),
    }),
    SESSIONS,
    command({
      name: 'usage',
      summary: 'What saved runs used and cost, as a chart on a terminal',
      flags: [
        { long: 'since', value: 'age', fallback: '7d', help: 'How far back: 24h, 7d, 4w, all' },
        {
          long: 'by',
          value: 'what',
          choices: ['day', 'model', 'directory'],
          fallback: 'day',
          help: 'One row for each',
        },
        ...REPORT_FLAGS,
      ],
      examples: [['gmn usage --since 4w --by model', 'which model costs most']],
      load: () => import('../../commands/usage.ts'),
    }),
    FILES,
    TEMPLATES,
    SKILLS,
    HOOKS,
    DEMO,
    command({
      name: 'sandbox',
      summary: 'Run a command confined, as --sandbox confines those of the model',
      args: '<command...>',
      flags: [
        {
          long: 'engine',
          value: 'name',
          choices: ['auto', ...ENGINE_NAMES],
          fallback: 'auto, the first that works here',
          help: 'What confines it',
        },
        { long: 'net', value: 'hosts', suggestions: ['all'], help: 'Hosts that it may reach, or all; commas' },
        {
          long: 'include-directories',
          value: 'dirs',
          repeatable: true,
          help: 'More directories that it may write; commas, or repeat',
        },
        ...APP_FLAGS,
      ],
      endsFlags: ([first]) => first !== undefined,
      examples: [
        ['gmn sandbox -- npm test', 'writes in this directory only, without a network'],
        ['gmn sandbox --net packages.example.org -- npm install', 'reaches that host only'],
      ],
      load: () => import('../../commands/sandbox.ts'),
    }),
    command({
      name: 'doctor',
      summary: 'Look for what is wrong, and say what to do about it; changes nothing',
      flags: [
        { long: 'online', help: 'Also ask the service: can it be reached, does it accept the credential' },
        ...REPORT_FLAGS,
      ],
      load: () => import('../../commands/doctor/doctor.ts'),
    }),
    command({
      name: 'completion',
      summary: 'Print the completion script of a shell: bash, zsh, fish, powershell',
      args: '<shell>',
      flags: [],
      examples: [['source <(gmn completion bash)', 'in ~/.bashrc; other shells: gmn help completion']],
    }),
    // The parser reads its flag: no module runs.
    {
      name: 'help',
      summary: 'Help about a command or a topic',
      args: '[command...]',
      flags: [
        {
          long: 'json',
          help: 'One document for programs: commands, flags, variables, settings, tools, exit codes, schemas; with a command, only that command',
        },
      ],
      examples: [
        ['gmn help tools', 'a topic'],
        ["gmn help --json | jq '.commands[].path'", 'every command there is'],
        ['gmn help batch --json', 'gmn batch and what is below it'],
      ],
    },
  ],
});
