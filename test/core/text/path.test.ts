import { expect, test } from 'vitest';
import { contains } from '../../../src/core/text/path.ts';

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
