import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import { findPaths } from '../../src/input/path-search.ts';

function tree(t: TestContext, files: readonly string[]): string {
  const root = mkdtempSync(join(tmpdir(), 'gmn-paths-'));
  t.onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const file of files) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), file === '.gitignore' ? 'dist\n*.log\n' : 'x');
  }
  return root;
}

function found(cwd: string, typed: string, most = 20): Promise<readonly string[]> {
  return findPaths(typed, { cwd, most, signal: new AbortController().signal });
}

test('what begins so comes first, then names that do, then paths that have it in them, then its letters in order', async (t) => {
  const cwd = tree(t, ['src/main.ts', 'src/other/main.ts', 'main.md', 'docs/domain.md', 'm/a/i/n.txt', 'zzz.txt']);
  expect(await found(cwd, 'main')).toEqual([
    'main.md',
    'src/main.ts',
    'src/other/main.ts',
    'docs/domain.md',
    'm/a/i/n.txt',
  ]);
  expect(await found(cwd, 'src/')).toEqual(['src/', 'src/other/', 'src/main.ts', 'src/other/main.ts']);
});

test('what is ignored, secret or a link is left out; a space needs quotes', async (t) => {
  const cwd = tree(t, ['.gitignore', 'dist/a.txt', 'b.log', '.env', 'a b.txt', '.git/config', 'a.txt']);
  symlinkSync('a.txt', join(cwd, 'alias.txt'));
  expect(await found(cwd, '')).toEqual(['a.txt', '"a b.txt"', '.gitignore']);
  expect(await found(cwd, '', 1)).toEqual(['a.txt']);
});

test('a directory with very much in it is looked at no further than a person waits', async (t) => {
  const cwd = tree(t, ['near.txt']);
  mkdirSync(join(cwd, 'z'));
  for (let index = 0; index < 10_100; index += 1) writeFileSync(join(cwd, 'z', `f${index}`), '');
  expect(await found(cwd, 'near')).toEqual(['near.txt']);
});
