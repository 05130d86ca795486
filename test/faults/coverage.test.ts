import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { IDS, MATRIX } from './matrix.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

test('every fault of the table is in the matrix exactly once', () => {
  expect(IDS).toHaveLength(189);
  expect(MATRIX.map(({ id }) => id).sort()).toEqual([...IDS].sort());
});

test('every fault has a variant, or a test elsewhere that proves it', () => {
  const unproved = MATRIX.filter(({ variants, seenBy }) => variants.length + seenBy.length === 0);
  expect(unproved.map(({ id }) => id)).toEqual([]);
});

test('every test that a fault refers to exists under that name', () => {
  const missing = MATRIX.flatMap(({ id, seenBy }) => seenBy.map(([file, name]) => ({ id, file, name }))).filter(
    ({ file, name }) => {
      const source = existsSync(`${ROOT}${file}`) ? readFileSync(`${ROOT}${file}`, 'utf8') : '';
      return !["'", '"', '`'].some((quote) => source.includes(`${quote}${name}${quote}`));
    },
  );
  expect(missing).toEqual([]);
});

test('no two variants of a fault have the same name', () => {
  const twice = MATRIX.filter(({ variants }) => new Set(variants.map(({ name }) => name)).size < variants.length);
  expect(twice.map(({ id }) => id)).toEqual([]);
});
