import { isObject, objectsOf, stringOf } from '../../core/json.ts';
import type { Listing } from './connection.ts';
import { MAX_ITEMS, MAX_PAGES } from './limits.ts';

export interface PagedList<Item> {
  /** Where the items stand in a page. */
  readonly key: string;
  readonly parse: (value: Readonly<Record<string, unknown>>) => Item | undefined;
  /** One page: the first without a cursor. */
  readonly ask: (cursor: string | undefined) => Promise<unknown>;
}

/** All pages of a list, up to what gmn takes; what is left out is said, once. Throws what `ask` throws. */
export async function allPages<Item>({ key, parse, ask }: PagedList<Item>): Promise<Listing<Item>> {
  const items: Item[] = [];
  const cursors = new Set<string>();
  for (let cursor: string | undefined, page = 1; ; page += 1) {
    const answer = await ask(cursor);
    const { [key]: listed, nextCursor } = isObject(answer) ? answer : {};
    for (const value of objectsOf(listed)) {
      const item = parse(value);
      if (item === undefined) continue;
      if (items.length === MAX_ITEMS) return { items, omitted: `only the first ${MAX_ITEMS} ${key} are used` };
      items.push(item);
    }
    cursor = stringOf(nextCursor);
    if (cursor === undefined) return { items };
    if (cursors.has(cursor)) return { items, omitted: `the list of ${key} goes round in a circle` };
    if (page === MAX_PAGES) return { items, omitted: `only the first ${MAX_PAGES} pages of ${key} are used` };
    cursors.add(cursor);
  }
}
