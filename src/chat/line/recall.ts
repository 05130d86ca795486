/** A walk through earlier entries, from the line as it was when it began. */
export interface Walk {
  readonly draft: string;
  /** Entries that begin with this take part. */
  readonly prefix: string;
  /** Where in the list it stands; the number of entries is the draft itself. */
  readonly place: number;
}

/** The next older (-1) or newer (1) entry that differs from what stands there; undefined if there is none. */
export function walked(entries: readonly string[], walk: Walk, step: 1 | -1): { walk: Walk; text: string } | undefined {
  const shown = textAt(entries, walk);
  for (let place = walk.place + step; place >= 0 && place <= entries.length; place += step) {
    const next = { ...walk, place };
    const text = textAt(entries, next);
    const isMatch = place === entries.length || text.startsWith(walk.prefix);
    if (isMatch && (text !== shown || place === entries.length)) return { walk: next, text };
  }
  return undefined;
}

function textAt(entries: readonly string[], { draft, place }: Walk): string {
  return entries[place] ?? draft;
}

/** A search through earlier entries. */
export interface Search {
  readonly query: string;
  /** The entry that is found; the number of entries while none is. */
  readonly place: number;
  readonly hasFailed: boolean;
}

/** The search goes on from `place`, that one included, towards older (-1) or newer (1) entries. Case matters if it is used. */
export function searched(entries: readonly string[], query: string, place: number, step: 1 | -1 = -1): Search {
  const isExact = query !== query.toLowerCase();
  const matches = (text: string): boolean => (isExact ? text : text.toLowerCase()).includes(query);
  for (let index = Math.min(place, entries.length - 1); index >= 0 && index < entries.length; index += step) {
    if (query !== '' && matches(entries[index] ?? '')) return { query, place: index, hasFailed: false };
  }
  return { query, place: entries.length, hasFailed: query !== '' };
}
