import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openPlan } from '../../../src/batch/remote/plan-store.ts';
import { openShardWriter } from '../../../src/batch/remote/shard-file.ts';
import { serverError } from '../../../src/core/error.ts';
import { codec, MODEL, openScene, redact } from './remote-scene.ts';

const PROMPTS = Array.from({ length: 8 }, (_value, index) => `row ${index}`);

const RESPONSES = PROMPTS.map((prompt) => `demo: ${prompt}`);

test('rows become shards and jobs, and every row gets its answer', async () => {
  const scene = await openScene();
  await scene.run(PROMPTS);
  const lines = scene.readLines();
  expect(lines.map(({ response }) => response).sort()).toEqual(RESPONSES);
  expect(lines.every(({ ok, attempts }) => ok && attempts === 1)).toBe(true);
  expect(scene.countCreations()).toBe(3);
});

test('nothing is left at the service, and only the plan beside the output', async () => {
  const scene = await openScene();
  await scene.run(PROMPTS);
  const { signal } = new AbortController();
  for await (const { name } of scene.service.jobs.list(signal)) expect(name).toBe('nothing');
  expect(scene.requests.filter((request) => request.startsWith('DELETE /v1beta/files/'))).toHaveLength(6);
  expect(readdirSync(`${scene.output}.batch`)).toEqual(['plan.json']);
  expect(readdirSync(dirname(scene.output)).sort()).toEqual(['out.jsonl', 'out.jsonl.batch', 'out.jsonl.run.json']);
});

test('a second run has nothing to ask', async () => {
  const scene = await openScene();
  await scene.run(PROMPTS);
  await scene.run(PROMPTS);
  expect(scene.countCreations()).toBe(3);
  expect(scene.readLines()).toHaveLength(8);
});

test('failed and missing rows are asked again, in jobs of their own', async () => {
  const scene = await openScene('batch-row-errors=2x1,batch-row-missing=3x1');
  await scene.run(PROMPTS);
  const lines = scene.readLines();
  expect(lines.map(({ response }) => response).sort()).toEqual(RESPONSES);
  expect(lines.filter(({ attempts }) => attempts === 2)).toHaveLength(2);
  expect(scene.countCreations()).toBe(4);
});

test('rows that always fail are failed rows after three tries', async () => {
  const scene = await openScene('batch-row-errors=1');
  await scene.run(['a', 'b']);
  expect(scene.countCreations()).toBe(3);
  expect(scene.readLines().map(({ ok, error }) => [ok, error?.message])).toEqual([
    [false, expect.stringContaining('The row could not be processed.')],
    [false, expect.stringContaining('The row could not be processed.')],
  ]);
});

test('a prompt that is blocked is not asked again', async () => {
  const scene = await openScene('blockedx1');
  await scene.run(['a', 'b']);
  expect(scene.countCreations()).toBe(1);
  expect(scene.readLines().map(({ ok }) => ok)).toEqual([true, false]);
});

test.each(['batch-expiredx1', 'batch-failedx1'])(
  'the rows of a job that ends with %s are asked again',
  async (fault) => {
    const scene = await openScene(fault);
    await scene.run(PROMPTS);
    expect(
      scene
        .readLines()
        .map(({ response }) => response)
        .sort(),
    ).toEqual(RESPONSES);
    expect(scene.countCreations()).toBe(4);
    expect(scene.notices.join()).toMatch(/has (expired|failed)/);
  },
);

test('a creation whose answer is lost is looked up, even if the list lags, and not repeated', async () => {
  const scene = await openScene('batch-lostx2,batch-lag=30s');
  await scene.run(PROMPTS);
  expect(scene.countCreations()).toBe(3);
  expect(
    scene
      .readLines()
      .map(({ response }) => response)
      .sort(),
  ).toEqual(RESPONSES);
});

test('a service without room is asked again later', async () => {
  const scene = await openScene('batch-fullx3');
  await scene.run(PROMPTS);
  expect(scene.countCreations()).toBe(6);
  expect(scene.readLines()).toHaveLength(8);
  expect(scene.notices.filter((notice) => notice.includes('until there is room'))).toHaveLength(1);
});

test.each(['batch-job-state', 'batch-metadata', 'batch-response', 'batch-reversed', 'batch-time=10h'])(
  'with %s all is read the same',
  async (fault) => {
    const scene = await openScene(fault);
    await scene.run(PROMPTS);
    expect(
      scene
        .readLines()
        .map(({ response }) => response)
        .sort(),
    ).toEqual(RESPONSES);
  },
);

test('a refused key ends the run, and the next one goes on', async () => {
  const scene = await openScene('401x1');
  await expect(scene.run(PROMPTS)).rejects.toMatchObject({ fault: 'auth' });
  await scene.run(PROMPTS);
  expect(scene.readLines()).toHaveLength(8);
  expect(scene.countCreations()).toBe(4);
});

test('at most as many jobs are in flight as are allowed', async () => {
  const scene = await openScene('batch-time=12h');
  let most = 0;
  const limits = { rows: 1, bytes: 1_000_000, jobs: 2, attempts: 3 };
  const onStatus = ({ jobs }: { readonly jobs: number }): void => {
    most = Math.max(most, jobs);
  };
  await scene.run(PROMPTS.slice(0, 4), { limits, onStatus });
  expect(most).toBe(2);
  expect(scene.readLines()).toHaveLength(4);
});

test('a budget stops before the shard that may exceed it, and a larger one goes on', async () => {
  const scene = await openScene();
  const budget = { max: 6.5, spent: () => scene.readLines().length };
  await expect(scene.run(PROMPTS, { budget })).rejects.toMatchObject({ fault: 'limit' });
  expect(existsSync(`${scene.output}.batch`)).toBe(false);
  expect(scene.countCreations()).toBe(2);
  expect(scene.readLines()).toHaveLength(6);
  await scene.run(PROMPTS, { budget: { ...budget, max: 8 } });
  expect(scene.readLines()).toHaveLength(8);
});

test('one look collects what has ended, and leaves the rest', async () => {
  const scene = await openScene('batch-time=1h');
  const stop = new Error('the process ends');
  const step = leaveAfter(3, stop);
  await expect(scene.run(PROMPTS, { step })).rejects.toThrow(stop.message);
  await scene.run([], { mode: 'once' });
  expect(scene.readLines()).toEqual([]);
  await scene.clock.sleep(3_600_000, new AbortController().signal);
  await scene.run([], { mode: 'once' });
  expect(scene.readLines()).toHaveLength(3);
  expect(scene.countCreations()).toBe(1);
});

test('ending a run collects what is complete, cancels the rest, and leaves no plan', async () => {
  const scene = await openScene('batch-polls=1');
  const stop = new Error('the process ends');
  // Two jobs are created; one of them is cancelled elsewhere.
  await expect(scene.run(PROMPTS, { step: leaveAfter(7, stop), mode: 'run' })).rejects.toThrow(stop.message);
  const before = scene.countCreations();
  const settled = await scene.settle();
  expect(settled.cancelled + settled.collected).toBe(before);
  expect(scene.readLines()).toHaveLength(3 * settled.collected);
  expect(existsSync(`${scene.output}.batch`)).toBe(false);
});

test('a job that somebody else cancelled stops the run, and the next run asks its rows again', async () => {
  const scene = await openScene('batch-time=1h');
  const { jobs } = scene.service;
  const { signal } = new AbortController();
  let isCancelled = false;
  const onStatus = async () => {
    if (isCancelled) return;
    for await (const { name } of jobs.list(signal)) {
      isCancelled = true;
      await jobs.cancel(name, signal);
      return;
    }
  };
  await expect(scene.run(PROMPTS, { onStatus: () => void onStatus() })).rejects.toMatchObject({
    fault: 'api',
    message: expect.stringContaining('cancelled by somebody else'),
  });
  await scene.run(PROMPTS);
  expect(
    scene
      .readLines()
      .map(({ response }) => response)
      .sort(),
  ).toEqual(RESPONSES);
});

test('wherever a run dies, the next ones give every row one answer, and no shard a second job', async () => {
  let steps = 0;
  const whole = await openScene('batch-row-errors=3x1');
  await whole.run(PROMPTS, {
    step(work) {
      steps += 1;
      return work();
    },
  });
  const moment = fc.tuple(fc.integer({ min: 1, max: steps }), fc.constantFrom('before', 'after'));
  // With 1,000 runs it takes minutes, and finds every moment.
  const numRuns = Number(process.env.GMN_TEST_DEATHS ?? 6);
  await fc.assert(
    fc.asyncProperty(moment, async ([at, when]) => {
      const scene = await openScene('batch-row-errors=3x1,batch-lag=30s');
      const death = new Error('the process dies');
      await scene.run(PROMPTS, { step: dieAt(at, when, death) }).catch((thrown: unknown) => {
        if (!String(thrown).includes(death.message)) throw thrown;
      });
      await scene.run(PROMPTS);
      const responses = scene.readLines().map(({ response }) => response);
      expect(responses.sort()).toEqual(RESPONSES);
      expect(scene.countCreations()).toBe(4);
      await scene.close();
    }),
    { numRuns },
  );
});

/** From this step on nothing happens any more, as after kill -9. */
function dieAt(at: number, when: string, death: Error) {
  let count = 0;
  return async <Result>(work: () => Promise<Result>): Promise<Result> => {
    count += 1;
    if (count > at || (count === at && when === 'before')) throw death;
    const result = await work();
    if (count >= at) throw death;
    return result;
  };
}

function leaveAfter(at: number, reason: Error) {
  return dieAt(at, 'after', reason);
}

test('what a killed run left of its first shard is known to the next one', async () => {
  const scene = await openScene();
  const killed = await openPlan(
    { path: `${scene.output}.batch`, tokens: `${scene.output}.tokens` },
    { runId: '0123abcd', settings: {} },
  );
  await (await openShardWriter(killed, 1, redact)).close();
  await killed.close();
  const found = await openPlan({ path: `${scene.output}.batch`, tokens: `${scene.output}.tokens` });
  expect(found?.plan).toMatchObject({ runId: '0123abcd', shards: [] });
  await found?.remove();
  expect(existsSync(`${scene.output}.batch`)).toBe(false);
});

test.each(['created', 'cancelled', 'collected'] as const)(
  'what a plan names and this run has not made stays at the service: %s',
  async (state) => {
    const scene = await openScene('batch-time=1h');
    const { signal } = new AbortController();
    await scene.run(['a'], { mode: 'wait' });
    const { jobs, upload, getFile } = scene.service;
    const file = await upload(`${scene.output}.run.json`, 'report.jsonl', signal);
    const { name: job } = await jobs.create({ model: MODEL, displayName: 'gmn-other', fileName: file }, signal);
    const path = `${scene.output}.batch/plan.json`;
    const shard = { number: 1, model: MODEL, rows: 1, bytes: 5, attempt: 1, state, job, file };
    writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), lastNumber: 1, shards: [shard] }));
    writeFileSync(`${scene.output}.batch/000001.jsonl`, '{}\n');
    writeFileSync(`${scene.output}.batch/000001.rows.jsonl`, '{"index":0,"id":"a"}\n');
    const [run, settled] = [await scene.run([], { mode: 'once' }).catch(String), await scene.settle().catch(String)];
    expect((await jobs.get(job, signal))?.state).toBe('running');
    expect((await getFile(file, signal))?.displayName).toBe('report.jsonl');
    if (state !== 'created') return;
    for (const error of [run, settled]) expect(error).toContain(`names ${job}, which is not a job of this run`);
  },
);

test('a row whose model has no known price ends a run with a budget before it is asked', async () => {
  const scene = await openScene();
  const prepare: typeof codec.prepare = async (row, signal) => {
    const { cost: _cost, ...prepared } = Object(await codec.prepare(row, signal));
    return prepared;
  };
  const run = scene.run(['a'], { budget: { max: 5, spent: () => 0 }, codec: { ...codec, prepare } });
  await expect(run).rejects.toMatchObject({ fault: 'limit', message: expect.stringContaining('is not known') });
  expect(scene.countCreations()).toBe(0);
});

test('answers of no use are paid for: rows are not asked again beyond the budget', async () => {
  const scene = await openScene();
  let spent = 0;
  const toResult = () => {
    spent += 1;
    return serverError('api', 'does not match', { retry: {} });
  };
  const budget = { max: 3.5, spent: () => spent };
  const run = scene.run(['a', 'b', 'c'], { budget, codec: { ...codec, toResult } });
  await expect(run).rejects.toMatchObject({ fault: 'limit' });
  expect({ spent, creations: scene.countCreations() }).toEqual({ spent: 3, creations: 1 });
  spent = 0;
  await scene.run(['a', 'b', 'c'], { budget });
  expect(scene.readLines().map(({ ok, attempts }) => [ok, attempts])).toEqual(Array(3).fill([true, 2]));
});

test.for([
  ['planned', 0],
  ['cancelled', 1],
] as const)('rows that an earlier run left %s are not asked beyond the budget of this one', async ([state, before]) => {
  const scene = await openScene('batch-time=1h');
  const stop = new Error('the process ends');
  const { jobs } = scene.service;
  const create: typeof jobs.create = async (batch, signal) => {
    if (state === 'planned') throw stop;
    const job = await jobs.create(batch, signal);
    await jobs.cancel(job.name, signal);
    return job;
  };
  const upload: typeof scene.service.upload = async (...words) => {
    if (state === 'planned') throw stop;
    return scene.service.upload(...words);
  };
  const service = { ...scene.service, upload, jobs: { ...jobs, create } };
  await expect(scene.run(['a', 'b', 'c'], { service })).rejects.toThrow();
  expect(scene.countCreations()).toBe(before);
  const run = scene.run(['a', 'b', 'c'], { budget: { max: 2.5, spent: () => 0 } });
  await expect(run).rejects.toMatchObject({ fault: 'limit' });
  expect(scene.countCreations()).toBe(before);
});
