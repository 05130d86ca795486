// gmn batch: rows per second and memory of a long run, and beside it the same rows with `xargs -P 8 gmn`.
// Alone: node test/bench/batch.mjs [rows] [rows for xargs]
import { spawn, spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from '../../scripts/project.mjs';
import { printTable } from './statistics.mjs';
import { verdict } from './verdicts.mjs';

const GMN = join(root, 'bin', 'gmn.js');
const RUSAGE = join(root, 'test', 'bench', 'rusage.cjs');
const MEMORY_MB = 120;
const ROWS_PER_SECOND = 1000;
const TIMES_XARGS = 5;

/** Measures once, as it takes long enough; prints the table, and returns its rows and verdicts. */
export async function benchBatch({ rows, xargsRows }) {
  const scratch = mkdtempSync(join(tmpdir(), 'gmn-bench-batch-'));
  const server = await serveDemo(scratch);
  try {
    const env = environment(scratch, server.url);
    const batch = runBatch(scratch, env, rows);
    const xargs = runXargs(scratch, env, xargsRows);
    const table = [
      { work: `gmn batch, ${rows.toLocaleString('en')} rows`, ...batch },
      { work: `xargs -P 8 gmn, ${xargsRows.toLocaleString('en')} rows`, ...xargs },
    ];
    printTable(table);
    const speed = batch['rows/s'];
    return {
      rows: table,
      verdicts: [
        verdict({
          work: 'batch: rows per second',
          measured: speed,
          budget: ROWS_PER_SECOND,
          unit: 'rows/s',
          atLeast: true,
        }),
        verdict({ work: 'batch: memory', measured: batch['RSS MB'], budget: MEMORY_MB, unit: 'MB' }),
        verdict({
          work: 'batch beside xargs -P 8',
          measured: speed / xargs['rows/s'],
          budget: TIMES_XARGS,
          unit: 'x',
          atLeast: true,
        }),
      ],
    };
  } finally {
    server.close();
    rmSync(scratch, { recursive: true, force: true });
  }
}

function environment(scratch, url) {
  const home = join(scratch, 'home');
  mkdirSync(home, { recursive: true });
  const { PATH } = process.env;
  return { PATH, HOME: home, GEMINI_API_KEY: 'bench-key', GOOGLE_GEMINI_BASE_URL: url };
}

function runBatch(scratch, env, rows) {
  const input = join(scratch, 'in.jsonl');
  const file = openSync(input, 'w');
  for (let row = 0; row < rows; row += 1000) {
    const some = Array.from({ length: Math.min(1000, rows - row) }, (_, at) => row + at);
    writeSync(file, some.map((id) => `{"id":"row-${id}","prompt":"hello number ${id}"}\n`).join(''));
  }
  closeSync(file);
  const output = join(scratch, 'out.jsonl');
  const report = join(scratch, 'rusage.txt');
  const words = ['--require', RUSAGE, GMN, 'batch', input, '--output-file', output, '-q'];
  const begun = process.hrtime.bigint();
  const { status } = spawnSync(process.execPath, words, { env: { ...env, BENCH_RUSAGE: report }, stdio: 'inherit' });
  const seconds = Number(process.hrtime.bigint() - begun) / 1e9;
  if (status !== 0) throw new Error(`gmn batch ended with ${status}`);
  const lines = spawnSync('wc', ['-l', output], { encoding: 'utf8' }).stdout;
  if (Number.parseInt(lines, 10) !== rows) throw new Error(`${lines} lines instead of ${rows}`);
  const [cpuMicros = 0, peakKb = 0] = readFileSync(report, 'utf8').trim().split(' ').map(Number);
  return {
    seconds: round(seconds),
    'rows/s': round(rows / seconds),
    'CPU ms/row': round(cpuMicros / 1000 / rows),
    'RSS MB': round(peakKb / 1024),
  };
}

function runXargs(scratch, env, rows) {
  const list = join(scratch, 'prompts.txt');
  writeFileSync(list, Array.from({ length: rows }, (_, id) => `hello-number-${id}\n`).join(''));
  const shell = `xargs -P 8 -n 1 "${process.execPath}" "${GMN}" --no-session < "${list}" > "${join(scratch, 'answers.txt')}"`;
  const begun = process.hrtime.bigint();
  spawnSync('sh', ['-c', shell], { env, stdio: 'inherit' });
  const seconds = Number(process.hrtime.bigint() - begun) / 1e9;
  return { seconds: round(seconds), 'rows/s': round(rows / seconds) };
}

async function serveDemo(scratch) {
  const child = spawn(process.execPath, [GMN, 'demo', 'serve'], {
    env: { PATH: process.env.PATH, HOME: scratch },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const url = await new Promise((resolve, reject) => {
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (some) => {
      text += some;
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(text);
      if (found) resolve(found[0]);
    });
    child.on('exit', () => reject(new Error('the demo server did not start')));
  });
  return { url, close: () => child.kill() };
}

function round(number) {
  return Math.round(number * 100) / 100;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [rows = '20000', xargsRows = '100'] = process.argv.slice(2);
  const { verdicts } = await benchBatch({ rows: Number(rows), xargsRows: Number(xargsRows) });
  console.table(verdicts);
}
