import fc from 'fast-check';
import { expect, test } from 'vitest';
import { splitWords } from '../../../src/chat/commands/command.ts';

test('words are kept together by quotes and backslashes', () => {
  expect(splitWords(`a "b c" 'd e' f\\ g "h\\"i" j"k l"m`)).toEqual(['a', 'b c', 'd e', 'f g', 'h"i', 'jk lm']);
  expect(splitWords('  ')).toEqual([]);
});

test('any words, each in quotes, come back as they were', () => {
  const word = fc.string({ minLength: 1 }).filter((text) => !/['\n\r\u2028\u2029]/.test(text));
  fc.assert(
    fc.property(fc.array(word), (words) => {
      expect(splitWords(words.map((text) => `'${text}'`).join(' '))).toEqual(words);
    }),
  );
});
