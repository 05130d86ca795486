export interface RecentIds {
  /** Makes it the newest, also if it is known. */
  add(id: string): void;
  has(id: string): boolean;
}

/** Drops the id that was added longest ago. */
export function createRecentIds(most: number): RecentIds {
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
