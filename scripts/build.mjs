// Bundles src/ into dist/: lazy chunks as CommonJS, the boot file, help texts and third-party notices.
// Why CommonJS and why chunks: docs/decisions/0002-build-and-code-cache.md
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, transform } from 'esbuild';
import { thirdPartyNotices } from './notices.mjs';
import { root } from './project.mjs';

const dist = join(root, 'dist');
const common = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target: 'node20.18',
  // jsonc-parser's "main" is a UMD file that breaks when bundled.
  mainFields: ['module', 'main'],
  minify: true,
  legalComments: 'none',
  logLevel: 'warning',
};

rmSync(dist, { recursive: true, force: true });
mkdirSync(join(dist, 'help'), { recursive: true });

const chunks = await build({
  ...common,
  entryPoints: ['src/main.ts'],
  format: 'esm',
  splitting: true,
  outdir: 'dist',
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  metafile: true,
  write: false,
});
let mainChunk = '';
for (const file of chunks.outputFiles) {
  const name = basename(file.path);
  // esbuild splits only ES modules; a second pass turns each chunk into CommonJS, `import()` into a late `require`.
  const { code } = await transform(file.text, {
    format: 'cjs',
    platform: 'node',
    target: 'node20.18',
    supported: { 'dynamic-import': false },
    minify: true,
  });
  writeFileSync(join(dist, name), code);
  if (name.startsWith('main-')) mainChunk = name;
}

await build({
  ...common,
  entryPoints: ['src/boot.ts'],
  format: 'cjs',
  outfile: 'dist/boot.js',
  define: { MAIN_CHUNK: JSON.stringify(mainChunk) },
});

await writeHelp();
writeFileSync(join(dist, 'THIRD_PARTY_NOTICES.txt'), thirdPartyNotices(chunks.metafile));

async function writeHelp() {
  const file = join(dist, 'help', 'render.mjs');
  await build({
    ...common,
    stdin: {
      contents: `export { ROOT } from './src/cli/commands.ts'; export { helpText } from './src/cli/help.ts';`,
      resolveDir: root,
    },
    format: 'esm',
    outfile: file,
    external: ['../commands/*'],
  });
  const { ROOT, helpText } = await import(pathToFileURL(file).href);
  rmSync(file);
  const visit = (command, path) => {
    writeFileSync(join(dist, 'help', `${path.join('-')}.txt`), helpText(command, path.join(' ')));
    for (const child of command.subcommands ?? []) visit(child, [...path, child.name]);
  };
  visit(ROOT, ['gmn']);
}
