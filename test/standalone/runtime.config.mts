import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig, mergeConfig } from 'vitest/config';
import config from './binary.config.mts';

const platform = fileURLToPath(new URL('../../src/platform', import.meta.url));

/** For tests that run inside the runtime of the executable, with the parts of platform/ that it has. */
export default mergeConfig(
  config,
  defineConfig({
    // The runtime keeps no connections.
    test: { exclude: ['test/platform/http/kept.test.ts'] },
    plugins: [
      {
        name: 'standalone-parts',
        enforce: 'pre',
        resolveId(path, importer = '') {
          if (!/^\.{1,2}\/.*\.ts$/.test(path)) return undefined;
          const file = join(dirname(importer), path);
          const inside = relative(platform, file);
          const own = join(platform, 'standalone', inside);
          return !inside.startsWith('..') && existsSync(own) ? own : undefined;
        },
      },
    ],
  }),
);
