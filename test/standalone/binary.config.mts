import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

// As a variable: the compiler has no types for it.
const scripts = new URL('../../scripts/prices.mjs', import.meta.url).href;
const { priceDefines } = await import(scripts);

/** For tests of the executable that GMN_BIN names. */
export default defineConfig({
  define: priceDefines(),
  test: {
    root: fileURLToPath(new URL('../..', import.meta.url)),
    include: ['test/**/*.test.ts'],
    exclude: ['test/interop/**'],
    setupFiles: ['test/standalone/skips.ts'],
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
});
