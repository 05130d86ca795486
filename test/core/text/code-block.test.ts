import fc from 'fast-check';
import { expect, test } from 'vitest';
import { extractCodeBlocks } from '../../../src/core/text/code-block.ts';

test.each([
  ['nothing fenced', []],
  ['```sh\necho 1\n```', ['echo 1\n']],
  ['a\n```\none\n```\nb\n~~~js\ntwo\n\nthree\n~~~\nc', ['one\n', 'two\n\nthree\n']],
  ['````md\n```js\nx\n```\n````', ['```js\nx\n```\n']],
  ['```js\n~~~\n``` not the end\n```', ['~~~\n``` not the end\n']],
  ['1. do\n   ```sh\n   a\n     b\n   ```\n', ['a\n  b\n']],
  ['```inline``` is no fence', []],
  ['```js\r\nx\r\n```\r\n', ['x\n']],
  ['```\n```', ['']],
  ['```sh\ncut off', ['cut off\n']],
  ['```sh\ncut off\n', ['cut off\n']],
])('the code blocks of %j', (text, blocks) => {
  expect(extractCodeBlocks(text)).toEqual(blocks);
});

test('a fenced code block is extracted unchanged', () => {
  const line = fc.string({ unit: fc.constantFrom('a', ' ', '`', '~', '}', '日') });
  fc.assert(
    fc.property(fc.array(line, { minLength: 1 }), (lines) => {
      const code = lines.map((text) => `${text}\n`).join('');
      const fence = '`'.repeat(
        1 + Math.max(2, ...lines.map((text) => /`*/g.exec(text.replace(/[^`]/g, ''))?.[0].length ?? 0)),
      );
      expect(extractCodeBlocks(`Here:\n${fence}\n${code}${fence}\nDone.`)).toEqual([code]);
    }),
  );
});
