import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import { answerResearch, beginResearch, type DeliveryContext, type ResearchTask } from '../../src/app/research.ts';
import type { App } from '../../src/core/app.ts';
import { AppError } from '../../src/core/error.ts';
import type { TurnEvent } from '../../src/core/event.ts';
import type { Interaction, InteractionsClient } from '../../src/core/interaction.ts';
import type { Researcher } from '../../src/engine/model/research.ts';
import { createJobStore } from '../../src/jobs/store.ts';
import { type RecordDirectory, recordDirectory } from '../../src/platform/files/records.ts';

class Killed extends Error {}

const TASK: ResearchTask = { agent: 'deep-research-preview-04-2026', input: [{ text: 'why?' }], title: 'why?' };
const DONE = { status: 'completed', text: 'Because.', sources: [{ title: 'A page', uri: 'https://a.example/' }] };

/** The service, which outlives every process. */
function createService(answers: readonly (Partial<Interaction> | AppError | undefined)[] = [DONE]) {
  const created: string[] = [];
  let looks = 0;
  const client: InteractionsClient = {
    async create() {
      created.push(`id-${created.length + 1}`);
      return { id: created.at(-1) ?? '', status: 'in_progress', text: '', sources: [], usage: {} };
    },
    async get(id) {
      const answer = answers[Math.min(looks, answers.length - 1)];
      looks += 1;
      if (answer instanceof AppError) throw answer;
      return answer && { id, status: 'in_progress', text: '', sources: [], usage: {}, ...answer };
    },
    async *follow() {},
    cancel: async (id) => ({ id, status: 'cancelled', text: '', sources: [], usage: { promptTokenCount: 1 } }),
  };
  return { created, client };
}

interface Process {
  /** How many writes succeed before the disk is full. */
  readonly writes?: number;
  /** How many steps it lives; a step is a call to the disk or to the service. */
  readonly steps?: number;
  readonly home: string;
  readonly client: InteractionsClient;
  readonly cost?: number;
}

/** One process: `killed` is thrown at its last step, before or after that has happened, and at every later one. */
function createProcess({
  steps = Number.POSITIVE_INFINITY,
  writes = Number.POSITIVE_INFINITY,
  home,
  client,
  cost,
}: Process) {
  let room = writes;
  let left = steps;
  const sleeps: number[] = [];
  const said: string[] = [];
  const step = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    left -= 1;
    if (left < 0) throw new Killed();
    const result = await work();
    // The step is done, and nobody hears of it.
    if (left === 0 && steps % 2 === 1) {
      left = -1;
      throw new Killed();
    }
    return result;
  };
  const files = recordDirectory(join(home, 'jobs'));
  const mortal: RecordDirectory = {
    ...files,
    append: (...args) =>
      step(async () => {
        room -= 1;
        if (room < 0) throw new AppError('config', 'the disk is full');
        await files.append(...args);
      }),
    remove: (name) => step(() => files.remove(name)),
  };
  const mortalClient: InteractionsClient = {
    ...client,
    create: (...args) => step(() => client.create(...args)),
    get: (...args) => step(() => client.get(...args)),
  };
  const clock = { now: () => 1_800_000_000_000, sleep: async (ms: number) => void sleeps.push(ms) };
  const app = {
    ...{ cwd: home, clock, signal: new AbortController().signal, trace: () => {} },
    homes: () => ({ gmn: home, gemini: home }),
  } as unknown as App;
  const researcher = {
    ...{ client: mortalClient, opened: { retryBaseMs: 1000 }, prepare: async (input: unknown) => input },
    ...{ toKey: () => 'key', toCost: () => cost, toCall: () => ({ backend: 'demo' }) },
  } as unknown as Researcher;
  const store = createJobStore(mortal, clock);
  const works: (() => Promise<void>)[] = [];
  const context: DeliveryContext = {
    app,
    store,
    researcher,
    notify: (notice) => said.push(String(notice)),
    afterDelivery: (work) => void works.push(work),
    isDemo: false,
  };
  const deliver = async (): Promise<void> => {
    for (const work of works) await work();
  };
  return { context, deliver, sleeps, said, isDead: () => left < 0 };
}

async function live({ context, deliver }: ReturnType<typeof createProcess>, task = TASK, maxCost?: number) {
  const events: TurnEvent[] = [];
  const job = await beginResearch(task, context);
  const options = { signal: context.app.signal, maxCost };
  for await (const event of answerResearch(job, options, context)) events.push(event);
  await deliver();
  return events.flatMap((event) => (event.type === 'text' ? [event.delta] : [])).join('');
}

function homeOf(t: TestContext): string {
  const home = mkdtempSync(join(tmpdir(), 'gmn-research-'));
  t.onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

const REPORT = 'Because.\n\n## Sources\n\n1. [A page](https://a.example/)\n';

test('killed at every step and started again, one interaction is created, and its report is not lost', async (t) => {
  const seen = { doubts: 0, reports: 0 };
  for (let steps = 0; ; steps += 1) {
    const home = homeOf(t);
    const { created, client } = createService();
    const first = createProcess({ steps, home, client });
    const died = await live(first).then(
      () => false,
      (thrown) => thrown instanceof Killed || first.isDead(),
    );
    const second = createProcess({ home, client });
    const outcome = await live(second).catch((thrown: unknown) => AppError.from(thrown));
    expect(created.length, `killed after ${steps} steps`).toBeLessThanOrEqual(died ? 1 : 2);
    if (outcome instanceof AppError) {
      // It says so, and names the ways; neither begins it twice.
      seen.doubts += 1;
      expect(outcome).toMatchObject({ fault: 'api', message: expect.stringContaining('it cannot be known whether') });
      expect(outcome.hint).toMatch(/gmn research --interaction <id> .* gmn jobs cancel /s);
      const third = createProcess({ home, client });
      expect(await live(third, { ...TASK, interactionId: created[0] ?? 'id-1' })).toBe(REPORT);
      expect(created.length).toBeLessThanOrEqual(1);
    } else {
      seen.reports += 1;
      expect(outcome).toBe(REPORT);
    }
    if (died) continue;
    // It lived to its end, so that the same question was a new one.
    expect(created).toHaveLength(2);
    break;
  }
  expect(seen.doubts).toBeGreaterThan(0);
  expect(seen.reports).toBeGreaterThan(3);
});

test('two processes with the same question at once have one interaction', async (t) => {
  const home = homeOf(t);
  const slow = createService([{ status: 'in_progress' }, { status: 'in_progress' }, DONE]);
  await Promise.all([1, 2].map(() => beginResearch(TASK, createProcess({ home, client: slow.client }).context)));
  expect(slow.created).toHaveLength(1);
});

test.for([
  ['the service refuses', new AppError('api', 'quota', { status: 429 }), 'quota', 1],
  ['there is no connection', new AppError('api', 'refused', { isUnsent: true }), 'refused', 1],
  ['the credential is refused', new AppError('auth', 'who?', { status: 401 }), 'who?', 1],
  ['the connection is cut', new AppError('api', 'cut', { retry: {} }), 'it cannot be known whether', 0],
  ['the service fails', new AppError('api', 'oops', { status: 500, retry: {} }), 'it cannot be known whether', 0],
] as const)('if %s, it is begun again only where it has certainly not begun', async ([, error, message, again], t) => {
  const home = homeOf(t);
  const { client, created } = createService();
  const failing = { ...client, create: () => Promise.reject(error) };
  await expect(live(createProcess({ home, client: failing }))).rejects.toThrow(message);
  await live(createProcess({ home, client })).catch(() => {});
  expect(created).toHaveLength(again);
});

test('it is asked for in growing intervals and never given up, whatever fails on the way', async (t) => {
  const down = new AppError('api', 'overloaded', { status: 503, retry: {} });
  const answers = [{ status: 'queued' }, ...Array(40).fill(down), undefined, { status: 'requires_continuation' }, DONE];
  const { client } = createService(answers);
  const process = createProcess({ home: homeOf(t), client });
  expect(await live(process)).toBe(REPORT);
  expect(process.sleeps.slice(0, 6)).toEqual([2000, 4000, 8000, 16_000, 30_000, 30_000]);
  expect(process.sleeps).toHaveLength(answers.length - 1);
  expect(process.said.filter((line) => line.includes('overloaded'))).toHaveLength(1);
});

test.for([
  ['failed', 'it failed: out of ideas', ''],
  ['incomplete', 'it ended before it was complete', 'Half.\n'],
  ['budget_exceeded', 'it used up its budget', ''],
  ['requires_action', 'the agent waits for an action that gmn cannot take', ''],
  ['cancelled', 'it was cancelled', ''],
  ['completed', 'it ended without a report', ''],
] as const)('an end that is no report is an error: %s', async ([status, message, text], t) => {
  const error = status === 'failed' ? 'out of ideas' : undefined;
  const { client, created } = createService([{ status, text: text.trim(), error }]);
  const home = homeOf(t);
  const process = createProcess({ home, client });
  const job = await beginResearch(TASK, process.context);
  const texts: string[] = [];
  await expect(async () => {
    for await (const event of answerResearch(job, { signal: process.context.app.signal }, process.context))
      if (event.type === 'text') texts.push(event.delta);
  }).rejects.toThrow(message);
  expect(texts.join('')).toBe(text);
  await process.deliver();
  // It was told, so the same question is a new one.
  await live(createProcess({ home, client })).catch(() => {});
  expect(created).toHaveLength(2);
});

test.for([
  ['cancelled', 'cancelled'],
  // The service may need a moment; nothing of what it had written makes it a report.
  ['in_progress', 'cancelled'],
] as const)(
  'what costs more than --max-cost is cancelled, and the same question is a new one: %s',
  async ([status], t) => {
    const { client, created } = createService([{ id: 'another', usage: { promptTokenCount: 9 } }, DONE]);
    const cancelled: string[] = [];
    const counting: InteractionsClient = {
      ...client,
      async cancel(id) {
        cancelled.push(id);
        return { id, status, text: 'Half', sources: [], usage: {} };
      },
    };
    const home = homeOf(t);
    const process = createProcess({ home, client: counting, cost: 3 });
    await expect(live(process, TASK, 2)).rejects.toMatchObject({
      fault: 'limit',
      message: expect.stringContaining('$3'),
    });
    expect(cancelled).toEqual(['id-1']);
    expect((await process.context.store.list())[0]).toMatchObject({
      ...{ status: 'cancelled', usage: { promptTokenCount: 9 }, is_delivered: true },
    });
    expect(await live(createProcess({ home, client }))).toBe(REPORT);
    expect(created).toHaveLength(2);
  },
);

test('a report that was ready before --max-cost could cancel it is printed', async (t) => {
  const { client } = createService([{ usage: { promptTokenCount: 9 } }]);
  const late: InteractionsClient = { ...client, cancel: async (id) => ({ id, usage: {}, ...DONE }) };
  expect(await live(createProcess({ home: homeOf(t), client: late, cost: 3 }), TASK, 2)).toBe(REPORT);
});

test('an interaction that the user names takes the place of no other', async (t) => {
  const home = homeOf(t);
  const { client, created } = createService([{ status: 'in_progress' }]);
  const begin = (task: ResearchTask) => beginResearch(task, createProcess({ home, client }).context);
  const words: ResearchTask = { ...TASK, input: [] };
  await begin(TASK);
  await begin({ ...TASK, interactionId: 'b' });
  await begin({ ...words, interactionId: 'c' });
  await begin({ ...words, interactionId: 'd' });
  await begin({ ...words, interactionId: 'b' });
  const jobs = await createProcess({ home, client }).context.store.list();
  expect(jobs.map(({ interaction_id }) => interaction_id).sort()).toEqual(['b', 'c', 'd', 'id-1']);
  expect(created).toHaveLength(1);
});

test('an interaction that the service does not know becomes no job', async (t) => {
  const { client } = createService([undefined]);
  const { context } = createProcess({ home: homeOf(t), client });
  await expect(beginResearch({ ...TASK, interactionId: 'gone' }, context)).rejects.toThrow(
    'does not know the research',
  );
  expect(await context.store.list()).toEqual([]);
});

test('a full disk: nothing is begun that cannot be written down, and nothing that has begun is lost', async (t) => {
  for (let writes = 0; writes < 5; writes += 1) {
    const home = homeOf(t);
    const { client, created } = createService();
    const process = createProcess({ home, client, writes });
    const outcome = await live(process).catch((thrown: unknown) => AppError.from(thrown));
    if (writes === 0) {
      expect([outcome, created]).toEqual([expect.objectContaining({ fault: 'config' }), []]);
      continue;
    }
    expect([outcome, created]).toEqual([REPORT, ['id-1']]);
    const said = process.said.join('\n');
    if (writes === 1) expect(said).toContain('gmn research --interaction id-1');
    if (writes < 4) expect(said).toContain('is not saved');
  }
});

test('a report that nobody got the first time comes with its sources and counts', async (t) => {
  const home = homeOf(t);
  const { client } = createService([{ ...DONE, usage: { promptTokenCount: 7 } }]);
  // Killed when the end is saved, and before anybody has seen it.
  await live(createProcess({ home, client, steps: 7 })).catch(() => {});
  const { context } = createProcess({
    home,
    client: { ...client, get: () => Promise.reject(new Error('asked again')) },
  });
  const events: TurnEvent[] = [];
  const job = await beginResearch(TASK, context);
  for await (const event of answerResearch(job, { signal: context.app.signal }, context)) events.push(event);
  expect(events.at(-1)).toMatchObject({ type: 'end', sources: DONE.sources, usage: { promptTokenCount: 7 } });
});

test('what is cited is a link only to the web, and no Markdown, HTML or command of a terminal', async (t) => {
  const sources = [
    { title: 'Run me', uri: 'javascript:alert(1)' },
    { title: '](javascript:x) <img src=x onerror=y> \\', uri: 'https://a.example/b(c) d' },
    { title: '\u001b]0;owned\u0007', uri: 'data:text/html,<script>' },
    { title: 'files/abc', uri: 'files/abc' },
  ];
  const { client } = createService([{ ...DONE, sources }]);
  expect(await live(createProcess({ home: homeOf(t), client }))).toBe(
    [
      'Because.\n\n## Sources\n',
      '1. Run me javascript:alert(1)',
      '2. [(javascript:x) img src=x onerror=y ](https://a.example/b%28c%29%20d)',
      '3. x1b0;ownedx07 data:text/html,script',
      '4. files/abc\n',
    ].join('\n'),
  );
});
