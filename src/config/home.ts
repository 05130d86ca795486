import { join } from 'node:path';
import type { Homes } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import type { Env } from '../core/io.ts';

/** Throws AppError `config` if there is no home directory to be found. */
export function homes(env: Env, userHome: () => string): Homes {
  const gemini = join(env.GEMINI_CLI_HOME || home(env, userHome), '.gemini');
  return { gemini, gmn: env.GMN_HOME || join(home(env, userHome), '.gmn') };
}

function home(env: Env, userHome: () => string): string {
  try {
    const directory = env.HOME || userHome();
    if (directory !== '') return directory;
  } catch {
    // A user without an entry in the password file: same as no home.
  }
  throw new AppError('config', 'there is no home directory', {
    hint: 'Set HOME, or GMN_HOME and GEMINI_CLI_HOME.',
  });
}
