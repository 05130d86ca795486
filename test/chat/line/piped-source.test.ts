import fc from 'fast-check';
import { expect, test } from 'vitest';
import { pipedLines } from '../../../src/chat/line/piped-source.ts';
import type { Entry } from '../../../src/chat/line/source.ts';

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

const wide = (text: string): Buffer => Buffer.from(`\ufeff${text}`, 'utf16le');

test.each([
  ['little', wide('/help\r\n京都 ਀ 👍\n\nlast')],
  ['big', wide('/help\r\n京都 ਀ 👍\n\nlast').swap16()],
])('UTF-16 in %s endian order is decoded if it is marked, however it is cut', async (_, bytes) => {
  const texts = ['/help', '京都 ਀ 👍', '', 'last'];
  expect(await textsOf(bytes)).toEqual(texts);
  expect(await textsOf(...Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(texts);
});

test('a byte order mark alone is no entry', async () => {
  expect(await textsOf(wide(''))).toEqual([]);
  expect(await textsOf(Buffer.from('\ufeff'))).toEqual([]);
});

const HINT = 'A chat reads lines of UTF-8. To send a file along: gmn chat -f <file>';

test.each([
  ['invalid UTF-8', Buffer.from('one\nt\xffo\nthree\n', 'latin1'), ['one'], 'line 2 of stdin is not text'],
  [
    'a mark of UTF-16 in the middle',
    Buffer.from('one\n\xff\xfea\0\n', 'latin1'),
    ['one'],
    'line 2 of stdin is not text',
  ],
  ['a NUL', Buffer.from('one\ntwo\nthr\0ee'), ['one', 'two'], 'line 3 of stdin is not text'],
  ['half a character', Buffer.from('あ').subarray(0, 2), [], 'line 1 of stdin is not text'],
  ['half a pair', wide('\ud83d'), [], 'stdin is not text: it is marked as UTF-16, but is not UTF-16'],
])('%s is refused where it stands, and what came before it is not lost', async (_, bytes, texts, message) => {
  for (const parts of [[bytes], Array.from(bytes, (byte) => Uint8Array.of(byte))]) {
    const source = pipedLines(chunks(...parts));
    for (const text of texts) expect(await source.read({ prompt: '' })).toEqual({ kind: 'text', text });
    await expect(source.read({ prompt: '' })).rejects.toMatchObject({ fault: 'usage', message, hint: HINT });
  }
});

test('however the bytes are cut, the entries are the same', async () => {
  const input = fc.array(fc.constantFrom('a', 'あ', '👍', '\n', '\r\n', '\n"""\n', ' ', '\ufeff'), { maxLength: 30 });
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
  source.watch(
    () => expect.unreachable(),
    () => expect.unreachable(),
  )();
  expect(await source.withTerminal(async () => 7)).toBe(7);
  await source.close();
  expect(await source.read({ prompt: '' })).toEqual({ kind: 'end' });
});
