import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readSseEvents } from '../../src/api/sse.ts';
import { AppError } from '../../src/core/error.ts';
import { corpus, fuzz } from '../support/fuzz.ts';

async function* from(chunks: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

async function eventsOf(chunks: Iterable<Uint8Array>, limit?: number): Promise<readonly string[]> {
  const events: string[] = [];
  const options = { now: () => 0, maxEventBytes: limit };
  for await (const batch of readSseEvents(from(chunks), options)) {
    expect(batch.length).toBeGreaterThan(0);
    events.push(...batch);
  }
  return events;
}

function split(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return places.slice(1).map((place, n) => bytes.subarray(places[n], place));
}

const PIECES = fc.array(
  fc.oneof(
    fc.constantFrom(
      '\n',
      '\r',
      '\r\n',
      'data:',
      'data: ',
      'data',
      ':',
      'event: x',
      'id: 1',
      'retry: 5',
      '\ufeff',
      'datax: y',
      ' ',
    ),
    fc.json(),
    fc.string({ unit: 'grapheme' }),
  ),
  { maxLength: 40 },
);

/** Each one as it would be generated: as pieces of text. */
const KEPT = corpus<string[]>('sse');

test('where the bytes are cut never matters', async () => {
  await fc.assert(
    fc.asyncProperty(PIECES, fc.array(fc.nat(), { maxLength: 60 }), async (pieces, cuts) => {
      const bytes = Buffer.from(`${pieces.join('').toWellFormed()}\n\n`);
      const atOnce = await eventsOf([bytes]);
      expect(await eventsOf(split(bytes, cuts))).toEqual(atOnce);
      expect(await eventsOf([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(atOnce);
    }),
    {
      ...fuzz(150),
      examples: KEPT.flatMap((pieces) => [
        [pieces, []],
        [pieces, [1, 5, 6, 7]],
      ]),
    },
  );
});

/** The standard's own algorithm, on whole text and without haste. */
function standardEvents(text: string): readonly string[] {
  const events: string[] = [];
  let data: string[] = [];
  const lines = text.replace(/^\ufeff/, '').split(/\r\n|\r|\n/);
  for (const line of lines.slice(0, -1)) {
    const [, field, value = ''] = /^([^:]*):? ?(.*)$/su.exec(line) ?? [];
    if (line === '') {
      if (data.join('\n') !== '') events.push(data.join('\n'));
      data = [];
    } else if (field === 'data') data.push(line.includes(':') ? value : '');
  }
  return events;
}

test('events are those of the standard, for any mixture of line ends and fields', async () => {
  await fc.assert(
    fc.asyncProperty(PIECES, async (pieces) => {
      const text = `${pieces.join('').toWellFormed()}\n\n`;
      // A line that opens bare JSON ends an event, which the standard does not know.
      fc.pre(!/[\r\n][{[]/.test(text));
      expect(await eventsOf([Buffer.from(text)])).toEqual(standardEvents(text));
    }),
    { ...fuzz(500), examples: KEPT.map((pieces) => [pieces]) },
  );
});

test('an event is read in every form the standard allows (S7)', async () => {
  const text =
    '\ufeff: hi\r\nevent: x\rid: 1\nretry: 9\ndata:{"a":\rdata: 1}\r\n\r\ndata\n\ndata:  two\n\n\n\ndata: 3\r\r';
  expect(await eventsOf([Buffer.from(text)])).toEqual(['{"a":\n1}', ' two', '3']);
});

test.for([
  ['CR and LF', ['data: 1\r', '\ndata: 2\n\n']],
  ['CR, an empty chunk and LF', ['data: 1\r', '', '\ndata: 2\n\n']],
  ['CR alone', ['data: 1\r', 'data: 2\n\n']],
] as const)('a line end that arrives as %s is one', async ([, chunks]) => {
  expect(await eventsOf(chunks.map((chunk) => Buffer.from(chunk)))).toEqual(['1\n2']);
});

const BARE = '{\n  "error": {\n    "code": 503,\n    "message": "busy"\n  }\n}';

test.for([
  ['at the start', `${BARE}\n`, [BARE]],
  ['at the end', `data: 1\r\n\r\n${BARE}`, ['1', BARE]],
  ['in between', `data: 1\n\n${BARE}\n\ndata: 2\n\n`, ['1', BARE, '2']],
  ['behind an event without its blank line', `data: 1\n${BARE}\n`, ['1', BARE]],
  ['in one line', 'data: 1\n\n{"error":{"code":503}}\n\n', ['1', '{"error":{"code":503}}']],
  [
    'in a list, with an empty line and a comment inside',
    '[{"error":\n\n: hi\n{"code":503}}]',
    ['[{"error":\n{"code":503}}]'],
  ],
  ['of something else', 'data: 1\n\n{"a":1}\n\n{"b":', ['1']],
  ['twice', '{"error":1}\n\n{"error":2}\n\n', ['{"error":1}', '{"error":2}']],
  ['with a space after its name', '{"error" : 1}\n\n', ['{"error" : 1}']],
  ['behind a line of another field', 'id: 1\n\n{"error":1}\n\n', ['{"error":1}']],
  [
    'after many events, in its place',
    `${'data: 1\n\n'.repeat(20)}{"error":1}\n\ndata: 2\n\n`,
    [...Array.from({ length: 20 }, () => '1'), '{"error":1}', '2'],
  ],
] as const)('bare JSON counts as an event %s, however it is cut', async ([, text, events]) => {
  const bytes = Buffer.from(text);
  expect(await eventsOf([bytes])).toEqual(events);
  expect(await eventsOf([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(events);
});

test.for([
  [15, 'in its place'],
  [16, 'at the end'],
] as const)('bare JSON with %i empty lines inside counts %s', async ([count, where]) => {
  const text = `{"error":[\n${'0,\n\n'.repeat(count)}0]}\n\ndata: 1\n\n`;
  const bare = `{"error":[\n${'0,\n'.repeat(count)}0]}`;
  expect(await eventsOf([Buffer.from(text)])).toEqual(where === 'at the end' ? ['1', bare] : [bare, '1']);
});

test('an empty chunk inside bare JSON is no line of it', async () => {
  const chunks = ['{"error":\n', '', '1}\n\n'].map((chunk) => Buffer.from(chunk));
  expect(await eventsOf(chunks)).toEqual(['{"error":\n1}']);
});

test('many empty lines inside bare JSON take no longer than others', async () => {
  const text = `{"error":[\n${'0,\n\n'.repeat(200_000)}0]}`;
  expect(await eventsOf([Buffer.from(text)])).toEqual([text.replaceAll('\n\n', '\n')]);
});

test.for([
  ['data: {"a":1}', ['{"a":1}']],
  ['data: {"a":1}\n', ['{"a":1}']],
  ['data: 1\n\n: comm', ['1']],
  ['data: 1\n\ndat', ['1']],
  ['data: {"a":1}\ndata: {"b":2}', ['{"a":1}\n{"b":2}']],
  ['data:\n', []],
  ['data', []],
  ['', []],
] as const)('%j ends properly', async ([text, events]) => {
  expect(await eventsOf([Buffer.from(text)])).toEqual(events);
});

test.for([
  'data: {"a":',
  'data: {"a":1\n',
  'data: {"a":"\u00e4"',
  'data: {"a":\ndata:',
  'data: {"a":1}\ndata: {"b":2',
  '{"error":{"code":503',
])('an end inside an event is a failure: %j', async (text) => {
  const bytes = Buffer.from(text);
  await expect(eventsOf([bytes])).rejects.toMatchObject({
    fault: 'api',
    message: 'the answer was cut short in the middle of an event',
    hint: 'Send the prompt again.',
    retry: {},
  });
  await expect(eventsOf([Buffer.from('data: 1\n\n'), bytes.subarray(0, -1)])).rejects.toThrow('cut short');
});

test('a line or an event beyond the cap stops there (S24)', async () => {
  let taken = 0;
  function* endless(piece: string): Generator<Uint8Array> {
    for (; taken < 10_000; taken += 1) yield Buffer.from(piece);
  }
  await expect(eventsOf(endless('data: x'.repeat(100)), 1024 * 1024)).rejects.toThrow('an event of more than 1 MB');
  expect(taken).toBeLessThan(1500);
  taken = 0;
  await expect(eventsOf(endless(`data: ${'x'.repeat(694)}\n`), 1024 * 1024)).rejects.toThrow(
    'an event of more than 1 MB',
  );
  expect(taken).toBeLessThan(1600);
});

test('comments alone do not keep a stream alive for ever; data that trickles does (S9)', async () => {
  let time = 0;
  async function* ticking(piece: string, count: number): AsyncGenerator<Uint8Array> {
    for (let n = 0; n < count; n += 1) {
      time += 100_000;
      yield Buffer.from(piece);
    }
  }
  async function drain(body: AsyncIterable<Uint8Array>): Promise<number> {
    let count = 0;
    for await (const batch of readSseEvents(body, { now: () => time })) count += batch.length;
    return count;
  }
  await expect(drain(ticking(': ping\n\n', 5))).rejects.toMatchObject({
    fault: 'api',
    message: 'the server keeps the connection open but sends no answer',
    hint: 'Try again, or choose another model with -m.',
    retry: {},
  });
  await expect(drain(ticking(': ping\n', 3))).resolves.toBe(0);
  await expect(drain(ticking('data: 1\n\n', 9))).resolves.toBe(9);
  async function* trickle(): AsyncGenerator<Uint8Array> {
    yield* ticking('data:', 1);
    yield* ticking(' ', 9);
    yield* ticking('1\n\n', 1);
  }
  await expect(drain(trickle())).resolves.toBe(1);
  async function* unfinished(): AsyncGenerator<Uint8Array> {
    yield* ticking('data: 1\n', 1);
    yield* ticking(': ping\n', 9);
    yield* ticking('\n', 1);
  }
  await expect(drain(unfinished())).resolves.toBe(1);
  async function* bare(): AsyncGenerator<Uint8Array> {
    yield* ticking('{"error":\n', 1);
    yield* ticking(': ping\n', 9);
    yield* ticking('1}\n\n', 1);
  }
  await expect(drain(bare())).resolves.toBe(1);
  async function* finished(): AsyncGenerator<Uint8Array> {
    yield* ticking('dat', 1);
    yield* ticking('a: 1\n\n', 1);
    yield* ticking(': ping\n', 5);
  }
  await expect(drain(finished())).rejects.toThrow('sends no answer');
});

test('a byte order mark counts only at the very start', async () => {
  const mark = Buffer.from('\ufeffdata: é\n\n');
  expect(await eventsOf([mark])).toEqual(['é']);
  expect(await eventsOf([Buffer.from('data: 1\n\n'), mark])).toEqual(['1']);
  expect(await eventsOf([Buffer.from('\ufeffdata: 1\n\n'), Buffer.from('\ufeffdata: 2\n\n')])).toEqual(['1']);
});

test('bytes that are no UTF-8 become U+FFFD, and change nothing about the byte order mark', async () => {
  const broken = Buffer.concat([Buffer.from('\ufeffdata: é'), Buffer.of(0xff), Buffer.from('\n\n')]);
  expect(await eventsOf([broken])).toEqual(['é\ufffd']);
  expect(await eventsOf([Buffer.from('data: 1\n\n'), broken])).toEqual(['1']);
});

test.for<readonly [string, unknown, boolean, boolean]>([
  ['a lost connection', new AppError('api', 'lost'), true, true],
  ['a lost connection', new AppError('api', 'lost'), false, false],
  ['an interruption', new AppError('interrupted', 'stopped'), true, false],
  ['a mistake of ours', new TypeError('x'), true, false],
])('%s (%s), with the answer complete: %s, is ignored: %s', async ([, thrown, isComplete, isIgnored]) => {
  const traced: string[] = [];
  const idle: number[] = [];
  async function* body(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('data: 1\n\n');
    throw thrown;
  }
  const read = async (options: object) => {
    const events: string[] = [];
    for await (const batch of readSseEvents(body(), { now: () => 0, ...options })) events.push(...batch);
    return events;
  };
  const isFinished = () => isComplete;
  const options = {
    isFinished,
    trace: (words: string) => traced.push(words),
    setIdleTimeout: (ms: number) => idle.push(ms),
  };
  for (const given of [options, { isFinished }]) {
    if (isIgnored) expect(await read(given)).toEqual(['1']);
    else await expect(read(given)).rejects.toBe(thrown);
  }
  await expect(read({})).rejects.toBe(thrown);
  expect([traced, idle]).toEqual([isIgnored ? ['after the finish reason: lost'] : [], isComplete ? [1000] : []]);
});

test('a reader that leaves early, or a body that cannot be left, ends the stream', async () => {
  let isLeft = false;
  const chunks = [Buffer.from('data: 1\n\n'), Buffer.from('data: 2\n\n')];
  const next = async () => ({ done: false as const, value: chunks.shift() ?? Buffer.alloc(0) });
  const leave = async () => {
    isLeft = true;
    return { done: true as const, value: undefined };
  };
  for await (const batch of readSseEvents(
    { [Symbol.asyncIterator]: () => ({ next, return: leave }) },
    { now: () => 0 },
  )) {
    expect(batch).toEqual(['1']);
    break;
  }
  expect(isLeft).toBe(true);
  for await (const batch of readSseEvents({ [Symbol.asyncIterator]: () => ({ next }) }, { now: () => 0 })) {
    expect(batch).toEqual(['2']);
    break;
  }
});

test('an event, and a line, may be as long as the cap, and not a byte longer', async () => {
  const tooLong = {
    fault: 'api',
    message: 'the server sent an event of more than 0 MB',
    hint: 'Ask for a shorter answer, or check which server GOOGLE_GEMINI_BASE_URL names.',
  };
  expect(await eventsOf([Buffer.from('data: 1234567890\n\n')], 10)).toEqual(['1234567890']);
  await expect(eventsOf([Buffer.from('data: 12345678901\n\n')], 10)).rejects.toMatchObject(tooLong);
  expect(await eventsOf([Buffer.from('data: 1234'), Buffer.from('567890')], 16)).toEqual(['1234567890']);
  await expect(eventsOf([Buffer.from('data: 1234'), Buffer.from('5678901')], 16)).rejects.toMatchObject(tooLong);
  await expect(eventsOf([Buffer.from('data: 12345678901')], 16)).rejects.toMatchObject(tooLong);
  // Each event has the whole cap; bare JSON keeps what it has used, whatever stands between its lines.
  expect(await eventsOf([Buffer.from('data: 1234567890\n\n'.repeat(2))], 10)).toEqual(['1234567890', '1234567890']);
  await expect(eventsOf([Buffer.from('{"error":[\n\n1]}\n\n')], 13)).rejects.toMatchObject(tooLong);
  expect(await eventsOf([Buffer.from('{"error":[\n\n1]}\n\n')], 14)).toEqual(['{"error":[\n1]}']);
  // The line end between two lines of data counts.
  expect(await eventsOf([Buffer.from('data: 12345\ndata: 6789\n\n')], 10)).toEqual(['12345\n6789']);
  await expect(eventsOf([Buffer.from('data: 12345\ndata: 67890\n\n')], 10)).rejects.toMatchObject(tooLong);
});

test('a line of any length may come in pieces of any length', async () => {
  const long = 'x'.repeat(10_000);
  const pieces = ['data: ', long, long, 'y', long.repeat(20), '\n\n'];
  expect(await eventsOf(pieces.map((piece) => Buffer.from(piece)))).toEqual([`${long}${long}y${long.repeat(20)}`]);
});

test('an event may have a million lines, even empty ones, and not one more', async () => {
  const lines = 'data\n'.repeat(1_000_000);
  expect((await eventsOf([Buffer.from(`${lines}\n`)])).map(({ length }) => length)).toEqual([999_999]);
  await expect(eventsOf([Buffer.from(`${lines}data\n`)])).rejects.toThrow('an event of more than 64 MB');
});
