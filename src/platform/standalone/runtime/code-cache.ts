import type { openCodeCache as codeCacheNode, codeCacheState as codeCacheStateNode } from '../../runtime/code-cache.ts';

/** Injected by the build. */
declare const importMain: () => Promise<{ readonly main: (...line: readonly unknown[]) => Promise<number> }>;

/** The code is already compiled into the executable: only `main` is loaded, and nothing is cached. */
export const openCodeCache: typeof codeCacheNode = () => ({
  load: () => ({ main: async (...line: readonly unknown[]) => (await importMain()).main(...line) }),
  loadRemaining: () => {},
  save: () => {},
});

export const codeCacheState: typeof codeCacheStateNode = () => undefined;
