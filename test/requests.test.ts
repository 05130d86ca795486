import { expect, test } from 'vitest';
import { missingProofs, proofRows, proofsIn } from './support/proofs.ts';

const rows = proofRows('docs/dev/requests.md', /\d+/);

test('all 38 requests are answered, once, as done or not, each with a test', () => {
  expect(rows.map(({ id }) => id)).toEqual(Array.from({ length: 38 }, (_, index) => String(index + 1)));
  expect(rows.filter(({ cells }) => !/\*\*(?:done|in part|not)\*\*/i.test(cells[1] ?? ''))).toEqual([]);
  expect(rows.filter(({ cells }) => cells.length !== 3 || proofsIn(cells[2] ?? '').length === 0)).toEqual([]);
});

test('every test that is named exists under that name', () => {
  expect(missingProofs(rows)).toEqual([]);
});
