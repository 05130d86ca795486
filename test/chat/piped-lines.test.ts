import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Entry } from '../../src/chat/line-source.ts';
import { pipedLines } from '../../src/chat/piped-lines.ts';

async function* chunks(...parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts;
}

async function textsOf(...parts: readonly Uint8Array[]): Promise<readonly string[]> {
  const source = pipedLines(chunks(...parts));
  const texts: string[] = [];
  for (;;) {
    const entry: Entry = await source.read({ prompt: '' });
    if (entry.kind !== 'text') {
      expect(entry).toEqual({ kind: 'end' });
      return texts;
    }
    texts.push(entry.text);
  }
}

test.each([
  ['each line is an entry, the last one without its end too', 'one\ntwo\nthree', ['one', 'two', 'three']],
  ['lines may end with CRLF', 'one\r\ntwo\r\n', ['one', 'two']],
  ['an empty line is an entry', 'one\n\ntwo\n', ['one', '', 'two']],
  ['a byte order mark is dropped', '\ufeff/help\n', ['/help']],
  ['a block is one entry', 'a\n"""\none\n\n two\n"""\nb\n', ['a', 'one\n\n two', 'b']],
  ['the end of the pipe ends a block', '"""\r\none\r\ntwo', ['one\ntwo']],
  ['nothing is no entry', '', []],
])('%s', async (_, input, texts) => {
  expect(await textsOf(Buffer.from(input))).toEqual(texts);
});

test('however the bytes are cut, the entries are the same', async () => {
  const input = fc.array(fc.constantFrom('a', 'あ', '👍', '\n', '\r\n', '\n"""\n', ' '), { maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(input, async (parts) => {
      const whole = Buffer.from(parts.join(''));
      expect(await textsOf(...Array.from(whole, (byte) => Uint8Array.of(byte)))).toEqual(await textsOf(whole));
    }),
  );
});

test('nobody sits at a pipe: there is nothing to watch, and lending is free', async () => {
  const source = pipedLines(chunks());
  expect(source.isTerminal).toBe(false);
  source.watch(() => expect.unreachable())();
  expect(await source.lend(async () => 7)).toBe(7);
  source.close();
  expect(await source.read({ prompt: '' })).toEqual({ kind: 'end' });
});
