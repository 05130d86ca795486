import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createPathSearch } from '../../src/input/path-search.ts';
import { temporary } from '../support/temporary.ts';

function tree(...files: readonly string[]): string {
  return temporary(Object.fromEntries(files.map((file) => [file, file === '.gitignore' ? 'dist\n*.log\n' : 'x'])));
}

function found(cwd: string, typed: string, most = 20, maxEntries?: number): Promise<readonly string[]> {
  return createPathSearch(maxEntries)(typed, { cwd, most });
}

test('what begins so comes first, then names that do, then paths that have it in them, then its letters in order', async () => {
  const cwd = tree('src/main.ts', 'src/other/main.ts', 'main.md', 'docs/domain.md', 'm/a/i/n.txt', 'zzz.txt');
  expect(await found(cwd, 'main')).toEqual([
    'main.md',
    'src/main.ts',
    'src/other/main.ts',
    'docs/domain.md',
    'm/a/i/n.txt',
  ]);
  expect(await found(cwd, 'src/')).toEqual(['src/other/', 'src/main.ts', 'src/other/main.ts']);
});

test('what is ignored, secret or a link is left out; a space needs quotes', async () => {
  const cwd = tree('.gitignore', 'dist/a.txt', 'b.log', '.env', 'a b.txt', '.git/config', 'a.txt');
  symlinkSync('a.txt', join(cwd, 'alias.txt'));
  expect(await found(cwd, '')).toEqual(['a.txt', '"a b.txt"', '.gitignore']);
  expect(await found(cwd, '', 1)).toEqual(['a.txt']);
});

test('a directory that was typed is looked into, whatever else there is; none outside, ignored or secret', async () => {
  const cwd = tree('a/f.txt', 'z/deep/wanted.txt', '.gitignore', 'dist/a.txt', '.ssh/id_rsa', '.git/config');
  for (let index = 0; index < 60; index += 1) writeFileSync(join(cwd, 'a', `f${index}`), '');
  symlinkSync('z', join(cwd, 'link'));
  expect(await found(cwd, 'wanted', 20, 50)).toEqual([]);
  expect(await found(cwd, 'z/deep/', 20, 50)).toEqual(['z/deep/wanted.txt']);
  expect(await found(cwd, 'z/deep/wan', 20, 50)).toEqual(['z/deep/wanted.txt']);
  const outside = ['../', '/', './', 'link/', 'dist/', '.ssh/', '.git/', 'a/../z/deep/'];
  expect((await Promise.all(outside.map((typed) => found(cwd, typed, 20, 50)))).flat()).toEqual(
    expect.not.arrayContaining([expect.stringMatching(/wanted|dist|ssh|config/)]),
  );
});

test('letters that follow are found in the same walk; a word that begins again sees new files', async () => {
  const cwd = tree('near.txt');
  const search = createPathSearch();
  const query = { cwd, most: 20 };
  expect(await search('', query)).toEqual(['near.txt']);
  writeFileSync(join(cwd, 'next.txt'), '');
  expect(await search('n', query)).toEqual(['near.txt']);
  expect(await search('', query)).toEqual(['near.txt', 'next.txt']);
});
