import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, type TestContext, test } from 'vitest';
import { createLocks } from '../../../../src/core/async.ts';
import { AppError } from '../../../../src/core/error.ts';
import { createJobStore } from '../../../../src/jobs/store.ts';
import type { JobWork } from '../../../../src/mcp/server/jobs/runner.ts';
import { createJobs, type Jobs } from '../../../../src/mcp/server/jobs/table.ts';
import { type RecordDirectory, recordDirectory } from '../../../../src/platform/files/records.ts';
import { systemClock } from '../../../../src/platform/runtime/clock.ts';
import { gate } from '../../../support/gate.ts';

const DAY_MS = 86_400_000;

function directory(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'gmn-jobs-'));
  t.onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

let made = 0;
const newId = (): string => {
  made += 1;
  return `00000000-0000-4000-8000-${String(made).padStart(12, '0')}`;
};

function table(files: RecordDirectory, limits: { maxRunning?: number; maxQueued?: number } = {}): Jobs {
  const store = createJobStore(files, systemClock);
  return createJobs({
    store,
    clock: systemClock,
    newId,
    isInside: () => true,
    locks: createLocks(),
    maxRunning: 2,
    maxQueued: 2,
    ...limits,
  });
}

function work(run: JobWork['run'], rest: Partial<JobWork> = {}): JobWork {
  return { promptSha256: 'x', workingDirectory: '/work', timeoutMs: 60_000, isAwaited: false, ...rest, run };
}

/** Runs until `end` is called or the signal aborts. */
function held(): { readonly run: JobWork['run']; readonly begun: Promise<void>; end(): void } {
  let end: () => void = () => {};
  const { open: begin, opened: begun } = gate();
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return {
    begun,
    end: () => end(),
    run: ({ signal, onText }) => {
      onText('so far');
      begin();
      return new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
        void ended.then(() => resolve({ model_used: 'm' }));
      });
    },
  };
}

test('a job that another process cancels while it waits never runs', async (t) => {
  const files = recordDirectory(directory(t));
  const jobs = table(files, { maxRunning: 1 });
  const first = held();
  jobs.submit(work(first.run));
  await first.begun;
  let hasRun = false;
  const second = jobs.submit(
    work(async () => {
      hasRun = true;
      return {};
    }),
  );
  await createJobStore(files, systemClock).requestCancel(second.id);
  expect((await second.ended).record).toMatchObject({ status: 'cancelled', code: 'CANCELLED' });
  expect(hasRun).toBe(false);
  first.end();
});

test('a job runs, and its output is on disk when it has ended', async (t) => {
  const files = recordDirectory(directory(t));
  const jobs = table(files);
  const job = jobs.submit(
    work(async ({ onText, update }) => {
      update({ session_id: 's' });
      for (const delta of ['one ', 'two ', 'three']) onText(delta);
      return { model_used: 'm' };
    }),
  );
  const view = await job.ended;
  expect(view.output).toBe('one two three');
  expect(view.record).toMatchObject({ status: 'completed', model_used: 'm', session_id: 's' });
  await jobs.close();
  expect(await table(files).find(job.id)).toEqual(view);
});

test('a job is on disk before its id is returned, also if it is queued', async (t) => {
  const path = directory(t);
  const jobs = table(recordDirectory(path), { maxRunning: 1 });
  const submitted = [held(), held()].map(({ run }) => jobs.submit(work(run)));
  await Promise.all(submitted.map((job) => job.waitForWrites()));
  const other = table(recordDirectory(path));
  const states = await Promise.all(submitted.map(async ({ id }) => (await other.find(id))?.record.status));
  expect(states).toEqual(['running', 'queued']);
  await jobs.close();
});

test('jobs run in order, within the limits of running and queued ones', async (t) => {
  const jobs = table(recordDirectory(directory(t)));
  const all = [held(), held(), held(), held()];
  const submitted = all.map(({ run }) => jobs.submit(work(run)));
  expect(() => jobs.submit(work(async () => ({})))).toThrow('2 jobs are running and 2 are waiting');
  const states = async () => {
    const list = await jobs.list();
    return submitted.map(({ id }) => list.find(({ job_id }) => job_id === id)?.status);
  };
  expect(await states()).toEqual(['running', 'running', 'queued', 'queued']);
  all[0]?.end();
  await all[2]?.begun;
  expect(await states()).toEqual(['completed', 'running', 'running', 'queued']);
  await jobs.close();
  expect(await states()).toEqual(['completed', 'failed', 'failed', 'failed']);
});

test('an awaited job that is queued too long times out', async (t) => {
  const jobs = table(recordDirectory(directory(t)), { maxRunning: 1 });
  const first = held();
  jobs.submit(work(first.run));
  const { ended } = jobs.submit(work(async () => ({}), { isAwaited: true, timeoutMs: 20 }));
  expect((await ended).record).toMatchObject({ status: 'failed', code: 'TIMEOUT', timeout_ms: 20 });
  await jobs.close();
});

test('a job whose session is in use is queued without taking a place or time', async (t) => {
  const jobs = table(recordDirectory(directory(t)));
  const first = held();
  const session = { sessionId: 's', timeoutMs: 60_000 };
  const { id: one } = jobs.submit(work(first.run, session));
  const waiting = jobs.submit(work(async () => ({}), { ...session, timeoutMs: 20 }));
  const { ended } = jobs.submit(work(async () => ({})));
  expect((await ended).record.status).toBe('completed');
  expect((await jobs.find(one))?.record.status).toBe('running');
  expect((await jobs.wait(waiting.id, 50, new AbortController().signal))?.record.status).toBe('queued');
  first.end();
  expect((await waiting.ended).record.status).toBe('completed');
  await jobs.close();
});

test('waiting ends with the job, the deadline or the caller', async (t) => {
  const jobs = table(recordDirectory(directory(t)));
  const { signal } = new AbortController();
  const task = held();
  const { id } = jobs.submit(work(task.run));
  expect((await jobs.wait(id, 10, signal))?.record.status).toBe('running');
  const waiting = jobs.wait(id, 60_000, signal);
  task.end();
  expect((await waiting)?.record.status).toBe('completed');
  const other = jobs.submit(work(held().run));
  await expect(jobs.wait(other.id, 60_000, AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
  expect(await jobs.wait('nothing', 10, signal)).toBeUndefined();
  await jobs.close();
});

test('a full disk costs no answer', async () => {
  const jobs = table(memory(() => true));
  const { id, ended } = jobs.submit(
    work(async ({ onText }) => {
      onText('answer');
      return {};
    }),
  );
  await ended;
  await jobs.close();
  expect(await jobs.find(id)).toMatchObject({ output: 'answer', record: { status: 'completed' } });
});

/** In memory, or a full disk. */
function memory(isFull: () => boolean = () => false): RecordDirectory {
  const files = new Map<string, string>();
  const add = (name: string, text: string): void => {
    if (isFull()) throw new Error('ENOSPC');
    files.set(name, (files.get(name) ?? '') + text);
  };
  return {
    names: async () => [...files.keys()],
    read: async (name) => files.get(name),
    status: async (name) => (files.has(name) ? { size: 1, changedAt: 0 } : undefined),
    append: async (name, text) => add(name, text),
    open: async (name) => ({ append: (text) => add(name, text), close: async () => {} }),
    remove: async (name) => void files.delete(name),
  };
}

test('a thousand jobs without a directory stay visible, and all running ones', async () => {
  const jobs = table(memory(), { maxRunning: 2, maxQueued: 2 });
  const task = held();
  const { id: running } = jobs.submit(work(task.run, { workingDirectory: undefined }));
  const ids: string[] = [];
  for (let index = 0; index < 1001; index += 1) {
    const { id, ended } = jobs.submit(work(async () => ({}), { workingDirectory: undefined }));
    await ended;
    ids.push(id);
  }
  const isKnown = async (id: string | undefined) => (await jobs.find(id ?? '')) !== undefined;
  expect([await isKnown(ids[0]), await isKnown(ids[1]), await isKnown(ids.at(-1))]).toEqual([false, true, true]);
  expect(await isKnown(running)).toBe(true);
  await jobs.close();
});

test('jobs that a full disk did not take stay in memory up to a limit, the newest always', async () => {
  const jobs = table(memory(() => true));
  const say = async (length: number): Promise<string> => {
    const { id, ended } = jobs.submit(
      work(async ({ onText }) => {
        onText('x'.repeat(length));
        return {};
      }),
    );
    await ended;
    return id;
  };
  const ids = [await say(15_000_000), await say(15_000_000), await say(15_000_000)];
  const known = await Promise.all(ids.map(async (id) => (await jobs.find(id)) !== undefined));
  expect(known).toEqual([false, true, true]);
  const long = await say(40_000_000);
  expect((await jobs.list()).map(({ job_id }) => job_id)).toEqual([long]);
});

test('a job of a process that is gone is INTERRUPTED, one of a process that runs is not', async (t) => {
  const path = directory(t);
  const record = {
    job_id: newId(),
    status: 'running',
    created_at: '2026-01-01T00:00:00.000Z',
    working_directory: '/work',
    prompt_sha256: 'x',
    timeout_ms: 1,
  };
  const owner = { pid: 2 ** 22 + 1, host: (await import('node:os')).hostname(), began: '1' };
  writeFileSync(join(path, `${record.job_id}.jsonl`), JSON.stringify({ ...record, owner }));
  writeFileSync(join(path, `${record.job_id}.txt`), 'half an ans');
  const jobs = table(recordDirectory(path));
  expect(await jobs.find(record.job_id)).toMatchObject({
    output: 'half an ans',
    record: { status: 'failed', code: 'INTERRUPTED' },
  });
  const task = held();
  const own = jobs.submit(work(task.run));
  await task.begun;
  const other = table(recordDirectory(path));
  await expect.poll(async () => (await other.find(own.id))?.record.status).toBe('running');
  await expect(other.cancel(own.id)).rejects.toThrow(AppError);
  await jobs.close();
  expect((await other.cancel(own.id))?.record.code).toBe('INTERRUPTED');
});

test('a job that ends while the list is read is listed as ended', async (t) => {
  const files = recordDirectory(directory(t));
  const task = held();
  let meanwhile = async (): Promise<void> => {};
  const read = async (name: string): Promise<string | undefined> => {
    const text = await files.read(name);
    await meanwhile();
    return text;
  };
  const jobs = table({ ...files, read });
  const { id, ended } = jobs.submit(work(task.run));
  await expect.poll(() => files.read(`${id}.jsonl`)).toContain('running');
  meanwhile = async () => {
    task.end();
    await ended;
    await expect.poll(() => files.read(`${id}.jsonl`)).toContain('completed');
  };
  expect((await jobs.list()).map(({ status }) => status)).toEqual(['completed']);
});

test('an invalid record is no job', async (t) => {
  const path = directory(t);
  const files = recordDirectory(path);
  const id = newId();
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.string(), fc.json()), async (text) => {
      writeFileSync(join(path, `${id}.jsonl`), text);
      expect(await table(files).find(id)).toBeUndefined();
      expect(await table(files).list()).toEqual([]);
    }),
    { numRuns: 50 },
  );
});

test('ended jobs are removed when they are old or too many; running ones never', async (t) => {
  const path = directory(t);
  const files = recordDirectory(path);
  const now = Date.parse('2026-06-01T00:00:00Z');
  const store = createJobStore(files, { now: () => now });
  const save = async (ageMs: number, status: 'completed' | 'running') => {
    const job_id = newId();
    const created_at = new Date(now - ageMs).toISOString();
    await store.save({ job_id, status, created_at, prompt_sha256: 'x', timeout_ms: 1 });
    await files.append(`${job_id}.txt`, 'said');
    return job_id;
  };
  const kept = [await save(DAY_MS, 'completed'), await save(30 * DAY_MS, 'running')];
  await save(8 * DAY_MS, 'completed');
  await store.prune();
  expect((await store.list()).map(({ job_id }) => job_id)).toEqual(kept);
  expect((await files.names()).toSorted()).toEqual(kept.flatMap((id) => [`${id}.jsonl`, `${id}.txt`]).sort());
});

test('damaged fields are dropped, and a record without a required field or of an impossible size is ignored', async (t) => {
  const path = directory(t);
  const job_id = newId();
  const whole = { job_id, status: 'failed', created_at: '2026-01-01T00:00:00.000Z', prompt_sha256: 'x', timeout_ms: 1 };
  const jobs = table(recordDirectory(path));
  const found = async (record: object) => {
    writeFileSync(join(path, `${job_id}.jsonl`), JSON.stringify({ ...record, working_directory: '/work' }));
    return (await jobs.find(job_id))?.record;
  };
  const damaged = { duration_ms: 'long', refused: [7], session_id: {}, completed_at: 'once', more: 1 };
  expect(await found({ ...whole, ...damaged })).toEqual({ ...whole, working_directory: '/work' });
  expect(await found({ ...whole, created_at: 'once' })).toBeUndefined();
  expect(await found({ ...whole, timeout_ms: null })).toBeUndefined();
  expect(await found({ ...whole, more: 'x'.repeat(16_000_000) })).toBeUndefined();
});
