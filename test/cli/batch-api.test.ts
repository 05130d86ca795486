import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { expect, type TestContext, test } from 'vitest';
import { checkEngine } from '../../src/batch/open-engine.ts';
import { parseFaults } from '../../src/demo/fault.ts';
import { startDemo } from '../../src/demo/server.ts';
import { systemClock } from '../../src/platform/runtime/clock.ts';
import { callGmnIn, parseLines, place, startGmn } from '../support/gmn.ts';
import { isWindows, posixTest } from '../support/posix.ts';

const ROWS = Array.from({ length: 5 }, (_value, index) => `{"id":"r${index}","prompt":"p${index}"}`);
const API = ['batch', 'in.jsonl', '--output-file', 'out.jsonl', '--engine', 'api', '--shard-rows', '2'];
const LOCAL = ['batch', 'in.jsonl', '--output-file', 'out.jsonl'];

async function scene(t: TestContext, faults: string, env: Readonly<Record<string, string>> = {}) {
  const paths: string[] = [];
  let onRequest = (_path: string): void => {};
  let now = Date.now();
  const server = await startDemo({
    clock: { ...systemClock, now: () => now },
    faults: parseFaults([faults]),
    onRequest({ method, path }) {
      paths.push(`${method} ${path}`);
      onRequest(path);
    },
  });
  t.onTestFinished(() => server.close());
  const setting = place(t, { gemini: server, files: { 'in.jsonl': `${ROWS.join('\n')}\n` }, env });
  return {
    ...setting,
    /** The jobs are complete then, if they take less. */
    passHour: () => {
      now += 3_600_000;
    },
    gmn: (words: readonly string[]) => callGmnIn(t, setting, words),
    /** Interrupts it when all jobs are created and have been looked at. */
    async interrupt(words: readonly string[], afterLooks = 12) {
      const { child, ended } = await startGmn(t, words, { at: setting });
      let looks = 0;
      onRequest = (path) => {
        looks += path.startsWith('/v1beta/batches/') ? 1 : 0;
        if (looks === afterLooks) child.kill('SIGINT');
      };
      const { exitCode, stderr } = await ended;
      onRequest = () => {};
      return { exitCode, stderr };
    },
    count: (pattern: RegExp) => paths.filter((path) => pattern.test(path)).length,
    readLines: () => parseLines(readFileSync(join(setting.cwd, 'out.jsonl'), 'utf8')),
  };
}

const CREATION = /:batchGenerateContent$/;

posixTest('a run is interrupted, seen, and waited for: every row gets one answer from one job', async (t) => {
  const run = await scene(t, 'batch-time=1h');
  const stopped = await run.interrupt(API);
  expect(stopped.exitCode).toBe(130);
  expect(stopped.stderr).toMatch(/The batch jobs keep running\. To wait for them: gmn batch wait \S*out\.jsonl/);
  const status = await run.gmn(['batch', 'status', 'out.jsonl', '--json']);
  expect(JSON.parse(status.stdout)).toMatchObject({
    ok: 0,
    failed: 0,
    inFlight: 5,
    isComplete: true,
    jobs: [
      { shard: 1, rows: 2, attempt: 1, state: 'running', name: expect.stringMatching(/^batches\//) },
      { shard: 2, rows: 2 },
      { shard: 3, rows: 1 },
    ],
  });
  const { stdout: shown } = await run.gmn(['batch', 'status', 'out.jsonl']);
  expect(shown.split('\n').filter((line) => /^batches\/\S+ +running +[12] rows?/.test(line))).toHaveLength(3);
  run.passHour();
  const waited = await run.gmn(['batch', 'wait', 'out.jsonl', '--json']);
  expect(waited).toMatchObject({ exitCode: 0, stderr: '' });
  expect(JSON.parse(waited.stdout)).toMatchObject({ ok: 5, failed: 0, inFlight: 0, jobs: 0 });
  expect(
    run
      .readLines()
      .map(({ id }) => id)
      .toSorted(),
  ).toEqual(['r0', 'r1', 'r2', 'r3', 'r4']);
  expect(run.count(CREATION)).toBe(3);
  expect(existsSync(join(run.cwd, 'out.jsonl.batch'))).toBe(false);
  expect(run.count(/^DELETE \/v1beta\/(batches|files)\//)).toBe(9);
});

test('collect takes what is ready, cancel ends the rest, and the local engine answers it', async (t) => {
  const run = await scene(t, 'batch-time=2h');
  await run.interrupt(API);
  const collected = await run.gmn(['batch', 'collect', 'out.jsonl']);
  expect(collected).toMatchObject({ exitCode: 0, stdout: '0 rows answered, 0 failed\n5 rows in 3 batch jobs\n' });
  const cancelled = await run.gmn(['batch', 'cancel', 'out.jsonl', '--json']);
  expect(JSON.parse(cancelled.stdout)).toMatchObject({ cancelled: 3, collected: 0, inFlight: 0 });
  expect(readdirSync(run.cwd).toSorted()).toEqual(['in.jsonl', 'out.jsonl', 'out.jsonl.run.json']);
  const local = await run.gmn(LOCAL);
  expect(local.exitCode).toBe(0);
  expect(run.readLines()).toHaveLength(5);
});

test('a table has the columns of rows that jobs have answered, whoever collects them', async (t) => {
  const run = await scene(t, 'batch-time=1h');
  const csv = ['id,city', 'a,Rome', 'b,"Paris, France"', 'c,Bonn'].join('\n');
  writeFileSync(join(run.cwd, 'in.csv'), `${csv}\n`);
  const words = ['batch', 'in.csv', '-p', 'Where is {{city}}?', '--output-file', 'out.csv', '--engine', 'api'];
  const stopped = await run.interrupt(words, 4);
  // On Windows the signal kills it, and the jobs are collected all the same.
  if (!isWindows) expect(stopped.stderr).toMatch(/To wait for them: gmn batch wait \S*out\.csv\n/);
  run.passHour();
  const { stdout } = await run.gmn(['batch', 'collect', 'out.csv']);
  expect(stdout).toBe('3 rows answered, 0 failed\n');
  expect(parse(readFileSync(join(run.cwd, 'out.csv'))).map((record) => record.slice(0, 4))).toEqual([
    ['id', 'city', 'response', 'ok'],
    ['a', 'Rome', 'demo: Where is Rome?', 'true'],
    ['b', 'Paris, France', 'demo: Where is Paris, France?', 'true'],
    ['c', 'Bonn', 'demo: Where is Bonn?', 'true'],
  ]);
  expect(JSON.parse((await run.gmn(['batch', 'status', 'out.csv', '--json'])).stdout)).toMatchObject({ ok: 3 });
});

test('an answer costs half of what it costs otherwise', async (t) => {
  const run = await scene(t, 'batch-polls=1');
  await run.gmn([...API, '--limit', '1']);
  await run.gmn(['batch', 'in.jsonl', '--output-file', 'local.jsonl', '--limit', '1']);
  const [local] = readFileSync(join(run.cwd, 'local.jsonl'), 'utf8').split('\n');
  expect(run.readLines()[0].cost).toBeCloseTo(JSON.parse(local ?? '').cost / 2, 9);
});

test('a line of a job has the row it answers, whoever collects it', async (t) => {
  const run = await scene(t, 'batch-polls=1');
  await run.gmn([...API, '--limit', '1']);
  expect(run.readLines()[0].input).toEqual(JSON.parse(ROWS[0] ?? ''));
});

test('a job of a model without a price is held to --max-cost at the dearest price of its family', async (t) => {
  const run = await scene(t, 'batch-polls=1');
  const job = [...API, '--limit', '1', '-m', 'gemini-4-neon', '--max-output-tokens', '1000', '--max-cost'];
  // 1,000 tokens at half of Argon's price are $0.005, or twice that.
  const dear = await run.gmn([...job, '0.004']);
  expect(dear).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('could cost more than is left') });
  expect(
    dear.stderr.match(/the price of gemini-4-neon is not known: --max-cost counts it as gemini-4-argon/g),
  ).toHaveLength(1);
  expect(await run.gmn([...job, '1'])).toMatchObject({ exitCode: 0 });
  expect(run.readLines()).toMatchObject([{ ok: true, model: 'gemini-4-neon' }]);
});

test('moved to the local engine, a run collects what is complete, cancels the rest, and answers no row twice', async (t) => {
  const run = await scene(t, 'batch-polls=14');
  await run.interrupt(API);
  const local = await run.gmn(LOCAL);
  expect(local).toMatchObject({ stderr: expect.stringMatching(/\d of its jobs collected, \d cancelled/), exitCode: 0 });
  expect(
    run
      .readLines()
      .map(({ id }) => id)
      .toSorted(),
  ).toEqual(['r0', 'r1', 'r2', 'r3', 'r4']);
  expect(existsSync(join(run.cwd, 'out.jsonl.batch'))).toBe(false);
});

test('answers of a schema are checked, and failed rows are kept for another try', async (t) => {
  const run = await scene(t, 'batch-polls=1,safetyx2');
  const schema = ['--output-schema', '{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}'];
  const { exitCode, stderr } = await run.gmn([...API, ...schema]);
  expect(exitCode).toBe(3);
  expect(stderr).toContain('2 failed');
  const lines = run.readLines();
  expect(lines.filter(({ ok }) => ok).map(({ json }) => typeof json.a)).toEqual(['number', 'number', 'number']);
  const failed = readFileSync(join(run.cwd, 'out.jsonl.failed.jsonl'), 'utf8').trimEnd().split('\n');
  expect(failed.toSorted()).toEqual(
    lines
      .filter(({ ok }) => !ok)
      .map(({ id }) => ROWS[Number(id.slice(1))])
      .toSorted(),
  );
});

test.each([
  [{ engine: 'api', ordered: true }, '--ordered is not possible with --engine api: '],
  [{ engine: 'api', dedupe: true }, '--dedupe is not possible with --engine api: '],
  [{ engine: 'api', rpm: 5 }, '--rpm is not possible with --engine api: the Batch API has quotas of its own'],
  [{ shardRows: 5 }, '--shard-rows is not possible with --engine local: only batch jobs have shards'],
] as const)('%j is a usage error', (options, message) => {
  expect(() => checkEngine(options)).toThrow(message);
});

test('Vertex AI and a Google login are exit 2, with the way out', async (t) => {
  const files = { 'in.jsonl': '"a"\n' };
  const vertex = { GOOGLE_GENAI_USE_VERTEXAI: 'true', GOOGLE_API_KEY: 'demo-key-0123456789' };
  const google = { GOOGLE_GENAI_USE_GCA: 'true', GOOGLE_CLOUD_ACCESS_TOKEN: 'demo-token' };
  for (const env of [vertex, google]) {
    const { exitCode, stderr } = await callGmnIn(t, place(t, { files, env }), API);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('gmn auth set-key');
  }
});

test('commands about a run want the output of one', async (t) => {
  const { exitCode, stderr } = await callGmnIn(t, place(t), ['batch', 'wait', 'nothing.jsonl']);
  expect(exitCode).toBe(1);
  expect(stderr).toContain('nothing.jsonl is not the output of a batch run');
});

test('begun anew, a run drops the jobs of the one before', async (t) => {
  const run = await scene(t, 'batch-time=2h');
  await run.interrupt(API);
  const again = await run.interrupt([...API, '--restart'], 30);
  expect(again.stderr).toContain('0 of its jobs dropped, 3 cancelled');
  expect(run.count(CREATION)).toBe(6);
  run.passHour();
  run.passHour();
  expect((await run.gmn(API)).exitCode).toBe(0);
  expect(run.readLines()).toHaveLength(5);
  expect(run.count(CREATION)).toBe(6);
});
