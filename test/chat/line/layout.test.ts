import { expect, test } from 'vitest';
import { layOut, standOut } from '../../../src/chat/line/layout.ts';
import { formatPromptMark } from '../../../src/chat/recap.ts';

const sent = (text: string, isStyled: boolean): readonly string[] => {
  const prompt = formatPromptMark({ isPlain: false, isStyled });
  const frame = layOut({ prompt, text, caret: text.length, columns: 12 });
  return standOut(frame).rows.map((row) => row.map(({ text: piece }) => piece).join(''));
};

test('what was sent is bold on each of its rows, and nothing after it', () => {
  const mark = '\u001b[1;35m❯ \u001b[0m';
  expect(sent('one two three\n\nfour', true)).toEqual([
    `${mark}\u001b[1mone two th\u001b[0m`,
    '\u001b[1m  ree\u001b[0m',
    '  ',
    '\u001b[1m  four\u001b[0m',
  ]);
  // Nothing is sent.
  expect(sent('', true)).toEqual([mark]);
});

test('without styles it stays as it is', () => {
  expect(sent('one', false)).toEqual(['❯ one']);
});
