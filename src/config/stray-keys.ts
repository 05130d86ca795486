import { editDistance } from '../core/edit-distance.ts';
import { isObject, type JsonObject } from '../core/json.ts';
import { formatKeyPath } from './key-path.ts';
import { settingKeys } from './keys.ts';
import { movedKeys } from './legacy-keys.ts';

/** A key that nobody reads and that looks like one gmn does. */
export interface StrayKey {
  readonly key: string;
  readonly meant: string;
}

/** Shorter words are like too many others. */
const SHORTEST = 4;

/**
 * The keys of a document that are likely misspelt. Other keys gmn does not know are left alone: the official CLI has many, and
 * nobody shall be warned about those.
 */
export function strayKeys(document: JsonObject): readonly StrayKey[] {
  return strays(document, []);
}

function strays(value: JsonObject, parent: readonly string[]): readonly StrayKey[] {
  const known = namesBelow(parent);
  return Object.entries(value).flatMap(([name, item]): readonly StrayKey[] => {
    const path = [...parent, name];
    if (known.includes(name)) return isObject(item) ? strays(item, path) : [];
    const meant = name.length < SHORTEST ? undefined : known.find((other) => editDistance(name, other) <= 2);
    return meant === undefined ? [] : [{ key: formatKeyPath(path), meant: formatKeyPath([...parent, meant]) }];
  });
}

/** What gmn reads below a key, one step down. */
function namesBelow(parent: readonly string[]): readonly string[] {
  const prefix = parent.map((part) => `${part}.`).join('');
  const keys = [...settingKeys(), ...movedKeys()].filter((key) => key.startsWith(prefix));
  return [...new Set(keys.map((key) => key.slice(prefix.length).split('.')[0] ?? ''))];
}
