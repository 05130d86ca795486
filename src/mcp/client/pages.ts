import { isObject, stringOf } from '../../core/json.ts';
import { visible } from '../../core/text/terminal.ts';
import { MAX_ITEMS, MAX_PAGES } from './limits.ts';
import type { Listing } from './types.ts';

export interface ListKey<Item> {
  /** Where the items stand in a page. */
  readonly key: string;
  /** Undefined: gmn cannot read it. */
  readonly parse: (value: Readonly<Record<string, unknown>>) => Item | undefined;
}

export interface PagedList<Item> extends ListKey<Item> {
  /** One page: the first without a cursor. */
  readonly ask: (cursor: string | undefined) => Promise<unknown>;
}

/** Items that cannot be read and are told by name. */
const MAX_NAMES = 3;

/** All pages of a list, up to what gmn takes; what is left out is said, once. Throws what `ask` throws. */
export async function allPages<Item>({ ask, ...list }: PagedList<Item>): Promise<Listing<Item>> {
  const { key } = list;
  const found: unknown[] = [];
  const cursors = new Set<string>();
  for (let cursor: string | undefined, page = 1; ; page += 1) {
    const answer = await ask(cursor);
    const { [key]: listed, nextCursor } = isObject(answer) ? answer : {};
    for (const value of Array.isArray(listed) ? listed : []) {
      found.push(value);
      if (found.length > MAX_ITEMS) return readItems(found, list);
    }
    cursor = stringOf(nextCursor);
    if (cursor === undefined) return readItems(found, list);
    if (cursors.has(cursor)) return readItems(found, list, `the list of ${key} goes round in a circle`);
    if (page === MAX_PAGES) return readItems(found, list, `only the first ${MAX_PAGES} pages of ${key} are used`);
    cursors.add(cursor);
  }
}

/** What a server listed, up to what gmn takes; what cannot be read is left out alone, and named. */
export function readItems<Item>(found: readonly unknown[], { key, parse }: ListKey<Item>, cut?: string): Listing<Item> {
  const items: Item[] = [];
  const unreadable: string[] = [];
  for (const value of found.slice(0, MAX_ITEMS)) {
    const item = isObject(value) ? parse(value) : undefined;
    if (item === undefined) unreadable.push(nameOf(value));
    else items.push(item);
  }
  const omitted = [
    ...(unreadable.length === 0 ? [] : [unreadableWords(unreadable)]),
    ...(found.length > MAX_ITEMS ? [`only the first ${MAX_ITEMS} ${key} are used`] : []),
    ...(cut === undefined ? [] : [cut]),
  ];
  return omitted.length === 0 ? { items } : { items, omitted: omitted.join('; ') };
}

function nameOf(value: unknown): string {
  const { name, uri } = isObject(value) ? value : {};
  return visible((stringOf(name) ?? stringOf(uri) ?? 'one without a name').slice(0, 80));
}

function unreadableWords(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES);
  const more = names.length > shown.length ? ` and ${names.length - shown.length} more` : '';
  return `${shown.join(', ')}${more} left out: gmn cannot read what the server says of it`;
}
