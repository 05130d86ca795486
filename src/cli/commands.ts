import { APP_FLAGS, MODEL_FLAGS, QUIET_FLAG } from './common.ts';
import { type Command, command } from './flag.ts';

const PROMPT_FLAGS = [
  {
    long: 'prompt',
    short: 'p',
    value: 'text',
    help: 'The prompt; same as the positional form, cannot be combined with it',
  },
  {
    long: 'output-format',
    short: 'o',
    value: 'format',
    choices: ['text', 'json', 'stream-json'],
    env: 'GMN_OUTPUT_FORMAT',
    fallback: 'text',
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
    long: 'file',
    short: 'f',
    value: 'path',
    repeatable: true,
    help: 'Add a file, directory or glob; text is inlined, media attached; repeat',
  },
  { long: 'stdin', help: 'Read stdin to its end, however long that takes' },
  { long: 'no-stdin', help: 'Never read stdin' },
  { long: 'no-at', help: 'Leave @path in the prompt as text' },
  { long: 'system', value: 'text', help: 'System instruction for this run' },
  {
    long: 'append-system-prompt',
    value: 'text',
    help: 'Add this to the system instruction',
  },
  {
    long: 'temperature',
    value: 'number',
    kind: 'number',
    fallback: '1',
    help: 'Sampling temperature, 0 to 2',
  },
  {
    long: 'top-p',
    value: 'number',
    kind: 'number',
    fallback: '0.95',
    help: 'Nucleus sampling, 0 to 1',
  },
  {
    long: 'top-k',
    value: 'n',
    kind: 'integer',
    fallback: '40',
    help: 'Sample from the k likeliest tokens',
  },
  {
    long: 'max-output-tokens',
    value: 'n',
    kind: 'integer',
    help: "Limit of the answer (default: the model's)",
  },
  {
    long: 'seed',
    value: 'n',
    kind: 'integer',
    help: 'Make sampling repeatable',
  },
  {
    long: 'show-thoughts',
    help: 'Show reasoning summaries: on stderr, or as thought events',
  },
  {
    long: 'render',
    value: 'when',
    choices: ['auto', 'always', 'never'],
    env: 'GMN_RENDER',
    fallback: 'auto',
    help: 'Render Markdown (auto: only on a terminal)',
  },
  {
    long: 'raw-output',
    help: "Let the model's control sequences reach the terminal",
  },
  {
    long: 'usage',
    short: 'u',
    help: 'One line of tokens and time on stderr at the end',
  },
  {
    long: 'dry-run',
    help: 'Print the request as JSON, secrets removed; send nothing',
  },
] as const;

const DEMO_SERVE = command({
  name: 'serve',
  summary: 'Serve the offline model on 127.0.0.1, for your own tests',
  flags: [
    ...APP_FLAGS,
    QUIET_FLAG,
    {
      long: 'port',
      value: 'n',
      kind: 'integer',
      fallback: '0, a free one',
      help: 'Port to listen on',
    },
    {
      long: 'script',
      value: 'file',
      help: "Answers as JSON lines, in the official CLI's fake-response format",
    },
    {
      long: 'fault',
      value: 'spec',
      repeatable: true,
      help: 'Misbehave: 429, 503x1, cut-after=2, … (gmn help demo)',
    },
  ],
  examples: [['gmn demo serve --port 8080 --fault 503x1', 'the first request fails, the next ones work']],
  load: () => import('../commands/demo-serve.ts'),
});

/** The command tree. To add a command, add an entry; parsing, help and docs follow. */
export const ROOT: Command = command({
  name: 'gmn',
  summary: 'Gemini in your shell: one prompt, one answer.',
  args: '[prompt...]',
  flags: [...MODEL_FLAGS, ...PROMPT_FLAGS, QUIET_FLAG, ...APP_FLAGS],
  examples: [
    ['gmn "why is the sky blue?"', 'one prompt, one answer'],
    ['git diff | gmn "review this change"', 'stdin goes before the prompt'],
    ['gmn -f notes.md -f chart.png "summarise"', 'files and images'],
    ['gmn -o json "hello" | jq -r .response', 'for scripts'],
    ['gmn --demo "hello"', 'no account needed'],
  ],
  load: () => import('../commands/prompt.ts'),
  subcommands: [
    command({
      name: 'demo',
      summary: 'A short guided tour with the offline model',
      flags: APP_FLAGS,
      subcommands: [DEMO_SERVE],
      load: () => import('../commands/demo.ts'),
    }),
    command({
      name: 'help',
      summary: 'Help about a command',
      args: '[command...]',
      flags: [],
    }),
  ],
});
