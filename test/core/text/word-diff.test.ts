import fc from 'fast-check';
import { expect, test } from 'vitest';
import { findChangedWords } from '../../../src/core/text/word-diff.ts';

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
