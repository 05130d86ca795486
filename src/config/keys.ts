import { isList, isObject, type JsonObject, type JsonValue } from '../core/json.ts';
import type { PriceOverrides } from '../models/prices.ts';

interface Kinds {
  readonly string: string;
  readonly boolean: boolean;
  readonly object: JsonObject;
  readonly strings: readonly string[];
  readonly list: readonly JsonValue[];
  readonly oneOrMore: string | readonly string[];
  /** A duration or `never`; see `parseRetention` in session/prune.ts. */
  readonly age: string;
  /** A whole number from 1. */
  readonly count: number;
  /** What models cost, by their name. */
  readonly prices: PriceOverrides;
  /** A number from 0 to 1. */
  readonly share: number;
}

/** Only these keys are read and type-checked. */
const KEYS = {
  'model.name': 'string',
  'model.compressionThreshold': 'share',
  'security.auth.selectedType': 'string',
  'security.auth.enforcedType': 'string',
  'security.folderTrust.enabled': 'boolean',
  'security.disableYoloMode': 'boolean',
  'oauth.clientId': 'string',
  'oauth.clientSecret': 'string',
  'mcp.serverCommand': 'string',
  'sessions.oneShot': 'boolean',
  'sessions.retention': 'age',
  'mcp.allowed': 'strings',
  'mcp.excluded': 'strings',
  mcpServers: 'object',
  'general.defaultApprovalMode': 'string',
  'general.enableNotifications': 'boolean',
  'general.maxAttempts': 'count',
  'tools.core': 'strings',
  'tools.exclude': 'strings',
  'context.fileName': 'oneOrMore',
  'output.format': 'string',
  'modelConfigs.aliases': 'object',
  'modelConfigs.customAliases': 'object',
  'modelConfigs.overrides': 'list',
  'modelConfigs.customOverrides': 'list',
  prices: 'prices',
  'request.store': 'boolean',
} as const satisfies Readonly<Record<string, keyof Kinds>>;

type SettingKey = keyof typeof KEYS;
export type SettingKind = keyof Kinds;

/** A key whose value a higher layer replaces, never merges. */
export type PlainKey = {
  [Key in SettingKey]: (typeof KEYS)[Key] extends 'object' | 'strings' | 'list' | 'oneOrMore' | 'prices' ? never : Key;
}[SettingKey];

export type SettingValue<Key extends SettingKey> = Kinds[(typeof KEYS)[Key]];

interface TypeMismatch {
  readonly path: readonly string[];
  readonly expected: string;
}

export const EXPECTED: Readonly<Record<SettingKind, string>> = {
  string: 'a string',
  boolean: 'true or false',
  object: 'an object',
  strings: 'a list of strings',
  list: 'a list',
  oneOrMore: 'a string or a list of strings',
  age: 'a duration like "30d" or "12h", or "never"',
  count: 'a whole number from 1',
  prices:
    'an object with the prices of models, in dollars per million tokens: "my-model": { "input": 0.3, "output": 2.5 }',
  share: 'a number from 0 to 1',
};

const AGE = /^(?:|never|0|\d+(?:\.\d+)?[dw]|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:h|ms|m|s|us|µs|ns))+)$/;

const PATHS: readonly (readonly [path: readonly string[], kind: keyof Kinds])[] = Object.entries(KEYS).map(
  ([key, kind]) => [key.split('.'), kind],
);

export function listSettingKeys(): readonly string[] {
  return Object.keys(KEYS);
}

export function findKind(key: string): SettingKind | undefined {
  return Object.entries(KEYS).find(([known]) => known === key)?.[1];
}

/** The document must have passed `findTypeMismatch`. */
export function readSetting<Key extends SettingKey>(document: JsonObject, key: Key): SettingValue<Key> | undefined {
  return findValue(document, key.split('.')) as SettingValue<Key> | undefined;
}

export function findValue(document: JsonObject, path: readonly string[]): JsonValue | undefined {
  let value: JsonValue | undefined = document;
  for (const key of path) {
    if (!isObject(value) || !Object.hasOwn(value, key)) return undefined;
    value = value[key];
  }
  return value;
}

export function findTypeMismatch(document: JsonObject): TypeMismatch | undefined {
  for (const [path, kind] of PATHS) {
    let value: JsonValue | undefined = document;
    for (const [depth, key] of path.entries()) {
      if (!isObject(value)) return { path: path.slice(0, depth), expected: EXPECTED.object };
      value = Object.hasOwn(value, key) ? value[key] : undefined;
      if (value === undefined) break;
    }
    if (value !== undefined && !isOfKind(value, kind)) return { path, expected: EXPECTED[kind] };
  }
  return undefined;
}

export function isOfKind(value: JsonValue, kind: SettingKind): boolean {
  if (kind === 'object') return isObject(value);
  if (kind === 'list') return isList(value);
  if (kind === 'strings') return isList(value) && value.every((item) => typeof item === 'string');
  if (kind === 'oneOrMore') return isOfKind(value, 'string') || isOfKind(value, 'strings');
  if (kind === 'age') return typeof value === 'string' && AGE.test(value);
  if (kind === 'prices') return isObject(value) && Object.values(value).every((price) => isPrice(price));
  if (kind === 'count') return Number.isSafeInteger(value) && Number(value) >= 1;
  if (kind === 'share') return typeof value === 'number' && value >= 0 && value <= 1;
  return typeof value === kind;
}

const RATES =
  /^(?:input|output|cached|inputAudio|cachedAudio|inputImage|inputVideo|outputAudio|outputImage|outputVideo)$/;

/** Names are checked, too: a misspelt rate would make everything look cheaper. */
function isPrice(value: JsonValue | undefined, isStep = false): boolean {
  if (!isObject(value) || isStep !== 'above' in value) return false;
  return Object.entries(value).every(([key, rate]) => {
    if (key === 'steps' && !isStep) return isList(rate) && rate.every((step) => isPrice(step, true));
    const isKnown = RATES.test(key) || key === (isStep ? 'above' : 'priority');
    return isKnown && typeof rate === 'number' && Number.isFinite(rate) && rate >= 0;
  });
}

const PLAIN = /^[^."\\\s]+$/;

/** Splits `a.b."c.d"`; undefined if a part is empty or a quote is not closed. */
export function tryParseKeyPath(text: string): readonly string[] | undefined {
  const parts: string[] = [];
  const part = /(?:"((?:[^"\\]|\\.)*)"|([^."]+))(\.|$)/y;
  for (let end = '.'; end === '.'; ) {
    const match = part.exec(text);
    if (match === null) return undefined;
    const [, quoted, plain, separator = ''] = match;
    parts.push(plain ?? (quoted ?? '').replace(/\\(.)/gs, '$1'));
    end = separator;
  }
  return parts;
}

export function formatKeyPath(parts: readonly string[]): string {
  return parts.map((part) => (PLAIN.test(part) ? part : `"${part.replace(/["\\]/g, '\\$&')}"`)).join('.');
}
