import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { writeAtomicSync } from '../../../src/platform/files/write-sync.ts';
import { isWindows } from '../../support/posix.ts';
import { temporary } from '../../support/temporary.ts';

/** Looks at a directory again and again, and says how many sizes other than the whole one were seen. */
const WATCH = `
const { readdirSync, statSync } = require('node:fs');
const { workerData: { path, whole, flags } } = require('node:worker_threads');
const seen = new Int32Array(flags);
Atomics.store(seen, 1, 1);
Atomics.notify(seen, 1);
while (Atomics.load(seen, 0) === 0) {
  for (const name of readdirSync(path)) {
    if (name.endsWith('.jsonl') && statSync(path + '/' + name).size !== whole) Atomics.add(seen, 2, 1);
  }
}
`;

test('whoever looks sees the whole file, or none', async () => {
  const path = temporary();
  const text = 'x'.repeat(10_000_000);
  const flags = new SharedArrayBuffer(12);
  const seen = new Int32Array(flags);
  const watcher = new Worker(WATCH, { eval: true, workerData: { path, whole: text.length, flags } });
  Atomics.wait(seen, 1, 0);
  for (let index = 0; index < 8; index += 1) writeAtomicSync(join(path, `${index}.jsonl`), text);
  Atomics.store(seen, 0, 1);
  await watcher.terminate();
  expect([Atomics.load(seen, 2), readdirSync(path).length]).toEqual([0, 8]);
});

test('the directory is made, and nobody else can read either', () => {
  const path = join(temporary(), 'a', 'b', 'file');
  writeAtomicSync(path, 'text');
  expect(readFileSync(path, 'utf8')).toBe('text');
  if (!isWindows) expect([path, join(path, '..')].map((at) => statSync(at).mode & 0o777)).toEqual([0o600, 0o700]);
});

test('a file that cannot get its name leaves nothing behind', () => {
  const path = temporary();
  writeAtomicSync(join(path, 'taken', 'file'), 'in the way');
  expect(() => writeAtomicSync(join(path, 'taken'), 'text')).toThrow();
  expect(readdirSync(path)).toEqual(['taken']);
});
