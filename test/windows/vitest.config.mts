import { defineConfig } from 'vitest/config';
import shared from '../vitest.config.mts';

/** The tests of run.mjs: in one project, since a worker of another would start from nothing, which takes seconds in Wine. */
export default defineConfig({
  ...shared,
  test: {
    ...shared.test,
    projects: undefined,
    include: ['test/**/*.test.ts'],
    exclude: ['test/interop/**', 'test/standalone/**'],
    setupFiles: ['test/windows/skip-limits.ts'],
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
});
