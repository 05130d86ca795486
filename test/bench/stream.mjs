// Streaming: 100 MB of events beside a script that reads, parses and writes the same, and how late a single chunk is.
import { join } from 'node:path';
import { root } from '../../scripts/project.mjs';
import { chunkDelays } from './latency.mjs';
import { gmn, openPlace, openServer, ranWithUsage } from './processes.mjs';
import { median, mulberry, percentile, printTable, shuffled } from './statistics.mjs';
import { verdict } from './verdicts.mjs';

const FLOOR = 'read and JSON.parse';
const MEGABYTES = 100;
const CHUNKS = 2000;
/** Of a script that reads, parses and writes the same bytes to the same pipe. */
const MIN_SPEED = 0.5;
const MAX_GROWTH_MB = 30;
const MAX_COPIES = 2.2;

/** Measures in one interleaved run, prints the tables, and returns their rows and verdicts. `isQuick`: less of everything. */
export async function benchStream({ rounds, seed, isQuick, skip }) {
  const random = mulberry(seed);
  const delays = await delayRows(isQuick ? CHUNKS / 10 : CHUNKS, random);
  if (process.platform === 'win32') skip('100 MB of events (its output goes through sh and wc)');
  const streamed = process.platform === 'win32' ? [] : await streamRows({ rounds, random, isQuick });
  const rows = [...streamed, ...delays];
  if (streamed.length > 0) printTable(streamed);
  printTable(delays);
  return { rows, verdicts: [...streamVerdicts(streamed), ...delayVerdicts(delays)] };
}

async function streamRows({ rounds, random, isQuick }) {
  const place = openPlace('stream');
  const server = await openServer('stream-server.mjs');
  try {
    const url = `http://127.0.0.1:${server.port}`;
    const megabytes = isQuick ? MEGABYTES / 2 : MEGABYTES;
    const subjects = ['ascii', 'kana'].flatMap((kind) => subjectsOf(kind, url));
    const run = (subject, size) =>
      ranWithUsage({ args: subject.args(size), cwd: place.directory, env: place.env(url), isPiped: true });
    for (let round = 0; round <= rounds; round += 1) {
      for (const subject of shuffled(subjects, random)) {
        const small = await run(subject, 0);
        const large = await run(subject, megabytes);
        // A run that breaks off is hidden by the pipe; its output is not.
        if (!subject.isFloor && Number(large.output) < 0.9e6 * megabytes) throw new Error(`${subject.work} broke off`);
        if (round === 0) continue;
        // The start has a budget of its own.
        const streamMs = large.ms - small.ms;
        subject.runs.push({ ...large, streamMs, bytes: Number(large.output), growthMb: large.rssMb - small.rssMb });
      }
    }
    return subjects.map((subject) => streamRow(subject, subjects));
  } finally {
    server.close();
    place.remove();
  }
}

function subjectsOf(kind, url) {
  const formats = kind === 'ascii' ? ['text', 'stream-json', 'json'] : ['text'];
  const name = kind === 'ascii' ? '' : `, ${kind}`;
  const script = (work, ...more) => ({
    work: `${work}${name}`,
    args: (size) => [join(root, 'test/bench/stream-floor.mjs'), `${url}/${kind}-${size}`, ...more],
  });
  const floor = { ...script(FLOOR), isFloor: true };
  const writers = formats
    .filter((format) => format !== 'json')
    .map((format) => script(`${FLOOR}, write ${format}`, format));
  const ours = formats.map((format) => ({
    work: `gmn -o ${format}${name}`,
    writer: `${FLOOR}, write ${format}${name}`,
    args: (size) => [gmn, '-m', `${kind}-${size}`, '-o', format, 'Hello'],
  }));
  return [floor, ...writers, ...ours].map((subject) => ({ ...subject, floor: floor.work, runs: [] }));
}

function streamRow({ work, floor, writer, runs }, subjects) {
  const of = (list, key) => list.map((run) => run[key]);
  const runsOf = (name) => subjects.find((subject) => subject.work === name)?.runs;
  const base = runsOf(floor);
  const written = runsOf(writer);
  return {
    work,
    'wall ms (median)': median(of(runs, 'streamMs')),
    'wall ms (min)': Math.min(...of(runs, 'streamMs')),
    'speed x (median)': median(of(base, 'streamMs')) / median(of(runs, 'streamMs')),
    'speed x writer (median)': written ? median(of(written, 'streamMs')) / median(of(runs, 'streamMs')) : '',
    'speed x (min)': Math.min(...of(base, 'streamMs')) / Math.min(...of(runs, 'streamMs')),
    'cpu ms': median(of(runs, 'cpuMs')),
    'memory growth MB': median(of(runs, 'growthMb')),
    'output MB': median(of(runs, 'bytes')) / 1e6,
  };
}

function streamVerdicts(rows) {
  return rows.flatMap((row) => {
    const { work, 'memory growth MB': growth, 'output MB': answer } = row;
    if (work.startsWith(FLOOR)) return [];
    const isJson = work.endsWith(' json');
    const memory = isJson
      ? verdict({ work: `${work}: memory growth`, measured: growth / answer, budget: MAX_COPIES, unit: 'x the answer' })
      : verdict({ work: `${work}: memory growth`, measured: growth, budget: MAX_GROWTH_MB, unit: 'MB' });
    if (isJson) return [memory];
    const measured = row['speed x writer (median)'];
    const speed = { measured, budget: MIN_SPEED, unit: 'x a script that does the same', atLeast: true };
    return [verdict({ work: `${work}: speed`, ...speed }), memory];
  });
}

async function delayRows(count, random) {
  const script = join(root, 'test/bench/latency-floor.cjs');
  const subjects = [
    { work: 'chunk through a bare script', args: (url) => [script, url] },
    { work: 'chunk through gmn', args: () => [gmn, 'Hello'] },
    { work: 'chunk through gmn -o stream-json', args: () => [gmn, '-o', 'stream-json', 'Hello'] },
  ];
  const rows = [];
  for (const { work, args } of shuffled(subjects, random)) {
    const ms = await chunkDelays(args, count);
    const delays = { 'ms (median)': median(ms), 'ms (p99)': percentile(ms, 0.99), 'ms (max)': Math.max(...ms) };
    rows.push({ work, chunks: count, ...delays });
  }
  return rows.sort((left, right) => left.work.length - right.work.length);
}

function delayVerdicts(rows) {
  return rows
    .filter(({ work }) => work.includes('gmn'))
    .flatMap((row) => [
      verdict({ work: `${row.work}: median`, measured: row['ms (median)'], budget: 1, unit: 'ms' }),
      verdict({ work: `${row.work}: 99 of 100`, measured: row['ms (p99)'], budget: 5, unit: 'ms' }),
    ]);
}
