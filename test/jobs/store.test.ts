import { mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import { formatJobLine } from '../../src/jobs/record.ts';
import { createJobStore } from '../../src/jobs/store.ts';
import { recordDirectory } from '../../src/platform/files/records.ts';
import { systemClock } from '../../src/platform/runtime/clock.ts';
import { randomId } from '../../src/platform/runtime/random-id.ts';

const DAY_MS = 86_400_000;

function directory(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'gmn-jobs-'));
  t.onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

test('a line that was cut off is ignored: the state before it counts, and the next line is complete', async (t) => {
  const path = directory(t);
  const store = createJobStore(recordDirectory(path), systemClock);
  const record = { job_id: randomId(), created_at: '2026-01-01T00:00:00.000Z', prompt_sha256: 'x', timeout_ms: 1 };
  const file = join(path, `${record.job_id}.jsonl`);
  await store.save({ ...record, status: 'running' });
  const whole = readFileSync(file, 'utf8');
  await store.save({ ...record, status: 'completed' });
  const line = readFileSync(file, 'utf8').slice(whole.length);
  const found = async () => (await store.find(record.job_id))?.record.status;
  for (let length = 0; length < line.length; length += 1) {
    writeFileSync(file, whole + line.slice(0, length));
    expect(await found()).toBe('running');
  }
  await store.save({ ...record, status: 'cancelled' });
  expect(await found()).toBe('cancelled');
});

test('a job that ends with its process during a read has ended and was not interrupted', async (t) => {
  const files = recordDirectory(directory(t));
  const record = { job_id: randomId(), created_at: '2026-01-01T00:00:00.000Z', prompt_sha256: 'x', timeout_ms: 1 };
  const name = `${record.job_id}.jsonl`;
  const dead = { pid: 2 ** 31 - 1, host: hostname(), began: '1' };
  await files.append(name, formatJobLine({ ...record, status: 'running' }, dead));
  let reads = 0;
  const read = async (asked: string): Promise<string | undefined> => {
    const text = await files.read(asked);
    reads += 1;
    if (reads === 1) await files.append(name, formatJobLine({ ...record, status: 'completed' }, dead));
    return text;
  };
  const store = createJobStore({ ...files, read }, systemClock);
  expect(await store.find(record.job_id)).toEqual({ record: { ...record, status: 'completed' }, output: '' });
  expect((await files.read(name))?.split('\n')).toHaveLength(3);
});

test('a list reads each ended job once, and drops removed ones', async (t) => {
  const files = recordDirectory(directory(t));
  const reads: string[] = [];
  const read = (name: string): Promise<string | undefined> => {
    reads.push(name);
    return files.read(name);
  };
  const store = createJobStore({ ...files, read }, systemClock);
  const record = { created_at: '2026-01-01T00:00:00.000Z', prompt_sha256: 'x', timeout_ms: 1 };
  const ids = Array.from({ length: 150 }, randomId);
  for (const job_id of ids) await store.save({ ...record, job_id, status: 'completed' });
  const running = randomId();
  await store.save({ ...record, job_id: running, status: 'running' });
  expect(await store.list()).toHaveLength(151);
  expect(reads).toHaveLength(151);
  await files.remove(`${ids[0]}.jsonl`);
  reads.length = 0;
  expect(await store.list()).toHaveLength(150);
  expect(reads).toEqual([`${running}.jsonl`]);
});

test('files that belong to no job are removed after a day', async (t) => {
  const path = directory(t);
  const now = Date.parse('2026-06-01T00:00:00Z');
  const store = createJobStore(recordDirectory(path), { now: () => now });
  const job_id = randomId();
  const created_at = new Date(now).toISOString();
  await store.save({ job_id, status: 'completed', created_at, prompt_sha256: 'x', timeout_ms: 1 });
  await recordDirectory(path).append(`${job_id}.txt`, 'said');
  const names = [`${randomId()}.txt`, 'old.tmp', `${randomId()}.jsonl`];
  for (const name of [...names, 'new.tmp']) writeFileSync(join(path, name), 'not a job');
  const days = (count: number): number => (now - count * DAY_MS) / 1000;
  for (const name of names) utimesSync(join(path, name), days(2), days(2));
  utimesSync(join(path, 'new.tmp'), days(0), days(0));
  for (const name of [`${job_id}.jsonl`, `${job_id}.txt`]) utimesSync(join(path, name), days(2), days(2));
  await store.prune();
  expect((await recordDirectory(path).names()).toSorted()).toEqual([`${job_id}.jsonl`, `${job_id}.txt`, 'new.tmp']);
});

test('research that nobody has got the report of is kept, however old, and its process matters to nobody', async (t) => {
  const path = directory(t);
  const store = createJobStore(recordDirectory(path), { now: () => Date.now() + 30 * DAY_MS });
  const base = { created_at: new Date().toISOString(), prompt_sha256: 'x', timeout_ms: 0, kind: 'research' } as const;
  const owner = { pid: 999_999_999, host: hostname(), began: '1' };
  const states = [
    { ...base, job_id: randomId(), status: 'running' },
    { ...base, job_id: randomId(), status: 'completed' },
    { ...base, job_id: randomId(), status: 'completed', is_delivered: true },
  ] as const;
  for (const record of states) writeFileSync(join(path, `${record.job_id}.jsonl`), formatJobLine(record, owner));
  await store.prune();
  const left = (await store.list()).map(({ job_id, status }) => [job_id, status]);
  expect(left.sort()).toEqual(
    [
      [states[0].job_id, 'running'],
      [states[1].job_id, 'completed'],
    ].sort(),
  );
});
