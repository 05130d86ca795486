import { expect, test } from 'vitest';
import { converse, KEY } from './conversation.ts';
import { event, head, httpChunk, reply, stream, whole } from './loopback.ts';

const STOP = { finishReason: 'STOP' };

test.for(['SAFETY', 'NEW_REASON'])(
  '%s ends in a failure that names it, and shown text stays (S18)',
  async (finishReason, t) => {
    const bare = await converse(t, [stream([event(reply([], { finishReason }))])]);
    expect(bare.error?.message).toBe(`the model stopped without finishing its answer: ${finishReason}`);
    const some = await converse(t, [stream([event(reply([{ text: 'so far' }])), event(reply([], { finishReason }))])]);
    expect(some.text).toBe('so far');
    expect(some.error?.message).toBe(`the model stopped without finishing its answer: ${finishReason}`);
    expect(some.server.requests).toHaveLength(1);
  },
);

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
