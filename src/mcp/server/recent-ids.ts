export type RecentIds = ReturnType<typeof createRecentIds>;

export function createRecentIds(most: number) {
  const ids = new Set<string>();
  return {
    add(id: string): void {
      ids.delete(id);
      ids.add(id);
      const [oldest] = ids;
      if (ids.size > most && oldest !== undefined) ids.delete(oldest);
    },
    has: (id: string): boolean => ids.has(id),
  };
}
