import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/**/*.test.ts'],
    exclude: ['test/interop/**'],
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
});
