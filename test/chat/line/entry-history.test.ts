import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import { createEntryHistory } from '../../../src/chat/line/entry-history.ts';
import { systemClock } from '../../../src/platform/runtime/clock.ts';
import { posixTest, systemMode } from '../../support/posix.ts';

function directory(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'gmn-history-'));
  t.onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

const signal = new AbortController().signal;
const open = (path: string, maxEntries = 1000) => createEntryHistory(path, { clock: systemClock, signal, maxEntries });
const linesOf = (path: string): readonly string[] => readFileSync(path, 'utf8').split('\n').slice(0, -1);

test('what was entered is there in the next chat, line breaks and all', async (t) => {
  const path = join(directory(t), 'deep', 'history');
  const first = open(path);
  await first.add('こんにちは');
  await first.add('two\nlines');
  await first.add('two\nlines');
  expect(linesOf(path)).toEqual(['"こんにちは"', '"two\\nlines"']);
  expect(await open(path).load()).toEqual(['こんにちは', 'two\nlines']);
});

posixTest('nobody else can read it, even if they could before', async (t) => {
  const path = join(directory(t), 'history');
  writeFileSync(path, '"old"\n', { mode: 0o644 });
  await open(path).add('new');
  expect(statSync(path).mode & 0o777).toBe(systemMode(0o600));
});

test.for([
  'my key is AIzaSyA1234567890abcdefghijklmnopqrstu',
  'curl -H "Authorization: Bearer abc.def.ghi"',
  '-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----',
  'log in with password=hunter22',
  'git clone https://me:hunter22@example.com/x',
])('what looks like a secret is remembered in this chat only: %j', async (entry, t) => {
  const path = join(directory(t), 'history');
  const history = open(path);
  await history.add(entry);
  expect(await history.load()).toEqual([entry]);
  expect(await open(path).load()).toEqual([]);
});

test('many chats at once lose nothing and mix nothing', async (t) => {
  const path = join(directory(t), 'history');
  const entries = Array.from({ length: 40 }, (_, index) => `entry ${index} ${'あ'.repeat(500)}`);
  await Promise.all(entries.map((entry) => open(path).add(entry)));
  expect([...(await open(path).load())].sort()).toEqual([...entries].sort());
});

test('a file that has grown to twice what is kept is cut, and what comes meanwhile stays', async (t) => {
  const path = join(directory(t), 'history');
  writeFileSync(path, Array.from({ length: 21 }, (_, index) => `"${index}"\n`).join(''));
  const others = Array.from({ length: 5 }, (_, index) => open(path, 1000).add(`new ${index}`));
  const [kept] = await Promise.all([open(path, 10).load(), open(path, 10).load(), ...others]);
  expect(kept?.length).toBe(10);
  const lines = linesOf(path);
  for (let index = 0; index < 5; index += 1) expect(lines).toContain(`"new ${index}"`);
  expect(lines.length).toBeLessThanOrEqual(20);
  expect(readdirSync(join(path, '..'))).toEqual(['history']);
});

test('a line that a crash cut off harms no other', async (t) => {
  const path = join(directory(t), 'history');
  writeFileSync(path, '"one"\n"tw');
  await open(path).add('three');
  expect(await open(path).load()).toEqual(['one', 'three']);
});

test('without a place to keep it, it is kept for this chat', async (t) => {
  const path = join(directory(t), 'history');
  mkdirSync(path);
  const history = open(path);
  await history.add('one');
  expect(await history.load()).toEqual(['one']);
});

test('lines that are none of ours are left out', async (t) => {
  const path = join(directory(t), 'history');
  writeFileSync(path, 'plain\n{"a":1}\n7\n\n"mine"\n');
  expect(await open(path).load()).toEqual(['mine']);
});
