import { AppError } from '../core/error.ts';
import { isObject, type JsonObject, type JsonValue } from '../core/json.ts';
import { findNearestNames, measureEditDistance } from '../core/text/names.ts';
import { listMovedKeys } from './document.ts';
import {
  defaultSetting,
  expandShortKey,
  findFolderRefusal,
  findSettingRow,
  findValue,
  formatKeyPath,
  listSettingKeys,
  tryParseKeyPath,
} from './keys.ts';
import { type Layer, mergeDocuments } from './layer.ts';
import { isOfficialKey, OFFICIAL_KEYS, officialKeyError } from './official-keys.ts';
import { hideSecrets } from './secrets.ts';

interface LayerValue {
  readonly layer: Layer['name'];
  readonly source: string;
  readonly value: JsonValue;
}

interface Explanation {
  readonly key: string;
  readonly value?: JsonValue;
  readonly layers: readonly LayerValue[];
  /** What a folder sets in vain, with the reason. */
  readonly refused: readonly (LayerValue & { readonly why: string })[];
  readonly isCombined: boolean;
  /** False for keys that only the official CLI reads. */
  readonly isRead: boolean;
}

export const BUILT_IN_LAYER: Layer = {
  name: 'built-in',
  source: 'gmn',
  state: 'used',
  document: {
    model: { name: defaultSetting('model.name') },
    security: { folderTrust: { enabled: defaultSetting('security.folderTrust.enabled') } },
  },
};

export function parseKey(text: string): readonly string[] {
  const path = tryParseKeyPath(expandShortKey(text));
  if (path !== undefined) return path;
  throw new AppError('usage', `"${text}" is not a key`, { hint: 'Example: gmn config explain model.name' });
}

export function explainKey(path: readonly string[], layers: readonly Layer[]): Explanation {
  const key = formatKeyPath(path);
  const merged = findValue(mergeDocuments(layers.map(({ document }) => document)), path);
  const found = layers.toReversed().flatMap((layer): readonly LayerValue[] => {
    const value = findValue(layer.document, path);
    if (value === undefined) return [];
    return [{ layer: layer.name, source: findSource(layer, key), value: hideSecrets(value, path) }];
  });
  const related = listSettingKeys().filter(
    (known) => known === key || known.startsWith(`${key}.`) || key.startsWith(`${known}.`),
  );
  const isRead = related.length > 0;
  if (merged === undefined && !isRead) throw unknownKeyError(key, layers);
  const value = merged === undefined ? undefined : hideSecrets(merged, path);
  return {
    key,
    value,
    layers: found,
    refused: layers.flatMap((layer) => findRefused(layer, path, related)),
    isRead,
    isCombined: found.length > 1 && JSON.stringify(value) !== JSON.stringify(found[0]?.value),
  };
}

function findRefused(
  { name, source, refused = {} }: Layer,
  path: readonly string[],
  keys: readonly string[],
): Explanation['refused'] {
  const value = findValue(refused, path);
  if (value === undefined) return [];
  const reasons = keys.flatMap((key) => {
    const why = findFolderRefusal(key);
    return why === undefined || findValue(refused, key.split('.')) === undefined ? [] : [why];
  });
  return [{ layer: name, source, value: hideSecrets(value, path), why: [...new Set(reasons)].join('; ') }];
}

export function listLeafPaths(document: JsonObject, prefix: readonly string[] = []): readonly (readonly string[])[] {
  return Object.entries(document).flatMap(([key, value]) => {
    const path = [...prefix, key];
    return isObject(value) && Object.keys(value).length > 0 ? listLeafPaths(value, path) : [path];
  });
}

function findSource({ name, source }: Layer, key: string): string {
  if (name !== 'environment') return source;
  const variables = findSettingRow(key)?.variables ?? [];
  return source.split(', ').find((variable) => variables.includes(variable)) ?? source;
}

function unknownKeyError(key: string, layers: readonly Layer[]): AppError {
  if (isOfficialKey(key)) return officialKeyError(key, 'Nothing sets it here.');
  const set = layers.flatMap(({ document }) => listLeafPaths(document).map(formatKeyPath));
  const near = findNearestNames(key, [...new Set([...listSettingKeys(), ...set])]);
  return new AppError('usage', `nothing sets "${key}", and gmn does not read it`, {
    hint: near.length > 0 ? `Did you mean ${near.join(' or ')}?` : 'All keys that are set: gmn config list',
  });
}

interface StrayKey {
  readonly key: string;
  readonly meant: string;
}

/** Shorter names resemble too many others. */
const MIN_LENGTH = 4;

/** Finds keys that are probably misspelt: those that neither gmn nor the official CLI has, and that resemble one. */
export function findStrayKeys(document: JsonObject): readonly StrayKey[] {
  return findStraysBelow(document, []);
}

function findStraysBelow(value: JsonObject, parent: readonly string[]): readonly StrayKey[] {
  const known = listNamesBelow(parent);
  return Object.entries(value).flatMap(([name, item]): readonly StrayKey[] => {
    const path = [...parent, name];
    if (known.includes(name)) return isObject(item) ? findStraysBelow(item, path) : [];
    const meant = name.length < MIN_LENGTH ? undefined : known.find((other) => measureEditDistance(name, other) <= 2);
    return meant === undefined ? [] : [{ key: formatKeyPath(path), meant: formatKeyPath([...parent, meant]) }];
  });
}

function listNamesBelow(parent: readonly string[]): readonly string[] {
  const prefix = parent.map((part) => `${part}.`).join('');
  const keys = [...listSettingKeys(), ...listMovedKeys(), ...OFFICIAL_KEYS].filter((key) => key.startsWith(prefix));
  return [...new Set(keys.map((key) => key.slice(prefix.length).split('.')[0] ?? ''))];
}
