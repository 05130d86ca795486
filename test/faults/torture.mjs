// `node test/faults/torture.mjs [--allow-skip] [--only <part>]…`, a part of `npm run test:faults`: system calls that fail one
// by one, deaths at any moment, full disks, ten thousand turns, every cut of a stream, a hundred thousand cases for every
// property. Hours of work; docs/dev/results/torture-<date>.json tells what came of it, part by part.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { values: flags } = parseArgs({
  options: {
    'allow-skip': { type: 'boolean' },
    only: { type: 'string', multiple: true },
    cases: { type: 'string', default: '100000' },
  },
});

/** The properties, by what they are about. */
const PROPERTIES = {
  sse: 'test/api/sse.test.ts',
  'utf-8': ['test/api/reply.test.ts', 'test/core/text/decode.test.ts'],
  fence: 'test/tools/workspace/fence-model.test.ts',
  filter: 'test/core/text/terminal-filter.test.ts',
  loader: 'test/session/properties.test.ts',
  classifier: 'test/api/failure.test.ts',
  schema: 'test/mcp/client/tools/schema.test.ts',
  framing: 'test/mcp/wire/framing.test.ts',
  history: ['test/agent/history.test.ts', 'test/agent/conversations.test.ts'],
  export: ['test/export/export.test.ts', 'test/export/export-html.test.ts'],
  layout: ['test/render/markdown/properties.test.ts', 'test/chat/terminal/screen.test.ts'],
  patterns: ['test/core/text/glob.test.ts', 'test/tools/search/ignore.test.ts', 'test/tools/search/search.test.ts'],
  edits: 'test/tools/edits.test.ts',
  files: 'test/tools/search/many-files.test.ts',
  undo: ['test/tools/workspace/journal.test.ts', 'test/tools/workspace/journal-limits.test.ts'],
  refresh: 'test/auth/crowd.test.ts',
};

const PARTS = [
  { name: 'calls', files: ['test/faults/torture.test.ts'], env: { GMN_TORTURE: 'all' }, sum: calls },
  { name: 'lengths', files: ['test/cli/hostile-length.test.ts'], env: { GMN_TORTURE: 'all' } },
  { name: 'deaths', files: ['test/faults/kill.test.ts'], env: { GMN_DEATHS: '200' } },
  {
    name: 'batch deaths',
    files: ['test/faults/batch-kill.test.ts'],
    env: { GMN_BATCH_KILLS: '200', GMN_BATCH_ROWS: '20000' },
    sum: batchDeaths,
  },
  {
    name: 'deaths of the Batch API',
    files: ['test/faults/batch-api-kill.test.ts'],
    env: { GMN_BATCH_KILLS: '200', GMN_BATCH_ROWS: '20000' },
  },
  {
    name: 'disk',
    files: ['test/session/store-limits.test.ts', 'test/cli/stubborn.test.ts'],
    env: { GMN_FUZZ_RUNS: flags.cases },
  },
  { name: 'many turns', files: ['test/cli/many-turns.test.ts'], env: { GMN_PROCESS_TURNS: '1000' } },
  { name: 'endurance', files: ['test/faults/endurance.test.ts'], env: { GMN_TURNS: '10000' }, sum: endurance },
  {
    name: 'cuts',
    files: ['test/api/stream-cuts.test.ts'],
    env: { GMN_FUZZ_RUNS: String(Math.min(10_000, flags.cases)) },
  },
  ...Object.entries(PROPERTIES).map(([name, files]) => ({
    name: `property ${name}`,
    files: [files].flat(),
    env: { GMN_FUZZ_RUNS: flags.cases },
  })),
];

const chosen = PARTS.filter(({ name }) => flags.only?.some((word) => name.includes(word)) ?? true);
if (!existsSync(join(root, 'dist', 'boot.js'))) {
  const built = spawnSync(process.execPath, [join(root, 'scripts', 'build.mjs')], { stdio: 'inherit' });
  if (built.status !== 0) process.exit(built.status ?? 1);
}
const results = chosen.map(play);
save(results);
for (const { name, passed, failed, skipped, seconds } of results) {
  console.log(`${name}: ${passed} passed, ${failed} failed, ${skipped} skipped, ${seconds} s`);
}
const isGood = results.every(({ failed, passed }) => failed === 0 && passed > 0);
const isWhole = results.every(({ skipped }) => skipped === 0);
if (!isWhole) console.log('skipped: see the results for what and why');
process.exitCode = isGood && (isWhole || flags['allow-skip']) ? 0 : 1;

/** Runs the tests of one part, with its numbers. */
function play({ name, files, env: numbers, sum }) {
  const scratch = mkdtempSync(join(tmpdir(), 'gmn-torture-'));
  try {
    const report = join(scratch, 'report.jsonl');
    const json = join(scratch, 'tests.json');
    const env = { ...process.env, ...numbers, GMN_TORTURE_REPORT: report };
    delete env.NODE_EXTRA_CA_CERTS;
    const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
    const words = ['run', '--config', 'test/vitest.config.mts', '--testTimeout=21600000'];
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${json}`];
    const started = Date.now();
    spawnSync(process.execPath, [vitest, ...words, ...reporters, ...files], { cwd: root, env, stdio: 'inherit' });
    const seconds = Math.round((Date.now() - started) / 1000);
    const lines = existsSync(report) ? readFileSync(report, 'utf8').trim().split('\n') : [];
    const told = lines.filter((line) => line !== '').map((line) => JSON.parse(line));
    return { name, ...numbers, seconds, ...counts(json), ...(sum ? sum(told) : {}) };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function counts(json) {
  if (!existsSync(json)) return { passed: 0, failed: 1, skipped: 0, failures: ['the tests did not run'] };
  const tests = JSON.parse(readFileSync(json, 'utf8')).testResults.flatMap(({ assertionResults }) => assertionResults);
  const named = (...statuses) =>
    tests.filter(({ status }) => statuses.includes(status)).map(({ fullName }) => fullName);
  const failures = named('failed');
  const skips = named('skipped', 'pending', 'todo');
  return { passed: named('passed').length, failed: failures.length, skipped: skips.length, failures, skips };
}

/** How many calls were made to fail in each scene, by call and error, and how the runs ended. */
function calls(wounds) {
  const tally = (keyOf) => {
    const numbers = {};
    for (const wound of wounds) numbers[keyOf(wound)] = (numbers[keyOf(wound)] ?? 0) + 1;
    return numbers;
  };
  return {
    runs: wounds.length,
    scenes: tally(({ scene }) => scene),
    blows: tally(({ blow }) => `${blow.call} ${blow.error}`),
    missed: wounds.filter(({ hit }) => hit === undefined).length,
    exitCodes: tally(({ exitCode }) => String(exitCode)),
    wrongs: wounds.filter(({ wrongs }) => wrongs.length > 0),
  };
}

/** How many rows were asked more than once, of how many. */
function batchDeaths([{ batchKills = {} } = {}]) {
  return batchKills;
}

function endurance([{ endurance: run } = {}]) {
  if (run === undefined) return {};
  const { samples, turns, mbPerThousand } = run;
  return { turns, mbPerThousand, first: samples[0], last: samples.at(-1) };
}

/** What was run replaces what an earlier run of the same day said of it; the rest stays. */
function save(rows) {
  const date = new Date().toISOString().slice(0, 10);
  const directory = join(root, 'docs', 'dev', 'results');
  const file = join(directory, `torture-${date}.json`);
  mkdirSync(directory, { recursive: true });
  const before = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).parts : [];
  const all = new Map([...before, ...rows].map((row) => [row.name, row]));
  const parts = PARTS.flatMap(({ name }) => (all.has(name) ? [all.get(name)] : []));
  const record = { date, node: process.version, system: `${process.platform} ${process.arch}`, parts };
  writeFileSync(file, `${JSON.stringify(record, null, 2)}\n`);
}
