// Bundles src/ into dist/: lazy chunks as CommonJS, the boot file, help texts, `gmn help --json`, completion scripts, the manual page and third-party notices.
// Why CommonJS and why chunks: docs/dev/decisions/0002-build-and-code-cache.md
// With --sourcemap nothing is minified, and every file has a source map beside it, for a debugger.
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { build, transform } from 'esbuild';
import {
  bundling,
  findHotChunks,
  groupChunks,
  hashText,
  importCommandTable,
  outlineDefines,
  writeTexts,
  writeWorker,
} from './bundle.mjs';
import { descriptionDefines, writeDescription } from './description.mjs';
import { formatLicences } from './notices.mjs';
import { priceDefines } from './prices.mjs';
import { root } from './project.mjs';

const final = join(root, 'dist');
const dist = `${final}.new`;
const hasMaps = process.argv.includes('--sourcemap');
const commonJs = {
  format: 'cjs',
  platform: 'node',
  target: 'node20.18',
  supported: { 'dynamic-import': false },
  minify: !hasMaps,
  sourcemap: hasMaps && 'external',
};
/** Modules of Node that cost 0.4 to 3 ms to load, and that most runs which load our code around them never call. */
const LAZY_BUILTINS =
  /(?<=^|[;\n])import\{([^}]*)\}from"(node:(?:child_process|crypto|fs\/promises|os|tty|worker_threads))";/g;

// Built next to the last build and then renamed: a compile error leaves the old one in place.
rmSync(dist, { recursive: true, force: true });
mkdirSync(dist);
const table = await importCommandTable(dist);
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** The ES modules `gmn` and `gmn/demo`. Their names are those that the types declare. */
const LIBRARY = {
  gmn: {
    source: 'src/library/library.ts',
    types: 'src/library/gmn.d.ts',
    from: (chunk) => `${chunk}.createLibrary('${version}')`,
  },
  demo: { source: 'src/library/demo.ts', types: 'src/library/gmn-demo.d.ts', from: (chunk) => chunk },
};

const searchWorker = await writeWorker(dist, 'search-worker');

const chunks = await build({
  ...bundling,
  // The second pass reads these maps. Lines must be short: replacing a text moves what follows it in its line.
  ...(hasMaps && { minify: false, sourcemap: 'inline' }),
  entryPoints: ['src/main.ts', ...Object.values(LIBRARY).map(({ source }) => source)],
  define: {
    ...outlineDefines(table),
    ...priceDefines(),
    ...descriptionDefines,
    SEARCH_WORKER: JSON.stringify(searchWorker),
  },
  format: 'esm',
  splitting: true,
  outdir: 'dist',
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  metafile: true,
  write: false,
});
const texts = new Map(chunks.outputFiles.map(({ path, text }) => [basename(path), text]));
const hot = findHotChunks(chunks.metafile);
const packs = {};
for (const names of groupChunks(chunks.metafile, hot)) {
  const pack = await writePack(names);
  for (const name of names) packs[name] = pack;
}
// As text, which an ordinary run never parses.
const hotPack = await writePack(
  hot,
  `export const packs = () => JSON.parse(${JSON.stringify(JSON.stringify(packs))});`,
);
for (const name of hot) packs[name] = hotPack;
for (const [name, text] of texts) {
  if (Object.hasOwn(packs, name)) continue;
  // esbuild splits only ES modules; a second pass turns each chunk into CommonJS, and `import()` into a lazy `require`.
  const { code, map } = await transform(withRequire(text), { ...commonJs, sourcefile: name });
  writeChunk(name, escapeNonAscii(code), map);
}
writeSources();

await build({
  ...bundling,
  stdin: { contents: `import { boot } from './src/boot.ts'; boot(process.argv.slice(2));`, resolveDir: root },
  format: 'cjs',
  outfile: join(dist, 'boot.js'),
  ...(hasMaps && { minify: false, sourcemap: true }),
  define: {
    VERSION: JSON.stringify(version),
    MAIN_CHUNK: JSON.stringify([...hot].find((name) => name.startsWith('main-'))),
    PACK: JSON.stringify(hotPack),
  },
});

await writeModules();
writeTexts(dist, table);
await writeDescription(dist, version);
writeFileSync(join(dist, 'gmn.1'), table.manPage(table.ROOT, version));
writeFileSync(join(dist, 'THIRD_PARTY_NOTICES.txt'), formatLicences(chunks.metafile));
rmSync(final, { recursive: true, force: true });
renameSync(dist, final);

/** The ES modules that load the chunks of the library, and their types. */
async function writeModules() {
  await build({
    ...bundling,
    entryPoints: ['src/platform/runtime/module-chunks.ts'],
    format: 'esm',
    outfile: join(dist, 'chunks.mjs'),
    define: { PACK: JSON.stringify(hotPack) },
  });
  const { outputs } = chunks.metafile;
  const findChunk = (source) => basename(Object.keys(outputs).find((path) => outputs[path].entryPoint === source));
  for (const [name, { source, types, from }] of Object.entries(LIBRARY)) {
    const declarations = readFileSync(join(root, types), 'utf8');
    const names = new Set(
      Array.from(declarations.matchAll(/^export (?:function|class) (\w+)/gm), ([, found]) => found),
    );
    writeFileSync(
      join(dist, `${name}.mjs`),
      `import { load } from './chunks.mjs';\nexport const { ${[...names].join(', ')} } = ${from(`load('${findChunk(source)}')`)};\n`,
    );
    writeFileSync(join(dist, `${name}.d.mts`), declarations);
  }
}

/** The program is read as Latin-1, but esbuild escapes characters beyond ASCII only in strings, not in regular expressions. */
function escapeNonAscii(code) {
  return code.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * Bundles these chunks into one scope: one read, one lookup in the code cache, and no module boundaries. Their exports
 * for other chunks are collected on demand, and found by a `switch`: an object with a hundred keys would have to be built at
 * every start. Returns the file's name.
 */
async function writePack(names, more = '') {
  const virtual = {
    name: 'hot-chunks',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^\.\// }, ({ path }) => {
        const name = path.slice(2);
        return names.has(name) ? { path: name, namespace: 'hot' } : { path, external: true };
      });
      onLoad({ filter: /.*/, namespace: 'hot' }, ({ path }) => ({ contents: withRequire(texts.get(path), names) }));
    },
  };
  const parts = [...names].map((name, index) => wrapChunk(name, `chunk${index}`));
  const { outputFiles } = await build({
    ...commonJs,
    outfile: join(dist, 'pack.js'),
    stdin: {
      contents: `${parts.map(({ imports }) => imports).join('\n')}
        export function findChunk(name) { switch (name) { ${parts.map(({ entry }) => entry).join(' ')} } }
        ${more}`,
      resolveDir: root,
    },
    bundle: true,
    write: false,
    logLevel: 'warning',
    plugins: [virtual],
  });
  // In the form that boot calls, so that boot need not copy the text to wrap it.
  const { text: code } = outputFiles.find(({ path }) => path.endsWith('.js'));
  const text = escapeNonAscii(`(function(exports,require,module,__dirname){${code}\n})`);
  const file = `pack-${hashText(text)}.js`;
  writeChunk(file, text, outputFiles.find(({ path }) => path.endsWith('.map'))?.text);
  return file;
}

function writeChunk(name, code, map) {
  writeFileSync(join(dist, name), map ? `${code}\n//# sourceMappingURL=${name}.map\n` : code);
  if (map) writeFileSync(join(dist, `${name}.map`), map);
}

/** Loads Node's heavy modules when a function of theirs is first called, or a class is first used with `new`. */
function withLazyBuiltins(text) {
  return text.replace(LAZY_BUILTINS, (_, names, module) =>
    names
      .split(',')
      .map((each) => each.split(' as '))
      .map(([name, local = name]) => {
        if (typeof process.getBuiltinModule(module)[name] !== 'function') {
          throw new Error(`${name} of ${module} is no function, so it cannot be loaded later: import the whole module`);
        }
        const loaded = `process.getBuiltinModule(${JSON.stringify(module)}).${name}`;
        return `function ${local}(...args){return new.target?new (${loaded})(...args):${loaded}(...args)}`;
      })
      .join('\n'),
  );
}

/**
 * Turns `import()` into `require`. esbuild's own conversion copies the exports, one accessor per name, and wraps every
 * module loaded that way; what is in the pack is already there.
 */
function withRequire(text, packed = new Set()) {
  return withLazyBuiltins(text).replace(/\bimport\(("(?:\.\/)?([^"]+)")\)/g, (_, path, name) =>
    packed.has(name)
      ? `Promise.resolve(module.exports.findChunk(${JSON.stringify(name)})())`
      : `Promise.resolve().then(()=>require(${path}))`,
  );
}

function wrapChunk(name, prefix) {
  const { exports } = chunks.metafile.outputs[`dist/${name}`];
  const named = exports.map((key) => ({ key, local: `${prefix}_${key}` }));
  return {
    imports: `import { ${named.map(({ key, local }) => `${key} as ${local}`).join(', ')} } from './${name}';`,
    entry: `case ${JSON.stringify(name)}: return () => ({ ${named.map(({ key, local }) => `${key}: ${local}`).join(', ')} });`,
  };
}

/** Lists which sources are in which file, for test/startup.test.ts; not part of the package. */
function writeSources() {
  const sources = {};
  for (const [path, { inputs }] of Object.entries(chunks.metafile.outputs)) {
    const name = packs[basename(path)] ?? basename(path);
    sources[name] = [...(sources[name] ?? []), ...Object.keys(inputs).filter((input) => !input.startsWith('<define'))];
  }
  writeFileSync(join(dist, 'chunks.json'), `${JSON.stringify(sources, null, 1)}\n`);
}
