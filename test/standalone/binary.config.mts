import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** For tests of the executable that GMN_BIN names. */
export default defineConfig({
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
