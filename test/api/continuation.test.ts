import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AppError } from '../../src/core/error.ts';
import { isLong } from '../support/fuzz.ts';
import { converse, converseWith, REQUEST } from './conversation.ts';
import { type Answer, answer, event, loopback, type Received, reply, stream } from './loopback.ts';

/** An answer with a token after every second text; the token is the number of texts before it. */
const TEXTS = ['Oné ', 'two 🍊', 'three\n', 'four ', 'five.'];
const hasToken = (index: number) => index % 2 === 1;

function eventsFrom(start: number): readonly string[] {
  return TEXTS.slice(start).map((text, offset) => {
    const index = start + offset;
    const token = hasToken(index) ? { continuationToken: `after-${index + 1}` } : {};
    const end = index === TEXTS.length - 1 ? { finishReason: 'STOP' } : {};
    const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: offset + 1, totalTokenCount: offset + 11 };
    return event({ ...(reply([{ text }], { ...token, ...end }) as object), usageMetadata });
  });
}

/** Sends the rest of the answer after the token of the request. */
const sendRest: Answer = (socket, request) => stream(eventsFrom(tokenOf(request)))(socket, request);

function tokenOf({ body }: Received): number {
  return Number(/^after-(\d)$/.exec(JSON.parse(body).continuationToken ?? '')?.[1] ?? 0);
}

const NO_WAIT = { sleeps: [0] };

test.for(['close', 'reset', 'clean'] as const)(
  'an answer whose line is lost right after a token is resumed there, at once and in silence: %s',
  async (end, t) => {
    const { text, reply, events, server, sleeps } = await converse(t, [
      stream(eventsFrom(0).slice(0, 2), end),
      sendRest,
    ]);
    expect(text).toBe(TEXTS.join(''));
    expect(server.requests.map(tokenOf)).toEqual([0, 2]);
    const [first, second] = server.requests.map(({ body }) => JSON.parse(body));
    expect(second).toEqual({ ...first, continuationToken: 'after-2' });
    expect(events.filter(({ type }) => type === 'notice')).toEqual([]);
    expect(events.filter(({ type }) => type === 'begin' || type === 'wait')).toHaveLength(2);
    expect(reply?.usage).toEqual({ promptTokenCount: 20, candidatesTokenCount: 5, totalTokenCount: 25 });
    expect({ sleeps }).toEqual(NO_WAIT);
  },
);

test('a lost line after a cut of any byte either ends whole or fails, and shows nothing twice', async (t) => {
  const bytes = Buffer.from(eventsFrom(0).join(''));
  const lengths = eventsFrom(0).map((one) => Buffer.byteLength(one));
  let cut = 0;
  const server = await loopback(t, [
    (socket, request) =>
      tokenOf(request) === 0 ? stream([bytes.subarray(0, cut)], 'close')(socket, request) : sendRest(socket, request),
  ]);
  for (cut = 0; cut < bytes.length; cut += isLong ? 1 : 7) {
    let whole = 0;
    for (let at = 0; whole < lengths.length && at + (lengths[whole] ?? 0) - 1 <= cut; whole += 1)
      at += lengths[whole] ?? 0;
    const { text, error } = await converseWith(server.url, { retries: 1 });
    const isResumed = whole > 0 && hasToken(whole - 1);
    const isGood = isResumed || whole === TEXTS.length;
    expect({ cut, text, isGood: error === undefined }).toEqual({
      cut,
      text: isGood ? TEXTS.join('') : TEXTS.slice(0, whole).join(''),
      isGood,
    });
  }
});

test('an answer in several hops is one answer, however it is divided', async (t) => {
  let ends: readonly number[] = [];
  const server = await loopback(t, [
    (socket, request) => {
      const start = JSON.parse(request.body).continuationToken ?? 0;
      const end = ends.find((index) => index > Number(start)) ?? TEXTS.length;
      const isLast = end === TEXTS.length;
      const hop = TEXTS.slice(Number(start), end).map((text, index, all) => {
        if (index < all.length - 1) return event(reply([{ text }]));
        const ending = isLast
          ? { finishReason: 'STOP' }
          : { finishReason: 'CONTINUATION', continuationToken: String(end) };
        const usageMetadata = {
          promptTokenCount: 1,
          candidatesTokenCount: all.length,
          totalTokenCount: all.length + 1,
        };
        return event({ ...(reply([{ text }], ending) as object), usageMetadata });
      });
      stream(hop)(socket, request);
    },
  ]);
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(fc.integer({ min: 1, max: TEXTS.length - 1 })), async (chosen) => {
      ends = chosen.toSorted();
      const before = server.requests.length;
      const { text, reply: whole, error, sleeps } = await converseWith(server.url, {});
      expect({ text, error, sleeps }).toEqual({ text: TEXTS.join(''), error: undefined, sleeps: [] });
      expect(server.requests.length - before).toBe(ends.length + 1);
      expect(whole).toMatchObject({ finishReason: 'STOP', usage: { promptTokenCount: ends.length + 1 } });
      expect(whole?.usage.candidatesTokenCount).toBe(TEXTS.length);
    }),
    { numRuns: 40 },
  );
});

test('a resumed answer that is refused is asked for again, after a wait that a notice reports', async (t) => {
  const busy = answer(503, '{"error":{"code":503,"status":"UNAVAILABLE","message":"Busy."}}');
  const { text, server, sleeps, error, events } = await converse(t, [
    stream(eventsFrom(0).slice(0, 2), 'close'),
    busy,
    busy,
    sendRest,
  ]);
  expect([text, error]).toEqual([TEXTS.join(''), undefined]);
  expect(server.requests.map(tokenOf)).toEqual([0, 2, 2, 2]);
  expect(sleeps.map((ms) => ms > 0)).toEqual([false, true, true]);
  expect(events.flatMap((each) => (each.type === 'notice' ? [each.message] : []))).toEqual([
    expect.stringMatching(/503.*; retry 2 of 3 in/),
    expect.stringMatching(/503.*; retry 3 of 3 in/),
  ]);
});

test('without progress it is resumed three times, then the failure is reported with what had come', async (t) => {
  const { text, server, error } = await converse(t, [stream(eventsFrom(0).slice(0, 2), 'close'), stream([], 'close')]);
  expect(text).toBe('Oné two 🍊');
  expect(server.requests).toHaveLength(4);
  expect(error).toMatchObject({ fault: 'api' });
});

test('progress counts retries anew', async (t) => {
  const one = (start: number): Answer => stream(eventsFrom(start).slice(0, 2), 'close');
  const dead = stream([], 'close');
  const { text, server } = await converse(t, [one(0), dead, dead, one(2), dead, dead, sendRest]);
  expect(text).toBe(TEXTS.join(''));
  expect(server.requests.map(tokenOf)).toEqual([0, 2, 2, 2, 4, 4, 4]);
});

/** Always a little text and a new token, and then the end of the connection, or of the hop. */
function endless(ending: object, end?: 'close'): Answer {
  let count = 0;
  return (socket, request) => {
    count += 1;
    const chunk = reply([{ text: 'x' }], { ...ending, continuationToken: `after-${count}` }) as object;
    const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 1, totalTokenCount: 11 };
    stream([event({ ...chunk, usageMetadata })], end)(socket, request);
  };
}

test.for([
  ['lost', endless({}, 'close'), 20],
  ['continued', endless({ finishReason: 'CONTINUATION' }), 64],
] as const)(
  'a reply that never ends is %s a limited number of times, and each request is counted',
  async ([, answer, most], t) => {
    const { server, error, text, calls, requests } = await converse(t, [answer]);
    expect(requests).toBe(most + 1);
    expect(server.requests).toHaveLength(most + 1);
    expect(text).toBe('x'.repeat(most + 1));
    expect(error).toMatchObject({ fault: 'api', message: expect.stringMatching(/^the answer was cut short/) });
    expect(calls).toEqual(Array(most + 1).fill({ promptTokenCount: 10, candidatesTokenCount: 1, totalTokenCount: 11 }));
  },
);

test('a reply that only ever fails inside its stream, with a new token each time, is resumed 20 times', async (t) => {
  let count = 0;
  const { server } = await converse(t, [
    (socket, request) => {
      count += 1;
      const busy = event({ error: { code: 503, status: 'UNAVAILABLE', message: 'Busy.' } });
      stream([event(reply([{ text: 'x' }], { continuationToken: `after-${count}` })), busy])(socket, request);
    },
  ]);
  expect(server.requests).toHaveLength(21);
});

test('the time limit ends a reply that is continued without end', async (t) => {
  const stop = new AbortController();
  const { server, error } = await converse(t, [endless({ finishReason: 'CONTINUATION' })], {
    signal: stop.signal,
    onEvent: ({ type }) => (type === 'text' ? stop.abort(new AppError('api', 'timed out')) : undefined),
  });
  expect(server.requests).toHaveLength(1);
  expect(error?.message).toBe('timed out');
});

test('a server that only ever says "go on" ends in a failure', async (t) => {
  const again = event(reply([{ text: '' }], { finishReason: 'CONTINUATION', continuationToken: 'after-2' }));
  const { server, error, text } = await converse(t, [stream([...eventsFrom(0).slice(0, 2)], 'close'), stream([again])]);
  expect(text).toBe('Oné two 🍊');
  expect(server.requests.length).toBeLessThan(6);
  expect(error).toMatchObject({ fault: 'api', message: expect.stringContaining('cut short') });
});

test('a token that is given again is no progress, and nothing is shown twice because of it', async (t) => {
  const again = event(reply([{ text: 'x' }], { continuationToken: 'same' }));
  const { server, error, text } = await converse(t, [stream([again], 'close')]);
  expect(server.requests).toHaveLength(2);
  expect([text, error?.message]).toEqual(['xx', expect.stringContaining('cut short')]);
  const hop = event(reply([{ text: 'x' }], { finishReason: 'CONTINUATION', continuationToken: 'same' }));
  const hops = await converse(t, [stream([hop])]);
  expect(hops.server.requests).toHaveLength(2);
  expect(hops.error?.message).toBe('the answer was cut short: the server gave no way to continue it');
});

test('while nothing was shown, a failure past a token is retried from the start', async (t) => {
  const thought = (text: string, rest = {}) => event(reply([{ text, thought: true }], rest));
  const { text, error, server } = await converse(t, [
    stream([thought('a', { continuationToken: 'after-1' }), thought('b')], 'close'),
    sendRest,
  ]);
  expect([text, error]).toEqual([TEXTS.join(''), undefined]);
  expect(server.requests.map(({ body }) => JSON.parse(body).continuationToken)).toEqual([undefined, undefined]);
});

test('while nothing was shown, a token that is refused is not the end', async (t) => {
  const refused = answer(400, '{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"Unknown name."}}');
  const thought = event(reply([{ text: 'a', thought: true }], { continuationToken: 'after-1' }));
  const { text, error, server } = await converse(t, [stream([thought], 'close'), refused, sendRest]);
  expect([text, error]).toEqual([TEXTS.join(''), undefined]);
  expect(server.requests).toHaveLength(3);
});

test('a rejected token after text is reported as an answer that was cut short', async (t) => {
  const refused = answer(400, '{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"Token expired."}}');
  const { text, error } = await converse(t, [stream(eventsFrom(0).slice(0, 2), 'close'), refused]);
  expect(text).toBe('Oné two 🍊');
  expect(error).toMatchObject({
    message: expect.stringMatching(/^the answer was cut short: .*Token expired/),
    hint: 'Send the prompt again.',
  });
});

test('no retries and little time left are no reason not to resume', async (t) => {
  const { text, error } = await converse(t, [stream(eventsFrom(0).slice(0, 2), 'close'), sendRest], {
    retries: 0,
    deadline: () => 1_000_001,
  });
  expect([text, error]).toEqual([TEXTS.join(''), undefined]);
});

test.for([0, 1])(
  'a resumed answer that is refused is asked for again as often as any request: %i',
  async (retries, t) => {
    const busy = answer(503, '{"error":{"code":503,"status":"UNAVAILABLE","message":"Busy."}}');
    const hop = event(reply([{ text: 'a' }], { finishReason: 'CONTINUATION', continuationToken: 'after-2' }));
    for (const first of [stream(eventsFrom(0).slice(0, 2), 'close'), stream([hop])]) {
      const { server, error } = await converse(t, [first, busy], { retries });
      expect(server.requests.map(tokenOf)).toEqual([0, 2, ...Array(retries).fill(2)]);
      expect(error).toMatchObject({
        details: { status: 503 },
        message: expect.stringMatching(/^the answer was cut short/),
      });
    }
  },
);

test('the notice of a continued reply is not repeated by the failure after it', async (t) => {
  const hop = { finishReason: 'CONTINUATION', finishMessage: 'go on', continuationToken: 'z' };
  const { error } = await converse(t, [
    stream([event(reply([{ text: 'a' }], hop))]),
    stream([event(reply([], { finishReason: 'SAFETY' }))]),
  ]);
  expect(error?.message).toBe('the model stopped without finishing its answer: SAFETY');
});

test('a hop that is cut after one that was continued is resumed too', async (t) => {
  const hop = { finishReason: 'CONTINUATION', continuationToken: 'after-2' };
  const {
    text,
    error,
    server,
    reply: whole,
  } = await converse(t, [
    stream([event(reply([{ text: 'Oné ' }])), event(reply([{ text: 'two 🍊' }], hop))]),
    stream(eventsFrom(2).slice(0, 2), 'close'),
    sendRest,
  ]);
  expect([text, error]).toEqual([TEXTS.join(''), undefined]);
  expect(server.requests.map(tokenOf)).toEqual([0, 2, 4]);
  expect(whole).toMatchObject({ usage: { promptTokenCount: 20 }, promptTokens: 10 });
});

test('calls and signatures are kept across a resumption, each once', async (t) => {
  const call = { functionCall: { name: 'x', args: {} }, thoughtSignature: 's' };
  const { reply: whole, error } = await converse(
    t,
    [
      stream([event(reply([{ text: 'Look. ' }, call], { continuationToken: 'after-2' }))], 'close'),
      stream([event(reply([{ text: '', thoughtSignature: 'z' }], { finishReason: 'STOP' }))]),
    ],
    { request: { ...REQUEST, keepLimit: 1000, tools: [{ functionDeclarations: [{ name: 'x' }] }] } },
  );
  expect(error).toBeUndefined();
  expect(whole?.calls).toMatchObject([{ name: 'x' }]);
  expect(whole?.content?.parts).toEqual([{ text: 'Look. ' }, call, { text: '', thoughtSignature: 'z' }]);
});

test('a reply that has ended is not resumed, whatever its end: its last token leads nowhere', async (t) => {
  const thought = event(reply([{ text: 'a', thought: true }], { finishReason: 'STOP', continuationToken: 'after-1' }));
  const empty = await converse(t, [stream([thought]), sendRest]);
  expect([empty.text, empty.server.requests.map(tokenOf)]).toEqual([TEXTS.join(''), [0, 0]]);
  const bad = event(reply([], { finishReason: 'MALFORMED_FUNCTION_CALL' }));
  const { text, server, error } = await converse(t, [stream([...eventsFrom(0).slice(0, 2), bad]), sendRest]);
  expect([text, server.requests.length]).toEqual(['Oné two 🍊', 1]);
  expect(error?.message).toContain('MALFORMED_FUNCTION_CALL');
});

test.for([{ finishReason: 'CONTINUATION' }, {}])(
  'a server that refuses its own tokens is asked from the start three more times at most: %j',
  async (ending, t) => {
    const refused = answer(400, '{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"Unknown name."}}');
    const thought = reply([{ text: 'a', thought: true }], { ...ending, continuationToken: 'after-1' });
    const { error, server } = await converse(t, [
      (socket, request) => (tokenOf(request) === 0 ? stream([event(thought)], 'close') : refused)(socket, request),
    ]);
    expect(server.requests.filter((request) => tokenOf(request) === 0).length).toBeLessThan(5);
    expect(error).toMatchObject({ details: { status: 400 } });
  },
);
