/** Items of a conversation in their order, and where each exchange begins. */
export interface Exchanges<Item> {
  readonly items: readonly Item[];
  /** How many exchanges there are. */
  readonly count: number;
  /** A prompt begins an exchange; everything else belongs to the last one. */
  add(item: Item, kind: 'prompt' | 'other'): void;
  /** Takes the last exchanges away; at most all of them. */
  rewind(count: number): void;
  clear(): void;
}

/** Exchanges, none at first. */
export function exchanges<Item>(): Exchanges<Item> {
  const items: Item[] = [];
  const starts: number[] = [];
  return {
    items,
    get count() {
      return starts.length;
    },
    add(item, kind) {
      if (kind === 'prompt') starts.push(items.length);
      items.push(item);
    },
    rewind(count) {
      const [first] = count > 0 ? starts.splice(Math.max(0, starts.length - count)) : [];
      if (first !== undefined) items.length = first;
    },
    clear() {
      items.length = 0;
      starts.length = 0;
    },
  };
}
