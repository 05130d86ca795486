import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import { undoStore } from '../../src/tools/journal.ts';
import { openWorkspace } from '../../src/tools/workspace.ts';
import { gmnCommand, place } from '../support/gmn.ts';

/** Runs that wrote files, by name below one directory, and gmn undo anywhere in it. */
function scene(t: TestContext) {
  const { root: spelled, home, env } = place(t);
  const root = realpathSync(spelled);
  const store = undoStore(join(home, '.gmn', 'undo'), { now: () => 1, sleep: async () => {} });
  const path = (name: string): string => join(root, name);
  return {
    path,
    wrote: async (run: string, names: readonly string[], files: Readonly<Record<string, string>>) => {
      const roots = names.map(path);
      for (const name of roots) mkdirSync(name, { recursive: true });
      const workspace = await openWorkspace({ roots, journal: store.journal(run, roots) });
      for (const [name, text] of Object.entries(files))
        await workspace.write(path(name), new TextEncoder().encode(text));
    },
    undo: (name: string, ...flags: readonly string[]) => {
      const { status, stdout, stderr } = spawnSync(...gmnCommand(['undo', ...flags]), {
        ...{ cwd: path(name), env, encoding: 'utf8' },
      });
      return { status, stdout: stdout.replaceAll(root, ''), stderr: stderr.replaceAll(root, '') };
    },
  };
}

test('undo takes back the newest run of this directory, whatever was run elsewhere since', async (t) => {
  const { wrote, undo, path } = scene(t);
  await wrote('1', ['a'], { 'a/1.txt': 'x' });
  await wrote('2', ['b'], { 'b/2.txt': 'x' });
  expect(undo('a')).toEqual({ status: 0, stdout: 'removed /a/1.txt\n', stderr: '' });
  expect(existsSync(path('b/2.txt'))).toBe(true);
  expect(undo('a')).toMatchObject({ status: 1, stdout: '' });
});

test('undo reaches the directories that were included, from where the run was made', async (t) => {
  const { wrote, undo, path } = scene(t);
  await wrote('1', ['a', 'b'], { 'a/1.txt': 'x', 'b/new/2.txt': 'x' });
  expect(undo('a')).toEqual({ status: 0, stdout: 'removed /b/new/2.txt\nremoved /a/1.txt\n', stderr: '' });
  expect(existsSync(path('b/new'))).toBe(false);
});

test('undo from a directory of a larger run takes back what is below it only', async (t) => {
  const { wrote, undo, path } = scene(t);
  await wrote('1', ['a', 'b'], { 'a/1.txt': 'x', 'b/2.txt': 'x' });
  expect(undo('b')).toEqual({ status: 0, stdout: 'removed /b/2.txt\n', stderr: '' });
  expect(existsSync(path('a/1.txt'))).toBe(true);
});

test('a file changed by hand is named and left alone, the others are put back, and older runs are not blocked', async (t) => {
  const { wrote, undo, path } = scene(t);
  await wrote('1', ['a'], { 'a/0.txt': 'x' });
  await wrote('2', ['a'], { 'a/1.txt': 'x', 'a/2.txt': 'x', 'a/3.txt': 'x' });
  writeFileSync(path('a/2.txt'), 'by hand');
  const first = undo('a');
  expect(first).toMatchObject({ status: 1, stdout: 'removed /a/3.txt\nremoved /a/1.txt\n' });
  expect(first.stderr).toContain('2.txt was changed since, and was left as it is');
  expect(readFileSync(path('a/2.txt'), 'utf8')).toBe('by hand');
  expect(undo('a')).toEqual({ status: 0, stdout: 'removed /a/0.txt\n', stderr: '' });
  expect(JSON.parse(undo('a', '--json').stdout)).toMatchObject({ undone: [], skipped: ['/a/2.txt'] });
  writeFileSync(path('a/2.txt'), 'x');
  expect(undo('a')).toEqual({ status: 0, stdout: 'removed /a/2.txt\n', stderr: '' });
});
