import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { splitHandover } from '../../core/flag.ts';
import { createStderr } from '../../render/stderr.ts';
import { run } from '../chat/chat.ts';
import type { PromptOptions } from './options.ts';

/**
 * Starts a chat, with `-i` by its prompt. Throws AppError `usage` for a flag that only one-shot runs have; for one that
 * the official CLI has too, prints a notice that it has no effect.
 */
export async function runInChat(options: PromptOptions, prompt: string | undefined, app: App): Promise<number> {
  const { idle, refused } = sortFlags('prompt-interactive', app);
  if (refused !== undefined || options.args.length > 0) {
    const what = refused === undefined ? 'a positional prompt' : `--${refused.long}`;
    throw new AppError('usage', `-i cannot be combined with ${what}`, {
      hint: refused === undefined ? 'To add a picture: -f <path>' : 'To see what a chat takes: gmn chat --help',
    });
  }
  if (!options.quiet)
    for (const { long } of idle) await createStderr(app.io.err).notice(`--${long} has no effect with -i`);
  const { outputFormat: _, screenReader, ...rest } = options;
  return run({ ...rest, prompt, plain: screenReader }, app);
}

/**
 * Runs `--list-sessions` and `--delete-session` like the commands of these names; the list shows full ids, or the
 * format of the official CLI. Throws AppError `usage` if combined with other flags or a prompt.
 */
export async function runSessionFlag(options: PromptOptions, given: App): Promise<number> {
  const { outputFormat, outputDialect, deleteSession, quiet = false } = options;
  const long = deleteSession === undefined ? 'list-sessions' : 'delete-session';
  const { idle, refused } = sortFlags(long, given);
  if (refused !== undefined || options.args.length > 0) {
    const what = refused === undefined ? 'a prompt' : `--${refused.long}`;
    throw new AppError('usage', `--${long} cannot be combined with ${what}`, { hint: 'Do one after the other.' });
  }
  const app = { ...given, notices: idle.map((flag) => `--${flag.long} has no effect with --${long}`) };
  const print = { json: outputFormat === 'json' || outputFormat === 'stream-json', quiet };
  if (deleteSession === undefined) {
    const layout = outputDialect === 'gemini' ? 'official' : 'whole-ids';
    return (await import('../sessions/list.ts')).run({ ...print, layout }, app);
  }
  return (await import('../sessions/delete.ts')).run({ ...print, args: [deleteSession] }, app);
}

/** `--acp`. Throws AppError `usage` if combined with a prompt, or with flags that mean nothing for an editor. */
export async function runInEditor({ args, ...options }: PromptOptions, app: App): Promise<number> {
  const { refused } = sortFlags('acp', app);
  if (refused !== undefined || args.length > 0) {
    const what = refused === undefined ? 'a prompt' : `--${refused.long}`;
    throw new AppError('usage', `--acp cannot be combined with ${what}`, { hint: 'What it takes: gmn acp --help' });
  }
  return (await import('../acp.ts')).run({ ...options, args: [] }, app);
}

function sortFlags(long: string, { typedFlags = [] }: App): ReturnType<typeof splitHandover> {
  const own = typedFlags.find((flag) => flag.long === long);
  return own === undefined ? { idle: [], refused: undefined } : splitHandover(own, typedFlags);
}
