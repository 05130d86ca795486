import { join } from 'node:path';
import type { Homes } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import type { Env } from '../core/io.ts';

export function resolveHomes(env: Env, userHome: () => string): Homes {
  const gemini = join(env.GEMINI_CLI_HOME || requireHome(env, userHome), '.gemini');
  return { gemini, gmn: env.GMN_HOME || join(requireHome(env, userHome), '.gmn') };
}

export const NO_HOME_NOTICE =
  'there is no home directory: no settings are read and nothing is saved; set HOME, or GMN_HOME and GEMINI_CLI_HOME';

/** Does not throw: with a key in the environment, a run works without a home. Nothing can be saved in `nowhere`. */
export function resolveHomesIfAny(env: Env, userHome: () => string, nowhere: string): Homes {
  try {
    return resolveHomes(env, userHome);
  } catch {
    return createNoHomes(nowhere);
  }
}

export function createNoHomes(nowhere: string): Homes {
  return { gemini: join(nowhere, '.gemini'), gmn: join(nowhere, '.gmn'), isMissing: true };
}

function requireHome(env: Env, userHome: () => string): string {
  try {
    const directory = env.HOME || userHome();
    if (directory !== '') return directory;
  } catch {
    // A user without an entry in the password file has no home directory.
  }
  throw noHomeError();
}

/** `so` says what cannot be done without it. */
export function noHomeError(so?: string): AppError {
  return new AppError('config', `there is no home directory${so === undefined ? '' : `, so ${so}`}`, {
    hint: 'Set HOME, or GMN_HOME and GEMINI_CLI_HOME.',
  });
}
