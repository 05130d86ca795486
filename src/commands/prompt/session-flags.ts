import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { flagOf, isDefault } from './foreign-flag.ts';

/** The flags of a one-shot that are commands of their own, and those that shape what they print. */
export interface SessionFlags {
  readonly args: readonly string[];
  readonly deleteSession?: string;
  readonly outputFormat?: string;
  readonly outputDialect?: 'gmn' | 'gemini';
  readonly quiet?: boolean;
}

/** What shapes the whole program, or what these two print. */
const KNOWN = ['args', 'outputFormat', 'outputDialect', 'quiet', 'color', 'noColor', 'cwd', 'debug', 'debugFile'];

/**
 * `--list-sessions` and `--delete-session`, which do what the commands of these names do; the list is for programs, and has
 * whole ids, or the lines of the official CLI. Throws AppError `usage` if
 * something else is asked for besides.
 */
export async function runSessionFlag(options: SessionFlags, app: App): Promise<number> {
  const { outputFormat, outputDialect, deleteSession, quiet = false } = options;
  const flag = deleteSession === undefined ? 'listSessions' : 'deleteSession';
  const foreign = Object.entries(options).find(
    ([name, value]) => value !== undefined && name !== flag && !KNOWN.includes(name) && !isDefault(name, app.env),
  );
  if (foreign !== undefined || options.args.length > 0) {
    const what = foreign === undefined ? 'a prompt' : flagOf(foreign[0]);
    throw new AppError('usage', `${flagOf(flag)} cannot be combined with ${what}`, { hint: 'Do one after the other.' });
  }
  const print = { json: outputFormat === 'json' || outputFormat === 'stream-json', quiet };
  if (deleteSession === undefined) {
    const layout = outputDialect === 'gemini' ? 'official' : 'whole-ids';
    return (await import('../sessions/list.ts')).run({ ...print, layout }, app);
  }
  return (await import('../sessions/delete.ts')).run({ ...print, args: [deleteSession] }, app);
}
