import { AppError } from '../../core/error.ts';
import type { Env } from '../../core/io.ts';
import { flagOf, isDefault } from './foreign-flag.ts';
import type { PromptOptions } from './options.ts';

type FlagName = keyof PromptOptions;

/** The flags that have no effect in some runs. */
interface IdleFlags {
  /** Which runs, as it reads behind a flag. */
  readonly when: string;
  readonly isSo: (options: PromptOptions) => boolean;
  readonly flags: readonly FlagName[];
  /** The two contradict each other: a mistake, whoever else has the flag. */
  readonly isContradiction?: true;
}

const format = ({ outputFormat = 'text' }: PromptOptions): string => outputFormat;

const hasTools = ({ tools = 'none', mcpConfig, allowedMcpServerNames }: PromptOptions): boolean =>
  tools !== 'none' || mcpConfig !== undefined || allowedMcpServerNames !== undefined;

/** What becomes of an answer, and how it looks. */
const ANSWER_FLAGS = [
  'extract',
  'extractLast',
  'outputFile',
  'copy',
  'pager',
  'noStream',
  'usage',
  'render',
  'rawOutput',
] as const satisfies readonly FlagName[];

/** How the model samples: it says nothing about the length of the input. */
const SAMPLING_FLAGS = [
  'temperature',
  'topP',
  'topK',
  'maxOutputTokens',
  'seed',
  'stop',
  'option',
  'thinkingLevel',
  'thinkingBudget',
  'showThoughts',
  'outputSchema',
] as const satisfies readonly FlagName[];

/**
 * In which runs a flag of one-shots has no effect. A flag whose promise is kept anyway is not among them (`--no-render`
 * with `-o json`), nor is one of the run that `--dry-run` shows and that only its later course would have needed
 * (`--retries`, `--max-turns`): a preview is asked for with the very flags of the run.
 */
export const IDLE_FLAGS: readonly IdleFlags[] = [
  {
    when: 'with --approval-mode',
    isSo: ({ approvalMode }) => approvalMode !== undefined && approvalMode !== 'yolo',
    flags: ['yolo'],
    isContradiction: true,
  },
  { when: 'with --no-stdin', isSo: ({ noStdin }) => noStdin === true, flags: ['stdin'], isContradiction: true },
  { when: 'with --no-render', isSo: ({ noRender }) => noRender === true, flags: ['render'], isContradiction: true },
  { when: 'with --extract-last', isSo: ({ extractLast }) => extractLast === true, flags: ['extract'] },
  {
    when: 'with --output-schema',
    isSo: ({ outputSchema }) => outputSchema !== undefined,
    flags: ['extract', 'extractLast'],
  },
  { when: 'with --dry-run', isSo: ({ dryRun }) => dryRun === true, flags: ANSWER_FLAGS },
  {
    when: 'with --count-tokens',
    isSo: ({ countTokens }) => countTokens === true,
    flags: [
      'dryRun',
      ...ANSWER_FLAGS,
      ...SAMPLING_FLAGS,
      'maxTurns',
      'yolo',
      'allowedTools',
      'fork',
      'sessionName',
      'sessionId',
    ],
  },
  {
    when: 'with -o json',
    isSo: (options) => format(options) === 'json',
    flags: ['pager', 'usage', 'render', 'rawOutput', 'showThoughts'],
  },
  {
    when: 'with -o stream-json',
    isSo: (options) => format(options) === 'stream-json',
    flags: ['pager', 'noStream', 'usage', 'render', 'rawOutput'],
  },
  {
    when: 'with --output-dialect gemini',
    isSo: (options) => options.outputDialect === 'gemini' && format(options) === 'stream-json',
    flags: ['showThoughts'],
  },
  { when: 'with --render always', isSo: ({ render }) => render === 'always', flags: ['rawOutput'] },
  { when: 'with --quiet', isSo: ({ quiet }) => quiet === true, flags: ['usage'] },
  {
    // A template may run commands, which these let run.
    when: 'without tools',
    isSo: (options) => !hasTools(options) && options.template === undefined,
    flags: ['allowedTools', 'yolo', 'approvalMode'],
  },
  { when: 'without tools', isSo: (options) => !hasTools(options), flags: ['includeDirectories', 'maxTurns'] },
];

/** Those that the official CLI has too: a wrapper of it may pass them always, so they are no mistake. */
export const OFFICIAL_FLAGS: readonly FlagName[] = [
  'allowedTools',
  'approvalMode',
  'includeDirectories',
  'outputFormat',
  'rawOutput',
  'screenReader',
  'sessionId',
  'yolo',
];

/**
 * What the person should know about the flags they typed: those of the official CLI that have no effect in this run.
 * Throws AppError `usage` for any other flag without effect, and for two that contradict each other. What a variable sets
 * was typed by nobody.
 */
export function checkFlags(options: PromptOptions, env: Env): readonly string[] {
  const notices: string[] = [];
  for (const { when, isSo, flags, isContradiction } of IDLE_FLAGS) {
    const given = flags.filter((flag) => isGiven(flag, options, env));
    if (given.length === 0 || !isSo(options)) continue;
    const refused = given.find((flag) => isContradiction || !OFFICIAL_FLAGS.includes(flag));
    if (refused !== undefined) throw refusal(refused, when, options);
    notices.push(...given.map((flag) => `${typed(flag)} has no effect ${when}`));
  }
  return notices;
}

/**
 * The flags of a wrapper of the official CLI, as that one means them, if `--output-dialect gemini` was typed: `--yolo` offers
 * all tools, since there they are always offered. A variable is for all runs and changes nothing but names.
 */
export function asOfficial(options: PromptOptions, env: Env): PromptOptions {
  const { outputDialect, tools, yolo, approvalMode, search } = options;
  if (outputDialect !== 'gemini' || isDefault('outputDialect', env, outputDialect)) return options;
  const isYolo = (yolo || approvalMode === 'yolo') && tools === undefined && !search;
  return { ...options, isOfficial: true, ...(isYolo ? { tools: 'all' } : {}) };
}

/** What `--list-sessions` and `--delete-session` have no use for, and need not refuse: common flags and official ones. */
const ASIDE: readonly FlagName[] = [
  'model',
  'timeout',
  'auth',
  'backend',
  'demo',
  ...OFFICIAL_FLAGS.filter((flag) => flag !== 'outputFormat'),
];

/** The flags without those that only a prompt would need, and the words about these. */
export function setAside(
  options: PromptOptions,
  env: Env,
): { readonly rest: PromptOptions; readonly notices: readonly string[] } {
  const aside = ASIDE.filter((flag) => isGiven(flag, options, env));
  const entries = Object.entries(options).filter(([name]) => !aside.some((flag) => flag === name));
  const command = options.listSessions ? '--list-sessions' : '--delete-session';
  return {
    // The same, but for options that may be absent.
    rest: Object.fromEntries(entries) as unknown as PromptOptions,
    notices: aside.map((flag) => `${typed(flag)} has no effect with ${command}`),
  };
}

function isGiven(flag: FlagName, options: PromptOptions, env: Env): boolean {
  const value = options[flag];
  // Anything but `always` is what such a run does by itself.
  if (flag === 'render' && value !== 'always') return false;
  return value !== undefined && value !== false && !isDefault(flag, env, value);
}

function refusal(flag: FlagName, when: string, options: PromptOptions): AppError {
  if (when === 'without tools') {
    return new AppError('usage', `${typed(flag)} means nothing ${when}`, {
      hint: 'Add those the model may use, e.g. --tools edit; or leave it out.',
    });
  }
  const mode = flag === 'yolo' ? ` ${options.approvalMode}` : '';
  // The format may be a variable's choice, or that of the settings.
  const hint = when.startsWith('with -o') ? 'Use one of them, e.g. with -o text.' : 'Use one of them.';
  return new AppError('usage', `${typed(flag)} cannot be combined ${when}${mode}`, { hint });
}

function typed(flag: FlagName): string {
  return flag === 'render' ? '--render always' : flagOf(flag);
}
