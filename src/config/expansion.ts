import type { Env } from '../core/io.ts';
import { isSecretKey } from './secrets.ts';

const VARIABLE = /\$(?:(\w+)|\{([^{}:]+)(?::-([^}]*))?\})/g;

/**
 * Puts the values of variables in the place of `$NAME`, `${NAME}` and `${NAME:-otherwise}`. What is put in is not looked
 * at again; a variable that is not set, and has no otherwise, stays as it was written.
 */
export function expand(text: string, env: Env): string {
  return put(text, env, () => false);
}

/** The same for a command line, which everybody on the machine can read: what the name of a variable calls a secret is not put in. */
export function expandInCommandLine(text: string, env: Env): string {
  return put(text, env, isSecretKey);
}

/** The variables in a text that no command line gets. */
export function withheldVariables(text: string): readonly string[] {
  return [...text.matchAll(VARIABLE)].map(([, bare, braced]) => bare ?? braced ?? '').filter(isSecretKey);
}

function put(text: string, env: Env, isWithheld: (name: string) => boolean): string {
  return text.replace(VARIABLE, (written, bare?: string, braced?: string, otherwise?: string) => {
    const name = bare ?? braced ?? '';
    if (isWithheld(name)) return written;
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    return value ?? otherwise ?? written;
  });
}
