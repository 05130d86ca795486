import type {
  openCodeCache as codeCacheNode,
  readCodeCacheState as codeCacheStateNode,
} from '../../runtime/code-cache.ts';

/** Injected by the build. */
declare const importMain: () => Promise<{ readonly main: (...args: readonly unknown[]) => Promise<number> }>;

/** The code is already compiled into the executable: only `main` is loaded, and nothing is cached. */
export const openCodeCache: typeof codeCacheNode = () => ({
  load: () => ({ main: async (...args: readonly unknown[]) => (await importMain()).main(...args) }),
  loadRemaining: () => {},
  save: () => {},
});

export const readCodeCacheState: typeof codeCacheStateNode = () => undefined;
