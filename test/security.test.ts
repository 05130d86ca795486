import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const read = (path: string): string => readFileSync(`${ROOT}/${path}`, 'utf8');

/** The rows of the tables of docs/security.md. */
const rows = [...read('docs/security.md').matchAll(/^\| (T\d+) \|(.*)\|$/gm)].map(([, id = '', rest = '']) => ({
  id,
  cells: rest.split(' | '),
}));

/** The tests that a cell names, as `file`: "name", "name". */
function proofsIn(cell: string): readonly (readonly [file: string, name: string])[] {
  return [...cell.matchAll(/`(test\/[^`]+)`: ((?:"(?:\\.|[^"\\])*"(?:, )?)+)/g)].flatMap(([, file = '', names = '']) =>
    [...names.matchAll(/"(?:\\.|[^"\\])*"/g)].map(([quoted]) => [file, JSON.parse(quoted)] as const),
  );
}

test('all 52 threats are in the table, once, each with a test that proves what is said', () => {
  expect(rows.map(({ id }) => id)).toEqual(Array.from({ length: 52 }, (_, index) => `T${index + 1}`));
  expect(rows.filter(({ cells }) => cells.length !== 3 || proofsIn(cells[2] ?? '').length === 0)).toEqual([]);
});

test('every test that is named exists under that name', () => {
  const missing = rows
    .flatMap(({ id, cells }) => proofsIn(cells[2] ?? '').map(([file, name]) => ({ id, file, name })))
    .filter(({ file, name }) => {
      const source = existsSync(`${ROOT}/${file}`) ? read(file) : '';
      return !["'", '"', '`'].some((quote) => source.includes(`${quote}${name}${quote}`));
    });
  expect(missing).toEqual([]);
});
