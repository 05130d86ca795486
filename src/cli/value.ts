import { parseDuration } from '../core/duration.ts';
import { AppError } from '../core/error.ts';
import type { Flag } from './flag.ts';

/** Reads one flag's value by its kind. Throws AppError `usage` naming `source`, the flag or variable it came from. */
export function readValue(flag: Flag, text: string, source: string): string | number {
  if (flag.kind === 'duration') return duration(text, source);
  if (flag.kind === 'number') return finite(text, source, 'a number');
  if (flag.kind === 'integer') return integer(text, source);
  return choice(flag, text, source);
}

function choice({ choices }: Flag, text: string, source: string): string {
  if (choices === undefined || choices.includes(text)) return text;
  throw new AppError('usage', `${source}: "${text}" is not one of ${choices.join(', ')}`, {
    hint: `Example: ${source} ${choices[0]}`,
  });
}

function duration(text: string, source: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined) return ms;
  const guess = /^\d+(\.\d+)?$/.test(text) ? `Did you mean ${text}s?` : 'Examples: 90s, 5m, 1h30m, 0 = never';
  throw new AppError('usage', `${source}: "${text}" is not a duration`, {
    hint: guess,
  });
}

function finite(text: string, source: string, what: string): number {
  const value = text.trim() === '' ? Number.NaN : Number(text);
  if (Number.isFinite(value)) return value;
  throw new AppError('usage', `${source}: "${text}" is not ${what}`, {
    hint: `Example: ${source} 1`,
  });
}

function integer(text: string, source: string): number {
  const value = finite(text, source, 'a whole number');
  if (Number.isSafeInteger(value)) return value;
  throw new AppError('usage', `${source}: "${text}" is not a whole number`, {
    hint: `Example: ${source} 40`,
  });
}
