import { command, under } from './command.ts';
import { QUESTION_FLAGS, QUESTIONS_FLAG } from './decide.ts';
import {
  APP_FLAGS,
  AUTH_FLAG,
  ENCODING_FLAG,
  JSON_FLAG,
  MAX_COST_FLAG,
  MODEL_FLAGS,
  QUIET_FLAG,
  REPORT_FLAGS,
  SERVICE_FLAGS,
  SYSTEM_FLAGS,
} from './flags.ts';
import { ANSWER_FLAGS, ROW_FLAGS } from './prompt.ts';

const INPUT_FLAGS = [
  ...under('Rows', [{ long: 'lines', help: 'Every line of the input is a prompt' }]),
  ...under('Prompt and input', [
    {
      long: 'input-format',
      value: 'format',
      choices: ['jsonl', 'csv', 'tsv', 'lines'],
      help: 'What the input is, if its name does not say so',
    },
  ]),
  ENCODING_FLAG,
  ...under('Rows', [
    { long: 'each', value: 'glob', help: "Every file that matches is a row, e.g. 'src/**/*.ts'" },
    { long: 'limit', value: 'n', kind: 'integer', help: 'Only the first n rows' },
    { long: 'sample', value: 'n', kind: 'integer', help: 'Only n rows, chosen at random; the same ones each time' },
  ]),
] as const;

const OUTPUT_FLAGS = [
  ...under('Output', [
    {
      long: 'output-file',
      value: 'path',
      help: 'One line of JSON per row, or .csv, .tsv; run it again to continue where it stopped',
    },
    { long: 'no-input', help: 'In JSON lines, leave out the row that each answers ("input")' },
    { long: 'csv-raw', help: "In a .csv or .tsv, put no ' before cells that a spreadsheet takes for formulas" },
    {
      long: 'dry-run',
      conflicts: ['--estimate'],
      help: 'Print the request of the first row as JSON, secrets removed; send nothing',
    },
  ]),
  ...under('Rows', [
    { long: 'ordered', help: 'Write the rows in the order of the input' },
    { long: 'retry-failed', help: 'Also ask the rows again that failed' },
    { long: 'restart', help: 'Start over; the old output is kept as <path>.old' },
  ]),
] as const;

const SPEED_FLAGS = under('Rows', [
  {
    long: 'engine',
    value: 'name',
    choices: ['local', 'api'],
    fallback: 'local',
    help: 'local: ask from here; api: the Batch API, at half the price, within a day',
  },
  {
    long: 'shard-rows',
    value: 'n',
    kind: 'integer',
    fallback: '10,000',
    help: 'With --engine api: rows in one batch job; fewer give earlier results',
  },
  {
    long: 'concurrency',
    value: 'n',
    kind: 'integer',
    fallback: '100',
    help: 'The most requests at once; it begins with 4',
  },
  { long: 'rpm', value: 'n', kind: 'integer', help: 'At most n requests per minute' },
  { long: 'tpm', value: 'n', kind: 'integer', help: 'At most n tokens of prompts per minute' },
  { long: 'dedupe', help: 'Ask rows with the same request once (within a run)' },
  { long: 'estimate', help: 'Count the tokens of a sample, say what the rows would cost, and ask nothing' },
]);

const CONTEXT_FLAGS = under('Prompt and input', [
  {
    long: 'context',
    help: 'Tell the model what AGENTS.md and GEMINI.md say, as in a one-shot; without it rows do not',
  },
]);

/** What a decision has no place for: it is not a request to a model. */
const NOT_FOR_DECISIONS = [
  ...['--engine api', '--estimate', '--service-tier', '--fallback', '--no-fallback'],
  ...[...SYSTEM_FLAGS, ...ANSWER_FLAGS, ...CONTEXT_FLAGS].map(({ long }) => `--${long}`),
] as const;

const DECISION_FLAGS = [
  ...under('Rows', [
    {
      long: 'decide',
      value: 'question',
      conflicts: ['--questions', ...NOT_FOR_DECISIONS],
      help: 'Decide this about every row, as gmn decide does, in place of asking a model',
    },
  ]),
  ...QUESTION_FLAGS,
  { ...QUESTIONS_FLAG, conflicts: NOT_FOR_DECISIONS, help: 'Decide the questions of this JSON file about every row' },
] as const;

const RUN_FLAGS = [AUTH_FLAG, ...REPORT_FLAGS] as const;
const [, , , SERVICE_TIER_FLAG] = SERVICE_FLAGS;

export const BATCH = command({
  name: 'batch',
  summary: 'Ask every row of a file; continue after any interruption',
  args: '[input]',
  flags: [
    ...INPUT_FLAGS,
    ...OUTPUT_FLAGS,
    ...SPEED_FLAGS,
    MAX_COST_FLAG,
    ...MODEL_FLAGS,
    ...ROW_FLAGS,
    ...CONTEXT_FLAGS,
    ...DECISION_FLAGS,
    SERVICE_TIER_FLAG,
    JSON_FLAG,
    QUIET_FLAG,
    ...APP_FLAGS,
  ],
  essentials: {
    'output-file': 'JSON Lines, or .csv; run it again to continue',
    model: 'Which model: pro, flash, or an id (gmn models)',
    lines: 'Every line of the input is a prompt',
    prompt: 'What to ask; {{column}} is filled from each row',
    'output-schema': 'Every answer must be JSON of this JSON Schema',
    'dry-run': 'Show the first request, and ask nothing',
    estimate: 'Say what it would cost, and ask nothing',
    'retry-failed': 'Also ask the rows again that failed',
    engine: 'local, or api: the Batch API, at half the price',
    demo: 'Use the offline model: no account, no network',
  },
  examples: [
    ['gmn batch in.csv --output-file out.jsonl', 'columns: id, prompt; or JSON Lines'],
    ["gmn batch reviews.csv -p 'Is this positive? {{text}}' --output-file out.csv", 'a column fills the prompt'],
    ["gmn batch --each 'src/**/*.ts' -p 'Describe this file.' --output-file docs.jsonl", 'a row per file'],
    ["gmn batch in.jsonl --decide 'is it spam?' --output-file out.jsonl", 'a decision per row'],
    ['gmn batch in.jsonl --estimate', 'what would it cost?'],
  ],
  load: () => import('../../commands/batch/batch.ts'),
  subcommands: [
    command({
      name: 'list',
      summary: 'The runs whose outputs are in this directory; also gmn batch alone',
      flags: REPORT_FLAGS,
      load: () => import('../../commands/batch/list.ts'),
    }),
    command({
      name: 'status',
      summary: 'Show how far a run is: rows answered, and its jobs at the Batch API',
      args: '<output>',
      flags: RUN_FLAGS,
      load: () => import('../../commands/batch/status.ts'),
    }),
    command({
      name: 'wait',
      summary: 'Wait for the jobs of a run, and collect their results',
      args: '<output>',
      flags: RUN_FLAGS,
      load: () => import('../../commands/batch/wait.ts'),
    }),
    command({
      name: 'collect',
      summary: 'Collect what the jobs of a run have ready, without waiting',
      args: '<output>',
      flags: RUN_FLAGS,
      load: () => import('../../commands/batch/collect.ts'),
    }),
    command({
      name: 'cancel',
      summary: 'Cancel the jobs of a run; what is complete is collected',
      args: '<output>',
      flags: RUN_FLAGS,
      load: () => import('../../commands/batch/cancel.ts'),
    }),
  ],
});
