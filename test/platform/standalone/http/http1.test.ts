import fc from 'fast-check';
import { expect, test } from 'vitest';
import { responseReader } from '../../../../src/platform/standalone/http/http1.ts';

interface Read {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
  /** `end`, or the code of the failure. */
  readonly over: string | undefined;
}

/** What is read from an answer that comes in these pieces, and then ends as `closed` says. */
function read(pieces: readonly Buffer[], { isTunnel = false, closed = undefined as unknown } = {}): Read {
  let head: Pick<Read, 'status' | 'headers'> = {};
  const body: Uint8Array[] = [];
  const ends: string[] = [];
  const reader = responseReader(
    {
      headers: (status, headers) => {
        head = { status, headers };
      },
      data: (chunk) => body.push(chunk),
      end: () => ends.push('end'),
      fail: (error) => ends.push(error instanceof Error && 'code' in error ? String(error.code) : 'closed'),
    },
    { isTunnel },
  );
  for (const piece of pieces) reader.push(piece);
  reader.closed(closed);
  expect(ends).toHaveLength(1);
  return { ...head, body: Buffer.concat(body).toString('latin1'), over: ends[0] };
}

const whole = (text: string): readonly Buffer[] => [Buffer.from(text, 'latin1')];

/** The text, cut at these places. */
function cut(text: string, places: readonly number[]): readonly Buffer[] {
  const borders = [...new Set(places.map((place) => place % (text.length + 1)))].sort((a, b) => a - b);
  return [0, ...borders].map((from, index) => Buffer.from(text.slice(from, borders[index] ?? text.length), 'latin1'));
}

const ANSWERS = [
  ['HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A:  1 \r\n\r\nhello', 'hello'],
  [
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\nA\r\n, my world\r\n0\r\nT: 1\r\n\r\n',
    'hello, my world',
  ],
  ['HTTP/1.0 200\r\n\r\nall that comes', 'all that comes'],
  [
    'HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
    'ok',
  ],
] as const;

test('an answer reads the same wherever it is cut into pieces', () => {
  fc.assert(
    fc.property(fc.constantFrom(...ANSWERS), fc.array(fc.nat(200), { maxLength: 30 }), ([text, body], places) => {
      const result = read(cut(text, places));
      expect(result).toEqual(read(whole(text)));
      expect(result).toMatchObject({ status: 200, body, over: 'end' });
    }),
  );
});

test('any body comes out as it went in, in chunks of any size', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ minLength: 1, unit: 'binary-ascii' })), fc.array(fc.nat(500)), (parts, places) => {
      const chunks = parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('');
      const text = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`;
      expect(read(cut(text, places))).toMatchObject({ body: parts.join(''), over: 'end' });
    }),
  );
});

test('bytes of any kind never throw, and end in exactly one way', () => {
  fc.assert(
    fc.property(fc.constantFrom(...ANSWERS), fc.array(fc.tuple(fc.nat(200), fc.nat(255))), ([text], changes) => {
      const bytes = Buffer.from(text, 'latin1');
      for (const [place, value] of changes) bytes[place % bytes.length] = value;
      read([bytes]);
    }),
  );
});

test('headers: names in lower case, lists joined, the first of what can be one only', () => {
  const { headers } = read(
    whole(
      'HTTP/1.1 204 None\r\nX-A: 1\r\nx-a: \t 2 b \t\r\nContent-Type: a\r\ncontent-type: b\r\nEmpty:\r\nBlank: \t \r\n\r\n',
    ),
  );
  expect(headers).toEqual({ 'x-a': '1, 2 b', 'content-type': 'a', empty: '', blank: '' });
});

test.for([
  ['204', 'HTTP/1.1 204 No Content\r\n\r\n'],
  ['304', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n'],
  ['an empty one', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'],
  ['what follows the end', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 500 no\r\n\r\n'],
] as const)('%s has no body', ([, text]) => {
  expect(read(whole(text), { closed: new Error('cut') })).toMatchObject({ body: '', over: 'end' });
});

test('after the answer to CONNECT nothing is read, unless it was no', () => {
  expect(read(whole('HTTP/1.1 200 Connected\r\n\r\nTLS'), { isTunnel: true })).toMatchObject({ body: '', over: 'end' });
  expect(read(whole('HTTP/1.1 502 No\r\n\r\nwhy'), { isTunnel: true })).toMatchObject({ body: 'why', over: 'end' });
});

const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKS = `${OK}Transfer-Encoding: chunked\r\n\r\n`;

test.for([
  ['SSH-2.0-x\r\n', 'HPE_INVALID_CONSTANT'],
  ['H2', 'HPE_INVALID_CONSTANT'],
  ['HTTP/1.1 20 OK\r\n\r\n', 'HPE_INVALID_STATUS'],
  ['HTTP/1.1\r\n\r\n', 'HPE_INVALID_STATUS'],
  ['HTTP/2.0 200 OK\r\n\r\n', 'HPE_INVALID_CONSTANT'],
  ['HTTP/1.1 101 Other\r\nUpgrade: x\r\n\r\nx', 'HPE_INVALID_STATUS'],
  ['HTTP/1.1 200 O\rK\r\n\r\n', 'HPE_INVALID_STATUS'],
  [`${OK}A b: 1\r\n\r\n`, 'HPE_INVALID_HEADER_TOKEN'],
  [`${OK}A: 1\r\n folded\r\n\r\n`, 'HPE_INVALID_HEADER_TOKEN'],
  [`${OK}A: 1\rB: 2\r\n\r\n`, 'HPE_INVALID_HEADER_TOKEN'],
  [`${OK}A: 1\0\r\n\r\n`, 'HPE_INVALID_HEADER_TOKEN'],
  [`${OK}A: \x1b[2J\r\n\r\n`, 'HPE_INVALID_HEADER_TOKEN'],
  [`${OK}A : 1\r\n\r\n`, 'HPE_INVALID_HEADER_TOKEN'],
  [`${OK}A\r\n\r\n`, 'HPE_INVALID_HEADER_TOKEN'],
  [`${OK}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n`, 'HPE_UNEXPECTED_CONTENT_LENGTH'],
  [`${OK}Transfer-Encoding: gzip, chunked\r\n\r\n`, 'HPE_INVALID_TRANSFER_ENCODING'],
  [`${OK}Content-Length: 5\r\nContent-Length: 6\r\n\r\n`, 'HPE_INVALID_CONTENT_LENGTH'],
  [`${OK}Content-Length: 5\r\nContent-Length: 5\r\n\r\n`, 'HPE_INVALID_CONTENT_LENGTH'],
  ...['+5', '-5', '0x5', '5 5', '5, 5', '', '9'.repeat(20)].map(
    (length) => [`${OK}Content-Length: ${length}\r\n\r\n`, 'HPE_INVALID_CONTENT_LENGTH'] as const,
  ),
  ...['-5', '0x5', ' 5', '5 ', '5\n', '5;\n', '5;\0', '5\r5', '', '20000000000001', 'f'.repeat(20)].map(
    (size) => [`${CHUNKS}${size}\r\nhello\r\n`, 'HPE_INVALID_CHUNK_SIZE'] as const,
  ),
  [`${CHUNKS}2\r\nhello\r\n`, 'HPE_STRICT'],
] as const)('%j is refused', ([text, code]) => {
  expect(read(whole(text))).toMatchObject({ over: code });
  expect(read([...text].map((char) => Buffer.from(char)))).toMatchObject({ over: code });
});

test('a bare line feed in a head is refused, at once if the rest of the head is not there yet', () => {
  const text = `${OK}A: 1\n\r\n\r\n`;
  expect(read(whole(text))).toMatchObject({ over: 'HPE_INVALID_HEADER_TOKEN' });
  expect(read([...text].map((char) => Buffer.from(char)))).toMatchObject({ over: 'HPE_CR_EXPECTED' });
});

test.for([
  ['head', `${OK}A: ${'x'.repeat(20_000)}`, 'HPE_HEADER_OVERFLOW'],
  ['list of headers', `${OK}${'a: 1\r\n'.repeat(10_000)}`, 'HPE_HEADER_OVERFLOW'],
  ['size of a chunk', `${CHUNKS}${'0'.repeat(20_000)}`, 'HPE_INVALID_CHUNK_SIZE'],
  ['list of trailers', `${CHUNKS}0\r\n${'a: 1\r\n'.repeat(10_000)}`, 'HPE_HEADER_OVERFLOW'],
  ['trailer', `${CHUNKS}0\r\na: ${'x'.repeat(20_000)}`, 'HPE_HEADER_OVERFLOW'],
] as const)('a %s without end is refused', ([, text, code]) => {
  expect(read(whole(text))).toMatchObject({ over: code });
});

// A pattern that tries every way to divide the blanks takes hours for a whole head of them, and Ctrl+C waits behind it.
test.for([
  ['before what is not allowed', `A:${' '.repeat(2000)}\0`],
  ['between words', `A: a${' '.repeat(16_000)}b`],
  ['in a length', `Content-Length: 5${' '.repeat(16_000)}5`],
] as const)('blanks %s are read at once', { timeout: 3000 }, ([, line]) => {
  for (let n = 0; n < 20; n += 1) read(whole(`${OK}${line}\r\n\r\n`));
});

test.for([
  ['in its head', 'HTTP/1.1 200 O', ''],
  ['before its length', `${OK}Content-Length: 9\r\n\r\n12345`, '12345'],
  ['between chunks', `${CHUNKS}5\r\nhello\r\n`, 'hello'],
  ['in the last line', `${CHUNKS}5\r\nhello\r\n0\r\n`, 'hello'],
] as const)('an answer that ends %s is a failure after all its bytes', ([, text, body]) => {
  expect(read(whole(text))).toMatchObject({ body, over: 'closed' });
});

test('a reset where only the end of the line tells the end is a failure', () => {
  expect(
    read(whole(`${OK}\r\nhello`), { closed: Object.assign(new Error('x'), { code: 'ECONNRESET' }) }),
  ).toMatchObject({
    body: 'hello',
    over: 'ECONNRESET',
  });
});
