import { AppError } from '../../core/error.ts';
import type { Env } from '../../core/io.ts';
import { hasTools } from '../../engine/conversation.ts';
import { isFromEnv, toFlagName } from './flag-names.ts';
import type { PromptOptions } from './options.ts';

type FlagName = keyof PromptOptions;

interface IdleFlags {
  readonly when: string;
  readonly applies: (options: PromptOptions) => boolean;
  readonly flags: readonly FlagName[];
  /** The flags contradict each other: an error even for a flag of the official CLI. */
  readonly isContradiction?: true;
}

const toOutputFormat = ({ outputFormat = 'text' }: PromptOptions): string => outputFormat;

const beginsWithSlash = ({ prompt, args }: PromptOptions): boolean => (prompt ?? args[0])?.startsWith('/') ?? false;

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
  'pictures',
] as const satisfies readonly FlagName[];

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
  'serviceTier',
  'store',
] as const satisfies readonly FlagName[];

/**
 * The runs in which a flag has no effect. Does not list a flag whose promise holds anyway (`--no-render` with `-o
 * json`), nor one that `--dry-run` ignores only because nothing is sent (`--retries`, `--max-turns`): a preview should
 * accept the same flags as the run.
 */
export const IDLE_FLAGS: readonly IdleFlags[] = [
  {
    when: 'with --approval-mode',
    applies: ({ approvalMode }) => approvalMode !== undefined && approvalMode !== 'yolo',
    flags: ['yolo'],
    isContradiction: true,
  },
  { when: 'with --no-stdin', applies: ({ noStdin }) => noStdin === true, flags: ['stdin'], isContradiction: true },
  { when: 'with --no-render', applies: ({ noRender }) => noRender === true, flags: ['render'], isContradiction: true },
  { when: 'with --extract-last', applies: ({ extractLast }) => extractLast === true, flags: ['extract'] },
  {
    when: 'with --output-schema',
    applies: ({ outputSchema }) => outputSchema !== undefined,
    flags: ['extract', 'extractLast'],
  },
  { when: 'with --dry-run', applies: ({ dryRun }) => dryRun === true, flags: ANSWER_FLAGS },
  {
    when: 'with --count-tokens',
    applies: ({ countTokens }) => countTokens === true,
    flags: [
      'dryRun',
      ...ANSWER_FLAGS,
      ...SAMPLING_FLAGS,
      'maxTurns',
      'maxCost',
      'verify',
      'maxVerify',
      'yolo',
      'allowedTools',
      'fork',
      'sessionName',
      'sessionId',
    ],
  },
  {
    when: 'with -o json',
    applies: (options) => toOutputFormat(options) === 'json',
    flags: ['pager', 'usage', 'render', 'rawOutput', 'pictures', 'showThoughts'],
  },
  {
    when: 'with -o stream-json',
    applies: (options) => toOutputFormat(options) === 'stream-json',
    flags: ['pager', 'noStream', 'usage', 'render', 'rawOutput', 'pictures'],
  },
  {
    when: 'with --output-dialect gemini',
    applies: (options) => options.outputDialect === 'gemini' && toOutputFormat(options) === 'stream-json',
    flags: ['showThoughts'],
  },
  { when: 'with --render always', applies: ({ render }) => render === 'always', flags: ['rawOutput'] },
  { when: 'with --quiet', applies: ({ quiet }) => quiet === true, flags: ['usage'] },
  {
    // A template may run commands, for which these flags matter; a slash may begin the name of one.
    when: 'without tools',
    applies: (options) => !hasTools(options) && options.template === undefined && !beginsWithSlash(options),
    flags: ['allowedTools', 'yolo', 'approvalMode'],
  },
  {
    when: 'without tools',
    applies: (options) => !hasTools(options),
    flags: ['includeDirectories', 'maxTurns', 'noAgentPrompt', 'verify'],
  },
  { when: 'without --verify', applies: ({ verify }) => verify === undefined, flags: ['maxVerify'] },
];

/** Flags of the official CLI: a wrapper may always pass them, so they are not an error. */
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
 * Notices about flags of the official CLI that have no effect in this run. Throws AppError `usage` for any other flag
 * without effect, and for flags that contradict each other. Ignores values set by a variable.
 */
export function checkFlags(options: PromptOptions, env: Env): readonly string[] {
  const notices: string[] = [];
  for (const { when, applies, flags, isContradiction } of IDLE_FLAGS) {
    const given = flags.filter((flag) => isGiven(flag, options, env));
    if (given.length === 0 || !applies(options)) continue;
    const refused = given.find((flag) => isContradiction || !OFFICIAL_FLAGS.includes(flag));
    if (refused !== undefined) throw flagError(refused, when, options);
    notices.push(...given.map((flag) => `${formatTyped(flag)} has no effect ${when}`));
  }
  return notices;
}

/**
 * Interprets flags as the official CLI does if `--output-dialect gemini` was typed: `--yolo` offers all tools, since
 * that CLI always offers them. Set by a variable, the dialect only changes names in the output.
 */
export function applyOfficialMeaning(options: PromptOptions, env: Env): PromptOptions {
  const { outputDialect, tools, yolo, approvalMode, search, code, url } = options;
  if (outputDialect !== 'gemini' || isFromEnv('outputDialect', env, outputDialect)) return options;
  const isYolo = (yolo || approvalMode === 'yolo') && tools === undefined && !search && !code && !url;
  return { ...options, isOfficial: true, ...(isYolo ? { tools: 'all' } : {}) };
}

const IGNORED_FLAGS: readonly FlagName[] = [
  'model',
  'timeout',
  'auth',
  'backend',
  'demo',
  ...OFFICIAL_FLAGS.filter((flag) => flag !== 'outputFormat'),
];

export function dropIgnoredFlags(
  options: PromptOptions,
  env: Env,
): { readonly rest: PromptOptions; readonly notices: readonly string[] } {
  const ignored = IGNORED_FLAGS.filter((flag) => isGiven(flag, options, env));
  const entries = Object.entries(options).filter(([name]) => !ignored.some((flag) => flag === name));
  const command = options.listSessions ? '--list-sessions' : '--delete-session';
  return {
    // Only optional properties were removed.
    rest: Object.fromEntries(entries) as unknown as PromptOptions,
    notices: ignored.map((flag) => `${formatTyped(flag)} has no effect with ${command}`),
  };
}

function isGiven(flag: FlagName, options: PromptOptions, env: Env): boolean {
  const value = options[flag];
  // Other values are the default behaviour of such a run.
  if ((flag === 'render' && value !== 'always') || (flag === 'pictures' && value === 'never')) return false;
  return value !== undefined && value !== false && !isFromEnv(flag, env, value);
}

function flagError(flag: FlagName, when: string, options: PromptOptions): AppError {
  if (when.startsWith('without')) {
    const missing = when === 'without tools' ? 'those the model may use, e.g. --tools edit' : '--verify "<command>"';
    return new AppError('usage', `${formatTyped(flag)} means nothing ${when}`, {
      hint: `Add ${missing}; or leave it out.`,
    });
  }
  const mode = flag === 'yolo' ? ` ${options.approvalMode}` : '';
  // The format may come from a variable or the settings.
  const hint = when.startsWith('with -o') ? 'Use one of them, e.g. with -o text.' : 'Use one of them.';
  return new AppError('usage', `${formatTyped(flag)} cannot be combined ${when}${mode}`, { hint });
}

function formatTyped(flag: FlagName): string {
  return flag === 'render' ? '--render always' : toFlagName(flag);
}
