// `npm run test:recorded [-- <file>] [-- --sample N] [-- --seed S] [-- --only id,id] [-- --convert out.jsonl] [-- --allow-skip]`: plays a file of
// recordings of Google's servers (also GMN_RECORDINGS) to the program, records and replays them, and writes what came of it to docs/dev/results/recorded-<date>.json.
// The format of the file: docs/dev/reliability.md.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sample: { type: 'string', default: '' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    convert: { type: 'string', default: '' },
    'allow-skip': { type: 'boolean' },
  },
});
const given = positionals[0] ?? process.env.GMN_RECORDINGS ?? '';
if (given === '' || !existsSync(given)) {
  const why = given === '' ? 'no recordings; name a file, or set GMN_RECORDINGS' : `there is no file ${given}`;
  console.log(`skipped: ${why}`);
  process.exit(flags['allow-skip'] ? 0 : 1);
}
const file = resolve(given);

if (!process.env.GMN_BIN) {
  // The program that is judged is the one of these sources.
  const built = spawnSync(process.execPath, [join(root, 'scripts', 'build.mjs')], { stdio: 'inherit' });
  if (built.status !== 0) process.exit(built.status ?? 1);
}
const scratch = mkdtempSync(join(tmpdir(), 'gmn-recorded-'));
const report = join(scratch, 'report.jsonl');
const started = Date.now();
try {
  const status = play();
  const summary = summarise(existsSync(report) ? readFileSync(report, 'utf8') : '');
  if (flags.only === '' && flags.sample === '') write(summary);
  tell(summary);
  process.exitCode = status === 0 && summary.failed === 0 && summary.passed > 0 ? 0 : 1;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

/** The exit code of Vitest, which also tells whether all of them were played. */
function play() {
  const env = {
    ...process.env,
    GMN_RECORDED_FILE: file,
    GMN_RECORDED_SEED: flags.seed,
    GMN_RECORDED_SAMPLE: flags.sample,
    GMN_RECORDED_ONLY: flags.only,
    GMN_RECORDED_REPORT: report,
    GMN_RECORDED_CONVERTED: flags.convert === '' ? '' : resolve(flags.convert),
  };
  delete env.NODE_EXTRA_CA_CERTS;
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const words = ['run', '--config', 'test/vitest.config.mts', '--project', 'tests', '--reporter=dot'];
  const shown = { cwd: root, stdio: 'ignore', env };
  const atOnce = `--maxConcurrency=${availableParallelism() + 1}`;
  return spawnSync(process.execPath, [vitest, ...words, atOnce, 'test/recorded/'], shown).status;
}

function summarise(text) {
  const records = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
  const played = records.filter(({ skipped }) => skipped === undefined);
  const failed = played.filter(({ problems }) => problems.length > 0);
  return {
    date: new Date().toISOString().slice(0, 10),
    node: process.version,
    system: `${process.platform} ${process.arch}`,
    seed: Number(flags.seed),
    seconds: Math.round((Date.now() - started) / 1000),
    recordings: records.length,
    program: process.env.GMN_BIN ? 'an executable' : 'bin/gmn.js, spawned',
    passed: played.length - failed.length,
    failed: failed.length,
    skipped: records.length - played.length,
    byKind: countBy(played, ({ kind }) => kind),
    reasonsSkipped: countBy(
      records.filter(({ skipped }) => skipped !== undefined),
      ({ skipped }) => skipped,
    ),
    failures: failed.map(({ id, problems }) => ({ id, problems })),
  };
}

function countBy(list, keyOf) {
  const counts = {};
  for (const item of list) counts[keyOf(item)] = (counts[keyOf(item)] ?? 0) + 1;
  return counts;
}

/** What is written names the recordings by their ids only: nothing of their text belongs in this repository. */
function write(summary) {
  const directory = join(root, 'docs', 'dev', 'results');
  mkdirSync(directory, { recursive: true });
  const { failures, ...figures } = summary;
  const value = { ...figures, failures: failures.map(({ id }) => id) };
  writeFileSync(join(directory, `recorded-${summary.date}.json`), `${JSON.stringify(value, undefined, 2)}\n`);
}

function tell({ failures, reasonsSkipped, passed, failed, skipped, seconds }) {
  for (const { id, problems } of failures) console.log(`${id}: ${problems.join('\n      ')}`);
  for (const [reason, count] of Object.entries(reasonsSkipped)) console.log(`skipped: ${count}: ${reason}`);
  console.log(`${passed} passed, ${failed} failed, ${skipped} skipped, in ${seconds} s`);
}
