import { OUTPUT_FORMATS } from '../../core/app.ts';
import {
  APPROVAL_FLAGS,
  FILE_FLAG,
  PICTURES_FLAG,
  SERVER_FLAGS,
  SERVICE_FLAGS,
  SESSION_FLAGS,
  STORE_FLAG,
  SYSTEM_FLAGS,
  THINKING_FLAGS,
  TOOL_SUGGESTIONS,
  USAGE_FLAG,
} from './flags.ts';

const PROMPT_FLAG = {
  long: 'prompt',
  short: 'p',
  value: 'text',
  help: 'The prompt; same as the positional form, cannot be combined with it',
} as const;

const OUTPUT_FORMAT_FLAG = {
  long: 'output-format',
  short: 'o',
  value: 'format',
  choices: OUTPUT_FORMATS,
  env: 'GMN_OUTPUT_FORMAT',
  fallback: 'text',
  help: 'Shape of stdout',
} as const;

const SEED_FLAG = { long: 'seed', value: 'n', kind: 'integer', help: 'Make sampling repeatable' } as const;

const OPTION_FLAG = {
  long: 'option',
  short: 'O',
  value: 'k=v',
  repeatable: true,
  help: 'Any other field of generationConfig, e.g. presencePenalty=0.5; repeat',
} as const;

const DRY_RUN_FLAG = { long: 'dry-run', help: 'Print the request as JSON, secrets removed; send nothing' } as const;

const STDIN_FLAGS = [
  { long: 'stdin', help: 'Read stdin to its end, however long that takes' },
  { long: 'no-stdin', help: 'Never read stdin' },
] as const;

const SAMPLING_FLAGS = [
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
  SEED_FLAG,
  { long: 'stop', value: 'text', repeatable: true, help: 'End the answer where this text would appear; repeat' },
  OPTION_FLAG,
] as const;

const THINKING_BUDGET_FLAG = {
  long: 'thinking-budget',
  value: 'n',
  kind: 'integer',
  help: 'Tokens for thinking, for models that take a budget',
} as const;

const SCHEMA_FLAG = {
  long: 'output-schema',
  aliases: ['schema'],
  value: 'schema',
  help: 'The answer must be JSON of this JSON Schema: a file, or the schema itself',
} as const;

const TEMPLATE_FLAGS = [
  { long: 'template', value: 'template', help: 'Use a stored prompt, by name or file: gmn templates list' },
  { long: 'param', value: 'k=v', repeatable: true, help: 'Fill {{k}} of the template with v; repeat' },
] as const;

export const PROMPT_FLAGS = [
  PROMPT_FLAG,
  OUTPUT_FORMAT_FLAG,
  {
    long: 'output-dialect',
    value: 'name',
    choices: ['gmn', 'gemini'],
    env: 'GMN_OUTPUT_DIALECT',
    fallback: 'gmn',
    help: 'Field and event names of the JSON formats',
  },
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
  { long: 'editor', help: 'Write the prompt in your editor: VISUAL or EDITOR' },
  ...SYSTEM_FLAGS,
  ...SAMPLING_FLAGS,
  ...THINKING_FLAGS,
  THINKING_BUDGET_FLAG,
  SCHEMA_FLAG,
  { long: 'extract', short: 'x', help: 'Print only the first code block of the answer' },
  { long: 'extract-last', help: 'Print only the last code block of the answer' },
  { long: 'output-file', value: 'path', help: 'Also write the answer to this file; one that exists is replaced' },
  { long: 'copy', help: 'Also copy the answer to the clipboard' },
  { long: 'pager', help: 'Read the answer in a pager: GMN_PAGER, PAGER or less' },
  { long: 'no-stream', help: 'Show the answer when it is complete' },
  ...SERVICE_FLAGS,
  {
    long: 'render',
    value: 'when',
    choices: ['auto', 'always', 'never'],
    env: 'GMN_RENDER',
    fallback: 'auto',
    help: 'Render Markdown (auto: only on a terminal)',
  },
  { long: 'no-render', help: 'Same as --render never' },
  { long: 'raw-output', help: "Let the model's control sequences reach the terminal" },
  PICTURES_FLAG,
  { long: 'screen-reader', help: 'No spinner, no layout: plain lines only' },
  {
    long: 'tools',
    value: 'set',
    suggestions: TOOL_SUGGESTIONS,
    fallback: 'none',
    help: 'Tools for the model: none, read, edit, all, or names (list_directory,read_file,…)',
  },
  ...APPROVAL_FLAGS,
  {
    long: 'verify',
    value: 'command',
    help: 'Run this when the model says it is done; if it fails, the model gets its output and continues',
  },
  {
    long: 'max-verify',
    value: 'n',
    kind: 'integer',
    fallback: '3',
    help: 'How often a failure of --verify goes back to the model',
  },
  ...SERVER_FLAGS,
  ...SESSION_FLAGS,
  { long: 'session-id', value: 'name', help: 'Give the new session this id: letters, digits, - and _' },
  { long: 'list-sessions', help: 'Same as: gmn sessions list, with whole ids' },
  { long: 'delete-session', value: 'session', help: 'Same as: gmn sessions delete' },
  USAGE_FLAG,
  { long: 'count-tokens', help: 'Print the token count of the input and ask nothing' },
  DRY_RUN_FLAG,
  {
    long: 'prompt-interactive',
    short: 'i',
    value: 'text',
    help: 'Ask this, then stay in the chat',
  },
] as const;

export const CHAT_FLAGS = [
  {
    long: 'prompt',
    short: 'p',
    value: 'text',
    help: 'The first prompt; same as the positional form, cannot be combined with it',
  },
  FILE_FLAG,
  ...SESSION_FLAGS,
  ...SYSTEM_FLAGS,
  ...THINKING_FLAGS,
  {
    long: 'tools',
    value: 'set',
    suggestions: TOOL_SUGGESTIONS,
    fallback: 'edit',
    help: 'Tools for the model: none, read, edit, all, or names (list_directory,read_file,…)',
  },
  ...SERVICE_FLAGS,
  ...APPROVAL_FLAGS,
  { long: 'shell', value: 'path', help: 'Shell for !commands and for run_shell_command, which it turns on' },
  ...SERVER_FLAGS,
  { long: 'no-mcp', help: 'Use no MCP servers' },
  PICTURES_FLAG,
  { long: 'plain', help: 'No colours, no layout, nothing redrawn' },
] as const;

const [SYSTEM_FLAG, APPEND_SYSTEM_FLAG] = SYSTEM_FLAGS;
const [THINKING_LEVEL_FLAG] = THINKING_FLAGS;

/** What a row is asked with: the flags that a batch shares with a one-shot. */
export const ROW_FLAGS = [
  { long: 'prompt', short: 'p', value: 'text', help: 'Put this before the prompt of every row' },
  FILE_FLAG,
  ...TEMPLATE_FLAGS,
  SYSTEM_FLAG,
  APPEND_SYSTEM_FLAG,
  ...SAMPLING_FLAGS,
  THINKING_LEVEL_FLAG,
  THINKING_BUDGET_FLAG,
  SCHEMA_FLAG,
  STORE_FLAG,
] as const;

/** The flags of `gmn image`, besides those it shares with other commands. */
export const IMAGE_FLAGS = [
  {
    long: 'model',
    short: 'm',
    value: 'id',
    fallback: 'gemini-3.1-flash-image',
    help: 'A model that makes pictures: gmn models',
  },
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
  { long: 'output-file', value: 'path', help: 'Save the picture here; a file that exists is replaced' },
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
