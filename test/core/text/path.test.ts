import { sep } from 'node:path';
import { expect, test } from 'vitest';
import { contains, shortenPath, toSlashes } from '../../../src/core/text/path.ts';

test('a folder contains itself and everything in it, but not a path that only begins with its name', () => {
  expect(['/a/b', '/a/b/c', '/a/b/..c', '/a/bc', '/a', '/'].map((path) => contains('/a/b', path))).toEqual([
    true,
    true,
    true,
    false,
    false,
    false,
  ]);
});

test('an unknown directory is in no folder, wherever the program runs', () => {
  expect(['', '.', 'src'].map((path) => contains(process.cwd(), path))).toEqual([false, false, false]);
});

test('a path in the home directory is shown from there, and no other', () => {
  expect(shortenPath('/home/me/a/b', '/home/me')).toBe('~/a/b');
  expect(shortenPath('/home/me/a/b', '/home/me/')).toBe('~/a/b');
  expect(shortenPath('/home/me', '/home/me')).toBe('~');
  for (const home of ['/home/you', '/home/m', '', undefined])
    expect(shortenPath('/home/me/a', home)).toBe('/home/me/a');
});

test('only the separator of the system becomes a slash', () => {
  expect(toSlashes(['a', 'b', 'c'].join(sep))).toBe('a/b/c');
  expect(toSlashes('a\\b')).toBe(sep === '/' ? 'a\\b' : 'a/b');
});
