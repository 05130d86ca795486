import { spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, type TestContext, test } from 'vitest';
import { createStubs, type Stubs } from '../../../src/platform/sandbox/stubs.ts';
import { posixTest } from '../../support/posix.ts';

function placeWithRoots(t: Pick<TestContext, 'onTestFinished'>) {
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'gmn-stubs-')));
  t.onTestFinished(() => rmSync(top, { recursive: true }));
  const [root, records] = [join(top, 'w'), join(top, 'records')];
  mkdirSync(root);
  const paths = ['.vscode', '.git'].map((name) => join(root, name));
  return { root, records, paths, open: () => createStubs(records, [root]) };
}

test('names are kept for as long as somebody holds them, and nothing is left then', (t) => {
  const { root, records, paths, open } = placeWithRoots(t);
  const [one, other] = [open(), open()];
  const releases = [one.hold(() => paths), one.hold(() => paths), other.hold(() => paths)];
  expect(readdirSync(root).sort()).toEqual(['.git', '.vscode']);
  for (const release of releases) {
    expect([...new Set(other.list())].sort()).toEqual([...paths].sort());
    release();
    release();
  }
  expect([readdirSync(root), readdirSync(records), one.list(), one.isHeld()]).toEqual([[], [], [], false]);
});

test('what somebody has put there stays, and what was there before is not touched', (t) => {
  const { root, records, paths, open } = placeWithRoots(t);
  mkdirSync(join(root, '.git'));
  const stubs = open();
  stubs.hold(() => paths);
  expect(stubs.list()).toEqual([join(root, '.vscode')]);
  writeFileSync(join(root, '.vscode/settings.json'), '{}');
  expect(stubs.list()).toEqual([]);
  stubs.close();
  expect([readdirSync(root).sort(), readdirSync(records)]).toEqual([['.git', '.vscode'], []]);
});

test('what a killed process left is removed by the next one, unless a third needs it', async (t) => {
  const { root, records, paths, open } = placeWithRoots(t);
  const child = spawn(process.execPath, ['-e', '']);
  await new Promise((resolve) => child.once('exit', resolve));
  const third = open();
  const release = third.hold(() => []);
  for (const path of paths) mkdirSync(path);
  const owner = { pid: child.pid, host: hostname(), began: '1' };
  const write = (name: string, text: string): void => writeFileSync(join(records, name), text);
  write('dead.json', JSON.stringify({ owner, isHeld: true, roots: [root], made: paths }));
  write('cut.json', '{"owner":');
  const elsewhere = createStubs(records, [join(root, '..', 'other')]);
  elsewhere.hold(() => [])();
  expect(readdirSync(root).sort()).toEqual(['.git', '.vscode']);
  release();
  expect([readdirSync(root), readdirSync(records)]).toEqual([[], ['cut.json']]);
});

/** Another process, which began to remove names before anybody said that they are needed. */
const SWEEPER = `
const { readdirSync, rmdirSync, unlinkSync } = require('node:fs');
const [, records, ...paths] = process.argv;
while (!readdirSync(records).some((name) => name.endsWith('.json'))) ;
for (const path of paths) rmdirSync(path);
unlinkSync(records + '/other.sweep');
`;

test('who takes hold waits for another process that is removing the same names, and makes them anew', async (t) => {
  const { records, paths, open } = placeWithRoots(t);
  mkdirSync(records);
  for (const path of paths) mkdirSync(path);
  const child = spawn(process.execPath, ['-e', SWEEPER, records, ...paths]);
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const began = process.platform === 'linux' ? readFileSync(`/proc/${child.pid}/stat`, 'latin1').split(' ')[21] : '';
  writeFileSync(join(records, 'other.sweep'), JSON.stringify({ pid: child.pid, host: hostname(), began }));
  open().hold(() => paths);
  expect(await ended).toBe(0);
  expect(paths.map((path) => existsSync(path))).toEqual([true, true]);
});

test('nobody waits for a process that ended while it removed names', async (t) => {
  const { records, paths, open } = placeWithRoots(t);
  const child = spawn(process.execPath, ['-e', '']);
  await new Promise((resolve) => child.once('exit', resolve));
  mkdirSync(records);
  writeFileSync(join(records, 'dead.sweep'), JSON.stringify({ pid: child.pid, host: hostname(), began: '1' }));
  open().hold(() => paths)();
  expect(readdirSync(records)).toEqual([]);
});

posixTest('what cannot be removed is known until it can', (t) => {
  if (process.getuid?.() === 0) t.skip('root may write everywhere');
  const { root, records, paths, open } = placeWithRoots(t);
  const stubs = open();
  const release = stubs.hold(() => paths);
  chmodSync(root, 0o500);
  release();
  expect([...stubs.list()].sort()).toEqual([...paths].sort());
  chmodSync(root, 0o700);
  open().hold(() => [])();
  expect([readdirSync(root), readdirSync(records)]).toEqual([[], []]);
});

test('where nothing can be written down, nothing is made', (t) => {
  const { root, records, paths } = placeWithRoots(t);
  writeFileSync(records, '');
  const stubs = createStubs(records, [root]);
  stubs.hold(() => paths)();
  expect([readdirSync(root), stubs.list()]).toEqual([[], []]);
});

test('in any order of holding and letting go, a held name is there, and in the end none', () => {
  const step = fc.record({ who: fc.nat(2), takes: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      const cleanups: (() => void)[] = [];
      const { root, records, paths, open } = placeWithRoots({
        onTestFinished: (work) => void cleanups.push(work as () => void),
      });
      const users = [0, 1, 2].map(() => ({ stubs: open() as Stubs, releases: [] as (() => void)[] }));
      for (const { who, takes } of steps) {
        const { stubs, releases } = users[who]!;
        if (takes) releases.push(stubs.hold(() => paths));
        else releases.pop()?.();
        const isHeld = users.some((user) => user.releases.length > 0);
        expect(paths.map((path) => existsSync(path))).toEqual(paths.map(() => isHeld));
      }
      for (const { stubs } of users) stubs.close();
      expect([readdirSync(root), existsSync(records) ? readdirSync(records) : []]).toEqual([[], []]);
      for (const work of cleanups) work();
    }),
    { numRuns: 40 },
  );
});
