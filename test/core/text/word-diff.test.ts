import fc from 'fast-check';
import { expect, test } from 'vitest';
import { findChangedWords, pairLines } from '../../../src/core/text/word-diff.ts';

const mark = (line: string, other: string): string | undefined =>
  findChangedWords(line, other)
    ?.map(({ text, isChanged }) => (isChanged ? `[${text}]` : text))
    .join('');

test.each([
  ['let port = 80;', 'let port = 8080;', 'let port = [80];'],
  ['the quick brown fox', 'the slow red fox', 'the [quick brown] fox'],
  ['model: gemini-2.5-flash', 'model: gemini-3.5-pro', 'model: [gemini-2.5-flash]'],
  ['price is 1.25 dollars', 'price is 1.50 dollars', 'price is [1.25] dollars'],
  ["don't stop", "can't stop", "[don't] stop"],
  ['if (x >= 10) {', 'if (x > 10) {', 'if (x [>=] 10) {'],
  ['return sum(a, b);', 'return a + b;', 'return [sum(]a[,] b[)];'],
  ['items.length', 'items.filter(Boolean).length', 'items.length'],
  ['    const a = 1;', '  const a = 1;', '[    ]const a = 1;'],
  ['    const a = 1;', '  const b = 1;', '    const [a] = 1;'],
  ['日本語の長い文章です', '日本語の短い文章です', '日本語の[長]い文章です'],
  ['nothing alike here', 'entirely other words', undefined],
] as const)('of %j, beside %j, the words that changed are marked', (line, other, marked) => {
  expect(mark(line, other)).toBe(marked);
});

test.each([
  [['-a b'], ['+x y'], ['+x y', '-a b']],
  [['-let a = 1;'], ['+// one', '+let b = 1;'], ['+let b = 1;', undefined, '-let a = 1;']],
  [
    ['-let a;', '-gone(1, 2, 3)', '-end b'],
    ['+let c;', '+end d'],
    ['+let c;', undefined, '+end d', '-let a;', '-end b'],
  ],
  [[], ['+new'], [undefined]],
  [['-gone'], [], [undefined]],
] as const)('of a change from %j to %j each line is compared with what it became', (removed, added, others) => {
  expect(pairLines(removed, added)).toEqual(others);
});

test('very many lines are compared in turn', () => {
  const lines = Array.from({ length: 30 }, (_, index) => `-line ${index}`);
  expect(pairLines(lines, ['+line 7', '+line 8'])).toEqual([
    ...['+line 7', '+line 8'],
    ...Array.from({ length: 28 }, () => undefined),
    ...['-line 0', '-line 1'],
  ]);
});

test('no character is lost, and no mark begins, ends or breaks off inside a word', () => {
  const line = fc.array(fc.constantFrom('one', 'two', 'a-b', '1.5', ' ', '  ', '(', '>=', '日', 'é'), {
    maxLength: 12,
  });
  fc.assert(
    fc.property(line, line, (words, others) => {
      const text = words.join('');
      const runs = findChangedWords(text, others.join(''));
      if (runs === undefined) return;
      expect(runs.map((run) => run.text).join('')).toBe(text);
      for (const [index, { text: run }] of runs.entries()) {
        const next = runs[index + 1]?.text ?? '';
        expect(/[a-z\d]$/.test(run) && /^[a-z\d]/.test(next)).toBe(false);
      }
    }),
  );
});
