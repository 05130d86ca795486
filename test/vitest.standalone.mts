import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig, mergeConfig } from 'vitest/config';
import config from './vitest.config.mts';

const platform = fileURLToPath(new URL('../src/platform', import.meta.url));

/** For tests that the compiler's runtime itself runs: what the executable has in the place of platform/ is there, too. */
export default mergeConfig(
  config,
  defineConfig({
    plugins: [
      {
        name: 'standalone-parts',
        enforce: 'pre',
        resolveId(path, importer = '') {
          if (!/^\.{1,2}\/.*\.ts$/.test(path)) return undefined;
          const file = join(dirname(importer), path);
          const own = join(platform, 'standalone', basename(file));
          return dirname(file) === platform && existsSync(own) ? own : undefined;
        },
      },
    ],
  }),
);
