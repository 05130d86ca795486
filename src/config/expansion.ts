import type { Env } from '../core/io.ts';

const VARIABLE = /\$(?:(\w+)|\{([^{}:]+)(?::-([^}]*))?\})/g;

/**
 * Puts the values of variables in the place of `$NAME`, `${NAME}` and `${NAME:-otherwise}`. What is put in is not looked
 * at again; a variable that is not set, and has no otherwise, stays as it was written.
 */
export function expand(text: string, env: Env): string {
  return text.replace(VARIABLE, (written, bare?: string, braced?: string, otherwise?: string) => {
    const name = bare ?? braced ?? '';
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    return value ?? otherwise ?? written;
  });
}
