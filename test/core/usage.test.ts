import fc from 'fast-check';
import { expect, test } from 'vitest';
import { estimateTokens } from '../../src/core/usage.ts';

test('four ASCII characters are a token, and any other character one and a half', () => {
  const character = fc.oneof(
    fc.constantFrom('a', 'é', '漢', '😀', '\ud83d', '\ude00', '\n'),
    fc.string({ maxLength: 3 }),
  );
  fc.assert(
    fc.property(fc.array(character), (pieces) => {
      const text = pieces.join('');
      const characters = [...text];
      const ascii = characters.filter((one) => one <= '\u007f').length;
      expect(estimateTokens(text)).toBe(Math.ceil(ascii / 4 + (characters.length - ascii) * 1.5));
    }),
  );
});
