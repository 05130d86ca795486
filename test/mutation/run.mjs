// `npm run test:mutation [-- --allow-skip] [--only <name>] [--concurrency <n>]`: small changes to the modules that guard
// silently, one at a time, each of which a test must notice. The tester comes from ../peers/mutation and is
// installed into a cache outside the tree; it works on a copy of the project. Writes docs/dev/results/mutation-<date>.json.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { peerVersion, requirePeers } from '../peers/install.mjs';
import { modules } from './modules.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** The share of mutants, in per cent, that the tests of each module must notice. */
const BREAK = 90;

/** A mutant that is noticed only once in a thousand tries is noticed by luck. */
const GMN_FUZZ_RUNS = '40';

const { values: flags } = parseArgs({
  options: {
    'allow-skip': { type: 'boolean' },
    only: { type: 'string', multiple: true },
    concurrency: { type: 'string', default: '2' },
  },
});
const chosen = modules.filter(({ name }) => flags.only?.includes(name) ?? true);
const cache = requirePeers('mutation', 'the mutation tester', { isSkipAllowed: flags['allow-skip'] });
const results = chosen.map(({ name, units }) => summary(name, units.flatMap(mutate)));
save(results);
for (const { name, score, survivors } of results) console.log(`${name}: ${score} %, ${survivors.length} survived`);
process.exitCode = results.every(({ score }) => score >= BREAK) ? 0 : 1;

/** Mutates some files in a copy of the project, and tells what became of the mutants. */
function mutate({ mutate: files, tests }) {
  const work = mkdtempSync(join(tmpdir(), 'gmn-mutation-'));
  try {
    for (const entry of ['src', 'test', 'docs', 'scripts', 'package.json', 'tsconfig.json']) {
      cpSync(join(root, entry), join(work, entry), { recursive: true });
    }
    symlinkSync(join(root, 'node_modules'), join(work, 'node_modules'), 'junction');
    writeFileSync(join(work, 'stryker.config.json'), JSON.stringify(strykerConfig(work, files)));
    const stryker = join(cache, 'node_modules', '@stryker-mutator', 'core', 'bin', 'stryker.js');
    const env = { ...process.env, NO_COLOR: '1', GMN_MUTATION_TESTS: JSON.stringify(tests), GMN_FUZZ_RUNS };
    delete env.NODE_EXTRA_CA_CERTS;
    const { status } = spawnSync(process.execPath, [stryker, 'run'], { cwd: work, env, stdio: 'inherit' });
    if (status !== 0) throw new Error(`the mutation of ${files.join(', ')} ended with ${status}`);
    return Object.entries(JSON.parse(readFileSync(join(work, 'mutation.json'), 'utf8')).files);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function strykerConfig(work, mutated) {
  return {
    mutate: mutated,
    inPlace: true,
    testRunner: 'in-process',
    plugins: [join(work, 'test', 'mutation', 'in-process.mjs')],
    coverageAnalysis: 'perTest',
    concurrency: Number(flags.concurrency),
    checkers: [],
    timeoutMS: 10_000,
    reporters: ['progress-append-only', 'clear-text', 'json'],
    clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
    jsonReporter: { fileName: 'mutation.json' },
    thresholds: { high: 95, low: BREAK, break: null },
    allowConsoleColors: false,
  };
}

function summary(name, files) {
  const all = files.flatMap(([file, { source, mutants }]) => mutants.map((mutant) => ({ file, source, ...mutant })));
  const count = (...statuses) => all.filter(({ status }) => statuses.includes(status)).length;
  const detected = count('Killed', 'Timeout');
  const missed = all.filter(({ status }) => status === 'Survived' || status === 'NoCoverage');
  const score = Math.floor((10_000 * detected) / (detected + missed.length)) / 100;
  const statuses = Object.fromEntries([...new Set(all.map(({ status }) => status))].sort().map((s) => [s, count(s)]));
  return { name, score, mutants: all.length, statuses, survivors: missed.map(survivor) };
}

function survivor({ file, source, location: { start, end }, mutatorName, replacement, status }) {
  const lines = source.split('\n').slice(start.line - 1, end.line);
  lines[lines.length - 1] = lines.at(-1).slice(0, end.column - 1);
  lines[0] = lines[0].slice(start.column - 1);
  const text = lines.join('\n');
  const short = (words) => (words.length > 200 ? `${words.slice(0, 200)}…` : words);
  return {
    at: `${file}:${start.line}:${start.column}`,
    mutator: mutatorName,
    from: short(text),
    to: short(replacement ?? ''),
    status,
  };
}

/** What was run replaces what an earlier run of the same day said of it; the rest stays. */
function save(rows) {
  const date = new Date().toISOString().slice(0, 10);
  const directory = join(root, 'docs', 'dev', 'results');
  const file = join(directory, `mutation-${date}.json`);
  mkdirSync(directory, { recursive: true });
  const before = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).modules : [];
  const all = new Map([...before, ...rows].map((row) => [row.name, row]));
  const record = {
    date,
    node: process.version,
    stryker: peerVersion('@stryker-mutator/core'),
    goal: BREAK,
    modules: modules.flatMap(({ name }) => (all.has(name) ? [all.get(name)] : [])),
  };
  writeFileSync(file, `${JSON.stringify(record, null, 2)}\n`);
}
