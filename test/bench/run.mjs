// `npm run bench`: start-up against bare Node and the official CLI, in one interleaved run. Read the ratios.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureInstalled, root, run } from '../../scripts/project.mjs';

const { rounds, seed, peer: wantsPeer } = readArguments(process.argv.slice(2));
ensureInstalled();
run(process.execPath, [join(root, 'scripts', 'build.mjs')]);

const place = mkdtempSync(join(tmpdir(), 'gmn-bench-'));
const server = spawn(process.execPath, [join(root, 'test/bench/server.mjs')], { stdio: ['pipe', 'pipe', 'inherit'] });
const port = await new Promise((resolve) => server.stdout.once('data', (data) => resolve(String(data).trim())));
const url = `http://127.0.0.1:${port}`;

const home = join(place, 'home');
mkdirSync(join(home, '.gemini'), { recursive: true });
writeFileSync(join(home, '.gemini', 'settings.json'), '{"security":{"auth":{"selectedType":"gemini-api-key"}}}');
const env = { PATH: process.env.PATH, HOME: home, GEMINI_API_KEY: 'bench-key', GOOGLE_GEMINI_BASE_URL: url };
const gmn = join(root, 'bin', 'gmn.js');
const official = wantsPeer ? await officialCli() : undefined;

const subjects = [
  { name: 'node -e 0', args: ['-e', '0'] },
  { name: 'gmn --version', args: [gmn, '--version'], budget: 1.15 },
  { name: 'gmn --help', args: [gmn, '--help'], budget: 1.5 },
  { name: 'gmn Hello', args: [gmn, 'Hello'], budget: 1.9, calls: 1 },
  { name: 'gmn Hello -o json', args: [gmn, '-o', 'json', 'Hello'], budget: 1.9, calls: 1 },
  { name: 'gmn Hello, first run', args: [gmn, 'Hello'], isFirst: true, calls: 1 },
  ...(official
    ? [
        {
          name: 'official CLI Hello',
          args: [official, '-m', 'gemini-2.5-flash', '--skip-trust', '-p', 'Hello'],
          rounds: 5,
          // It starts a second process of its own; for its memory to be seen, the measured run must not.
          rusageEnv: { GEMINI_CLI_NO_RELAUNCH: '1' },
        },
      ]
    : []),
];
for (const subject of subjects) Object.assign(subject, { wall: [], cpu: [], rss: [], sent: new Set() });

const random = mulberry(seed);
for (let round = 0; round < rounds; round += 1) {
  for (const subject of shuffled(
    subjects.filter((each) => round < (each.rounds ?? rounds)),
    random,
  ))
    await measure(subject, round);
}
server.stdin.end();
rmSync(place, { recursive: true, force: true });
report();

async function measure(subject, round) {
  const extra = { ...subject.env, ...(subject.isFirst ? { GMN_HOME: join(place, `first-${round}`) } : {}) };
  const before = await calls();
  const wall = await timed(subject.args, { ...env, ...extra });
  subject.sent.add((await calls()) - before);
  if (round > 0) subject.wall.push(wall);
  if (round % 3 !== 1) return;
  // CPU and memory in a run of their own: the hook that reads them must not weigh on the wall time.
  const file = join(place, 'rusage');
  const home = {
    ...subject.rusageEnv,
    ...(subject.isFirst ? { GMN_HOME: join(place, `first-${round}-rusage`) } : {}),
  };
  await timed(['--require', join(root, 'test/bench/rusage.cjs'), ...subject.args], {
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

function timed(args, environment) {
  return new Promise((resolve, reject) => {
    const start = process.hrtime.bigint();
    const child = spawn(process.execPath, args, { cwd: place, env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    child.stdout.on('data', (data) => (output += data));
    child.stderr.on('data', (data) => (output += data));
    child.on('close', (code) => {
      if (code !== 0) reject(new Error(`${args.join(' ')} ended with ${code}: ${output}`));
      else resolve(Number(process.hrtime.bigint() - start) / 1e6);
    });
  });
}

async function calls() {
  return Number(await (await fetch(`${url}/calls`)).text());
}

async function officialCli() {
  const { installPeers } = await import('../interop/install.mjs');
  try {
    return join(installPeers(), 'node_modules/@google/gemini-cli/bundle/gemini.js');
  } catch (error) {
    console.log(`skipped: the official CLI (${error.message})`);
    return undefined;
  }
}

function report() {
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
  console.table(
    rows.map((row) =>
      Object.fromEntries(
        Object.entries(row).map(([key, value]) => [key, typeof value === 'number' ? Number(value.toFixed(2)) : value]),
      ),
    ),
  );
  const date = new Date().toISOString().slice(0, 10);
  const result = {
    date,
    node: process.version,
    cpu: `${cpus().length} x ${cpus()[0]?.model.trim()}`,
    rounds,
    seed,
    rows,
  };
  const directory = join(root, 'docs', 'results');
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, `bench-${date}-seed${seed}.json`), `${JSON.stringify(result, null, 2)}\n`);
  const missed = subjects.filter((subject, index) => subject.budget && rows[index]['x node'] > subject.budget);
  const noisy = subjects.filter(
    (subject) => subject.calls && [...subject.sent].some((count) => count !== subject.calls),
  );
  for (const { name } of missed) console.log(`over budget: ${name}`);
  for (const { name } of noisy) console.log(`not exactly one request: ${name}`);
  process.exitCode = missed.length + noisy.length > 0 ? 1 : 0;
}

function median(list) {
  const sorted = [...list].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

function shuffled(list, next) {
  return list
    .map((item) => [next(), item])
    .sort(([a], [b]) => a - b)
    .map(([, item]) => item);
}

function mulberry(start) {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function readArguments(args) {
  const value = (name, fallback) => Number(args.find((arg) => arg.startsWith(`--${name}=`))?.split('=')[1] ?? fallback);
  return {
    rounds: value('rounds', 31),
    seed: value('seed', 1),
    peer: !args.includes('--no-peer') && existsSync(join(root, 'test/interop')),
  };
}
