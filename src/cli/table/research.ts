import { command } from './command.ts';
import {
  APP_FLAGS,
  AUTH_FLAG,
  FILE_FLAG,
  MAX_COST_FLAG,
  MODEL_FLAGS,
  QUIET_FLAG,
  REPORT_FLAGS,
  USAGE_FLAG,
} from './flags.ts';
import { REPORT_OUTPUT_FLAGS, STDIN_FLAGS } from './prompt.ts';

const [, TIMEOUT, AUTH, BACKEND, DEMO] = MODEL_FLAGS;

export const RESEARCH = command({
  name: 'research',
  summary: "A report with sources by Google's research agent, as a job that outlives gmn",
  args: '[question...]',
  flags: [
    { long: 'max', heading: 'Answer', help: 'The agent that reads most: takes longer, costs more' },
    ...REPORT_OUTPUT_FLAGS,
    {
      long: 'interaction',
      value: 'id',
      heading: 'Answer',
      help: 'Go on with research that has this id at Google, in place of beginning it',
    },
    FILE_FLAG,
    ...STDIN_FLAGS,
    { ...MAX_COST_FLAG, help: 'Cancel it when it has cost more dollars than this; needs a price: gmn help config' },
    { ...TIMEOUT, env: undefined, fallback: '0', help: 'Stop waiting after this long, e.g. 30m; the research goes on' },
    AUTH,
    BACKEND,
    DEMO,
    USAGE_FLAG,
    QUIET_FLAG,
    ...APP_FLAGS,
  ],
  examples: [
    [
      'gmn research "how do heat pumps work in the cold?" --output-file pumps.md',
      'minutes to an hour; Ctrl+C leaves it running',
    ],
    ['gmn research "how do heat pumps work in the cold?"', 'the same again goes on with it'],
    ['gmn jobs list', 'what runs, and what has ended'],
  ],
  load: () => import('../../commands/research.ts'),
});

const JOB_FLAGS = [AUTH_FLAG, ...REPORT_FLAGS] as const;

export const JOBS = command({
  name: 'jobs',
  summary: 'Research, and what agents have delegated to gmn mcp serve',
  flags: APP_FLAGS,
  defaultSubcommand: 'list',
  subcommands: [
    command({
      name: 'list',
      summary: 'All jobs of the last week, the newest first',
      flags: REPORT_FLAGS,
      load: () => import('../../commands/jobs/list.ts'),
    }),
    command({
      name: 'show',
      summary: 'The state of a job, and what it has answered',
      args: '<job>',
      flags: JOB_FLAGS,
      load: () => import('../../commands/jobs/show.ts'),
    }),
    command({
      name: 'wait',
      summary: 'Wait for the end of a job, and print what it has answered',
      args: '<job>',
      flags: [...REPORT_OUTPUT_FLAGS, AUTH_FLAG, QUIET_FLAG, ...APP_FLAGS],
      load: () => import('../../commands/jobs/wait.ts'),
    }),
    command({
      name: 'cancel',
      summary: 'End a job: at Google, or in the server that runs it',
      args: '<job>',
      flags: JOB_FLAGS,
      load: () => import('../../commands/jobs/cancel.ts'),
    }),
  ],
});
