import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { expect, type TestContext, test } from 'vitest';
import { createIdTable } from '../../../src/batch/output/id-table.ts';
import { type JournalOptions, openJournal } from '../../../src/batch/output/journal.ts';
import { resolveRunPaths } from '../../../src/batch/output/run-file.ts';
import type { FinishedRow } from '../../../src/batch/rows/result.ts';
import { AppError } from '../../../src/core/error.ts';
import { systemClock } from '../../../src/platform/runtime/clock.ts';

function directory(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'gmn-batch-'));
  t.onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

function open(output: string, options: Partial<JournalOptions> = {}) {
  return openJournal({
    paths: resolveRunPaths(output, dirname(output)),
    settings: { model: 'a' },
    input: { name: 'in.jsonl', firstRow: 'x' },
    restarts: false,
    redact: async (lines) => lines,
    notify: () => {},
    clock: systemClock,
    signal: new AbortController().signal,
    ...options,
  });
}

function answered(id: string, index = 0): FinishedRow {
  return { id, index, result: { response: `to ${id}`, model: 'm', usage: {}, ms: 1.4, attempts: 1 } };
}

function failedRow(id: string, index = 0): FinishedRow {
  return { id, index, result: new AppError('api', 'no', { hint: 'later' }), line: JSON.stringify({ id, prompt: id }) };
}

test('lines are added in order of completion, and the next run knows them', async (t) => {
  const output = join(directory(t), 'out.jsonl');
  const first = await open(output);
  await Promise.all([first.write(answered('b"\\\n', 1)), first.write(failedRow('a', 0))]);
  await first.close();
  expect(readFileSync(output, 'utf8')).toBe(
    '{"id":"b\\"\\\\\\n","index":1,"ok":true,"response":"to b\\"\\\\\\n","model":"m","usage":{},"ms":1,"attempts":1}\n' +
      '{"id":"a","index":0,"ok":false,"error":{"code":3,"type":"ApiError","message":"no","suggestion":"later"},"input":{"id":"a","prompt":"a"}}\n',
  );
  expect(readFileSync(`${output}.failed.jsonl`, 'utf8')).toBe('{"id":"a","prompt":"a"}\n');
  const second = await open(output);
  expect(second.counts).toEqual({ ok: 1, failed: 1 });
  expect(['b"\\\n', 'a', 'c', 'c'].map((id) => second.claim(id))).toEqual(['ok', 'failed', 'pending', 'duplicate']);
  await second.write(answered('a'));
  await second.write(answered('a'));
  await second.close();
  expect(second.counts).toEqual({ ok: 2, failed: 0 });
  expect(readFileSync(output, 'utf8').split('\n')).toHaveLength(4);
  expect(existsSync(`${output}.failed.jsonl`)).toBe(false);
  expect(existsSync(`${output}.lock`)).toBe(false);
});

test('wherever a kill cuts the output, the next run drops the torn line only', async (t) => {
  const output = join(directory(t), 'out.jsonl');
  const journal = await open(output);
  for (let index = 0; index < 5; index += 1) await journal.write(answered(`r${index}`, index));
  await journal.close();
  const whole = readFileSync(output);
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: whole.length }), async (end) => {
      writeFileSync(output, whole.subarray(0, end));
      const cut = whole.subarray(0, end).toString().split('\n').length - 1;
      const again = await open(output);
      expect(again.counts.ok).toBe(cut);
      for (let index = 0; index < 5; index += 1) {
        if (again.claim(`r${index}`) === 'pending') await again.write(answered(`r${index}`, index));
      }
      await again.close();
      expect(readFileSync(output, 'utf8')).toBe(whole.toString());
    }),
    { numRuns: 30 },
  );
});

test('other settings, another input, another file and another process are refused', async (t) => {
  const output = join(directory(t), 'out.jsonl');
  const journal = await open(output);
  await expect(open(output)).rejects.toThrow('another gmn batch is writing to');
  await journal.write(answered('a'));
  await journal.close();
  await expect(open(output, { settings: { model: 'b', seed: 1 } })).rejects.toThrow(
    'made with other settings: model was a then, and is b now; seed was not used then, and is 1 now',
  );
  await expect(open(output, { input: { name: 'other.jsonl', firstRow: 'y' } })).rejects.toThrow(
    'the input was in.jsonl then, and is other.jsonl now',
  );
  const piped = join(directory(t), 'piped.jsonl');
  const fromPipe = await open(piped, { input: { name: '-', firstRow: 'x' } });
  await fromPipe.write(answered('a'));
  await fromPipe.close();
  await expect(open(piped, { input: { name: '-', firstRow: 'y' } })).rejects.toThrow(
    'what is piped in begins with another row',
  );
  appendFileSync(output, 'hello\n');
  await expect(open(output)).rejects.toThrow('line 2 is not the output of a batch run');
  const foreign = join(directory(t), 'notes.txt');
  writeFileSync(foreign, 'mine\n');
  await expect(open(foreign, { restarts: true })).rejects.toThrow('is not the output of a batch run');
  expect(readFileSync(foreign, 'utf8')).toBe('mine\n');
});

test('a run that has answered nothing yet, and has no jobs, keeps no settings', async (t) => {
  const output = join(directory(t), 'out.jsonl');
  const first = await open(output);
  await first.close();
  const second = await open(output, { settings: { model: 'b' }, input: { name: 'other.jsonl', firstRow: 'y' } });
  expect(second.runId).not.toBe(first.runId);
  await second.close();
  mkdirSync(`${output}.batch`);
  await expect(open(output)).rejects.toThrow('made with other settings: model was b then, and is a now');
  await (await open(output, { restarts: true })).close();
});

test('a restart keeps the old output under another name', async (t) => {
  const output = join(directory(t), 'out.jsonl');
  const first = await open(output);
  await first.write(answered('a'));
  await first.close();
  const before = readFileSync(output, 'utf8');
  const second = await open(output, { restarts: true, settings: { model: 'b' } });
  expect(second.counts).toEqual({ ok: 0, failed: 0 });
  await second.close();
  expect(readFileSync(`${output}.old`, 'utf8')).toBe(before);
  expect(readFileSync(output, 'utf8')).toBe('');
});

test('the table of ids remembers the last mark of each', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.string(), fc.integer({ min: 1, max: 255 })), { maxLength: 3000 }), (entries) => {
      const table = createIdTable();
      for (const [id, mark] of entries) table.set(id, mark);
      const expected = new Map(entries);
      for (const [id, mark] of expected) expect(table.get(id)).toBe(mark);
      expect(table.size).toBe(expected.size);
    }),
    { numRuns: 20 },
  );
  const large = createIdTable();
  for (let id = 0; id < 40_000; id += 1) large.set(`${id}`, id % 4 === 0 ? 3 : 1);
  for (let id = 0; id < 40_000; id += 2) large.set(`${id}`, 6);
  expect([large.size, large.get('1'), large.get('39998'), large.get('40000')]).toEqual([40_000, 1, 6, 0]);
  expect([large.count(2), large.count(3), large.count(6)]).toEqual([20_000, 0, 20_000]);
});
