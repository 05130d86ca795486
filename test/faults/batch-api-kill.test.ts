import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseFaults } from '../../src/demo/fault.ts';
import { startDemo } from '../../src/demo/server.ts';
import { systemClock } from '../../src/platform/runtime/clock.ts';
import { gmnCommand, place } from '../support/gmn.ts';

/** A few in every test run, 200 of 20,000 rows with `npm run test:faults`. */
const KILLS = Number(process.env.GMN_BATCH_KILLS ?? 7);
const ROWS = Number(process.env.GMN_BATCH_ROWS ?? 300);
const SHARDS = 10;
/** Of a shard, without kills: upload, creation, looks, download, deletions. */
const REQUESTS_PER_SHARD = 11;

test(`${KILLS} kills of ${ROWS} rows with --engine api: each row has one answer, and each shard one job`, {
  timeout: 60_000 + 3000 * KILLS + 10 * ROWS,
}, async (t) => {
  const seed = Number(process.env.GMN_SEED ?? 7);
  const random = createRandom(seed);
  let onRequest = (): void => {};
  const names: string[] = [];
  let requests = 0;
  const server = await startDemo({
    clock: systemClock,
    faults: parseFaults(['batch-lag=20ms', 'batch-row-errors=7x1']),
    onRequest({ path, ...request }) {
      requests += 1;
      if (path.endsWith(':batchGenerateContent') && 'body' in request) {
        names.push(JSON.parse(String(request.body)).batch.displayName);
      }
      onRequest();
    },
  });
  t.onTestFinished(() => server.close());
  const input = Array.from({ length: ROWS }, (_, at) => `{"id":"r${at}","prompt":"p${at}"}\n`).join('');
  const { cwd, env } = place(t, { gemini: server, files: { 'in.jsonl': input }, env: { GMN_RETRY_DELAY: '5ms' } });
  const rows = String(Math.ceil(ROWS / SHARDS));
  const words = ['batch', 'in.jsonl', '--output-file', 'out.jsonl', '--engine', 'api', '--shard-rows', rows, '-q'];
  const [file, args] = gmnCommand(words);
  const live = async (requestsToLive: number): Promise<number | null> => {
    const child = spawn(file, args, { cwd, env, stdio: ['ignore', 'ignore', 'inherit'] });
    t.onTestFinished(() => void child.kill('SIGKILL'));
    let left = requestsToLive;
    onRequest = () => {
      left -= 1;
      // Some rounds of the event loop later, the answer may be anywhere on its way to the disk.
      if (left === 0) afterRounds(Math.floor(random() * 40), () => child.kill('SIGKILL'));
    };
    const [exitCode, signal] = await once(child, 'close');
    if (signal === 'SIGKILL') kills += 1;
    return exitCode;
  };
  let kills = 0;
  let isEnded = false;
  for (let life = 0; life < KILLS && !isEnded; life += 1) {
    const share = Math.max(1, (SHARDS * REQUESTS_PER_SHARD - requests) / (KILLS - life));
    isEnded = (await live(Math.max(1, Math.round(2 * random() * share)))) === 0;
  }
  expect(await live(0), `seed ${seed}`).toBe(0);
  const lines = readFileSync(join(cwd, 'out.jsonl'), 'utf8').trimEnd().split('\n');
  const answered = lines.map((line) => JSON.parse(line)).filter(({ ok }) => ok);
  expect(new Set(answered.map(({ id }) => id)).size).toBe(ROWS);
  expect(lines).toHaveLength(ROWS);
  expect(names).toHaveLength(new Set(names).size);
  // One job for each shard, and one for the rows that had failed.
  expect(names).toHaveLength(SHARDS + 1);
  expect(existsSync(join(cwd, 'out.jsonl.batch'))).toBe(false);
  expect(kills).toBeGreaterThan(KILLS / 2);
  console.log(JSON.stringify({ batchApiKills: { seed, kills, rows: ROWS, jobs: names.length, requests } }));
});

/** Repeatable for a seed. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

function afterRounds(rounds: number, action: () => void): void {
  if (rounds <= 0) action();
  else setImmediate(() => afterRounds(rounds - 1, action));
}
