import { AppError } from '../core/error.ts';
import { isObject, type JsonObject, type JsonValue } from '../core/json.ts';
import { nearestNames } from '../core/text/names.ts';
import { DEFAULT_MODEL } from '../models/table.ts';
import { formatKeyPath, parseKeyPath } from './key-path.ts';
import { settingKeys, valueAt } from './keys.ts';
import type { Layer } from './layer.ts';
import { KEY_VARIABLES } from './layers.ts';
import { mergeDocuments } from './merge.ts';
import { withoutSecrets } from './secrets.ts';

/** What one layer says about a key, secrets hidden. */
export interface LayerValue {
  readonly layer: Layer['name'];
  readonly source: string;
  readonly value: JsonValue;
}

/** Where the value of a key comes from. */
export interface Explanation {
  readonly key: string;
  /** What counts, secrets hidden; absent if no layer sets the key. */
  readonly value?: JsonValue;
  /** Every layer that sets it, highest first; the first one wins. */
  readonly layers: readonly LayerValue[];
  /** The value is put together from several layers. */
  readonly isCombined: boolean;
  /** Whether it means anything to gmn, and not to the official CLI alone. */
  readonly isRead: boolean;
}

/** Short names for the keys people ask for most. */
const SHORT: ReadonlyMap<string, string> = new Map([
  ['model', 'model.name'],
  ['auth', 'security.auth.selectedType'],
]);

/** What gmn does when nothing is set. */
export const BUILT_IN: Layer = {
  name: 'built-in',
  source: 'gmn',
  state: 'used',
  document: {
    model: { name: DEFAULT_MODEL },
    security: { folderTrust: { enabled: true } },
  },
};

/** A key as people type it. Throws AppError `usage` if it is none. */
export function parseKey(text: string): readonly string[] {
  const path = parseKeyPath(SHORT.get(text) ?? text);
  if (path !== undefined) return path;
  throw new AppError('usage', `"${text}" is not a key`, { hint: 'Example: gmn config explain model.name' });
}

/** Who sets a key, and to what. Throws AppError `usage` if nobody does and gmn does not read it either. */
export function explain(path: readonly string[], layers: readonly Layer[]): Explanation {
  const key = formatKeyPath(path);
  const merged = valueAt(mergeDocuments(layers.map(({ document }) => document)), path);
  const found = layers.toReversed().flatMap((layer): readonly LayerValue[] => {
    const value = valueAt(layer.document, path);
    if (value === undefined) return [];
    return [{ layer: layer.name, source: sourceOf(layer, key), value: withoutSecrets(value, path) }];
  });
  const isRead = settingKeys().some(
    (known) => known === key || known.startsWith(`${key}.`) || key.startsWith(`${known}.`),
  );
  if (merged === undefined && !isRead) throw unknownKey(key, layers);
  const value = merged === undefined ? undefined : withoutSecrets(merged, path);
  return {
    key,
    ...(value === undefined ? {} : { value }),
    layers: found,
    isRead,
    isCombined: found.length > 1 && JSON.stringify(value) !== JSON.stringify(found[0]?.value),
  };
}

/** The keys of a document that hold a value: a string, a number, a list, … */
export function leafPaths(document: JsonObject, prefix: readonly string[] = []): readonly (readonly string[])[] {
  return Object.entries(document).flatMap(([key, value]) => {
    const path = [...prefix, key];
    return isObject(value) && Object.keys(value).length > 0 ? leafPaths(value, path) : [path];
  });
}

function sourceOf({ name, source }: Layer, key: string): string {
  if (name !== 'environment') return source;
  const variables = Object.hasOwn(KEY_VARIABLES, key) ? (KEY_VARIABLES[key] ?? []) : [];
  return source.split(', ').find((variable) => variables.includes(variable)) ?? source;
}

function unknownKey(key: string, layers: readonly Layer[]): AppError {
  const set = layers.flatMap(({ document }) => leafPaths(document).map(formatKeyPath));
  const near = nearestNames(key, [...new Set([...settingKeys(), ...set])]);
  return new AppError('usage', `nothing sets "${key}", and gmn does not read it`, {
    hint: near.length > 0 ? `Did you mean ${near.join(' or ')}?` : 'All keys that are set: gmn config list',
  });
}
