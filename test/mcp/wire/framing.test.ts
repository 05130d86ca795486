import fc from 'fast-check';
import { expect, test } from 'vitest';
import { splitLines, trimLine } from '../../../src/mcp/wire/lines.ts';
import { isMessage, parseMessage, rejectTooLong } from '../../../src/mcp/wire/message.ts';
import { corpus, fuzz } from '../../support/fuzz.ts';

const pieces = fc.array(
  fc.oneof(
    fc.constantFrom('\n', '\r\n', '\n\n', ' ', '\ufeff', '{"jsonrpc":"2.0","id":1,"result":{}}', '{', '日本', '😀'),
    fc.json(),
    fc.string({ unit: 'grapheme' }),
  ),
  { maxLength: 30 },
);

function split(bytes: Uint8Array, cuts: readonly number[]): readonly Uint8Array[] {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return places.slice(1).map((place, n) => bytes.subarray(places[n], place));
}

async function collected<Item>(lines: AsyncIterable<Item>): Promise<readonly Item[]> {
  const found: Item[] = [];
  for await (const line of lines) found.push(line);
  return found;
}

const MAX = 1_000_000;
const serverLines = (bytes: AsyncIterable<Uint8Array>, maxBytes = MAX) =>
  splitLines(bytes, { maxBytes, tooLong: 'skip' });
async function* clientLines(bytes: AsyncIterable<Uint8Array>, maxBytes = MAX) {
  for await (const line of splitLines(bytes, { maxBytes, tooLong: 'stop' })) {
    if (!('text' in line)) yield line;
    else if (trimLine(line.text) !== '') yield { text: trimLine(line.text) };
  }
}

async function* from(chunks: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

test('the lines of a server are its lines, wherever the bytes are cut', async () => {
  await fc.assert(
    fc.asyncProperty(pieces, fc.array(fc.nat(), { maxLength: 30 }), async (words, cuts) => {
      const text = words.join('').toWellFormed();
      const expected = text
        .split('\n')
        .map((line) => line.replace(/^\ufeff/, '').trim())
        .filter((line) => line !== '');
      const got = await collected(clientLines(from(split(Buffer.from(text), cuts))));
      expect(got).toEqual(expected.map((line) => ({ text: line })));
    }),
    {
      ...fuzz(200),
      examples: corpus<string[]>('json-rpc').flatMap((words) => [
        [words, []],
        [words, [1, 2, 3, 40]],
      ]),
    },
  );
});

test('the lines of a client are its lines, wherever the bytes are cut', async () => {
  await fc.assert(
    fc.asyncProperty(pieces, fc.array(fc.nat(), { maxLength: 30 }), async (words, cuts) => {
      const text = words.join('').toWellFormed();
      const lines = text.split('\n');
      const expected = lines.at(-1) === '' ? lines.slice(0, -1) : lines;
      const got = await collected(serverLines(from(split(Buffer.from(text), cuts))));
      expect(got).toEqual(expected.map((line) => ({ text: line })));
    }),
    {
      ...fuzz(200),
      examples: corpus<string[]>('json-rpc').flatMap((words) => [
        [words, []],
        [words, [1, 2, 3, 40]],
      ]),
    },
  );
});

test('a line that is too long is known for one, wherever the bytes are cut', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(40), fc.array(fc.nat(), { maxLength: 10 }), async (length, cuts) => {
      const bytes = Buffer.from(`a\n${'x'.repeat(length)}\nb\n`);
      const isTooLong = { isTooLong: true, head: expect.stringMatching(/^x{21,}$/) };
      const middle = length > 20 ? isTooLong : { text: 'x'.repeat(length) };
      expect(await collected(serverLines(from(split(bytes, cuts)), 20))).toEqual([
        { text: 'a' },
        middle,
        { text: 'b' },
      ]);
      const got = await collected(clientLines(from(split(bytes, cuts)), 20));
      const rest = length === 0 ? [{ text: 'b' }] : [middle, { text: 'b' }];
      expect(got).toEqual(length > 20 ? [{ text: 'a' }, isTooLong] : [{ text: 'a' }, ...rest]);
    }),
    fuzz(100),
  );
});

test.for([
  ['{"jsonrpc":"2.0","id":7,"method":"a","params":{"id":9,', { response: { id: 7, error: { code: -32600 } } }],
  [' {"method":"a", "id" : "x" , "params":{', { response: { id: 'x' } }],
  ['{"id":7,"jsonrpc":"2.0","result":{', { message: { id: 7, error: { code: -32600 } } }],
  ['{"jsonrpc":"2.0","id":7,"error":{', { message: { id: 7 } }],
  ['{"jsonrpc":"2.0","params":{"id":9,"params":', { response: { id: null } }],
  ['{"jsonrpc":"2.0","method":"a","params":{"id":9,"params":', { response: { id: null } }],
  ['{"id":1.5,"params":', { response: { id: null } }],
  ['xxxx', { response: { id: null } }],
] as const)('of a message that is too long, the beginning says whose it is: %s', ([head, parsed]) => {
  expect(rejectTooLong(head)).toMatchObject(parsed);
});

const wild = fc.jsonValue({ maxDepth: 2 });
const message = fc.oneof(
  wild,
  fc.record(
    {
      jsonrpc: fc.oneof(fc.constant('2.0'), wild),
      id: fc.oneof(fc.nat(), fc.string(), fc.double(), wild),
      method: fc.oneof(fc.constantFrom('initialize', 'tools/call', 'ping', 'notifications/cancelled'), wild),
      params: fc.oneof(
        fc.dictionary(fc.constantFrom('name', 'protocolVersion', 'clientInfo', '__proto__'), wild),
        wild,
      ),
      result: fc.oneof(fc.object(), wild),
      error: fc.oneof(fc.record({ code: fc.integer(), message: fc.string() }), wild),
    },
    { requiredKeys: [] },
  ),
);

test('whatever a client sends becomes a message of the protocol or a refusal in its words', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        message.map((value) => JSON.stringify(value)),
      ),
      (line) => {
        const read = parseMessage(line);
        if ('message' in read) {
          expect(read.message).toMatchObject({ jsonrpc: '2.0' });
          return;
        }
        const answer = JSON.parse(JSON.stringify(read.response));
        expect(Object.keys(answer).sort()).toEqual(['error', 'id', 'jsonrpc']);
        expect([-32700, -32600, -32602]).toContain(answer.error.code);
        expect(answer.id === null || typeof answer.id === 'string' || Number.isSafeInteger(answer.id)).toBe(true);
      },
    ),
    fuzz(300),
  );
});

test('whatever a server sends is handed on only if it is a message of JSON-RPC', () => {
  fc.assert(
    fc.property(message, (value) => {
      const isGood = isMessage(value);
      if (!isGood) return;
      const { jsonrpc, id, method, result, error } = JSON.parse(JSON.stringify(value));
      expect(jsonrpc).toBe('2.0');
      expect([typeof method === 'string', result !== undefined, error !== undefined]).toContain(true);
      if (method === undefined) expect(typeof id === 'string' || Number.isInteger(id)).toBe(true);
    }),
    fuzz(300),
  );
});
