import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, type TestContext, test } from 'vitest';
import { createLocalEngine, type LocalEngineOptions } from '../../src/batch/local/local-engine.ts';
import { createThrottle } from '../../src/batch/local/throttle.ts';
import { openJournal } from '../../src/batch/output/journal.ts';
import { resolveRunPaths } from '../../src/batch/output/run-file.ts';
import { formatProgress } from '../../src/batch/progress.ts';
import type { RowRequest } from '../../src/batch/requests/batch-setup.ts';
import { guessTokens } from '../../src/batch/requests/row-request.ts';
import { readRows } from '../../src/batch/rows/input.ts';
import type { RowInput } from '../../src/batch/rows/row.ts';
import type { AttemptAnswer } from '../../src/batch/rows/row-engine.ts';
import { sampleRows } from '../../src/batch/rows/sample.ts';
import { type RunOptions, runRows } from '../../src/batch/run-rows.ts';
import { AppError } from '../../src/core/error.ts';
import type { Clock } from '../../src/core/io.ts';
import { createAbortable } from '../../src/platform/runtime/abort.ts';
import { gate } from '../support/gate.ts';
import { parseLines } from '../support/gmn.ts';

const CLOCK: Clock = { now: () => 0, sleep: () => new Promise((resolve) => setImmediate(resolve)) };

interface Scene extends Partial<Omit<LocalEngineOptions, 'prepare'>> {
  readonly run?: Partial<RunOptions>;
  /** Called for every row; it is prepared when this resolves. */
  readonly prepared?: () => Promise<void>;
}

/** Runs the lines of an input against a model that is a function, and returns the lines of the output. */
async function runBatch(
  t: TestContext,
  lines: readonly unknown[],
  ask: (prompt: string, signal: AbortSignal) => Promise<Partial<AttemptAnswer>> | Partial<AttemptAnswer>,
  { run = {}, prepared = async () => {}, ...engine }: Scene = {},
) {
  const directory = mkdtempSync(join(tmpdir(), 'gmn-batch-'));
  t.onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const output = join(directory, 'out.jsonl');
  const stop = createAbortable();
  const asked: string[] = [];
  const start = async (changes: Partial<RunOptions> = {}) => {
    const journal = await openJournal({
      ...{
        paths: resolveRunPaths(output, directory),
        settings: {},
        input: { name: 'in', firstRow: '' },
        restarts: false,
        redact: async (lines) => lines,
        notify: () => {},
        clock: CLOCK,
      },
      signal: stop.signal,
    });
    try {
      return await runRows({
        rows: readRows(toChunks(lines), { format: 'jsonl', name: 'in' }),
        journal,
        engine: createLocalEngine({
          clock: CLOCK,
          random: () => 0.5,
          retries: 2,
          baseMs: 1,
          throttle: createThrottle({ clock: CLOCK, random: () => 0.5, maxConcurrency: 8, baseMs: 0 }),
          prepare: async ({ input }) => ({
            ...(await prepared().then(() => ({ tokens: 10 }))),
            hasOwnModel: input.model !== undefined,
            key: () => input.prompt ?? '',
            ask: async (signal) => {
              asked.push(input.prompt ?? '');
              const answer = await ask(input.prompt ?? '', signal);
              return { response: 'ok', model: 'm', usage: {}, ...answer };
            },
          }),
          ...engine,
        }),
        ...{ retriesFailed: false, isOrdered: false, drainSignal: stop.signal, signal: stop.signal },
        ...{ ...run, ...changes },
      });
    } finally {
      await journal.close();
    }
  };
  const read = (): readonly { id: string; ok: boolean; response?: string; error?: { message: string } }[] =>
    parseLines(readFileSync(output, 'utf8'));
  return { start, read, asked };
}

async function* toChunks(lines: readonly unknown[]): AsyncGenerator<Uint8Array, void> {
  for (const line of lines) yield Buffer.from(`${typeof line === 'string' ? line : JSON.stringify(line)}\n`);
}

function rows(count: number): readonly object[] {
  return Array.from({ length: count }, (_, at) => ({ id: `r${at}`, prompt: `p${at}` }));
}

test('--ordered writes the rows in the order of the input, whatever order they are answered in', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(5), { minLength: 1, maxLength: 40 }), async (delays) => {
      const { start, read } = await runBatch(
        t,
        [...rows(delays.length), '{broken'],
        async (prompt) => {
          for (let turn = delays[Number(prompt.slice(1))] ?? 0; turn > 0; turn -= 1) await CLOCK.sleep(0, NEVER);
          return {};
        },
        { run: { isOrdered: true } },
      );
      await start();
      const lines = read();
      expect(lines.slice(0, -1).map(({ id }) => id)).toEqual(delays.map((_, at) => `r${at}`));
      expect(lines.at(-1)?.ok).toBe(false);
    }),
    { numRuns: 15 },
  );
});

const NEVER = createAbortable().signal;

test('failures of a row are tried again, and those of its own making are not', async (t) => {
  const { start, read, asked } = await runBatch(t, rows(3), (prompt) => {
    if (prompt === 'p0') throw new AppError('api', 'gone wrong', { retry: {} });
    if (prompt === 'p1') throw new AppError('api', 'bad request', { status: 400 });
    return {};
  });
  expect(await start()).toMatchObject({ seen: 3, skipped: 0, isComplete: true });
  expect(asked.filter((prompt) => prompt === 'p0')).toHaveLength(3);
  expect(asked.filter((prompt) => prompt === 'p1')).toHaveLength(1);
  expect(Object.fromEntries(read().map(({ id, ok }) => [id, ok]))).toEqual({ r0: false, r1: false, r2: true });
  expect(await start()).toMatchObject({ seen: 3, skipped: 3, isComplete: true });
  await start({ retriesFailed: true });
  expect(asked.filter((prompt) => prompt === 'p1')).toHaveLength(2);
});

test('a refused credential and a used-up day end the run, and leave the rows for the next one', async (t) => {
  let isOver = true;
  const { start, read } = await runBatch(t, rows(30), (prompt) => {
    if (isOver && Number(prompt.slice(1)) >= 10) {
      throw new AppError('api', 'daily quota', {
        status: 429,
        quota: { per: 'day', resets: 'It resets in 3 h.' },
        hint: 'It resets in 3 h. Until then choose another model.',
      });
    }
    return {};
  });
  await expect(start()).rejects.toMatchObject({
    exitCode: 3,
    hint: 'It resets in 3 h. Run the same command again then: it continues where it stopped.',
  });
  expect(read().every(({ ok }) => ok)).toBe(true);
  isOver = false;
  await start();
  expect(new Set(read().map(({ id }) => id)).size).toBe(30);
  expect(read()).toHaveLength(30);
});

test('a service that answers nothing ends the run before it uses up all rows', async (t) => {
  const { start, read, asked } = await runBatch(t, rows(500), () => {
    throw new AppError('api', 'cannot connect', { retry: {} });
  });
  await expect(start()).rejects.toThrow(/^\d\d rows in a row failed, so the run stops: cannot connect$/);
  expect(asked.length).toBeLessThan(200);
  expect(read().length).toBeLessThan(50);
});

test('--dedupe asks rows with the same request once, also while it is in flight', async (t) => {
  const lines = Array.from({ length: 30 }, (_, at) => ({ id: `r${at}`, prompt: `p${at % 3}` }));
  const { start, read, asked } = await runBatch(t, lines, (prompt) => ({ response: `re ${prompt}` }), {
    dedupes: true,
  });
  await start();
  expect(asked.toSorted()).toEqual(['p0', 'p1', 'p2']);
  for (const { id, response } of read()) expect(response).toBe(`re p${Number(id.slice(1)) % 3}`);
});

test('--dedupe asks once for rows that become ready at the same moment', async (t) => {
  const lines = ['a', 'b', 'c', 'd'].map((id) => ({ id, prompt: 'p' }));
  const isReady = gate();
  let arrived = 0;
  const { start, asked } = await runBatch(t, lines, () => ({}), {
    dedupes: true,
    prepared: () => {
      arrived += 1;
      if (arrived === lines.length) isReady.open();
      return isReady.opened;
    },
  });
  await start();
  expect(asked).toEqual(['p']);
});

test('--dedupe asks rows on their own whose twin has failed', async (t) => {
  const lines = ['a', 'b', 'c', 'd'].map((id) => ({ id, prompt: 'p' }));
  let count = 0;
  const { start, read } = await runBatch(
    t,
    lines,
    async () => {
      count += 1;
      if (count === 1) throw new AppError('api', 'this one is blocked');
      return {};
    },
    { dedupes: true },
  );
  await start();
  expect(read().filter(({ ok }) => ok)).toHaveLength(3);
});

test('a server that asks for a day is not waited for: the run ends, and says how long', async (t) => {
  const day = { per: 'minute', waitMs: 86_400_000 } as const;
  const { start } = await runBatch(t, rows(5), () => {
    throw new AppError('api', 'quota exceeded', { status: 429, quota: day });
  });
  await expect(start()).rejects.toMatchObject({
    fault: 'api',
    hint: 'The server asks to wait 24 h. Run the same command again then: it continues where it stopped.',
  });
  const own = await runBatch(t, [{ prompt: 'a', model: 'x' }, ...rows(2)], (prompt) => {
    if (prompt === 'a') throw new AppError('api', 'quota exceeded', { status: 429, quota: day });
    return {};
  });
  await own.start();
  expect(own.read().filter(({ ok }) => ok)).toHaveLength(2);
});

test('a count that cannot be right hardly changes the estimates of the other rows', async (t) => {
  const expected: number[] = [];
  const throttle = createThrottle({ clock: CLOCK, random: () => 0.5, maxConcurrency: 1, baseMs: 0 });
  const { start } = await runBatch(t, rows(5), () => ({ usage: { promptTokenCount: 1e15 } }), {
    throttle: {
      ...{ limit: 1, pausedUntil: 0 },
      acquire: (tokens, signal) => {
        expected.push(tokens);
        return throttle.acquire(tokens, signal);
      },
    },
  });
  await start();
  expect(Math.max(...expected)).toBeLessThan(100);
});

test('the first row that waits long before it is asked again is said', async (t) => {
  const said: string[] = [];
  const { start } = await runBatch(
    t,
    rows(3),
    () => {
      throw new AppError('api', 'gone wrong', { retry: {} });
    },
    { baseMs: 20_000, retries: 4, notify: (message) => said.push(message) },
  );
  await start();
  expect(said).toEqual(['gone wrong; a row is asked again in 20 s']);
});

test('a run stops at its budget, also for a row that names its own model', async (t) => {
  const spent = new AppError('limit', 'stopped at --max-cost', { isCostSpent: true });
  const { start, read, asked } = await runBatch(t, [{ prompt: 'a', model: 'x' }, ...rows(40)], (prompt) => {
    if (prompt === 'a') throw spent;
    return {};
  });
  await expect(start()).rejects.toBe(spent);
  expect(asked.length).toBeLessThan(10);
  expect(read().every(({ ok }) => ok)).toBe(true);
});

test('--limit looks at the first rows only, and a later run with a higher one goes on', async (t) => {
  const { start, asked } = await runBatch(t, rows(10), () => ({}));
  expect(await start({ limit: 3 })).toMatchObject({ seen: 3, skipped: 0, isComplete: true });
  expect(await start({ limit: 5 })).toMatchObject({ seen: 5, skipped: 3, isComplete: true });
  expect(asked).toHaveLength(5);
});

test('winding down finishes what is in flight and begins nothing new', async (t) => {
  const drain = createAbortable();
  let inFlight = 0;
  const { start, read } = await runBatch(
    t,
    rows(100),
    async () => {
      inFlight += 1;
      if (inFlight === 4) drain.abort(new Error('Ctrl+C'));
      await CLOCK.sleep(0, NEVER);
      return {};
    },
    { run: { drainSignal: drain.signal } },
  );
  expect(await start()).toMatchObject({ isComplete: false });
  expect(read()).toHaveLength(inFlight);
  expect(inFlight).toBeLessThan(10);
});

test('a sample is the same each time, and any row may be in it', async () => {
  const lines = rows(200);
  const sample = async (count: number): Promise<readonly string[]> => {
    const found = await sampleRows(readRows(toChunks(lines), { format: 'jsonl', name: 'in' }), count);
    expect(found.total).toBe(200);
    return found.sample.map(({ input }) => (input as RowInput).prompt ?? '');
  };
  const first = await sample(20);
  expect(await sample(20)).toEqual(first);
  expect(new Set(first).size).toBe(20);
  expect(first.some((prompt) => Number(prompt.slice(1)) > 100)).toBe(true);
  expect(await sample(500)).toHaveLength(200);
});

test('progress has the count, the share, the rate, the time left and the cost', () => {
  const state = { ok: 311_800, failed: 600, total: 1_000_000, rate: 41, cost: 31.2 };
  expect(formatProgress(state)).toBe('312,400/1,000,000 · 99.8 % ok · 41/s · 4 h 39 min left · $31.20');
  const early = { failed: 0, total: undefined, rate: undefined, cost: undefined };
  expect(formatProgress({ ...early, ok: 3 })).toBe('3 rows · 100 % ok');
  expect(formatProgress({ ...early, ok: 1 })).toBe('1 row · 100 % ok');
});

test('tokens are guessed for any script: a Japanese character is most of one', () => {
  const guess = (text: string): number => {
    const request = { agent: { request: {} }, contents: [{ role: 'user', parts: [{ text }] }] };
    return guessTokens(request as unknown as RowRequest);
  };
  expect(guess('word'.repeat(100))).toBe(100);
  expect(guess('こんにちは世界'.repeat(100))).toBeGreaterThan(500);
});
