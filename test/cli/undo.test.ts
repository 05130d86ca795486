import { spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import { undoStore } from '../../src/tools/workspace/journal.ts';
import { ALL_SHOWN, openWorkspace } from '../../src/tools/workspace/workspace.ts';
import { callGmnIn, place } from '../support/gmn.ts';
import { isWindows, posixTest } from '../support/posix.ts';

const rootTest = test.skipIf(process.getuid?.() !== 0);

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
      const workspace = await openWorkspace({ roots, journal: store.createJournal(run, roots) });
      for (const [name, text] of Object.entries(files)) {
        if (existsSync(path(name))) {
          const bytes = readFileSync(path(name));
          workspace.remember(await workspace.place(path(name), 'read'), bytes, ALL_SHOWN);
        }
        await workspace.write(path(name), new TextEncoder().encode(text));
      }
    },
    undo: async (name: string, ...flags: readonly string[]) => {
      const { exitCode, stdout, stderr } = await callGmnIn(t, { cwd: path(name), env }, ['undo', ...flags]);
      // In JSON a backslash is two.
      const clean = (text: string): string =>
        [JSON.stringify(root).slice(1, -1), root]
          .reduce((cleaned, place) => cleaned.replaceAll(place, ''), text)
          .replaceAll(/\\+(?=[\w.])/g, isWindows ? '/' : '$&');
      return { exitCode, stdout: clean(stdout), stderr: clean(stderr) };
    },
  };
}

test('undo takes back the newest run of this directory, whatever was run elsewhere since', async (t) => {
  const { wrote, undo, path } = scene(t);
  await wrote('1', ['a'], { 'a/1.txt': 'x' });
  await wrote('2', ['b'], { 'b/2.txt': 'x' });
  expect(await undo('a')).toEqual({ exitCode: 0, stdout: 'removed /a/1.txt\n', stderr: '' });
  expect(existsSync(path('b/2.txt'))).toBe(true);
  expect(await undo('a')).toMatchObject({ exitCode: 1, stdout: '' });
});

test('undo reaches the directories that were included, from where the run was made', async (t) => {
  const { wrote, undo, path } = scene(t);
  await wrote('1', ['a', 'b'], { 'a/1.txt': 'x', 'b/new/2.txt': 'x' });
  expect(await undo('a')).toEqual({ exitCode: 0, stdout: 'removed /b/new/2.txt\nremoved /a/1.txt\n', stderr: '' });
  expect(existsSync(path('b/new'))).toBe(false);
});

test('undo from a directory of a larger run takes back what is below it only', async (t) => {
  const { wrote, undo, path } = scene(t);
  await wrote('1', ['a', 'b'], { 'a/1.txt': 'x', 'b/2.txt': 'x' });
  expect(await undo('b')).toEqual({ exitCode: 0, stdout: 'removed /b/2.txt\n', stderr: '' });
  expect(existsSync(path('a/1.txt'))).toBe(true);
});

test('a file changed by hand is named and left alone, the others are put back, and older runs are not blocked', async (t) => {
  const { wrote, undo, path } = scene(t);
  await wrote('1', ['a'], { 'a/0.txt': 'x' });
  await wrote('2', ['a'], { 'a/1.txt': 'x', 'a/2.txt': 'x', 'a/3.txt': 'x' });
  writeFileSync(path('a/2.txt'), 'by hand');
  const first = await undo('a');
  expect(first).toMatchObject({ exitCode: 1, stdout: 'removed /a/3.txt\nremoved /a/1.txt\n' });
  expect(first.stderr).toContain('2.txt was changed since, and was left as it is');
  expect(readFileSync(path('a/2.txt'), 'utf8')).toBe('by hand');
  expect(await undo('a')).toEqual({ exitCode: 0, stdout: 'removed /a/0.txt\n', stderr: '' });
  expect(JSON.parse((await undo('a', '--json')).stdout)).toMatchObject({ undone: [], skipped: ['/a/2.txt'] });
  writeFileSync(path('a/2.txt'), 'x');
  expect(await undo('a')).toEqual({ exitCode: 0, stdout: 'removed /a/2.txt\n', stderr: '' });
});

test.for([
  ['garbage', 'no JSON\n{"v":1,"id":7}\n', '2 lines cannot be read'],
  ['a newer version', '{"v":2,"id":"1.1","path":"/a"}\n', '1 line cannot be read'],
] as const)('where the journal is %s, undo does not say that there is nothing to undo', async ([, text, words], t) => {
  const { wrote, undo, path } = scene(t);
  await wrote('1', ['a'], { 'a/1.txt': 'x' });
  const journal = path('home/.gmn/undo/changes.jsonl');
  const lines = readFileSync(journal, 'utf8');
  writeFileSync(journal, text);
  expect(await undo('a')).toMatchObject({ exitCode: 4, stdout: '', stderr: expect.stringContaining(words) });
  expect((await undo('a')).stderr).toContain('the undo journal /home/.gmn/undo/changes.jsonl is damaged');
  // What can be read is taken back all the same.
  writeFileSync(journal, `${text}${lines}`);
  expect(await undo('a')).toEqual({ exitCode: 0, stdout: 'removed /a/1.txt\n', stderr: '' });
});

posixTest('a journal that is no file is named', async (t) => {
  const { undo, path } = scene(t);
  mkdirSync(path('home/.gmn/undo'), { recursive: true });
  mkdirSync(path('a'));
  spawnSync('mkfifo', [path('home/.gmn/undo/changes.jsonl')]);
  expect(await undo('a')).toMatchObject({ exitCode: 4, stderr: expect.stringContaining('is not a regular file') });
});

rootTest('undo leaves a file to its owner and group', async (t) => {
  const { wrote, undo, path } = scene(t);
  mkdirSync(path('a'));
  writeFileSync(path('a/1.txt'), 'old');
  chownSync(path('a/1.txt'), 1234, 5678);
  await wrote('1', ['a'], { 'a/1.txt': 'new' });
  expect(statSync(path('a/1.txt'))).toMatchObject({ uid: 1234, gid: 5678 });
  expect(await undo('a')).toMatchObject({ exitCode: 0, stdout: 'restored /a/1.txt\n' });
  expect(readFileSync(path('a/1.txt'), 'utf8')).toBe('old');
  expect(statSync(path('a/1.txt'))).toMatchObject({ uid: 1234, gid: 5678 });
});
