import type { Env } from '../core/io.ts';
import { type Flag, optionKey } from './table/command.ts';
import { readValue } from './values.ts';

/** The options that environment variables give. Throws AppError `config` naming a variable whose value cannot be used. */
export function environmentOptions(flags: readonly Flag[], env: Env): Record<string, unknown> {
  const options: Record<string, unknown> = {};
  for (const flag of flags) {
    const text = flag.env === undefined ? undefined : env[flag.env];
    if (text === undefined || text === '') continue;
    options[optionKey(flag)] =
      flag.value === undefined ? isTruthy(text) : readValue(flag, text, { variable: flag.env ?? '' });
  }
  return options;
}

function isTruthy(text: string): boolean {
  return !['0', 'false', 'no', 'off'].includes(text.toLowerCase());
}
