/** Ids, as many as there is room for. */
export interface RecentIds {
  /** Takes it for the newest, also if it is known. */
  add(id: string): void;
  has(id: string): boolean;
}

/** At most `most` of them: the one that was added longest ago is forgotten first. */
export function recentIds(most: number): RecentIds {
  const ids = new Set<string>();
  return {
    add(id) {
      ids.delete(id);
      ids.add(id);
      const [oldest] = ids;
      if (ids.size > most && oldest !== undefined) ids.delete(oldest);
    },
    has: (id) => ids.has(id),
  };
}
