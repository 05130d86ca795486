import fc from 'fast-check';
import { expect, type TestContext, test } from 'vitest';
import { AppError } from '../../../src/core/error.ts';
import { createHttpClient } from '../../../src/platform/http/send.ts';
import { type Loopback, loopback } from '../../api/loopback.ts';

const timers = { connectMs: 10_000, headersMs: 10_000, idleMs: 10_000 };

interface Read {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body: string;
  /** `end`, or the message of the failure. */
  readonly over: string;
}

/** What is read from an answer that comes in these pieces, after which the server hangs up. */
async function answering(t: TestContext) {
  let pieces: readonly Buffer[] = [];
  const server: Loopback = await loopback(t, [
    (socket) => {
      const [first = Buffer.alloc(0), ...rest] = pieces;
      const next = (piece: Buffer): void => {
        const more = rest.shift();
        if (more === undefined) socket.end(piece);
        else socket.write(piece, () => setImmediate(next, more));
      };
      next(first);
    },
  ]);
  const client = createHttpClient({ timers, env: {}, clock: { now: () => 0 } });
  t.onTestFinished(client.close);
  return async (sent: readonly Buffer[]): Promise<Read> => {
    pieces = sent;
    let head: Pick<Read, 'status' | 'headers'> = {};
    const body: Uint8Array[] = [];
    try {
      // Repeatable, as a model request is; but what answered wrongly is not asked again.
      const request = { method: 'POST', url: server.url, headers: {}, body: '{}', isRepeatable: true } as const;
      const response = await client.send(request, new AbortController().signal);
      head = { status: response.status, headers: response.headers };
      for await (const chunk of response.body) body.push(chunk);
      return { ...head, body: Buffer.concat(body).toString('latin1'), over: 'end' };
    } catch (thrown) {
      if (!(thrown instanceof AppError)) throw thrown;
      return { ...head, body: Buffer.concat(body).toString('latin1'), over: thrown.message };
    }
  };
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

test('an answer reads the same wherever it is cut into pieces', async (t) => {
  const read = await answering(t);
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...ANSWERS),
      fc.array(fc.nat(200), { maxLength: 30 }),
      async ([text, body], places) => {
        const result = await read(cut(text, places));
        expect(result).toEqual(await read(whole(text)));
        expect(result).toMatchObject({ status: 200, body, over: 'end' });
      },
    ),
    { numRuns: 50 },
  );
});

test('any body comes out as it went in, in chunks of any size', async (t) => {
  const read = await answering(t);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.string({ minLength: 1, unit: 'binary-ascii' })),
      fc.array(fc.nat(500)),
      async (parts, places) => {
        const chunks = parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('');
        const text = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`;
        expect(await read(cut(text, places))).toMatchObject({ body: parts.join(''), over: 'end' });
      },
    ),
    { numRuns: 50 },
  );
});

test('bytes of any kind end in a response or an AppError', async (t) => {
  const read = await answering(t);
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...ANSWERS),
      fc.array(fc.tuple(fc.nat(200), fc.nat(255))),
      async ([text], changes) => {
        const bytes = Buffer.from(text, 'latin1');
        for (const [place, value] of changes) bytes[place % bytes.length] = value;
        expect((await read([bytes])).over).not.toBe('');
      },
    ),
  );
});

test('headers: names in lower case, lists joined, the first of what can be one only', async (t) => {
  const read = await answering(t);
  const { headers } = await read(
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
] as const)('%s has no body', async ([, text], t) => {
  expect(await (await answering(t))(whole(text))).toMatchObject({ body: '', over: 'end' });
});

const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKS = `${OK}Transfer-Encoding: chunked\r\n\r\n`;
const NOT_HTTP = /does not speak HTTP \(HPE_\w+\)$/;

const BAD_HEADS = [
  'SSH-2.0-x\r\n',
  'H2',
  'HTTP/1.1 20 OK\r\n\r\n',
  'HTTP/1.1\r\n\r\n',
  'HTTP/2.0 200 OK\r\n\r\n',
  'HTTP/1.1 101 Other\r\nUpgrade: x\r\n\r\nx',
  'HTTP/1.1 101 Other\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nx',
  'HTTP/1.1 200 O\rK\r\n\r\n',
  'HTTP/1.1 200 OK\nA: 1\n\nhello',
  `${OK}A b: 1\r\n\r\n`,
  `${OK}A: 1\r\n folded\r\n\r\n`,
  `${OK}A: 1\n\r\n\r\n`,
  `${OK}A: 1\rB: 2\r\n\r\n`,
  `${OK}A: 1\0\r\n\r\n`,
  `${OK}A: \x1b[2J\r\n\r\n`,
  `${OK}A : 1\r\n\r\n`,
  `${OK}A\r\n\r\n`,
  `${OK}A:${' '.repeat(2000)}\0\r\n\r\n`,
  `${OK}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n`,
  `${OK}Transfer-Encoding: gzip, chunked\r\n\r\n`,
  `${OK}Content-Length: 5\r\nContent-Length: 6\r\n\r\n`,
  `${OK}Content-Length: 5\r\nContent-Length: 5\r\n\r\n`,
  ...['+5', '-5', '0x5', '5 5', '5, 5', '', '9'.repeat(20), `5${' '.repeat(9000)}5`].map(
    (length) => `${OK}Content-Length: ${length}\r\n\r\n`,
  ),
  `${OK}A: ${'x'.repeat(20_000)}`,
  `${OK}${'a: 1\r\n'.repeat(10_000)}`,
];

test('a head that is none, or leaves a doubt about its end, is refused', async (t) => {
  const read = await answering(t);
  for (const text of BAD_HEADS) {
    expect({ text, ...(await read(whole(text))) }).toEqual({ text, body: '', over: expect.stringMatching(NOT_HTTP) });
    if (text.length > 500) continue;
    const bytes = [...text].map((char) => Buffer.from(char));
    expect({ text, ...(await read(bytes)) }).toEqual({ text, body: '', over: expect.stringMatching(NOT_HTTP) });
  }
});

test('chunks that leave a doubt about their end are a failure after the bytes before them', async (t) => {
  const read = await answering(t);
  const sizes = ['-5', '0x5', ' 5', '5 ', '5\n', '5;\n', '5;\0', '5\r5', '', 'f'.repeat(20)];
  for (const size of sizes) {
    const text = `${CHUNKS}2\r\nok\r\n${size}\r\nhello\r\n`;
    expect({ size, ...(await read(whole(text))) }).toMatchObject({
      size,
      status: 200,
      body: 'ok',
      over: expect.stringMatching(NOT_HTTP),
    });
  }
  expect(await read(whole(`${CHUNKS}2\r\nhello\r\n`))).toMatchObject({
    body: 'he',
    over: expect.stringMatching(NOT_HTTP),
  });
});

test.for([
  ['in its head', 'HTTP/1.1 200 O', '', 'closed before an answer came'],
  ['before its length', `${OK}Content-Length: 9\r\n\r\n12345`, '12345', 'cut short'],
  ['between chunks', `${CHUNKS}5\r\nhello\r\n`, 'hello', 'cut short'],
  ['in the last line', `${CHUNKS}5\r\nhello\r\n0\r\n`, 'hello', 'cut short'],
  ['in the size of a chunk', `${CHUNKS}${'0'.repeat(2000)}`, '', 'cut short'],
  ['in a list of trailers', `${CHUNKS}0\r\n${'a: 1\r\n'.repeat(200)}`, '', 'cut short'],
] as const)('an answer that ends %s is a failure after all its bytes', async ([, text, body, over], t) => {
  const read = await answering(t);
  expect(await read(whole(text))).toMatchObject({ body, over: expect.stringContaining(over) });
});

test('a trailer without end is refused', async (t) => {
  const read = await answering(t);
  expect((await read(whole(`${CHUNKS}0\r\na: ${'x'.repeat(20_000)}`))).over).toMatch(NOT_HTTP);
});

test('a reset where only the end of the line tells the end is a failure', async (t) => {
  let reset = (): void => {};
  const server = await loopback(t, [
    (socket) => {
      reset = () => void socket.resetAndDestroy();
      socket.write(`${OK}\r\nhello`);
    },
  ]);
  const client = createHttpClient({ timers, env: {}, clock: { now: () => 0 } });
  const { body } = await client.send({ method: 'GET', url: server.url, headers: {} }, new AbortController().signal);
  const reading = (async () => {
    for await (const _ of body) reset();
  })();
  await expect(reading).rejects.toThrow('the answer was cut short');
});

const BAD_HEADERS = [{ a: '1\r\nb: 2' }, { a: '1\nb' }, { a: '1\0' }, { a: 'Ω' }, { 'a\r\nb': '1' }, { 'a b': '1' }];

test('a header that would be more than one is not sent', async (t) => {
  const server = await loopback(t, []);
  const client = createHttpClient({ timers, env: {}, clock: { now: () => 0 } });
  for (const headers of [...BAD_HEADERS, { '': '1' }] as readonly Readonly<Record<string, string>>[]) {
    const request = { method: 'GET', url: server.url, headers } as const;
    await expect(client.send(request, new AbortController().signal)).rejects.toThrow(TypeError);
  }
  expect(server.requests).toEqual([]);
});

test('headers given cannot change where a request ends, and a URL cannot end its first line', async (t) => {
  const read: string[] = [];
  const server = await loopback(t, [
    (socket, { head, body }) => {
      read.push(head, body);
      socket.end(`${OK}Content-Length: 0\r\n\r\n`);
    },
  ]);
  const client = createHttpClient({ timers, env: {}, clock: { now: () => 0 } });
  const url = new URL(`${server.url.origin}/ü b\r\nA: 1?q=\tü "x\0#\r\n`);
  const headers = { connection: 'upgrade', 'Content-Length': '99', 'Transfer-Encoding': 'chunked', host: 'other' };
  const request = { method: 'POST', url, headers, body: 'grün' } as const;
  const { body } = await client.send(request, new AbortController().signal);
  for await (const _ of body);
  expect(read).toEqual([
    'POST /%C3%BC%20bA:%201?q=%C3%BC%20%22x%00 HTTP/1.1\r\nhost: other\r\ncontent-length: 5\r\nConnection: close',
    'grün',
  ]);
});
