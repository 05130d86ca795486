// Parts of gmn on their own, as the build makes them.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { writeWorker } from '../../scripts/bundle.mjs';
import { root } from '../../scripts/project.mjs';

/** The exports of some source files, bundled into `directory`: `{ file: ['one', 'two'] }` gives `one` and `two`. */
export async function loadSources(directory, files) {
  const outfile = join(directory, 'sources.mjs');
  const lines = Object.entries(files).map(([file, names]) => `export { ${names.join(', ')} } from './${file}';`);
  await build({
    absWorkingDir: root,
    stdin: { contents: lines.join('\n'), resolveDir: root },
    bundle: true,
    minify: true,
    platform: 'node',
    format: 'esm',
    target: 'node20.18',
    mainFields: ['module', 'main'],
    outfile,
    define: {
      SEARCH_WORKER: JSON.stringify(await writeWorker(directory, 'search-worker')),
      __dirname: JSON.stringify(directory),
    },
    logLevel: 'error',
  });
  return import(pathToFileURL(outfile).href);
}
