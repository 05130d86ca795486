// Names that mean something else inside the executable; esbuild puts them where they are used.

/** Where boot finds the help texts and completion scripts, and the search what its threads run. */
export const __dirname = `${import.meta.dir}/dist`;

/** For src/platform/standalone/runtime/code-cache.ts, which is below main and may not know it. */
export const importMain = () => import('../../src/main.ts');
