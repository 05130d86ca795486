// `npm run build:binary`: the same sources as one executable file, dist-binary/gmn, with the compiler of this folder's lock
// file. What is different in it: src/platform/standalone. Why: docs/dev/decisions/0010-standalone-executable.md
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { build } from 'esbuild';
import { bundling, importCommandTable, outlineDefines, writeTexts, writeWorker } from '../bundle.mjs';
import { descriptionDefines, writeDescription } from '../description.mjs';
import { formatLicences } from '../notices.mjs';
import { priceDefines } from '../prices.mjs';
import { root, run } from '../project.mjs';
import { compiler } from './compiler.mjs';

const final = join(root, 'dist-binary');
const work = `${final}.new`;
const platform = join(root, 'src', 'platform');

const RUNTIME_NOTICE = `The executable contains the runtime Bun (MIT), and with it JavaScriptCore (LGPL-2) and others:
https://bun.com/docs/project/license says which, and how to build it anew with other versions of them.
`;

/** A file in platform/standalone takes the place of the file with the same path below platform. */
const standaloneParts = {
  name: 'standalone-parts',
  setup({ onResolve }) {
    onResolve({ filter: /^\.{1,2}\/.*\.ts$/ }, ({ path, resolveDir }) => {
      const file = join(resolveDir, path);
      const inside = relative(platform, file);
      const own = join(platform, 'standalone', inside);
      return !inside.startsWith('..') && existsSync(own) ? { path: own } : undefined;
    });
  },
};

const bun = compiler();
rmSync(work, { recursive: true, force: true });
mkdirSync(join(work, 'dist'), { recursive: true });
const table = await importCommandTable(work);
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
writeTexts(join(work, 'dist'), table);
await writeDescription(join(work, 'dist'), version);
const searchWorker = await writeWorker(join(work, 'dist'), 'search-worker');
const { metafile, outputFiles } = await build({
  ...bundling,
  stdin: {
    contents: `import { boot } from './src/boot.ts'; boot(process.argv.slice(2));`,
    resolveDir: root,
    sourcefile: 'gmn.ts',
  },
  define: {
    VERSION: JSON.stringify(version),
    ...outlineDefines(table),
    ...priceDefines(),
    ...descriptionDefines,
    SEARCH_WORKER: JSON.stringify(searchWorker),
    MAIN_CHUNK: '""',
    PACK: '""',
  },
  inject: [join(root, 'scripts', 'binary', 'inside.mjs')],
  format: 'esm',
  splitting: true,
  outdir: 'bin',
  entryNames: 'gmn',
  chunkNames: '[name]-[hash]',
  metafile: true,
  write: false,
  plugins: [...bundling.plugins, standaloneParts],
});
const bin = join(work, 'bin');
mkdirSync(bin);
for (const { path, text } of outputFiles) writeFileSync(join(bin, basename(path)), text);
writeFileSync(join(work, 'THIRD_PARTY_NOTICES.txt'), `${RUNTIME_NOTICE}\n${formatLicences(metafile)}`);
compile();

function compile() {
  const name = process.platform === 'win32' ? 'gmn.exe' : 'gmn';
  const flags = ['--target=bun', '--format=esm', '--splitting', '--minify', '--bytecode'];
  // The directory gmn is started in is not its own: a project's .env, bunfig.toml and the like are never read.
  const blind = ['dotenv', 'bunfig', 'tsconfig', 'package-json'].map((name) => `--no-compile-autoload-${name}`);
  const input = ['--asset=dist', join('bin', 'gmn.js')];
  run(bun, ['build', '--compile', ...flags, ...blind, `--outfile=${name}`, ...input], { cwd: work });
  rmSync(bin, { recursive: true });
  rmSync(join(work, 'dist'), { recursive: true });
  rmSync(final, { recursive: true, force: true });
  renameSync(work, final);
  process.stdout.write(`${join('dist-binary', name)}\n`);
}
