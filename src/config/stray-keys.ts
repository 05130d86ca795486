import { isObject, type JsonObject } from '../core/json.ts';
import { editDistance } from '../core/text/names.ts';
import { formatKeyPath } from './key-path.ts';
import { settingKeys, valueAt } from './keys.ts';
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

/**
 * Keys of the official CLI that would change what a run does or may do, and that gmn does not read; of the others, which are
 * about its own screen and upkeep, nobody need be told.
 */
const UNREAD: readonly string[] = [
  'model.maxSessionTurns',
  'model.summarizeToolOutput',
  'general.maxAttempts',
  'context.includeDirectories',
  'context.fileFiltering',
  'tools.allowed',
  'tools.confirmationRequired',
  'tools.sandbox',
  'tools.discoveryCommand',
  'tools.callCommand',
  'security.disableYoloMode',
  'security.disableAlwaysAllow',
  'security.environmentVariableRedaction',
  'policyPaths',
  'hooks',
];

/** Those of them that a document sets. */
export function unreadKeys(document: JsonObject): readonly string[] {
  return UNREAD.filter((key) => valueAt(document, key.split('.')) !== undefined);
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
