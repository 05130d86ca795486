import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { expect, test } from 'vitest';
import { answerEach, fakeGemini, json } from '../support/gemini.ts';
import { gmnCommand, place } from '../support/gmn.ts';

/** A few in every test run, 200 of 20,000 rows with `npm run test:faults`. */
const KILLS = Number(process.env.GMN_BATCH_KILLS ?? 3);
const ROWS = Number(process.env.GMN_BATCH_ROWS ?? 120);
const CONCURRENCY = 8;

/** Repeatable for a seed. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

const SCENES = [
  ['out.jsonl', []],
  ['out.csv', []],
  ['out.jsonl', ['--decide', 'is it long?']],
] as const;

test.for(SCENES)(
  `${KILLS} kills of a batch of ${ROWS} rows: each row has one answer, and few were asked twice: %s %j`,
  {
    timeout: 60_000 + 2000 * KILLS + 10 * ROWS,
  },
  async ([output, flags], t) => {
    const isTable = output.endsWith('.csv');
    const seed = Number(process.env.GMN_SEED ?? 7);
    const random = createRandom(seed);
    let onRequest = (): void => {};
    const isDecided = flags.length > 0;
    const echo = answerEach((prompt) => `re: ${prompt}`);
    const decide = json({ answers: { answer: { type: 'noul', noul: 0.9 } }, usage: {} });
    const gemini = await fakeGemini(t, (response, request) => {
      onRequest();
      return (isDecided ? decide : echo)(response, request);
    });
    const input = Array.from({ length: ROWS }, (_, at) => `r${at},"p\n${at}"\n`).join('');
    const { cwd, env } = place(t, { gemini, files: { 'in.csv': `id,prompt\n${input}` } });
    const words = ['batch', 'in.csv', '--output-file', output, '--concurrency', String(CONCURRENCY), '-q', ...flags];
    const readTable = () => parse(readFileSync(join(cwd, 'out.csv'))).slice(1);
    const [file, args] = gmnCommand(words);
    const live = async (requestsToLive: number): Promise<number | null> => {
      const child = spawn(file, args, { cwd, env, stdio: 'ignore' });
      t.onTestFinished(() => void child.kill('SIGKILL'));
      let left = requestsToLive;
      onRequest = () => {
        left -= 1;
        // Some rounds of the event loop later, the answer may be anywhere on its way to the disk.
        if (left === 0) afterRounds(Math.floor(random() * 40), () => child.kill('SIGKILL'));
      };
      const [exitCode] = await once(child, 'close');
      return exitCode;
    };
    for (let kill = 0; kill < KILLS; kill += 1) {
      const share = (ROWS - gemini.requests.length) / (KILLS - kill);
      await live(Math.max(1, Math.round(2 * random() * share)));
      // Old or new, but whole.
      if (existsSync(join(cwd, 'out.csv'))) expect(readTable().every((record) => record.length === 7)).toBe(true);
    }
    expect(await live(0), `seed ${seed}`).toBe(0);
    const lines = readFileSync(join(cwd, isTable ? 'out.csv.jsonl' : output), 'utf8')
      .trimEnd()
      .split('\n');
    const ids = lines.map((line) => JSON.parse(line)).filter(({ ok }) => ok);
    expect(new Set(ids.map(({ id }) => id)).size).toBe(ROWS);
    expect(lines).toHaveLength(ROWS);
    expect(gemini.requests.length).toBeLessThanOrEqual(ROWS + KILLS * CONCURRENCY);
    if (isTable) {
      const expected = Array.from({ length: ROWS }, (_, at) => [`r${at}`, `p\n${at}`, `re: p\n${at}`, 'true', '']);
      expect(readTable().map((record) => record.slice(0, 5))).toEqual(expected);
    }
    const report = process.env.GMN_TORTURE_REPORT;
    const batchKills = { seed, output, isDecided, kills: KILLS, rows: ROWS, asked: gemini.requests.length };
    if (report !== undefined) appendFileSync(report, `${JSON.stringify({ batchKills })}\n`);
  },
);

function afterRounds(rounds: number, action: () => void): void {
  if (rounds <= 0) action();
  else setImmediate(() => afterRounds(rounds - 1, action));
}
