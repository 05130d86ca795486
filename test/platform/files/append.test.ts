import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createAppendFile, openAppendFile } from '../../../src/platform/files/append.ts';
import { temporary } from '../../support/temporary.ts';

test('a file has its name when all of it is there, and can be added to', async () => {
  const path = temporary();
  const file = join(path, 'a.jsonl');
  const seen: (readonly string[])[] = [];
  async function* pieces(): AsyncGenerator<string, void> {
    for (const piece of ['one\n', 'two\n']) {
      yield piece;
      seen.push(readdirSync(path).filter((name) => name.endsWith('.jsonl')));
    }
  }
  const created = await createAppendFile(file, pieces());
  expect([seen, await created.append('three\n')]).toEqual([[[], []], 'written']);
  await created.close();
  expect([readFileSync(file, 'utf8'), readdirSync(path)]).toEqual(['one\ntwo\nthree\n', ['a.jsonl']]);
});

test('a file whose pieces do not come leaves nothing behind', async () => {
  const path = temporary();
  async function* pieces(): AsyncGenerator<string, void> {
    yield 'one\n';
    throw new Error('no more');
  }
  await expect(createAppendFile(join(path, 'a.jsonl'), pieces())).rejects.toThrow('no more');
  expect(readdirSync(path)).toEqual([]);
});

test('a torn line is quarantined completely, however long it is', async () => {
  const path = temporary();
  const file = join(path, 'a.jsonl');
  const torn = '京'.repeat(100_000);
  writeFileSync(file, `one\n${torn}`);
  const opened = await openAppendFile(file, { now: 0, end: 4 });
  expect(await opened.append('two\n')).toBe('written');
  await opened.close();
  expect(readFileSync(file, 'utf8')).toBe('one\ntwo\n');
  expect(readFileSync(`${file}.torn-19700101T000000000Z`, 'utf8')).toBe(torn);
});

test('a file that ends elsewhere than it did is overtaken, and left as it is', async () => {
  const path = temporary();
  const file = join(path, 'a.jsonl');
  const text = 'one\ntwo\nthr';
  writeFileSync(file, text);
  const opened = await openAppendFile(file, { now: 0, end: 4 });
  expect([await opened.append('2\n'), opened.length]).toEqual(['overtaken', 4]);
  await opened.close();
  expect([readFileSync(file, 'utf8'), readdirSync(path)]).toEqual([text, ['a.jsonl']]);
});
