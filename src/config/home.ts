import { join } from 'node:path';
import type { Homes } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import type { Env } from '../core/io.ts';

/** Throws AppError `config` if there is no home directory to be found. */
export function homes(env: Env, userHome: () => string): Homes {
  const gemini = join(env.GEMINI_CLI_HOME || home(env, userHome), '.gemini');
  return { gemini, gmn: env.GMN_HOME || join(home(env, userHome), '.gmn') };
}

/** Said once in a run that goes on without. */
export const NO_HOME_NOTICE =
  'there is no home directory: no settings are read and nothing is saved; set HOME, or GMN_HOME and GEMINI_CLI_HOME';

/** The same for a run that can do without a home: a key in the environment is enough for an answer. Nothing can be kept in `nowhere`. */
export function homesIfAny(env: Env, userHome: () => string, nowhere: string): Homes {
  try {
    return homes(env, userHome);
  } catch {
    return { gemini: join(nowhere, '.gemini'), gmn: join(nowhere, '.gmn'), isMissing: true };
  }
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
