import { expect, test } from 'vitest';
import { missingProofs, proofRows, proofsIn } from './support/proofs.ts';

const rows = proofRows('docs/security.md', /T\d+/);

test('all 82 threats are in the table, once, each with a test that proves what is said', () => {
  expect(rows.map(({ id }) => id)).toEqual(Array.from({ length: 82 }, (_, index) => `T${index + 1}`));
  expect(rows.filter(({ cells }) => cells.length !== 3 || proofsIn(cells[2] ?? '').length === 0)).toEqual([]);
});

test('every test that is named exists under that name', () => {
  expect(missingProofs(rows)).toEqual([]);
});
