// Search and glob on trees of 1,000 to 1,000,000 files: gmn's own engine, gmn with ripgrep, and ripgrep itself.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { loadSources } from './sources.mjs';
import { median, mulberry, printTable, shuffled } from './statistics.mjs';
import { searchVerdicts } from './verdicts.mjs';

const SIZES = [100, 1000, 10_000, 100_000];
const MILLION = 1_000_000;
const FILES_PER_DIRECTORY = 25;
const NEEDLES = 20;
const LINE = 'export const value = compute(one, two, three); // nothing to see here\n';
const SEARCH = { pattern: 'needle_\\d+' };
const GLOB = { pattern: '**/hit-*.ts' };

/**
 * Measures in one interleaved run, prints the table, and returns its rows and verdicts.
 * `ripgrep` is the path of that program; without it, its rows and ratios are left out.
 */
export async function benchSearch({ rounds, seed, ripgrep, isMillion, isQuick, skip }) {
  const scratch = mkdtempSync(join(tmpdir(), 'gmn-bench-search-'));
  try {
    const { TOOLS, openWorkspace } = await loadSources(scratch, {
      'src/tools/list.ts': ['TOOLS'],
      'src/tools/workspace/workspace.ts': ['openWorkspace'],
    });
    const subjectsIn = async (tree) => {
      const workspace = await openWorkspace({ roots: [tree], journal: { record: async () => {} } });
      const readers = TOOLS.filter(({ set }) => set === 'read');
      const toolsWith = (env) => new Map(readers.map((tool) => [tool.name, tool.create({ workspace, env })]));
      return subjectsOf({ own: toolsWith({}), helped: toolsWith({ PATH: dirname(ripgrep ?? '') }) }, ripgrep, tree);
    };
    const rows = [];
    const sizes = isQuick ? SIZES.slice(0, -1) : isMillion && hasRoom(scratch, skip) ? [...SIZES, MILLION] : SIZES;
    for (const files of sizes) {
      const tree = join(scratch, `tree-${files}`);
      plant(tree, files);
      const subjects = await subjectsIn(tree);
      await measure(subjects, files === MILLION ? 3 : rounds, mulberry(seed));
      for (const subject of subjects) rows.push(rowOf(subject, subjects, files, rows));
      rmSync(tree, { recursive: true, force: true });
    }
    rows.push(...(await benchLargeFile(scratch, { subjectsIn, rounds, seed })));
    printTable(rows);
    return { rows, verdicts: searchVerdicts(rows) };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** One file of 60 MB: what is affordable for many small files can be far too slow line by line. */
async function benchLargeFile(scratch, { subjectsIn, rounds, seed }) {
  const tree = join(scratch, 'large');
  mkdirSync(tree);
  const block = LINE.repeat(3_000_000 / LINE.length);
  const text = Array.from({ length: NEEDLES }, (_, index) => `${block}needle_${index}\n`).join('');
  writeFileSync(join(tree, 'large.ts'), text);
  const subjects = (await subjectsIn(tree)).filter(({ kind }) => kind === 'search');
  await measure(subjects, rounds, mulberry(seed));
  return subjects.map((subject) => rowOf(subject, subjects, 1, []));
}

/** The ripgrep of the installed peers; undefined if there is none for this system. */
export function ripgrepIn(peers) {
  const { platform, arch } = process;
  const name = `node_modules/@vscode/ripgrep-${platform}-${arch}/bin/rg${platform === 'win32' ? '.exe' : ''}`;
  const program = join(peers, name);
  return existsSync(program) ? program : undefined;
}

/** The ripgrep of `PATH`; undefined if there is none. */
export function ripgrepOnPath() {
  const name = process.platform === 'win32' ? 'rg.exe' : 'rg';
  const places = (process.env.PATH ?? '').split(delimiter).map((directory) => join(directory, name));
  return places.find((program) => spawnSync(program, ['--version']).status === 0);
}

function hasRoom(directory, skip) {
  const { bavail, bsize, ffree, files } = statfsSync(directory);
  const gigabytes = (bavail * bsize) / 1e9;
  // Some file systems have no fixed number of files.
  if (gigabytes >= 10 && (files === 0 || ffree >= 1.2 * MILLION)) return true;
  skip(`a million files (room for ${ffree} files and ${gigabytes.toFixed(0)} GB in the temporary directory)`);
  return false;
}

function plant(tree, count) {
  mkdirSync(tree);
  writeFileSync(join(tree, '.gitignore'), 'dist/\n*.log\n/build\n');
  for (let index = 0; index < count; index += 1) {
    const number = Math.floor(index / FILES_PER_DIRECTORY);
    const directory = join(tree, `d${number % 50}`, `e${Math.floor(number / 50)}`);
    if (index % FILES_PER_DIRECTORY === 0) mkdirSync(directory, { recursive: true });
    const isHit = index % (count / NEEDLES) === 0;
    const text = LINE.repeat(10 + (index % 40)) + (isHit ? `needle_${index}\n` : '');
    writeFileSync(join(directory, `${isHit ? 'hit' : 'file'}-${index % FILES_PER_DIRECTORY}.ts`), text);
  }
}

function subjectsOf({ own, helped }, ripgrep, tree) {
  const signal = new AbortController().signal;
  const call = (tools, name, args) => async () => outputOf(await tools.get(name).invoke(args, signal));
  const rg =
    (...args) =>
    () =>
      linesOf(ripgrep, ['--no-config', '--no-messages', '--hidden', ...args, '.'], tree);
  const bare = [
    { work: 'rg', kind: 'search', run: rg('-i', '-n', SEARCH.pattern) },
    { work: 'rg --files', kind: 'glob', run: rg('--files', '-g', GLOB.pattern) },
    { work: 'search through rg', kind: 'search', budget: 1.5, run: call(helped, 'search_file_content', SEARCH) },
    { work: 'glob through rg', kind: 'glob', budget: 1.5, run: call(helped, 'glob', GLOB) },
  ];
  return [
    ...(ripgrep === undefined ? [] : bare),
    { work: 'search, own engine', kind: 'search', budget: 8, run: call(own, 'search_file_content', SEARCH) },
    { work: 'glob, own engine', kind: 'glob', budget: 8, run: call(own, 'glob', GLOB) },
  ].map((subject) => ({ ...subject, times: [], found: undefined }));
}

/** How many were found, and what the tool says of it. */
function outputOf({ response: { output } }) {
  return { count: (output.matches?.flatMap(({ lines }) => lines) ?? output.files).length, note: output.note ?? '' };
}

function linesOf(program, args, cwd) {
  return new Promise((resolve, reject) => {
    let lines = 0;
    const child = spawn(program, args, { cwd, env: {}, stdio: ['ignore', 'pipe', 'ignore'] });
    child.stdout.on('data', (data) => (lines += String(data).split('\n').length - 1));
    child.on('error', reject);
    child.on('close', () => resolve({ count: lines, note: '' }));
  });
}

/** The first round only warms up. */
async function measure(subjects, rounds, random) {
  for (let round = 0; round <= rounds; round += 1) {
    for (const subject of shuffled(subjects, random)) {
      const began = performance.now();
      subject.found = await subject.run();
      if (round > 0) subject.times.push(performance.now() - began);
      if (subject.found.count !== NEEDLES && subject.found.note === '')
        throw new Error(`${subject.work} found ${subject.found.count} of ${NEEDLES}`);
    }
  }
}

function rowOf({ work, kind, budget, times, found }, subjects, files, rows) {
  const rg = subjects.find((subject) => subject.kind === kind && subject.work.startsWith('rg'));
  const tenth = rows.find((row) => row.work === work && row.files === files / 10);
  return {
    work,
    files,
    'ms (median)': median(times),
    'ms (min)': Math.min(...times),
    'x rg': rg === undefined ? '' : median(times) / median(rg.times),
    'x rg (min)': rg === undefined ? '' : Math.min(...times) / Math.min(...rg.times),
    // The million is there to be looked at: its files do not all fit in every machine's memory.
    budget: files === MILLION ? '' : (budget ?? ''),
    'x a tenth of the files (min)': tenth === undefined ? '' : Math.min(...times) / tenth['ms (min)'],
    note: found.note,
  };
}
