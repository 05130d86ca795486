// An answer on a terminal: what ten times as much of it costs, whether memory stays flat, and how soon a key is answered.
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { spawn } from '@lydell/node-pty';
import { root } from '../../scripts/project.mjs';
import { gmn, openPlace, openServer } from './processes.mjs';
import { median, printTable } from './statistics.mjs';
import { verdict } from './verdicts.mjs';

const MEGABYTES = 100;
/** `line`: one line without an end. */
const KINDS = ['ascii', 'kana', 'line'];
/** Ten times the text may take so many times as long: linear, and some room for noise. */
const LINEAR = 12;
const MAX_GROWTH_MB = 60;
const MAX_KEY_MS = 250;

/** Measures, prints the tables, and returns their rows and verdicts. `isQuick`: a tenth of the text. */
export async function benchTerminal({ rounds, isQuick }) {
  const place = openPlace('terminal');
  const server = await openServer('stream-server.mjs');
  const env = { ...place.env(`http://127.0.0.1:${server.port}`), TERM: 'xterm-256color' };
  try {
    const megabytes = isQuick ? MEGABYTES / 10 : MEGABYTES;
    const rows = [];
    for (const kind of KINDS) {
      const small = await measured(rounds, () => answered(place, env, kind, megabytes / 10));
      const large = await measured(rounds, () => answered(place, env, kind, megabytes));
      rows.push({
        work: `${megabytes} MB on a terminal, ${kind}`,
        'cpu ms (median)': large.cpuMs,
        'x a tenth of it': large.cpuMs / small.cpuMs,
        'memory growth MB': large.rssMb - small.rssMb,
      });
    }
    const keys = [];
    for (let round = 0; round < rounds; round += 1) keys.push(await cancelled(place, env));
    const key = [{ work: 'Esc while an answer streams', 'ms (median)': median(keys), 'ms (max)': Math.max(...keys) }];
    printTable(rows);
    printTable(key);
    return { rows: [...rows, ...key], verdicts: [...rows.flatMap(rowVerdicts), keyVerdict(key[0])] };
  } finally {
    server.close();
    place.remove();
  }
}

function rowVerdicts({ work, 'x a tenth of it': times, 'memory growth MB': growth }) {
  return [
    verdict({ work: `${work}: ten times the text`, measured: times, budget: LINEAR, unit: 'x the time' }),
    verdict({ work: `${work}: memory growth`, measured: growth, budget: MAX_GROWTH_MB, unit: 'MB' }),
  ];
}

function keyVerdict({ work, 'ms (median)': ms }) {
  return verdict({ work, measured: ms, budget: MAX_KEY_MS, unit: 'ms' });
}

async function measured(rounds, run) {
  const runs = [];
  for (let round = 0; round < rounds; round += 1) runs.push(await run());
  return { cpuMs: median(runs.map(({ cpuMs }) => cpuMs)), rssMb: median(runs.map(({ rssMb }) => rssMb)) };
}

async function answered(place, env, kind, megabytes) {
  const usage = join(place.directory, 'rusage');
  rmSync(usage, { force: true });
  const args = ['--require', join(root, 'test/bench/rusage.cjs'), gmn];
  const terminal = opened([...args, '--no-session', '-m', `${kind}-${megabytes}`, 'Hello'], place, {
    ...env,
    BENCH_RUSAGE: usage,
  });
  await terminal.ended;
  if (terminal.characters() < 0.25e6 * megabytes) throw new Error(`${kind} broke off`);
  const [cpu, peak] = readFileSync(usage, 'utf8').trim().split('\n').at(-1).split(' ').map(Number);
  return { cpuMs: cpu / 1000, rssMb: peak / 1024 };
}

/** Milliseconds from the key to the words that the answer was cancelled, in the middle of an answer. */
async function cancelled(place, env) {
  const terminal = opened([gmn, 'chat', '--no-session', '-m', 'ascii-200'], place, env);
  await terminal.until(() => terminal.tail().includes('❯'));
  terminal.type('Hello\r');
  await terminal.until(() => terminal.characters() > 2e6);
  const start = performance.now();
  terminal.type('\u001b');
  await terminal.until(() => terminal.tail().includes('cancelled'));
  const ms = performance.now() - start;
  terminal.type('\u0004');
  await terminal.ended;
  return ms;
}

function opened(args, place, env) {
  const pty = spawn(process.execPath, args, { cwd: place.directory, env, cols: 80, rows: 24 });
  let characters = 0;
  let tail = '';
  let wake = () => {};
  pty.onData((data) => {
    characters += data.length;
    tail = (tail + data).slice(-2000);
    wake();
  });
  const ended = new Promise((resolve) => pty.onExit(resolve));
  return {
    ended,
    characters: () => characters,
    tail: () => tail,
    type: (keys) => pty.write(keys),
    async until(isSo) {
      while (!isSo()) await new Promise((resolve) => (wake = resolve));
    },
  };
}
