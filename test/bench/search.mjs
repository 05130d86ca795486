// Search and glob on a large tree, against ripgrep (where installed) and a plain walker that reads every file.
// Usage: node test/bench/search.mjs [files=100000]; prints ratios, medians of five runs.
import { execFileSync, spawnSync } from 'node:child_process';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const COUNT = Number(process.argv[2] ?? 100_000);
const RUNS = 5;
const FILES_PER_DIRECTORY = 25;
const root = fileURLToPath(new URL('../..', import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), 'gmn-bench-'));
const tree = join(scratch, 'tree');

try {
  plant();
  const { builtins, openWorkspace } = await load();
  const journal = { before: async () => {} };
  const workspace = await openWorkspace({ roots: [tree], journal });
  const toolsWith = (env) => new Map(builtins({ workspace, env }).map((tool) => [tool.name, tool]));
  const own = toolsWith({});
  const helped = toolsWith(process.env);
  const signal = new AbortController().signal;
  const call = (tools, name, args) => tools.get(name).invoke(args, signal);
  const search = { pattern: 'needle_\\d+' };
  const glob = { pattern: '**/*-7.ts' };
  const rows = {
    'plain walker': await median(() => plainWalk(tree)),
    'search, own engine': await median(() => call(own, 'search_file_content', search)),
    'glob, own engine': await median(() => call(own, 'glob', glob)),
  };
  const hasRipgrep = spawnSync('rg', ['--version']).status === 0;
  if (hasRipgrep) {
    rows['rg search'] = await median(() => rg(['--hidden', '-i', '-n', search.pattern, '.']));
    rows['rg --files -g'] = await median(() => rg(['--hidden', '--files', '-g', '**/*-7.ts', '.']));
    rows['glob through rg'] = await median(() => call(helped, 'glob', glob));
    rows['search through rg'] = await median(() => call(helped, 'search_file_content', search));
  }
  const found = await call(own, 'search_file_content', search);
  print(rows, found.response.output.matches.length, hasRipgrep);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

function plant() {
  const line = 'export const value = compute(one, two, three); // nothing to see here\n';
  mkdirSync(tree, { recursive: true });
  writeFileSync(join(tree, '.gitignore'), 'dist/\n*.log\n/build\n');
  for (let index = 0; index < COUNT; index += 1) {
    const number = Math.floor(index / FILES_PER_DIRECTORY);
    const directory = join(tree, `d${number % 50}`, `e${Math.floor(number / 50)}`);
    if (index % FILES_PER_DIRECTORY === 0) mkdirSync(directory, { recursive: true });
    const file = openSync(join(directory, `file-${index % FILES_PER_DIRECTORY}.ts`), 'w');
    writeSync(file, line.repeat(10 + (index % 40)) + (index % (COUNT / 20) === 0 ? `needle_${index}\n` : ''));
    closeSync(file);
  }
}

async function load() {
  const outfile = join(scratch, 'tools.mjs');
  await build({
    absWorkingDir: root,
    stdin: {
      contents: `export { builtins } from './src/tools/builtins.ts'; export { openWorkspace } from './src/tools/workspace.ts';`,
      resolveDir: root,
    },
    bundle: true,
    minify: true,
    platform: 'node',
    format: 'esm',
    target: 'node20.18',
    mainFields: ['module', 'main'],
    outfile,
    logLevel: 'error',
  });
  return import(pathToFileURL(outfile).href);
}

function plainWalk(directory) {
  let matches = 0;
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) matches += plainWalk(path);
    else if (/needle_\d+/i.test(readFileSync(path, 'utf8'))) matches += 1;
  }
  return matches;
}

function rg(args) {
  execFileSync('rg', ['--no-config', '--no-messages', ...args], { cwd: tree, stdio: 'ignore' });
}

async function median(work) {
  const times = [];
  for (let run = 0; run < RUNS; run += 1) {
    const began = performance.now();
    await work();
    times.push(performance.now() - began);
  }
  return times.sort((left, right) => left - right)[Math.floor(RUNS / 2)];
}

function print(rows, matches, hasRipgrep) {
  console.log(`${COUNT} files, ${matches} files with a match, median of ${RUNS}`);
  for (const [name, ms] of Object.entries(rows)) console.log(`  ${name.padEnd(22)} ${ms.toFixed(0).padStart(7)} ms`);
  const ratio = (left, right) => (rows[left] / rows[right]).toFixed(2);
  console.log(`search, own engine / plain walker: ${ratio('search, own engine', 'plain walker')}`);
  if (!hasRipgrep) return console.log('skipped: ripgrep is not installed');
  console.log(`search, own engine / rg: ${ratio('search, own engine', 'rg search')} (budget 8)`);
  console.log(`search through rg / rg: ${ratio('search through rg', 'rg search')} (budget 1.5)`);
  console.log(`glob, own engine / rg --files: ${ratio('glob, own engine', 'rg --files -g')} (budget 8)`);
  console.log(`glob through rg / rg --files: ${ratio('glob through rg', 'rg --files -g')} (budget 1.5)`);
}
