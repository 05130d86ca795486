import { expect, test } from 'vitest';
import { contains } from '../../../src/core/text/path.ts';

test('a folder contains itself and what lies in it, and nothing that only begins with its name', () => {
  expect(['/a/b', '/a/b/c', '/a/b/..c', '/a/bc', '/a', '/'].map((path) => contains('/a/b', path))).toEqual([
    true,
    true,
    true,
    false,
    false,
    false,
  ]);
});

test('a directory that is not known lies in none, wherever the program runs', () => {
  expect(['', '.', 'src'].map((path) => contains(process.cwd(), path))).toEqual([false, false, false]);
});
