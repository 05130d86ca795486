import { OUTPUT_FORMATS } from '../../core/app.ts';
import type { Flag } from '../../core/flag.ts';
import { under } from './command.ts';
import {
  APP_FLAGS,
  APPROVAL_FLAGS,
  COMMON_FLAGS,
  COUNT,
  FILE_FLAG,
  FOR_PROGRAMS,
  MODEL_FLAGS,
  PICTURES_FLAG,
  PREVIEW,
  QUIET_FLAG,
  SANDBOX_FLAGS,
  SERVER_FLAGS,
  SERVICE_FLAGS,
  SESSION_FLAGS,
  STORE_FLAG,
  SYSTEM_FLAGS,
  THINKING_FLAGS,
  TOOL_SUGGESTIONS,
  USAGE_FLAG,
} from './flags.ts';

const [PROMPT_FLAG, STDIN_FLAG, NO_STDIN_FLAG] = under('Prompt and input', [
  {
    long: 'prompt',
    short: 'p',
    mayLackValueAtEnd: true,
    value: 'text',
    conflicts: ['--prompt-interactive'],
    help: 'The prompt; same as the positional form, cannot be combined with it',
  },
  { long: 'stdin', conflicts: ['--no-stdin'], help: 'Read stdin to its end, however long that takes' },
  { long: 'no-stdin', help: 'Never read stdin' },
]);

export const STDIN_FLAGS = [STDIN_FLAG, NO_STDIN_FLAG] as const;

const TEMPLATE_FLAGS = under('Prompt and input', [
  { long: 'template', value: 'template', help: 'Use a stored prompt, by name or file: gmn templates list' },
  { long: 'param', value: 'k=v', repeatable: true, help: 'Fill {{k}} of the template with v; repeat' },
]);

const [SKILL_FLAG] = under('Prompt and input', [
  {
    long: 'skill',
    value: 'skill',
    repeatable: true,
    help: 'Let the model follow a skill from the start: gmn skills list; repeat',
  },
]);

const SAMPLING_FLAGS = under(
  'Answer',
  [
    {
      long: 'temperature',
      value: 'number',
      kind: 'number',
      fallback: '1',
      help: 'Sampling temperature, 0 to 2, for models that read it',
    },
    {
      long: 'top-p',
      value: 'number',
      kind: 'number',
      fallback: '0.95',
      help: 'Nucleus sampling, 0 to 1, for models that read it',
    },
    {
      long: 'top-k',
      value: 'n',
      kind: 'integer',
      fallback: '40',
      help: 'Sample from the k most likely tokens, for models that read it',
    },
    { long: 'max-output-tokens', value: 'n', kind: 'integer', help: "Limit of the answer (default: the model's)" },
    { long: 'seed', value: 'n', kind: 'integer', help: 'Make sampling repeatable' },
    { long: 'stop', value: 'text', repeatable: true, help: 'End the answer where this text would appear; repeat' },
    {
      long: 'option',
      short: 'O',
      value: 'k=v',
      repeatable: true,
      help: 'Any other field of generationConfig, e.g. presencePenalty=0.5; repeat',
    },
  ],
  { hasNoEffectWith: COUNT },
);

const THINKING_BUDGET_FLAG = {
  long: 'thinking-budget',
  value: 'n',
  kind: 'integer',
  heading: 'Answer',
  hasNoEffectWith: COUNT,
  help: 'Tokens for thinking, for models that take a budget',
} as const;

const [OUTPUT_FORMAT_FLAG, OUTPUT_DIALECT_FLAG, SCHEMA_FLAG, OUTPUT_FILE_FLAG, SCREEN_READER_FLAG, DRY_RUN_FLAG] =
  under('Output', [
    {
      long: 'output-format',
      short: 'o',
      otherNames: [
        { long: 'json', of: ['codex'], fixedValue: 'json' },
        { long: 'experimental-json', of: ['codex'], fixedValue: 'stream-json' },
      ],
      value: 'format',
      choices: OUTPUT_FORMATS,
      wrongValueHint: 'To write the answer to a file: --output-file <path>',
      env: 'GMN_OUTPUT_FORMAT',
      fallback: 'text',
      isOfficial: true,
      help: 'Shape of stdout',
    },
    {
      long: 'output-dialect',
      value: 'name',
      choices: ['gmn', 'gemini'],
      env: 'GMN_OUTPUT_DIALECT',
      fallback: 'gmn',
      help: 'Field and event names of the JSON formats',
    },
    {
      long: 'output-schema',
      aliases: ['schema'],
      otherNames: [{ long: 'json-schema', of: ['claude', 'agy'] }],
      value: 'schema',
      hasNoEffectWith: COUNT,
      help: 'The answer must be JSON of this JSON Schema: a file, or the schema itself',
    },
    {
      long: 'output-file',
      otherNames: [{ long: 'output-last-message', of: ['codex'] }],
      value: 'path',
      hasNoEffectWith: PREVIEW,
      help: 'Also write the answer to this file; one that exists is replaced',
    },
    {
      long: 'screen-reader',
      isOfficial: true,
      otherNames: [{ long: 'ax-screen-reader', of: ['claude'] }],
      help: 'No spinner, no layout: plain lines only',
    },
    {
      long: 'dry-run',
      hasNoEffectWith: COUNT,
      help: 'Print the request as JSON, secrets removed; send nothing',
    },
  ]);

export const REPORT_OUTPUT_FLAGS = [
  {
    ...OUTPUT_FILE_FLAG,
    hasNoEffectWith: undefined,
    help: 'Also write the report to this file; one that exists is replaced',
  },
  OUTPUT_FORMAT_FLAG,
] as const;

const SESSION_ID_FLAG = {
  long: 'session-id',
  value: 'name',
  isOfficial: true,
  hasNoEffectWith: COUNT,
  help: 'Give the new session this id: letters, digits, - and _',
  heading: 'Sessions',
} as const;

const TOOLS_FLAG = {
  long: 'tools',
  value: 'set',
  suggestions: TOOL_SUGGESTIONS,
  fallback: 'none',
  help: 'Tools for the model: none, read, edit, all, or names (list_directory,read_file,…)',
  heading: 'Tools',
} as const;

export const CHAT_FLAGS = [
  {
    ...PROMPT_FLAG,
    help: 'The first prompt; same as the positional form, cannot be combined with it',
    otherNames: [{ long: 'prompt-interactive', short: 'i', of: ['gemini'] }],
  },
  FILE_FLAG,
  { ...SKILL_FLAG, help: 'Let the model follow a skill from the first prompt on: /skills lists them; repeat' },
  ...SESSION_FLAGS,
  ...SYSTEM_FLAGS,
  ...THINKING_FLAGS,
  { ...TOOLS_FLAG, fallback: 'edit' },
  ...SERVICE_FLAGS,
  ...APPROVAL_FLAGS,
  ...SANDBOX_FLAGS,
  ...under('Tools', [
    { long: 'shell', value: 'path', help: 'Shell for !commands and for run_shell_command, which it turns on' },
    ...SERVER_FLAGS,
    { long: 'no-mcp', help: 'Use no MCP servers' },
  ]),
  ...under('Output', [PICTURES_FLAG, { long: 'plain', help: 'No colours, no layout, nothing redrawn' }]),
] as const;

/** What holds for every session of an editor, until the person chooses something else there. */
export const ACP_FLAGS = [
  ...SYSTEM_FLAGS,
  THINKING_FLAGS[0],
  THINKING_BUDGET_FLAG,
  { ...TOOLS_FLAG, fallback: 'edit,run_shell_command' },
  ...SERVICE_FLAGS,
  ...APPROVAL_FLAGS,
  ...SANDBOX_FLAGS,
  ...under('Tools', [
    { long: 'shell', value: 'path', help: 'Shell for run_shell_command' },
    ...SERVER_FLAGS,
    { long: 'no-mcp', help: 'Use no MCP servers' },
  ]),
  ...under('Sessions', [{ long: 'no-session', env: 'GMN_NO_SESSION', help: 'Save no conversation' }]),
] as const;

function listLongs(flags: readonly Flag[]): readonly string[] {
  return flags.map(({ long }) => long);
}

/** `-i`: what a chat takes, and what it uses although `gmn chat` has no such flag. */
const TO_CHAT = {
  takes: listLongs([
    ...[...MODEL_FLAGS, ...CHAT_FLAGS, QUIET_FLAG, ...APP_FLAGS],
    ...[...SAMPLING_FLAGS, THINKING_BUDGET_FLAG, SESSION_ID_FLAG, SCREEN_READER_FLAG],
  ]),
  ignores: [],
};

const TO_SESSIONS = {
  takes: listLongs([OUTPUT_FORMAT_FLAG, OUTPUT_DIALECT_FLAG, QUIET_FLAG, ...APP_FLAGS]),
  ignores: listLongs(COMMON_FLAGS),
};

const VERIFY_FLAGS = [
  {
    long: 'verify',
    value: 'command',
    needs: ['tools'],
    hasNoEffectWith: COUNT,
    help: 'Run this when the model says it is done; if it fails, the model gets its output and continues',
  },
  {
    long: 'max-verify',
    value: 'n',
    kind: 'integer',
    fallback: '3',
    needs: ['--verify'],
    hasNoEffectWith: COUNT,
    help: 'How often a failure of --verify goes back to the model',
  },
] as const;

const RELAY_FLAG = {
  long: 'relay-approvals',
  needs: ['--input-format stream-json'],
  help: 'Ask the program at the other end what would be asked on a terminal',
} as const;

/** `--input-format stream-json`: what holds for all turns. */
const TO_PROCESS = {
  takes: listLongs([
    ...[...MODEL_FLAGS, ...SYSTEM_FLAGS, ...SAMPLING_FLAGS, ...THINKING_FLAGS, THINKING_BUDGET_FLAG],
    ...[...SERVICE_FLAGS, OUTPUT_FORMAT_FLAG, SCHEMA_FLAG, TOOLS_FLAG, ...APPROVAL_FLAGS, ...VERIFY_FLAGS],
    ...[...SANDBOX_FLAGS, RELAY_FLAG, ...SERVER_FLAGS, ...SESSION_FLAGS, SESSION_ID_FLAG, QUIET_FLAG, ...APP_FLAGS],
  ]),
  ignores: [],
};

const TO_ACP = { takes: listLongs([...MODEL_FLAGS, ...ACP_FLAGS, ...APP_FLAGS]), ignores: [] };

/** By heading, each in the order of help. */
export const PROMPT_FLAGS = [
  ...under('Prompt and input', [
    PROMPT_FLAG,
    FILE_FLAG,
    {
      long: 'attach',
      short: 'a',
      value: 'path',
      repeatable: true,
      help: 'Add a file as it is, even if it is text; - is stdin; repeat',
    },
    { long: 'mime-type', value: 'type', help: 'Media type of what -a and -f - add, if it should not be guessed' },
    { long: 'paste', help: 'Add what is in the clipboard' },
    ...STDIN_FLAGS,
    { long: 'no-at', help: 'Leave @path in the prompt as text' },
    ...TEMPLATE_FLAGS,
    SKILL_FLAG,
    { long: 'editor', help: 'Write the prompt in your editor: VISUAL or EDITOR' },
    ...SYSTEM_FLAGS,
    {
      long: 'input-format',
      value: 'format',
      choices: ['text', 'stream-json'],
      fallback: 'text',
      handsOver: TO_PROCESS,
      help: 'stream-json: one process, many turns; stdin has requests as lines of JSON: gmn help stream-json',
    },
    { long: 'acp', isOfficial: true, handsOver: TO_ACP, help: 'Same as: gmn acp, for editors' },
    {
      long: 'prompt-interactive',
      short: 'i',
      value: 'text',
      handsOver: TO_CHAT,
      help: 'Ask this, then stay in the chat',
    },
  ]),
  ...under('Answer', [...SAMPLING_FLAGS, ...THINKING_FLAGS, THINKING_BUDGET_FLAG, ...SERVICE_FLAGS]),
  ...under('Output', [
    OUTPUT_FORMAT_FLAG,
    OUTPUT_DIALECT_FLAG,
    SCHEMA_FLAG,
    {
      long: 'extract',
      short: 'x',
      hasNoEffectWith: ['--extract-last', '--output-schema', ...PREVIEW],
      help: 'Print only the first code block of the answer',
    },
    {
      long: 'extract-last',
      hasNoEffectWith: ['--output-schema', ...PREVIEW],
      help: 'Print only the last code block of the answer',
    },
    OUTPUT_FILE_FLAG,
    { long: 'copy', hasNoEffectWith: PREVIEW, help: 'Also copy the answer to the clipboard' },
    {
      long: 'pager',
      hasNoEffectWith: [...PREVIEW, ...FOR_PROGRAMS],
      help: 'Read the answer in a pager: GMN_PAGER, PAGER or less',
    },
    {
      long: 'no-stream',
      hasNoEffectWith: [...PREVIEW, '-o stream-json'],
      help: 'Show the answer when it is complete',
    },
    {
      long: 'render',
      value: 'when',
      choices: ['auto', 'always', 'never'],
      env: 'GMN_RENDER',
      fallback: 'auto',
      conflicts: ['--no-render'],
      hasNoEffectWith: [...PREVIEW, ...FOR_PROGRAMS],
      harmless: ['auto', 'never'],
      help: 'Render Markdown (auto: only on a terminal)',
    },
    { long: 'no-render', help: 'Same as --render never' },
    {
      long: 'raw-output',
      isOfficial: true,
      hasNoEffectWith: [...PREVIEW, ...FOR_PROGRAMS, '--render always'],
      help: "Let the model's control sequences reach the terminal",
    },
    PICTURES_FLAG,
    SCREEN_READER_FLAG,
    USAGE_FLAG,
    { long: 'count-tokens', help: 'Print the token count of the input and ask nothing' },
    DRY_RUN_FLAG,
  ]),
  ...under('Tools', [TOOLS_FLAG, ...APPROVAL_FLAGS, ...SANDBOX_FLAGS, ...VERIFY_FLAGS, RELAY_FLAG, ...SERVER_FLAGS]),
  ...under('Sessions', [
    ...SESSION_FLAGS,
    SESSION_ID_FLAG,
    {
      long: 'list-sessions',
      isOfficial: true,
      handsOver: TO_SESSIONS,
      help: 'Same as: gmn sessions list, with whole ids',
    },
    { long: 'delete-session', value: 'session', handsOver: TO_SESSIONS, help: 'Same as: gmn sessions delete' },
  ]),
] as const;

const [SYSTEM_FLAG, APPEND_SYSTEM_FLAG] = SYSTEM_FLAGS;
const [THINKING_LEVEL_FLAG] = THINKING_FLAGS;
const [, , , , SEED_FLAG, , OPTION_FLAG] = SAMPLING_FLAGS;

export const ANSWER_FLAGS = [
  ...SAMPLING_FLAGS,
  THINKING_LEVEL_FLAG,
  THINKING_BUDGET_FLAG,
  SCHEMA_FLAG,
  STORE_FLAG,
] as const;

/** What a row is asked with: the flags that a batch shares with a one-shot. */
export const ROW_FLAGS = [
  { ...PROMPT_FLAG, help: 'What to ask; {{column}} is filled from each row, whose own prompt follows' },
  FILE_FLAG,
  ...TEMPLATE_FLAGS,
  SYSTEM_FLAG,
  APPEND_SYSTEM_FLAG,
  ...ANSWER_FLAGS,
] as const;

/** The flags of `gmn image`, besides those it shares with other commands. */
export const IMAGE_FLAGS = [
  ...under('Model', [
    {
      long: 'model',
      short: 'm',
      value: 'id',
      fallback: 'gemini-3.1-flash-image',
      help: 'A model that makes pictures: gmn models',
    },
  ]),
  {
    long: 'aspect',
    value: 'ratio',
    choices: ['1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '16:9', '21:9', '1:4', '4:1', '1:8', '8:1'],
    help: 'Width to height',
  },
  {
    long: 'size',
    value: 'size',
    choices: ['512', '1K', '2K', '4K'],
    help: 'How large, in pixels of a side',
  },
  { ...OUTPUT_FILE_FLAG, help: 'Save the picture here; a file that exists is replaced' },
  OUTPUT_FORMAT_FLAG,
  PROMPT_FLAG,
  FILE_FLAG,
  ...STDIN_FLAGS,
  ...SYSTEM_FLAGS.slice(0, 2),
  SEED_FLAG,
  OPTION_FLAG,
  SERVICE_FLAGS[3],
  STORE_FLAG,
  PICTURES_FLAG,
  ...SESSION_FLAGS,
  USAGE_FLAG,
  DRY_RUN_FLAG,
] as const;
