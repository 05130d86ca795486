import { AppError } from '../core/error.ts';
import { type Flag, toOptionKey } from '../core/flag.ts';
import type { Env } from '../core/io.ts';
import { tryParseDuration } from '../core/text/format.ts';

type Source = { readonly flag: string } | { readonly variable: string };

/** Parses a flag's value by its kind. Throws AppError naming the flag (`usage`) or the variable (`config`). */
export function parseFlagValue(flag: Flag, text: string, source: Source): string | number {
  if (flag.kind === 'duration') return parseDurationValue(text, source);
  if (flag.kind === 'number') return parseNumber(text, source, 'a number');
  if (flag.kind === 'integer') return parseInteger(text, source);
  return parseChoice(flag, text, source);
}

function parseChoice({ choices, wrongValueHint }: Flag, text: string, source: Source): string {
  if (choices === undefined || choices.includes(text)) return text;
  const hint = [
    formatExample(source, choices[0] ?? ''),
    ...(wrongValueHint === undefined ? [] : [wrongValueHint]),
  ].join('\n');
  throw valueError(source, `"${text}" is not one of ${choices.join(', ')}`, hint);
}

function parseDurationValue(text: string, source: Source): number {
  const ms = tryParseDuration(text);
  if (ms !== undefined) return ms;
  const isBare = /^\d+(\.\d+)?$/.test(text);
  throw valueError(
    source,
    `"${text}" is not a duration`,
    isBare ? `Did you mean ${text}s?` : 'Examples: 90s, 5m, 1h30m, 0 = never',
  );
}

function parseInteger(text: string, source: Source): number {
  const value = parseNumber(text, source, 'a whole number');
  if (!Number.isInteger(value))
    throw valueError(source, `"${text}" is not a whole number`, formatExample(source, '40'));
  if (Number.isSafeInteger(value)) return value;
  throw valueError(source, `${text} is out of range`, formatExample(source, '40'));
}

function parseNumber(text: string, source: Source, what: string): number {
  const value = text.trim() === '' ? Number.NaN : Number(text);
  if (Number.isFinite(value)) return value;
  throw valueError(source, `"${text}" is not ${what}`, formatExample(source, '1'));
}

function valueError(source: Source, why: string, hint: string): AppError {
  if ('flag' in source) return new AppError('usage', `${source.flag}: ${why}`, { hint });
  return new AppError('config', `${source.variable}: ${why}`, { hint });
}

function formatExample(source: Source, value: string): string {
  return 'flag' in source ? `Example: ${source.flag} ${value}` : `Example: ${source.variable}=${value}`;
}

/** The options set by environment variables. Throws AppError `config` naming a variable with an invalid value. */
export function parseEnvironment(flags: readonly Flag[], env: Env): Record<string, unknown> {
  const options: Record<string, unknown> = {};
  for (const flag of flags) {
    const text = flag.env === undefined || flag.isSetting ? undefined : env[flag.env];
    if (text === undefined || text === '') continue;
    options[toOptionKey(flag)] =
      flag.value === undefined ? isTruthy(text) : parseFlagValue(flag, text, { variable: flag.env ?? '' });
  }
  return options;
}

function isTruthy(text: string): boolean {
  return !['0', 'false', 'no', 'off'].includes(text.toLowerCase());
}
