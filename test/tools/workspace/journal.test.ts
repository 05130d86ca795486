import { appendFileSync, chmodSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AppError } from '../../../src/core/error.ts';
import type { Clock } from '../../../src/core/io.ts';
import { sha256 } from '../../../src/platform/runtime/native.ts';
import { undoAll, undoStore } from '../../../src/tools/workspace/journal.ts';
import { isLong } from '../../support/fuzz.ts';
import { systemMode } from '../../support/posix.ts';
import { codePoint } from '../../support/properties.ts';
import { placeAt, put, snapshot, temporary } from '../place.ts';

const CLOCK: Clock = { now: () => 1_000, sleep: async () => {} };

/** Two hundred in a long run: see test/support/fuzz.ts. */
const COUNT = isLong ? 200 : 40;

test('random changes are undone to the byte and the mode', async () => {
  const root = temporary();
  const store = undoStore(join(temporary(), 'undo'), CLOCK);
  const here = await placeAt(root, { journal: store.createJournal('run') });
  const text = fc.string({ unit: codePoint, maxLength: 200 });
  const states = fc.sample(fc.tuple(fc.nat(19), text, fc.constantFrom(0o644, 0o600, 0o755)), COUNT);
  for (const [index, content, mode] of states.slice(0, 20)) {
    put(root, { [`f${index}`]: content });
    chmodSync(join(root, `f${index}`), mode);
  }
  const before = snapshot(root);
  let changes = 0;
  for (const [index, content] of states) {
    await here.call('read_file', { path: `f${index}` });
    const { ok } = await here.call('write_file', { path: `f${index}`, content: `${content}!` });
    if (ok) changes += 1;
  }
  expect(changes).toBeGreaterThan(0.75 * COUNT);
  expect((await store.listChanges()).length).toBe(changes);
  for (const change of (await store.listChanges()).toReversed()) await store.undo([change], here.workspace);
  expect(snapshot(root)).toEqual(before);
  expect(await store.listChanges()).toEqual([]);
}, 60_000);

test('a change is not undone over a later one', async () => {
  const root = temporary({ 'a.txt': 'one\n' });
  const store = undoStore(join(temporary(), 'undo'), CLOCK);
  const here = await placeAt(root, { journal: store.createJournal('run') });
  await here.output('read_file', { path: 'a.txt' });
  await here.output('write_file', { path: 'a.txt', content: 'two\n' });
  await here.output('write_file', { path: 'b.txt', content: 'new\n' });
  const [first, second] = await store.listChanges();
  writeFileSync(join(root, 'a.txt'), 'by hand\n');
  await expect(store.undo([first!], here.workspace)).rejects.toThrow('was changed since');
  expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('by hand\n');
  await store.undo([second!], here.workspace);
  expect(readdirSync(root)).toEqual(['a.txt']);
  expect((await store.listChanges()).map(({ id }) => id)).toEqual(['run.1']);
});

test('a file removed after a change is restored as it was before the change', async () => {
  const root = temporary({ 'sub/a.txt': 'one\n' });
  chmodSync(join(root, 'sub/a.txt'), 0o640);
  const before = snapshot(root);
  const store = undoStore(join(temporary(), 'undo'), CLOCK);
  const here = await placeAt(root, { journal: store.createJournal('run') });
  await here.output('read_file', { path: 'sub/a.txt' });
  await here.output('write_file', { path: 'sub/a.txt', content: 'two\n' });
  rmSync(join(root, 'sub'), { recursive: true });
  const [change] = await store.listChanges();
  expect(await store.undo([change!], here.workspace)).toBe('restored');
  expect(snapshot(root)).toEqual(before);
});

test('the store is for the user’s eyes only, and a torn line costs nothing but itself', async () => {
  const root = temporary({ 'a.txt': 'one\n' });
  const directory = join(temporary(), 'undo');
  const store = undoStore(directory, CLOCK);
  const here = await placeAt(root, { journal: store.createJournal('run') });
  expect(await store.listChanges()).toEqual([]);
  await here.output('read_file', { path: 'a.txt' });
  await here.output('write_file', { path: 'a.txt', content: 'two\n' });
  appendFileSync(join(directory, 'changes.jsonl'), '{"v":1,"id":"torn');
  await here.output('write_file', { path: 'a.txt', content: 'three\n' });
  appendFileSync(join(directory, 'changes.jsonl'), '{"v":1,"id":"x","before":"../../etc","after":"y"}\n[]\n{"v":2}\n');
  const changes = await store.listChanges();
  expect(changes.map(({ id, run, time, path }) => ({ id, run, time, path }))).toEqual([
    { id: 'run.1', run: 'run', time: 1000, path: join(root, 'a.txt') },
    { id: 'run.2', run: 'run', time: 1000, path: join(root, 'a.txt') },
  ]);
  for (const name of ['changes.jsonl', ...readdirSync(join(directory, 'blobs')).map((blob) => `blobs/${blob}`)]) {
    expect(statSync(join(directory, name)).mode & 0o777).toBe(systemMode(0o600));
  }
  expect(statSync(directory).mode & 0o777).toBe(systemMode(0o700));
  for (const blob of readdirSync(join(directory, 'blobs'))) writeFileSync(join(directory, 'blobs', blob), 'damaged');
  await expect(store.undo([changes[1]!], here.workspace)).rejects.toThrow('no longer stored');
});

test('a line that gmn could not have written is no change, and none is undone outside of the workspace', async () => {
  const root = temporary({ 'a.txt': 'now\n', 'sub/b.txt': '' });
  const others = temporary({ 'mine.txt': 'now\n', 'dir/file': '' });
  const directory = join(temporary({ 'undo/blobs/a': '' }), 'undo');
  const store = undoStore(directory, CLOCK);
  const before = snapshot(others);
  const [old = '', now = ''] = ['old\n', 'now\n'].map((text) => sha256(Buffer.from(text)));
  writeFileSync(join(directory, 'blobs', old), 'old\n');
  const whole = {
    run: 'r',
    roots: [root],
    time: 5,
    path: join(root, 'a.txt'),
    mode: 0o644,
    missing: 0,
    before: old,
    after: now,
  };
  const paths = [...['mine.txt', 'dir/file', 'dir/new'].map((name) => join(others, name)), join(root, '.git/config')];
  const bent = ['a.txt', '../mine.txt', `${root}/sub/../../x`, `${root}/a\0`, '', '/', '../../etc/passwd'];
  // As text: JavaScript has no value that is written as 1e999.
  const values = [
    ...[...paths, ...bent].map((path) => JSON.stringify(path)),
    '-1',
    '1.5',
    '1e999',
    '2541',
    'null',
    '[]',
    '["x"]',
  ];
  const lines = Object.keys(whole).flatMap((field) =>
    values.map((value, index) => {
      const fields = Object.entries({ v: 1, id: `${field}.${index}`, ...whole });
      return `{${fields.map(([name, item]) => `"${name}":${name === field ? value : JSON.stringify(item)}`).join(',')}}`;
    }),
  );
  writeFileSync(join(directory, 'changes.jsonl'), lines.map((line) => `${line}\n`).join(''));
  const changes = await store.listChanges();
  for (const { path, mode, missing, time, roots } of changes) {
    expect([path, ...roots].map((name) => name === resolve(name))).not.toContain(false);
    expect([mode, missing, time].every((count) => Number.isSafeInteger(count) && count >= 0)).toBe(true);
    expect(mode).toBeLessThan(0o2000);
  }
  expect(await store.findDamage()).toBeInstanceOf(AppError);
  const { workspace } = await placeAt(root, { journal: store.createJournal('run') });
  const results = await undoAll(changes, store, workspace);
  expect(results.filter((result) => 'outcome' in result).map(({ path }) => path)).toEqual([join(root, 'a.txt')]);
  expect(results.map((result) => ('problem' in result ? result.problem.fault : 'usage'))).not.toContain('internal');
  expect([snapshot(others), readFileSync(join(root, 'a.txt'), 'utf8')]).toEqual([before, 'old\n']);
});

test('where the journal cannot be written, nothing is changed', async () => {
  const root = temporary({ 'a.txt': 'one\n' });
  const blocked = temporary({ undo: 'a file in the way' });
  const here = await placeAt(root, { journal: undoStore(join(blocked, 'undo'), CLOCK).createJournal('run') });
  await here.output('read_file', { path: 'a.txt' });
  const before = snapshot(root);
  expect(await here.error('write_file', { path: 'a.txt', content: 'two\n' })).toContain('cannot create');
  expect(await here.error('write_file', { path: 'b.txt', content: 'two\n' })).toContain('cannot use the undo journal');
  expect(snapshot(root)).toEqual(before);
});

test('a change that did not happen blocks no undo', async () => {
  const root = temporary({ 'a.txt': 'one\n' });
  const store = undoStore(join(temporary(), 'undo'), CLOCK);
  const journal = store.createJournal('run');
  const here = await placeAt(root, { journal });
  await here.output('read_file', { path: 'a.txt' });
  await here.output('write_file', { path: 'a.txt', content: 'two\n' });
  const bytes = (text: string) => new TextEncoder().encode(text);
  await journal.record(join(root, 'a.txt'), bytes('two\n'), 0o644, bytes('three\n'), 0);
  await journal.record(join(root, 'new.txt'), undefined, 0, bytes('new\n'), 1);
  const [first, second, third] = await store.listChanges();
  expect(await store.undo([third!], here.workspace)).toBe('unchanged');
  expect(await store.undo([first!, second!], here.workspace)).toBe('restored');
  expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('one\n');
  expect(await store.listChanges()).toEqual([]);
});

test('directories made for a file go with it, unless something else is in them', async () => {
  const root = temporary();
  const store = undoStore(join(temporary(), 'undo'), CLOCK);
  const here = await placeAt(root, { journal: store.createJournal('run') });
  await here.output('write_file', { path: 'a/b/c.txt', content: 'c\n' });
  await here.output('write_file', { path: 'd/e/f.txt', content: 'f\n' });
  writeFileSync(join(root, 'd', 'mine.txt'), 'mine');
  const [first, second] = await store.listChanges();
  await store.undo([second!], here.workspace);
  await store.undo([first!], here.workspace);
  expect(Object.keys(snapshot(root))).toEqual(['', '/d', '/d/mine.txt']);
});
