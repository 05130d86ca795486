import { command, under } from './command.ts';
import { FILE_FLAG, MODEL_FLAGS, REPLAY_FLAGS, REPORT_FLAGS, USAGE_FLAG } from './flags.ts';
import { STDIN_FLAGS } from './prompt.ts';

/** What is asked, and what counts as a yes: the flags that `gmn decide` and `gmn batch` share. */
export const QUESTION_FLAGS = under('Answer', [
  {
    long: 'choice',
    value: 'options',
    conflicts: ['--score', '--questions'],
    help: 'Which of these it is; commas: bug,feature,question',
  },
  {
    long: 'score',
    value: 'levels',
    conflicts: ['--questions'],
    help: 'Where it is on this scale, from 0; commas, the lowest first: calm,annoyed,furious',
  },
  { long: 'threshold', value: 'p', kind: 'number', fallback: '0.5', help: 'From which probability it is a yes' },
  {
    long: 'unsure',
    value: 'd',
    kind: 'number',
    fallback: '0.2',
    help: 'Nearer to the threshold than this it is neither yes nor no',
  },
]);

export const QUESTIONS_FLAG = {
  long: 'questions',
  value: 'file',
  heading: 'Answer',
  help: 'A JSON file of questions, by their ids, in place of one question',
} as const;

const [, TIMEOUT, AUTH, BACKEND, DEMO, RETRIES] = MODEL_FLAGS;

export const DECIDE = command({
  name: 'decide',
  summary: 'How likely it is a yes, which of several, or where on a scale; for an if of the shell',
  args: '[question...]',
  flags: [
    ...QUESTION_FLAGS,
    QUESTIONS_FLAG,
    {
      long: 'exit-code',
      heading: 'Output',
      help: 'Exit with 0 for yes, 10 for no, 11 for unsure; an error keeps its own code',
    },
    {
      long: 'output-format',
      short: 'o',
      value: 'format',
      choices: ['text', 'json'],
      fallback: 'text',
      heading: 'Output',
      help: 'json: every probability, the decision, tokens and cost',
    },
    { long: 'dry-run', heading: 'Output', help: 'Print the request as JSON, secrets removed; send nothing' },
    FILE_FLAG,
    ...STDIN_FLAGS,
    {
      long: 'model',
      short: 'm',
      value: 'id',
      fallback: 'gemini-decision-1',
      heading: 'Model',
      help: 'A model that decides',
    },
    TIMEOUT,
    AUTH,
    BACKEND,
    DEMO,
    ...REPLAY_FLAGS,
    RETRIES,
    USAGE_FLAG,
    ...REPORT_FLAGS,
  ],
  examples: [
    ['git diff | gmn decide "does this change the public API?"', 'prints 0.93'],
    ['if git diff --staged | gmn decide --exit-code "is a test missing?"; then …', 'yes 0, no 10, unsure 11'],
    ['gmn decide -f issue.md --choice bug,feature,question "what is it?"', 'prints bug'],
  ],
  load: () => import('../../commands/decide.ts'),
});
