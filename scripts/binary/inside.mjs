// Names that mean something else inside the executable; esbuild puts them where they are used.

/** As seen from bin/gmn.js, the texts are in ../dist. */
export const __dirname = `${import.meta.dir}/bin`;

/** For src/platform/standalone/runtime/code-cache.ts, which is below main and may not know it. */
export const importMain = () => import('../../src/main.ts');
