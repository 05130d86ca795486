import { chownSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isRecent, readCache, writeCache } from '../../../src/platform/files/small-file.ts';
import { systemMode } from '../../support/posix.ts';
import { temporary } from '../../support/temporary.ts';

const asIs = (value: unknown): unknown => value;

test('what is written is read back, and is for our eyes only', async () => {
  const file = join(temporary(), 'home', 'memo.json');
  await writeCache(file, { a: [1] });
  expect(readCache(file, asIs)).toEqual({ a: [1] });
  expect(statSync(file).mode & 0o777).toBe(systemMode(0o600));
  expect(statSync(join(file, '..')).mode & 0o777).toBe(systemMode(0o700));
  expect(readFileSync(file, 'utf8')).toBe('{\n  "a": [\n    1\n  ]\n}\n');
});

test('no file, no JSON, a directory or a parser that throws gives no cache', () => {
  const root = temporary();
  writeFileSync(join(root, 'broken'), '{');
  mkdirSync(join(root, 'directory'));
  writeFileSync(join(root, 'good'), '{}');
  expect(['absent', 'broken', 'directory', 'good/below'].map((name) => readCache(join(root, name), asIs))).toEqual(
    Array(4).fill(undefined),
  );
  const thrower = (): never => {
    throw new Error('no');
  };
  expect(readCache(join(root, 'good'), thrower)).toBeUndefined();
});

test('the cache of another user is not used', (t) => {
  if (process.getuid?.() !== 0) return t.skip();
  const file = join(temporary(), 'memo');
  writeFileSync(file, '{}');
  expect(readCache(file, asIs)).toEqual({});
  chownSync(file, 12345, 12345);
  expect(readCache(file, asIs)).toBeUndefined();
});

test('where nothing can be written, nothing happens', async () => {
  const root = temporary();
  writeFileSync(join(root, 'file'), '');
  await expect(writeCache(join(root, 'file', 'memo.json'), {})).resolves.toBeUndefined();
});

test('a cache is valid from its time on, for its time span', () => {
  expect([99, 100, 109, 110].map((now) => isRecent(100, now, 10))).toEqual([false, true, true, false]);
});
