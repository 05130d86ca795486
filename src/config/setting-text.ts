import { AppError } from '../core/error.ts';
import { type JsonValue, tryParseJson } from '../core/json.ts';
import { findNearestNames } from '../core/text/names.ts';
import { hasSecret } from '../core/text/secrets.ts';
import { sanitize } from '../core/text/terminal.ts';
import { EXPECTED, findSettingRow, formatKeyPath, isOfKind, listSettingKeys, ROWS, type SettingKind } from './keys.ts';
import { isOfficialKey, officialKeyError } from './official-keys.ts';
import { isSecretSetting } from './secrets.ts';

/** A value that is only a reference to a variable reveals nothing. */
const VARIABLE = /^\$(?:\w+|\{\w+\})$/;

/** A list of several words or of one with commas, JSON for an object, else the word. Throws AppError `usage`. */
export function parseSettingWords(path: readonly string[], words: readonly string[]): JsonValue {
  const key = formatKeyPath(path);
  const text = words.join(' ');
  if (path.includes('__proto__')) {
    throw new AppError('usage', '"__proto__" cannot be part of a key', { hint: 'Choose another name.' });
  }
  if ((isSecretSetting(path) || hasSecret(text)) && !VARIABLE.test(text)) throw secretError(path);
  const kind = requireKind(path);
  if (kind === 'string' && text.trim() === '') {
    throw new AppError('usage', `${key} cannot be empty`, { hint: `To remove it: gmn config unset ${key}` });
  }
  const value = kind === undefined ? (toJson(text) ?? text) : toValue(kind, words);
  if (value === undefined || (kind !== undefined && !isOfKind(value, kind))) {
    throw new AppError('usage', `${key} must be ${EXPECTED[kind ?? 'string']}`, { hint: suggestValue(key, kind) });
  }
  const choices = findSettingRow(key)?.choices;
  if (choices === undefined || choices.some((choice) => choice === value)) return value;
  const [near = choices[0] ?? ''] = findNearestNames(text, choices);
  throw new AppError('usage', `${key} cannot be "${sanitize(text)}": it is ${choices.join(', ')}`, {
    hint: `Try: gmn config set ${key} ${near}`,
  });
}

/** Undefined for a key inside an object such as `mcpServers`. Throws AppError `usage` for a key that gmn does not read. */
export function requireKind(path: readonly string[]): SettingKind | undefined {
  const key = formatKeyPath(path);
  const kind = findSettingRow(key)?.kind;
  if (kind !== undefined) return kind;
  const isInside = path.some(
    (_, index) => index > 0 && findSettingRow(formatKeyPath(path.slice(0, index)))?.kind === 'object',
  );
  if (isInside) return undefined;
  if (isOfficialKey(key)) throw officialKeyError(key, 'Set it in ~/.gemini/settings.json, for the official CLI.');
  const near = suggestKeys(key);
  throw new AppError('usage', `gmn reads no key "${sanitize(key)}"`, {
    hint: near.length > 0 ? `Did you mean ${near.join(' or ')}?` : 'The keys it reads: gmn config list --all',
  });
}

function suggestKeys(key: string): readonly string[] {
  const keys = listSettingKeys();
  const below = keys.filter((known) => known.startsWith(`${key}.`));
  const near =
    below.length > 0 ? below : findNearestNames(key, [...ROWS.flatMap(([, { shortName = [] }]) => shortName), ...keys]);
  const [part] = findNearestNames(
    key,
    keys.flatMap((known) => known.split('.')),
  );
  return (near.length > 0 ? near : keys.filter((known) => known.split('.').includes(part ?? ''))).slice(0, 3);
}

function toValue(kind: SettingKind, words: readonly string[]): JsonValue | undefined {
  const text = words.join(' ');
  if (kind === 'object' || kind === 'list' || kind === 'prices') return toJson(text);
  if (kind === 'boolean') return text === 'true' ? true : text === 'false' ? false : undefined;
  if (kind === 'sandbox') return text === 'true' || text === 'false' ? text === 'true' : text;
  if (kind === 'count') return /^\d+$/.test(text) ? Number(text) : undefined;
  if (kind === 'share') return /^\d*\.?\d+$/.test(text) ? Number(text) : undefined;
  if (kind !== 'strings' && kind !== 'oneOrMore') return text;
  if (text.trimStart().startsWith('[')) return toJson(text);
  const items = words.flatMap((word) => word.split(',')).map((item) => item.trim());
  return kind === 'oneOrMore' && items.length === 1 ? text : items.filter((item) => item !== '');
}

function toJson(text: string): JsonValue | undefined {
  return tryParseJson(text) as JsonValue | undefined;
}

function suggestValue(key: string, kind: SettingKind | undefined): string {
  if (kind === 'object' || kind === 'list' || kind === 'prices') {
    return key === 'mcpServers' ? 'To add a server: gmn mcp add --help' : `As JSON: gmn config set ${key} '…'`;
  }
  if (kind === 'boolean') return `Try: gmn config set ${key} true`;
  if (kind === 'count') return `Try: gmn config set ${key} 3`;
  if (kind === 'share') return `Try: gmn config set ${key} 0.5`;
  return kind === 'age' ? `Try: gmn config set ${key} 30d` : `To remove it: gmn config unset ${key}`;
}

function secretError(path: readonly string[]): AppError {
  const [first] = path;
  const ways: Readonly<Record<string, string>> = {
    oauth: 'Set GMN_OAUTH_CLIENT_SECRET, or write it into the file by hand: gmn config path',
    mcpServers: "Name a variable instead, such as '$FILES_TOKEN', and keep its value in ~/.gmn/.env",
  };
  const way = Object.hasOwn(ways, first ?? '') ? ways[first ?? ''] : undefined;
  return new AppError('usage', 'gmn config set takes no secrets: shells keep what is typed', {
    hint: way ?? 'To keep an API key: gmn auth set-key',
  });
}
