// Start-up against bare Node and the official CLI.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../../scripts/project.mjs';
import { median, mulberry, printTable, shuffled } from './statistics.mjs';

const gmn = join(root, 'bin', 'gmn.js');

/**
 * Measures in one interleaved run, prints the table, and returns its rows and what is over its budget. `peers` is where the
 * official CLI is installed; without it, it is left out.
 */
export async function benchStart({ rounds, seed, peers }) {
  const place = mkdtempSync(join(tmpdir(), 'gmn-bench-'));
  const server = spawn(process.execPath, [join(root, 'test/bench/server.mjs')], { stdio: ['pipe', 'pipe', 'inherit'] });
  try {
    const port = await new Promise((resolve) => server.stdout.once('data', (data) => resolve(String(data).trim())));
    const url = `http://127.0.0.1:${port}`;
    const home = join(place, 'home');
    mkdirSync(join(home, '.gemini'), { recursive: true });
    writeFileSync(join(home, '.gemini', 'settings.json'), '{"security":{"auth":{"selectedType":"gemini-api-key"}}}');
    const env = { PATH: process.env.PATH, HOME: home, GEMINI_API_KEY: 'bench-key', GOOGLE_GEMINI_BASE_URL: url };
    const subjects = subjectsOf(peers);
    const random = mulberry(seed);
    for (let round = 0; round < rounds; round += 1) {
      const taking = subjects.filter((each) => round < (each.rounds ?? rounds));
      for (const subject of shuffled(taking, random)) await measure(subject, round, { place, url, env });
    }
    return report(subjects);
  } finally {
    server.stdin.end();
    rmSync(place, { recursive: true, force: true });
  }
}

function subjectsOf(peers) {
  const official = {
    name: 'official CLI Hello',
    args: [
      join(peers ?? '', 'node_modules/@google/gemini-cli/bundle/gemini.js'),
      ...['-m', 'gemini-2.5-flash', '--skip-trust', '-p', 'Hello'],
    ],
    rounds: 5,
    // It starts a second process of its own; for its memory to be seen, the measured run must not.
    rusageEnv: { GEMINI_CLI_NO_RELAUNCH: '1' },
  };
  return [
    { name: 'node -e 0', args: ['-e', '0'] },
    { name: 'gmn --version', args: [gmn, '--version'], budget: 1.15 },
    { name: 'gmn --help', args: [gmn, '--help'], budget: 1.5 },
    { name: 'gmn Hello', args: [gmn, 'Hello'], budget: 1.9, calls: 1 },
    { name: 'gmn Hello -o json', args: [gmn, '-o', 'json', 'Hello'], calls: 1 },
    { name: 'gmn Hello, first run', args: [gmn, 'Hello'], isFirst: true, calls: 1 },
    ...(peers === undefined ? [] : [official]),
  ].map((subject) => ({ ...subject, wall: [], cpu: [], rss: [], sent: new Set() }));
}

async function measure(subject, round, { place, url, env }) {
  const extra = { ...subject.env, ...(subject.isFirst ? { GMN_HOME: join(place, `first-${round}`) } : {}) };
  const before = await calls(url);
  const wall = await timed(place, subject.args, { ...env, ...extra });
  subject.sent.add((await calls(url)) - before);
  if (round > 0) subject.wall.push(wall);
  if (round % 3 !== 1) return;
  // CPU and memory in a run of their own: the hook that reads them must not weigh on the wall time.
  const file = join(place, 'rusage');
  const home = {
    ...subject.rusageEnv,
    ...(subject.isFirst ? { GMN_HOME: join(place, `first-${round}-rusage`) } : {}),
  };
  await timed(place, ['--require', join(root, 'test/bench/rusage.cjs'), ...subject.args], {
    ...env,
    ...extra,
    ...home,
    BENCH_RUSAGE: file,
  });
  const [cpu, rss] = readFileSync(file, 'utf8').trim().split('\n').at(-1).split(' ').map(Number);
  rmSync(file);
  subject.cpu.push(cpu / 1000);
  subject.rss.push(rss / 1024);
}

function timed(cwd, args, environment) {
  return new Promise((resolve, reject) => {
    const start = process.hrtime.bigint();
    const child = spawn(process.execPath, args, { cwd, env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    child.stdout.on('data', (data) => (output += data));
    child.stderr.on('data', (data) => (output += data));
    child.on('close', (code) => {
      if (code !== 0) reject(new Error(`${args.join(' ')} ended with ${code}: ${output}`));
      else resolve(Number(process.hrtime.bigint() - start) / 1e6);
    });
  });
}

async function calls(url) {
  return Number(await (await fetch(`${url}/calls`)).text());
}

function report(subjects) {
  const base = subjects[0];
  const rows = subjects.map((subject) => ({
    work: subject.name,
    'wall ms (median)': median(subject.wall),
    'wall ms (min)': Math.min(...subject.wall),
    'x node': median(subject.wall) / median(base.wall),
    'x node (min)': Math.min(...subject.wall) / Math.min(...base.wall),
    'cpu ms': median(subject.cpu),
    'cpu x node': median(subject.cpu) / median(base.cpu),
    'rss MB': median(subject.rss),
    budget: subject.budget ?? '',
    requests: [...subject.sent].join(','),
  }));
  printTable(rows);
  // Both in wall time and in CPU time.
  const missed = subjects.filter(
    ({ budget }, index) => budget && Math.max(rows[index]['x node'], rows[index]['cpu x node']) > budget,
  );
  const noisy = subjects.filter(
    (subject) => subject.calls && [...subject.sent].some((count) => count !== subject.calls),
  );
  return {
    rows,
    missed: [...missed.map(({ name }) => name), ...noisy.map(({ name }) => `${name}: not exactly one request`)],
  };
}
