import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import base from '../vitest.config.mts';

/** As those of npm test, one file after the other, and nothing is written into the repository: it may be another user's. */
export default defineConfig({
  ...base,
  cacheDir: join(process.env.TMPDIR ?? '/tmp', 'vite'),
  test: {
    ...{ root: fileURLToPath(new URL('../..', import.meta.url)), include: ['test/sandbox/**/*.test.ts'] },
    ...{ globalSetup: ['test/support/code-cache.ts'], maxWorkers: 1, isolate: false },
    ...{ testTimeout: 120_000, hookTimeout: 60_000 },
  },
});
