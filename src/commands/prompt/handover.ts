import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { createStderr } from '../../render/stderr.ts';
import { type ChatOptions, run } from '../chat/chat.ts';
import { isFromEnv, toFlagName } from './flag-names.ts';
import { OFFICIAL_FLAGS } from './idle-flags.ts';
import type { PromptOptions } from './options.ts';

type OneShotOption =
  | Exclude<
      keyof PromptOptions,
      // A chat has `--plain` for `--screen-reader`.
      | keyof ChatOptions
      | 'isBare'
      | 'isOfficial'
      | 'isPicture'
      | 'promptInteractive'
      | 'listSessions'
      | 'deleteSession'
      | 'screenReader'
    >
  | 'outputFormat'
  | 'dryRun'
  | 'prompt';

/** A chat must reject these instead of ignoring them. The type makes sure that every new one-shot flag is listed. */
const ONE_SHOT_ONLY: Readonly<Record<OneShotOption, true>> = {
  outputFormat: true,
  outputDialect: true,
  stdin: true,
  noStdin: true,
  noAt: true,
  render: true,
  noRender: true,
  rawOutput: true,
  usage: true,
  countTokens: true,
  dryRun: true,
  prompt: true,
  outputSchema: true,
  template: true,
  param: true,
  editor: true,
  extract: true,
  extractLast: true,
  outputFile: true,
  copy: true,
  pager: true,
  noStream: true,
  attach: true,
  mimeType: true,
  paste: true,
  verify: true,
  maxVerify: true,
};

/**
 * `-i`: starts a chat with this prompt. Throws AppError `usage` for a flag that only one-shot runs have; for one that
 * the official CLI has too, prints a notice that it has no effect.
 */
export async function runInChat(options: PromptOptions, prompt: string, app: App): Promise<number> {
  const given = Object.entries(options).filter(
    ([name, value]) =>
      Object.hasOwn(ONE_SHOT_ONLY, name) && value !== undefined && !isFromEnv(name, app.env, value) && value !== false,
  );
  const idle = given.map(([name]) => name).filter((name) => OFFICIAL_FLAGS.some((flag) => flag === name));
  const unsupported = given.find(([name]) => !idle.includes(name));
  if (unsupported !== undefined || options.args.length > 0) {
    const what = unsupported === undefined ? 'a positional prompt' : toFlagName(unsupported[0]);
    throw new AppError('usage', `-i cannot be combined with ${what}`, {
      hint: 'To see what a chat takes: gmn chat --help',
    });
  }
  if (!options.quiet)
    for (const name of idle) await createStderr(app.io.err).notice(`${toFlagName(name)} has no effect with -i`);
  const { outputFormat: _, screenReader, ...rest } = options;
  return run({ ...rest, prompt, ...(screenReader ? { plain: true } : {}) }, app);
}

interface SessionFlags {
  readonly args: readonly string[];
  readonly deleteSession?: string;
  readonly outputFormat?: string;
  readonly outputDialect?: 'gmn' | 'gemini';
  readonly quiet?: boolean;
}

const ALLOWED_OPTIONS = [
  'args',
  'outputFormat',
  'outputDialect',
  'quiet',
  'color',
  'noColor',
  'cwd',
  'debug',
  'debugFile',
];

/**
 * Runs `--list-sessions` and `--delete-session` like the commands of these names; the list shows full ids, or the
 * format of the official CLI. Throws AppError `usage` if combined with other flags or a prompt.
 */
export async function runSessionFlag(options: SessionFlags, app: App): Promise<number> {
  const { outputFormat, outputDialect, deleteSession, quiet = false } = options;
  const flag = deleteSession === undefined ? 'listSessions' : 'deleteSession';
  const unsupported = Object.entries(options).find(
    ([name, value]) =>
      value !== undefined && name !== flag && !ALLOWED_OPTIONS.includes(name) && !isFromEnv(name, app.env),
  );
  if (unsupported !== undefined || options.args.length > 0) {
    const what = unsupported === undefined ? 'a prompt' : toFlagName(unsupported[0]);
    throw new AppError('usage', `${toFlagName(flag)} cannot be combined with ${what}`, {
      hint: 'Do one after the other.',
    });
  }
  const print = { json: outputFormat === 'json' || outputFormat === 'stream-json', quiet };
  if (deleteSession === undefined) {
    const layout = outputDialect === 'gemini' ? 'official' : 'whole-ids';
    return (await import('../sessions/list.ts')).run({ ...print, layout }, app);
  }
  return (await import('../sessions/delete.ts')).run({ ...print, args: [deleteSession] }, app);
}
