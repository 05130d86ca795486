// `npm run test:faults [-- --only N] [-- --allow-skip]`: every variant of every fault, in every format, in a pipe and on a
// terminal; then what came of it, as figures, in docs/results/faults-<date>.json.
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
    quick: { type: 'boolean' },
    'allow-skip': { type: 'boolean' },
  },
});
const scratch = mkdtempSync(join(tmpdir(), 'gmn-faults-'));
const report = join(scratch, 'report.jsonl');
const times = Number(flags.times);

if (!existsSync(join(root, 'bin', 'gmn.js'))) must(spawnSync(process.execPath, [join(root, 'scripts', 'build.mjs')]));
const started = Date.now();
const rounds = [];
try {
  for (let round = 0; round < times; round += 1) rounds.push(play(round));
  const summary = summarise(existsSync(report) ? readFileSync(report, 'utf8') : '');
  if (flags.only === '') write(summary);
  tell(summary);
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
  if (!flags.quick) env.GMN_FAULTS = 'all';
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const words = ['run', '--config', 'test/vitest.config.mts', '--reporter=dot', `--sequence.seed=${round + 1}`];
  const files = ['test/faults/matrix.test.ts', 'test/faults/coverage.test.ts'];
  const { status } = spawnSync(process.execPath, [vitest, ...words, '--sequence.shuffle.tests', ...files], {
    cwd: root,
    env,
    stdio: 'inherit',
  });
  return status;
}

function summarise(text) {
  const runs = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
  const counted = runs.filter(({ skipped }) => skipped === undefined);
  const problems = counted.flatMap((run) => run.problems.map((problem) => ({ ...problem, ...nameOf(run) })));
  const count = (...kinds) => problems.filter(({ kind }) => kinds.includes(kind)).length;
  const skipped = new Map(runs.filter((run) => run.skipped).map((run) => [`${run.id} ${run.variant}`, run.skipped]));
  return {
    date: new Date().toISOString().slice(0, 10),
    node: process.version,
    system: `${process.platform} ${process.arch}`,
    set: flags.quick ? 'quick' : 'all',
    rounds: times,
    seeds: rounds.map((_, round) => round + 1),
    failedRounds: rounds.filter((status) => status !== 0).length,
    seconds: Math.round((Date.now() - started) / 1000),
    faultsRun: new Set(counted.map(({ id }) => id)).size,
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
  const directory = join(root, 'docs', 'results');
  mkdirSync(directory, { recursive: true });
  const name = flags.quick ? `faults-quick-${summary.date}.json` : `faults-${summary.date}.json`;
  writeFileSync(join(directory, name), `${JSON.stringify(summary, undefined, 2)}\n`);
}

function tell({ problems, skipped, ...figures }) {
  for (const [name, value] of Object.entries(figures)) console.log(`${name.padEnd(22)} ${value}`);
  for (const { id, variant, kind, detail } of problems) console.log(`${id} ${variant}: ${kind}: ${detail}`);
  for (const { what, reason } of skipped) console.log(`skipped: ${what}: ${reason}`);
}
