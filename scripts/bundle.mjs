// What the builds of the npm package and the executable share.
import { createHash } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { root } from './project.mjs';

/**
 * commander can run sub-commands as separate programs; we never do, and loading node:child_process for that costs 2 ms
 * per start.
 */
const withoutChildProcess = {
  name: 'commander-without-child-process',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:child_process$/ }, ({ importer }) =>
      /[\\/]commander[\\/]/.test(importer) ? { path: 'child_process', namespace: 'absent' } : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'absent' }, () => ({ contents: 'module.exports = {};' }));
  },
};
/** The replacement files say why. */
const withoutSchemaCompiler = {
  name: 'mcp-without-schema-compiler',
  setup({ onResolve }) {
    onResolve({ filter: /^@modelcontextprotocol\/(?:client|server)\/_shims$/ }, ({ path }) => ({
      path: join(root, 'scripts', path.includes('client') ? 'mcp-client-shims.mjs' : 'mcp-server-shims.mjs'),
    }));
  },
};
export const bundling = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target: 'node20.18',
  // jsonc-parser's "main" is a UMD file that breaks when bundled.
  mainFields: ['module', 'main'],
  // Its entry for Node is CommonJS, of which a dynamic import has no names once the chunks are CommonJS, too.
  alias: { yaml: join(dirname(createRequire(import.meta.url).resolve('yaml/package.json')), 'browser/index.js') },
  minify: true,
  legalComments: 'none',
  logLevel: 'warning',
  // stdout is a contract, and the MCP SDK sometimes writes to the console.
  drop: ['console'],
  plugins: [withoutChildProcess, withoutSchemaCompiler],
};

// The entry points of an ordinary one-shot. The full parser and the JSON formats are not needed for a plain prompt.
const HOT = ['src/main.ts', 'src/commands/prompt/prompt.ts', 'src/platform/http/send.ts', 'src/render/text.ts'];

/** The entry points of common flags, and of every command: what a run with one of them loads besides the chunks of an ordinary one. */
const FEATURES = [
  ['src/commands/prompt/options.ts'],
  ['src/render/json.ts', 'src/models/prices.ts'],
  ['src/render/stream-json.ts', 'src/models/prices.ts'],
  ['src/config/context.ts'],
  ['src/input/assembly.ts', 'src/platform/terminal/input-stream.ts'],
  ['src/input/assembly.ts', 'src/input/files.ts', 'src/engine/model/redaction.ts'],
  ['src/engine/session/sessions.ts', 'src/agent/history.ts'],
  ['src/engine/session/sessions.ts', 'src/engine/tools/toolbox.ts', 'src/api/reply-calls.ts'],
  ['src/cli/completion/answer.ts', 'src/commands/complete.ts'],
  ['src/cli/command-line.ts', 'src/cli/parse.ts'],
];

/** In one file these chunks cost one read and one lookup in the code cache. */
export function findHotChunks({ outputs }) {
  return findChunks(outputs, HOT);
}

/**
 * The chunks that the same features load, as one set each: every file costs a read and a lookup in the code cache. No two
 * sets need each other, since what a chunk imports is loaded by every feature that loads the chunk.
 */
export function groupChunks({ outputs }, hot) {
  const features = FEATURES.map((sources) => findChunks(outputs, sources));
  const groups = new Map();
  for (const name of new Set(features.flatMap((names) => [...names]))) {
    if (hot.has(name)) continue;
    const users = features.map((names) => Number(names.has(name))).join('');
    groups.set(users, (groups.get(users) ?? new Set()).add(name));
  }
  return [...groups.values()];
}

/** With all that they import. */
function findChunks(outputs, sources) {
  const found = new Set();
  const add = (path) => {
    if (found.has(basename(path))) return;
    found.add(basename(path));
    for (const next of outputs[path].imports)
      if (next.kind === 'import-statement' && outputs[next.path]) add(next.path);
  };
  for (const source of sources) add(Object.keys(outputs).find((path) => outputs[path].entryPoint === source));
  return found;
}

/** The command table and the generators used at build time, bundled to a temporary file in `directory` and imported. */
export async function importCommandTable(directory) {
  const file = join(directory, 'table.mjs');
  await build({
    ...bundling,
    stdin: {
      contents: `export { ROOT } from './src/cli/table/root.ts';
        export { completionPlan } from './src/cli/completion/plan.ts';
        export { SCRIPTS } from './src/cli/completion/script.ts';
        export { helpText, shortHelpText } from './src/cli/help.ts';
        export { manPage } from './src/cli/man.ts';
        export { toOutline } from './src/cli/invocation.ts';`,
      resolveDir: root,
    },
    format: 'esm',
    outfile: file,
    external: ['../../commands/*'],
  });
  const table = await import(pathToFileURL(file).href);
  rmSync(file);
  return table;
}

/** What src/main.ts knows of the command table; the flags as text, to be parsed where they are needed. */
export function outlineDefines({ ROOT, toOutline }) {
  const { flags, ...outline } = toOutline(ROOT);
  return { OUTLINE: JSON.stringify(outline), FLAGS: JSON.stringify(JSON.stringify(flags())) };
}

/** Writes the help of every command, the completion scripts and what a Tab may offer: boot needs nothing else to answer. */
export function writeTexts(directory, { ROOT, SCRIPTS, completionPlan, helpText, shortHelpText }) {
  const help = join(directory, 'help');
  mkdirSync(help, { recursive: true });
  const short = join(directory, 'short-help');
  mkdirSync(short);
  const writeHelp = (command, path) => {
    const brief = shortHelpText(command, path.join(' '));
    if (brief !== undefined) writeFileSync(join(short, `${path.join('-')}.txt`), brief);
    writeFileSync(join(help, `${path.join('-')}.txt`), helpText(command, path.join(' ')));
    for (const child of command.subcommands ?? []) writeHelp(child, [...path, child.name]);
  };
  writeHelp(ROOT, ['gmn']);
  mkdirSync(join(directory, 'completion'));
  for (const [shell, script] of Object.entries(SCRIPTS)) writeFileSync(join(directory, 'completion', shell), script);
  writeFileSync(join(directory, 'completion', 'plan.json'), JSON.stringify(completionPlan(ROOT)));
}

export function hashText(text) {
  return createHash('sha256').update(text).digest('hex').slice(0, 8);
}

/**
 * Bundles src/<name>.ts for a thread and returns the file's name. It is one file, since a thread cannot load chunks out of the pack, and
 * `.cjs`, so that nobody takes it for a chunk.
 */
export async function writeWorker(directory, name) {
  const { outputFiles } = await build({
    ...bundling,
    entryPoints: [`src/${name}.ts`],
    format: 'cjs',
    write: false,
  });
  const [{ text }] = outputFiles;
  const file = `${name}-${hashText(text)}.cjs`;
  writeFileSync(join(directory, file), text);
  return file;
}
