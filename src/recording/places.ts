import { isList, isObject, type JsonObject, type JsonValue } from '../core/json.ts';
import { isDataKey } from './media.ts';
import { replaceSpans, type Span } from './spans.ts';

/** Directories of this machine that a recording names in another way: it tells nobody's name, and is replayed elsewhere. */
export interface Places {
  /** Where they stand in a text, with what is written in the file. */
  findSpans(text: string): readonly Span[];
  /** In all texts, but not in data. */
  hide(value: JsonValue): JsonValue;
  /** The opposite of `hide`, for this machine. */
  restore(value: JsonValue): JsonValue;
  /** The same in JSON that is kept as it was written. */
  restoreInJson(text: string): string;
}

export const NO_PLACES: Places = {
  findSpans: () => [],
  hide: (value) => value,
  restore: (value) => value,
  restoreInJson: (text) => text,
};

/** How a path is written, each with a name of its own, so that it comes back as it was. */
const SPELLINGS: readonly (readonly [mark: string, spell: (path: string) => string])[] = [
  ['', (path) => path],
  ['/', (path) => path.replaceAll('\\', '/')],
  ['\\', (path) => path.replaceAll('\\', '\\\\')],
  ['%', encodeURIComponent],
];

/** Of several paths with one name the first is the one that comes back. */
export function createPlaceNames(directories: readonly (readonly [name: string, path: string])[]): Places {
  const names = new Map<string, string>();
  const paths = new Map<string, string>();
  for (const [name, path] of directories) {
    // The top of a drive is the beginning of every path.
    if (!/[\\/][^\\/]/.test(path)) continue;
    for (const [mark, spell] of SPELLINGS) {
      const [spelled, shown] = [spell(path), `‹${name}${mark}›`];
      if (!names.has(spelled)) names.set(spelled, shown);
      if (!paths.has(shown)) paths.set(shown, spelled);
    }
  }
  if (names.size === 0) return NO_PLACES;
  // The working directory is mostly inside the home directory.
  const longest = [...names.keys()].sort((a, b) => b.length - a.length).map((path) => path.replace(/[^\w/%]/g, '\\$&'));
  // Not the beginning of another name.
  const pattern = new RegExp(`(?:${longest.join('|')})(?![\\w-]|\\.\\w)`, 'g');
  const findSpans = (text: string): readonly Span[] =>
    [...text.matchAll(pattern)].map(({ 0: path, index }) => ({
      start: index,
      end: index + path.length,
      text: names.get(path),
    }));
  const restoreText = (text: string, spell = (path: string): string => path): string =>
    text.replace(/‹\w+[/\\%]?›/g, (shown) => spell(paths.get(shown) ?? shown));
  return {
    findSpans,
    hide: (value) => mapStrings(value, (text) => replaceSpans(text, findSpans(text))),
    restore: (value) => mapStrings(value, restoreText),
    restoreInJson: (text) => restoreText(text, (path) => JSON.stringify(path).slice(1, -1)),
  };
}

function mapStrings(value: JsonValue, change: (text: string) => string): JsonValue {
  if (typeof value === 'string') return change(value);
  if (isList(value)) return value.map((item) => mapStrings(item, change));
  if (!isObject(value)) return value;
  const entries = Object.entries(value as JsonObject).map(([key, item]) => {
    const isData = typeof item === 'string' && isDataKey(key);
    return [key, item === undefined || isData ? item : mapStrings(item, change)];
  });
  return Object.fromEntries(entries);
}
