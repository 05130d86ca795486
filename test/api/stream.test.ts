import { expect, test } from 'vitest';
import { converse, KEY } from './conversation.ts';
import { event, head, httpChunk, reply, stream, whole } from './loopback.ts';

const STOP = { finishReason: 'STOP' };

test.for([
  'SAFETY',
  'RECITATION',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'SPII',
  'LANGUAGE',
  'OTHER',
  'NEW_REASON',
  'UNEXPECTED_TOOL_CALL',
])('%s ends in a failure that names it, and shown text stays (S18)', async (finishReason, t) => {
  const bare = await converse(t, [stream([event(reply([], { finishReason }))])]);
  expect(bare.error?.message).toBe(`the model stopped without finishing its answer: ${finishReason}`);
  const some = await converse(t, [stream([event(reply([{ text: 'so far' }])), event(reply([], { finishReason }))])]);
  expect(some.text).toBe('so far');
  expect(some.error?.message).toBe(`the model stopped without finishing its answer: ${finishReason}`);
  expect(some.server.requests).toHaveLength(1);
});

test('an answer cut at the token limit is an answer with a notice (S19)', async (t) => {
  const { events, reply: got } = await converse(t, [
    stream([event(reply([{ text: 'and' }], { finishReason: 'MAX_TOKENS' }))]),
  ]);
  expect(events.slice(2)).toEqual([
    { type: 'text', delta: 'and' },
    { type: 'notice', message: 'the answer was cut at the token limit; raise --max-output-tokens' },
  ]);
  expect(got?.finishReason).toBe('MAX_TOKENS');
});

test('a notice names the kind and count of parts other than text', async (t) => {
  const unknown = { newKind: { data: 'AAAA' } };
  const { events, text } = await converse(t, [
    stream([
      event(reply([{ text: 'See: ' }, unknown, { thoughtSignature: 'x' }, { toolCall: {} }])),
      event(reply([unknown, { inlineData: { mimeType: 'image/png' } }, { text: 'done' }], STOP)),
    ]),
  ]);
  expect(text).toBe('See: done');
  expect(events.at(-1)).toEqual({
    type: 'notice',
    message: 'the answer also contains content that gmn cannot show: 2 newKind, 1 inlineData',
  });
});

test('pictures, steps of the service and pages are read, samples of one sound joined', async (t) => {
  const file = (text: string, mimeType: string) => ({ mimeType, data: Buffer.from(text).toString('base64') });
  const [picture, one, two] = [
    file('p', 'image/png'),
    file('a', 'audio/L16;rate=24000'),
    file('b', 'audio/L16;rate=24000'),
  ];
  const urlMetadata = [{ retrievedUrl: 'https://a.example/', urlRetrievalStatus: 'URL_RETRIEVAL_STATUS_SUCCESS' }];
  const ending = { candidates: [{ finishReason: 'STOP', urlContextMetadata: { urlMetadata } }] };
  const { events, reply: got } = await converse(t, [
    stream([
      event(reply([{ inlineData: picture, thought: true }, { inlineData: picture }, { inlineData: one }])),
      event(reply([{ executableCode: { language: 'PYTHON', code: '1' } }, { inlineData: two }])),
      event(ending),
      event(ending),
    ]),
  ]);
  const page = { kind: 'page', url: 'https://a.example/', ok: true, status: 'SUCCESS' };
  expect(events.flatMap((each) => (each.type === 'service' ? [each.step] : []))).toEqual([
    { kind: 'code', language: 'PYTHON', code: '1' },
    page,
  ]);
  expect(got).toMatchObject({ files: [picture, file('ab', 'audio/L16;rate=24000')], pages: [page] });
});

test('a call nobody declared is never an answer (S21)', async (t) => {
  const { error } = await converse(t, [stream([event(reply([{ functionCall: { name: 'rm', args: {} } }], STOP))])]);
  expect(error?.message).toBe('the model called rm, but no tools were offered to it');
});

test('an error inside the stream has its own status, and what was shown is not asked for again (S16)', async (t) => {
  const error = { error: { code: 503, status: 'UNAVAILABLE', message: 'overloaded' } };
  const outcome = await converse(t, [stream([event(reply([{ text: 'so far' }])), event(error)])]);
  expect(outcome.text).toBe('so far');
  expect(outcome.error?.message).toBe('API error: the server failed (503 UNAVAILABLE): overloaded');
  expect(outcome.server.requests).toHaveLength(1);
});

test('words inside a stream are quoted without the key, whatever they explain', async (t) => {
  const error = { error: { code: 400, status: 'INVALID_ARGUMENT', message: `bad ${KEY}` } };
  const told = await converse(t, [stream([event(error)])]);
  expect(told.error?.shortMessage).toBe('invalid request (400 INVALID_ARGUMENT): bad ‹redacted›');
  const stopped = { finishReason: 'OTHER', finishMessage: `because ${encodeURIComponent(KEY)}` };
  const ended = await converse(t, [stream([event(reply([], stopped))])]);
  expect(ended.error?.message).toBe('the model stopped without finishing its answer: OTHER: because ‹redacted›');
});

test('an answer may hold the key: only quoted words are concealed', async (t) => {
  expect((await converse(t, [stream([event(reply([{ text: KEY }], STOP))])])).text).toBe(KEY);
});

test('a malformed event stops the answer after all text before it (S14)', async (t) => {
  const outcome = await converse(t, [
    stream([`${event(reply([{ text: 'so far' }]))}${event('{"candidates":[')}${event(reply([{ text: 'x' }], STOP))}`]),
  ]);
  expect(outcome.text).toBe('so far');
  expect(outcome.error?.message).toBe('the answer was cut short: malformed event from the server');
});

test('text without a finish reason is passed on, and then the reply fails (S5)', async (t) => {
  const outcome = await converse(t, [stream([event(reply([{ text: 'so far' }]))])]);
  expect(outcome.text).toBe('so far');
  expect(outcome.error?.message).toBe('the answer was cut short: the stream ended without a finish reason');
});

test('a stall before any text is tried again (S10)', async (t) => {
  const outcome = await converse(t, [stream([], 'stall'), whole('fine')], { idleMs: 30 });
  expect(outcome.text).toBe('fine');
  expect(outcome.sleeps).toEqual([1000]);
});

test('a stall after text is final and keeps the text (S11)', async (t) => {
  const outcome = await converse(t, [stream([event(reply([{ text: 'so far' }]))], 'stall')], { idleMs: 30 });
  expect(outcome.text).toBe('so far');
  expect(outcome.error?.message).toBe(`${outcome.server.url.host} sent nothing for 30 ms`);
  expect(outcome.server.requests).toHaveLength(1);
});

test('a reset after text keeps all text that had come, however slow the reader (S2)', async (t) => {
  const pieces = Array.from({ length: 40 }, (_, n) => event(reply([{ text: `${n}|${'x'.repeat(4000)}\n` }])));
  const outcome = await converse(t, [stream(pieces, 'close')], {
    onEvent: async () => new Promise((resolve) => setImmediate(resolve)),
  });
  expect(outcome.text.match(/\d+(?=\|)/g)).toEqual(Array.from({ length: 40 }, (_, n) => String(n)));
  expect(outcome.error?.message).toBe(`the answer was cut short: connection to ${outcome.server.url.host} lost`);
});

test('text after STOP is kept and a second STOP changes nothing (S26)', async (t) => {
  const outcome = await converse(t, [
    stream([event(reply([{ text: 'a' }], STOP)), event(reply([{ text: 'b' }])), event(reply([], STOP))]),
  ]);
  expect({ text: outcome.text, finish: outcome.reply?.finishReason }).toEqual({ text: 'ab', finish: 'STOP' });
});

test('only the first candidate speaks; the trace mentions the others (S27)', async (t) => {
  const two = {
    candidates: [
      { content: { parts: [{ text: 'second' }] }, index: 1 },
      { content: { parts: [{ text: 'first' }] }, index: 0, finishReason: 'STOP' },
    ],
  };
  const outcome = await converse(t, [stream([event(two)])]);
  expect(outcome.text).toBe('first');
  expect(outcome.trace).toContain('gemini-test: 1 more candidates left out');
});

test('half a character at the end of the thoughts becomes U+FFFD too (S30)', async (t) => {
  const { events } = await converse(t, [
    stream([
      event('{"candidates":[{"content":{"parts":[{"text":"hm\\ud83d","thought":true}]}}]}'),
      event('{"candidates":[{"content":{"parts":[{"text":"yes"}]},"finishReason":"STOP"}]}'),
    ]),
  ]);
  expect(events.slice(2)).toEqual([
    { type: 'thought', delta: 'hm' },
    { type: 'text', delta: 'yes' },
    { type: 'thought', delta: '\ufffd' },
  ]);
});

test('a character split over two events arrives whole, and half a one becomes U+FFFD (S30)', async (t) => {
  const outcome = await converse(t, [
    stream([
      event('{"candidates":[{"content":{"parts":[{"text":"a\\ud83d"}]}}]}'),
      event('{"candidates":[{"content":{"parts":[{"text":"\\ude00b\\udc00\\u0000\\u2028"}]}}]}'),
      event('{"candidates":[{"content":{"parts":[{"text":"c\\ud83d"}]},"finishReason":"STOP"}]}'),
    ]),
  ]);
  expect(outcome.events.slice(2)).toEqual([
    { type: 'text', delta: 'a' },
    { type: 'text', delta: '😀b\ufffd\u0000\u2028' },
    { type: 'text', delta: 'c' },
    { type: 'text', delta: '\ufffd' },
  ]);
});

test('interim answers and trailers are ignored (S32)', async (t) => {
  const bytes = event(reply([{ text: 'fine' }], STOP));
  const { text } = await converse(t, [
    (socket) => {
      socket.write('HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n');
      socket.write(head(200, { 'content-type': 'text/event-stream', 'transfer-encoding': 'chunked' }));
      socket.write(httpChunk(bytes));
      socket.end('0\r\nx-trailer: y\r\n\r\n');
    },
  ]);
  expect(text).toBe('fine');
});

const TEXTS = ['Grüße, ', '日本語 🎉', '.'];
const EVENTS = TEXTS.map((text, n) => event(reply([{ text }], n === 2 ? STOP : {})));
const MULTILINGUAL = Buffer.from(`\ufeff: hello\n${EVENTS.join('')}`);

/** The text of the events whose JSON is whole in the first `cut` bytes, and `after` bytes more. */
function textWithin(cut: number, after: number): string {
  const ends = EVENTS.map(
    (_, n) => MULTILINGUAL.length - Buffer.byteLength(EVENTS.slice(n + 1).join('')) - '\r\n\r\n'.length,
  );
  return TEXTS.filter((_, n) => cut >= (ends[n] ?? 0) + after).join('');
}

test('cut off at any byte: the text of all ended events, never a torn character, then a failure (S2, S3)', async (t) => {
  for (let cut = 0; cut < MULTILINGUAL.length - 1; cut += 1) {
    const { text, error } = await converse(t, [stream([MULTILINGUAL.subarray(0, cut)], 'close')]);
    expect({ cut, text, fault: error?.fault }).toEqual({ cut, text: textWithin(cut, '\r\n\r'.length), fault: 'api' });
  }
});

test('a connection lost after the finish reason takes nothing from the answer', async (t) => {
  const { text, reply: got } = await converse(t, [stream([MULTILINGUAL], 'close')]);
  expect({ text, finish: got?.finishReason }).toEqual({ text: 'Grüße, 日本語 🎉.', finish: 'STOP' });
});

test('ended cleanly at any byte before the last brace: the text of all whole events, then a failure (S4)', async (t) => {
  for (let cut = 0; cut <= MULTILINGUAL.lastIndexOf('}'); cut += 1) {
    const { text, error } = await converse(t, [stream([MULTILINGUAL.subarray(0, cut)])]);
    expect({ cut, text, fault: error?.fault }).toEqual({ cut, text: textWithin(cut, 0), fault: 'api' });
  }
});

test('the last event needs no blank line after it (S6)', async (t) => {
  for (let cut = MULTILINGUAL.lastIndexOf('}') + 1; cut <= MULTILINGUAL.length; cut += 1) {
    const { text, reply: got } = await converse(t, [stream([MULTILINGUAL.subarray(0, cut)])]);
    expect({ text, finish: got?.finishReason }).toEqual({ text: 'Grüße, 日本語 🎉.', finish: 'STOP' });
  }
});

test('one byte at a time is the same answer (S1)', async (t) => {
  const { text } = await converse(t, [stream([...MULTILINGUAL].map((byte) => Uint8Array.of(byte)))]);
  expect(text).toBe('Grüße, 日本語 🎉.');
});
