// `npm run test:faults [-- --set quick|each|all] [-- --only N] [-- --times 20] [-- --torture] [-- --allow-skip]`: the fault
// matrix, and what came of it as figures in docs/dev/results/faults-<set>-<date>.json. `all`: every variant in every format, in a pipe
// and on a terminal; `each`: every variant in one of these ways; `quick`: one variant of each fault that no other test proves,
// with a few deaths, stops, crowds and turns, and no figures: what lands has to pass it (.ci/run).
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { values: flags } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    times: { type: 'string', default: '1' },
    set: { type: 'string', default: 'all' },
    torture: { type: 'boolean' },
    'allow-skip': { type: 'boolean' },
  },
});
const scratch = mkdtempSync(join(tmpdir(), 'gmn-faults-'));
const report = join(scratch, 'report.jsonl');
const times = Number(flags.times);
const isQuick = flags.set === 'quick';

if (!existsSync(join(root, 'dist', 'boot.js'))) must(spawnSync(process.execPath, [join(root, 'scripts', 'build.mjs')]));
const started = Date.now();
const rounds = [];
const SHOWN = { cwd: root, stdio: 'inherit' };
try {
  for (let round = 0; round < times; round += 1) rounds.push(play(round));
  const summary = summarise(existsSync(report) ? readFileSync(report, 'utf8') : '');
  if (flags.only === '' && !isQuick) write(summary);
  tell(summary);
  if (flags.torture)
    rounds.push(spawnSync(process.execPath, [join(root, 'test', 'faults', 'torture.mjs')], SHOWN).status);
  const isGood = rounds.every((status) => status === 0);
  process.exitCode = isGood && (summary.skipped.length === 0 || flags['allow-skip']) ? 0 : 1;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

function must({ status }) {
  if (status !== 0) process.exit(status ?? 1);
}

/** One run of the matrix; its order is shuffled by a seed that is the number of the round. */
function play(round) {
  const env = { ...process.env, GMN_FAULTS_REPORT: report, GMN_FAULTS_ONLY: flags.only };
  delete env.NODE_EXTRA_CA_CERTS;
  env.GMN_FAULTS = flags.set;
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const words = ['run', '--config', 'test/vitest.config.mts', '--reporter=dot', `--sequence.seed=${round + 1}`];
  // Vitest's flags about the order replace what the crowds say of their own, so they get a run to themselves.
  const runs = isQuick
    ? ['faults', 'crowds'].map((project) => ['--project', project])
    : [['test/faults/matrix.test.ts', 'test/faults/coverage.test.ts']];
  const statuses = runs.map(
    (tests) =>
      spawnSync(process.execPath, [vitest, ...words, '--sequence.shuffle.tests', ...tests], { ...SHOWN, env }).status,
  );
  return statuses.every((status) => status === 0) ? 0 : 1;
}

function summarise(text) {
  const records = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
  const elsewhere = new Set(records.flatMap(({ id, seenBy }) => (seenBy === undefined ? [] : [id])));
  const runs = records.filter(({ seenBy }) => seenBy === undefined);
  const counted = runs.filter(({ skipped }) => skipped === undefined);
  const problems = counted.flatMap((run) => run.problems.map((problem) => ({ ...problem, ...nameOf(run) })));
  const count = (...kinds) => problems.filter(({ kind }) => kinds.includes(kind)).length;
  const skipped = new Map(runs.filter((run) => run.skipped).map((run) => [`${run.id} ${run.variant}`, run.skipped]));
  return {
    date: new Date().toISOString().slice(0, 10),
    node: process.version,
    system: `${process.platform} ${process.arch}`,
    set: flags.set,
    rounds: times,
    seeds: rounds.map((_, round) => round + 1),
    failedRounds: rounds.filter((status) => status !== 0).length,
    seconds: Math.round((Date.now() - started) / 1000),
    faultsCovered: new Set([...counted.map(({ id }) => id), ...elsewhere]).size,
    ofThemSeenElsewhereToo: elsewhere.size,
    variants: new Set(counted.map(({ id, variant }) => `${id} ${variant}`)).size,
    runs: counted.length,
    hangs: count('hang'),
    wrongCodes: count('code'),
    wrongWords: count('words'),
    lostText: count('lost'),
    brokenOutput: count('grammar', 'noise'),
    stackTraces: count('stack'),
    leaks: count('leak'),
    processesLeft: count('process'),
    filesLeft: count('leftover', 'mode'),
    foreignFilesChanged: count('foreign'),
    brokenSessions: count('session'),
    terminalsLeftChanged: count('terminal'),
    overMemory: count('memory'),
    wrongRequests: count('requests'),
    other: count('other'),
    problems,
    skipped: [...skipped].map(([what, reason]) => ({ what, reason })),
  };
}

function nameOf({ id, variant, format, surface }) {
  return { id, variant, format, surface };
}

function write(summary) {
  const directory = join(root, 'docs', 'dev', 'results');
  mkdirSync(directory, { recursive: true });
  writeFileSync(
    join(directory, `faults-${flags.set}-${summary.date}.json`),
    `${JSON.stringify(summary, undefined, 2)}\n`,
  );
}

function tell({ problems, skipped, ...figures }) {
  for (const [name, value] of Object.entries(figures)) console.log(`${name.padEnd(22)} ${value}`);
  for (const { id, variant, kind, detail } of problems) console.log(`${id} ${variant}: ${kind}: ${detail}`);
  for (const { what, reason } of skipped) console.log(`skipped: ${what}: ${reason}`);
}
