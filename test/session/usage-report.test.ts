import { mkdtempSync, readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { BilledCall } from '../../src/core/usage.ts';
import { appendUsage, type UsageRecord } from '../../src/session/usage-log.ts';
import { createUsageTable, readUsage, rotateUsage, tryParseUsageRecord } from '../../src/session/usage-report.ts';
import { systemMode } from '../support/posix.ts';
import { temporary } from '../support/temporary.ts';

const call = (model: string, tokens: number): BilledCall => ({
  model,
  usage: { promptTokenCount: tokens, totalTokenCount: tokens },
  at: 5,
  backend: 'gemini-api',
});

const run = (at: number, ...calls: readonly BilledCall[]): UsageRecord => ({
  at,
  kind: 'prompt',
  id: 'x',
  cwd: '/w',
  calls,
});

async function readAll(home: string, since = 0): Promise<readonly UsageRecord[]> {
  const records: UsageRecord[] = [];
  for await (const record of readUsage(home, since)) records.push(record);
  return records;
}

test('what is appended is read again, since a time', async () => {
  const home = join(temporary(), 'new');
  const records = [run(10, call('a', 1)), { ...run(20, call('a', 1), call('b', 2)), kind: 'chat' } as const];
  for (const record of records) appendUsage(home, record);
  appendUsage(home, run(30));
  expect(await readAll(home)).toEqual(records);
  expect(await readAll(home, 15)).toEqual([records[1]]);
  expect(statSync(join(home, 'usage.jsonl')).mode & 0o777).toBe(systemMode(0o600));
});

test('a log that was never written is empty, and one that cannot be written is no failure', async () => {
  const home = temporary();
  expect(await readAll(join(home, 'nothing'))).toEqual([]);
  writeFileSync(join(home, 'file'), '');
  expect(() => appendUsage(join(home, 'file'), run(1, call('a', 1)))).not.toThrow();
});

test('a line that was torn costs no other line', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: 150 }), async (cut) => {
      const home = mkdtempSync(join(temporary(), 'torn-'));
      const file = join(home, 'usage.jsonl');
      appendUsage(home, run(1, call('a', 1)));
      const whole = statSync(file).size;
      appendUsage(home, run(2, call('b', 2)));
      truncateSync(file, Math.max(whole, statSync(file).size - 1 - cut));
      appendUsage(home, run(3, call('c', 3)));
      expect((await readAll(home)).map(({ at }) => at)).toEqual([1, 3]);
    }),
    { numRuns: 15 },
  );
});

test('garbage in the log is skipped', async () => {
  const home = temporary();
  const file = join(home, 'usage.jsonl');
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(fc.string(), fc.json(), fc.constantFrom('{"at":1', '\0\0', '{"calls":[{}]}'))),
      async (lines) => {
        writeFileSync(file, lines.map((line) => `${line.replaceAll('\n', ' ')}\n`).join(''));
        appendUsage(home, run(7, call('a', 1)));
        expect((await readAll(home)).at(-1)).toEqual(run(7, call('a', 1)));
      },
    ),
    { numRuns: 60 },
  );
  const broken = { usage: { promptTokenCount: -1 } };
  const values = [
    { ...run(1, call('a', 1)), at: 1e300 },
    { ...run(1), calls: [] },
    run(1, { ...call('a', 1), ...broken }),
  ];
  for (const value of values) expect(tryParseUsageRecord(value)).toBeUndefined();
});

test('many processes can append at the same time', async () => {
  const home = temporary();
  const { spawn } = await import('node:child_process');
  const text = `\\n${JSON.stringify(run(1, ...Array.from({ length: 40 }, () => call('a', 1)))).replaceAll('"', '\\"')}`;
  const script = `const fs=require('fs');for(let i=0;i<200;i++){const d=fs.openSync(${JSON.stringify(join(home, 'usage.jsonl'))},'a',0o600);fs.writeSync(d,"${text}");fs.closeSync(d)}`;
  const ends = [1, 2, 3].map(
    () => new Promise((resolve) => spawn(process.execPath, ['-e', script], { stdio: 'ignore' }).on('close', resolve)),
  );
  expect(await Promise.all(ends)).toEqual([0, 0, 0]);
  expect(await readAll(home)).toHaveLength(600);
});

test('rows add up, and say where a cost is not known', () => {
  const price = (calls: readonly BilledCall[]): number | undefined =>
    calls.some(({ model }) => model === 'dear')
      ? undefined
      : calls.reduce((sum, { usage }) => sum + (usage.totalTokenCount ?? 0), 0);
  const records = [run(0, call('a', 1), call('b', 2)), { ...run(1, call('b', 4)), cwd: '/v' }, run(2, call('dear', 8))];
  const tableOf = (by: 'model' | 'directory') => {
    const table = createUsageTable(by, price);
    for (const record of records) table.add(record);
    return table;
  };
  const row = (name: string, runs: number, tokens: number, cost: number, unpriced = 0) => ({
    ...{ name, runs, cost, unpriced },
    usage: { promptTokenCount: tokens, totalTokenCount: tokens },
  });
  expect(tableOf('model').rows()).toEqual([row('b', 2, 6, 6), row('a', 1, 1, 1), row('dear', 1, 8, 0, 1)]);
  expect(tableOf('directory').rows()).toEqual([row('/v', 1, 4, 4), row('/w', 2, 11, 3, 1)]);
  expect(tableOf('directory').total()).toEqual(row('total', 3, 15, 7, 1));
});

test('a long log is rotated, and the oldest files go', () => {
  const home = temporary();
  for (const now of [1001, 1002, 1003, 1004]) {
    appendUsage(home, run(now, call('a', 1)));
    truncateSync(join(home, 'usage.jsonl'), 16_000_000);
    rotateUsage(home, now);
  }
  appendUsage(home, run(9000, call('a', 1)));
  rotateUsage(home, 9000);
  expect(readdirSync(home).sort()).toEqual(['usage-1002.jsonl', 'usage-1003.jsonl', 'usage-1004.jsonl', 'usage.jsonl']);
});
