import type { codeCache as codeCacheNode, codeCacheState as codeCacheStateNode } from '../../runtime/code-cache.ts';

/** Put in by the build. */
declare const importMain: () => Promise<{ readonly main: (...line: readonly unknown[]) => Promise<number> }>;

/** The compiler has done its work already: what is loaded is `main`, all else is inside the executable, and nothing is kept. */
export const codeCache: typeof codeCacheNode = () => ({
  load: () => ({ main: async (...line: readonly unknown[]) => (await importMain()).main(...line) }),
  keep: () => {},
  save: () => {},
});

/** There is none. */
export const codeCacheState: typeof codeCacheStateNode = () => undefined;
