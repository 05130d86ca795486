import { expect, test } from 'vitest';
import { type Chunk, parseChunk } from '../../src/api/chunk.ts';
import { createContentCollector, type ReplyOptions, replyReader } from '../../src/api/reply.ts';
import { createCallIds, toReplyCalls } from '../../src/api/reply-calls.ts';
import { blockedPromptError, cutShortError, stalledError } from '../../src/api/reply-failure.ts';
import type { CallPart } from '../../src/core/content.ts';
import { AppError } from '../../src/core/error.ts';

const chunk = (parts: readonly unknown[], rest: object = {}, more: object = {}): Chunk =>
  parseChunk({ candidates: [{ content: { parts }, ...rest }], ...more });
const STOP = { finishReason: 'STOP' };

/** What is told of these chunks, and what they come to. */
async function read(chunks: readonly Chunk[], options?: ReplyOptions) {
  const reader = replyReader('asked', options);
  const events = chunks.flatMap((one) => reader.take(one));
  const isFinished = reader.isFinished();
  try {
    const end = await reader.finish();
    return { isFinished, events: [...events, ...end.events], reply: end.reply };
  } catch (thrown) {
    const { fault, message, hint, retry, details } = thrown as AppError<'api'>;
    const { objection } = details;
    return { isFinished, events, fault, message, hint, retry, objection };
  }
}

test('an answer is its text, its end, who gave it and what it cost', async () => {
  const usageMetadata = { promptTokenCount: 1, totalTokenCount: 2 };
  const { events, reply, isFinished } = await read([
    chunk([{ text: 'a' }], {}, { usageMetadata, modelVersion: 'gemini-x' }),
    chunk([{ text: '' }, { text: 'b' }], STOP, { usageMetadata: { totalTokenCount: 3 } }),
    chunk([{ text: 'c' }]),
  ]);
  expect(isFinished).toBe(true);
  expect(events).toEqual(['a', 'b', 'c'].map((delta) => ({ type: 'text', delta })));
  expect(reply).toEqual({
    finishReason: 'STOP',
    usage: { promptTokenCount: 1, totalTokenCount: 3 },
    model: 'gemini-x',
  });
});

test('a reply without a model or a usage is that of the model asked, with no counts', async () => {
  const { reply } = await read([chunk([{ text: 'a' }], STOP)]);
  expect(reply).toEqual({ finishReason: 'STOP', usage: {}, model: 'asked' });
});

test('an unspecified reason counts as none: some gateways write out every default', async () => {
  const unspecified = { finishReason: 'FINISH_REASON_UNSPECIFIED' };
  const promptFeedback = { blockReason: 'BLOCKED_REASON_UNSPECIFIED' };
  const first = chunk([{ text: 'a' }], unspecified, { promptFeedback });
  expect(first.block).toBeUndefined();
  expect(await read([first])).toMatchObject({
    isFinished: false,
    message: 'the answer was cut short: the stream ended without a finish reason',
  });
  expect((await read([first, chunk([{ text: 'b' }], STOP), chunk([], unspecified)])).reply?.finishReason).toBe('STOP');
});

test('thoughts are events of their own, and are no answer', async () => {
  const thought = { text: 'hm', thought: true };
  expect((await read([chunk([thought, { text: 'yes' }], STOP)])).events).toEqual([
    { type: 'thought', delta: 'hm' },
    { type: 'text', delta: 'yes' },
  ]);
  expect(await read([chunk([thought], STOP)])).toMatchObject({
    fault: 'api',
    message: 'empty response: the model thought but did not answer',
    retry: { atMost: 1 },
  });
  expect((await read([chunk([{ text: 'x', thought: 'true' }], STOP)])).events).toEqual([{ type: 'text', delta: 'x' }]);
});

test('where the model searched is put together from all that came', async () => {
  const { reply } = await read([
    chunk([{ text: 'a' }], { groundingMetadata: { a: 1, b: 1 } }),
    chunk([], { ...STOP, groundingMetadata: { b: 2 } }),
  ]);
  expect(reply?.grounding).toEqual({ a: 1, b: 2 });
});

test('published texts that the answer repeats are listed as they came, from all chunks', async () => {
  const citing = (...citationSources: readonly object[]) => ({ citationMetadata: { citationSources } });
  const { reply } = await read([
    chunk([{ text: 'a' }], citing({ uri: 'u' }, { uri: 'v' })),
    chunk([], { ...STOP, ...citing({ uri: 'u' }) }),
  ]);
  expect(reply?.citations).toEqual([{ uri: 'u' }, { uri: 'v' }, { uri: 'u' }]);
  expect((await read([chunk([{ text: 'a' }], { ...STOP, ...citing() })])).reply).toMatchObject({
    citations: undefined,
  });
});

test('a reply is kept whole only if that is asked for', async () => {
  const chunks = [chunk([{ text: 'a' }]), chunk([{ text: 'b', thoughtSignature: 's' }], STOP)];
  const keeper = createContentCollector(100);
  expect((await read(chunks, { keeper })).reply?.content).toEqual({
    role: 'model',
    parts: [{ text: 'a' }, { text: 'b', thoughtSignature: 's' }],
  });
  expect((await read(chunks, { keeper: createContentCollector(1) })).reply).toMatchObject({ content: undefined });
});

test('calls are an answer where tools were offered, and a failure elsewhere', async () => {
  const called = [chunk([{ functionCall: { name: 'x', id: 'i', args: { a: 1 } } }, { text: 't' }], STOP)];
  const { reply } = await read(called, { ids: createCallIds(() => 7) });
  expect(reply?.calls).toEqual([{ id: 'i', name: 'x', args: { a: 1 }, givenId: 'i' }]);
  expect(await read(called)).toMatchObject({
    fault: 'api',
    message: 'the model called x, but no tools were offered to it',
    retry: { atMost: 2 },
    objection: 'tools',
  });
  const plain = await read([chunk([{ text: 't' }], STOP)], { ids: createCallIds(() => 7) });
  expect(plain.reply).toMatchObject({ calls: undefined });
});

test('what an answer holds besides text is counted by kind; a null call and a signature are no kind', async () => {
  const odd = [{ inlineData: {}, thoughtSignature: 's' }, { inlineData: {}, x: 1 }, { thought: true }];
  expect((await read([chunk([{ text: 'a' }, { text: null }], STOP)])).events[0]).toEqual({ type: 'text', delta: 'a' });
  expect((await read([chunk([{ text: 'a' }, ...odd], STOP)])).events.at(-1)).toEqual({
    type: 'notice',
    message: 'the answer also contains content that gmn cannot show: 2 inlineData, 1 x',
  });
  expect(await read([chunk(odd, STOP)])).toMatchObject({
    fault: 'api',
    message: 'the answer contains no text, only inlineData, x',
    hint: 'Choose a model that answers in text, with -m.',
    retry: undefined,
  });
});

test('fields that describe a part, or that are only sent back, are not counted as content', async () => {
  const about = ['thoughtX', 'videoMetadata', 'mediaResolution', 'mediaProcessing', 'toolCall', 'toolResponse'];
  const kinds = ['afterthought', 'MetadataX', 'amediaResolution', 'mediaResolutionX', 'atoolCall', 'toolCallX'];
  const parts = [...about, ...kinds].map((kind) => ({ [kind]: 1 }));
  expect((await read([chunk([{ text: 'a' }, ...parts], STOP)])).events.at(-1)).toEqual({
    type: 'notice',
    message: `the answer also contains content that gmn cannot show: ${kinds.map((kind) => `1 ${kind}`).join(', ')}`,
  });
});

test('files alone are an answer, each as it came, but the samples of one sound are one', async () => {
  const file = (mimeType: string, data: string) => ({ inlineData: { mimeType, data } });
  const parts = [
    file('image/png', 'AAE'),
    ...[file('audio/L16;rate=1', 'YQ=='), file('audio/L16;rate=1', 'Yg==')],
    ...[file('audio/pcm', 'Yw=='), file('audio/pcm', 'ZA=='), file('audio/pcmx', 'YQ=='), file('audio/pcmx', 'YQ==')],
    ...[file('x-audio/pcm', 'YQ=='), file('x-audio/pcm', 'YQ=='), file('audio/L16;rate=1', 'YQ==')],
  ];
  const { events, reply } = await read([chunk([...parts, { ...file('image/png', 'AAA='), thought: true }], STOP)]);
  expect(events).toEqual([]);
  expect(reply?.files?.map(({ mimeType, data }) => `${mimeType} ${data}`)).toEqual([
    ...['image/png AAE', 'audio/L16;rate=1 YWI=', 'audio/pcm Y2Q=', 'audio/pcmx YQ==', 'audio/pcmx YQ=='],
    ...['x-audio/pcm YQ==', 'x-audio/pcm YQ==', 'audio/L16;rate=1 YQ=='],
  ]);
});

test.for([
  { mimeType: 'a/b' },
  { data: 'AAAA' },
  { mimeType: 1, data: 'AAAA' },
  { mimeType: 'a/b', data: 'A' },
  { mimeType: 'a/b', data: '!AAAA' },
])('%j is no file', async (inlineData) => {
  const { events, reply } = await read([chunk([{ text: 'a' }, { inlineData }], STOP)]);
  expect(events.at(-1)).toMatchObject({ message: expect.stringContaining('cannot show: 1 inlineData') });
  expect(reply).toMatchObject({ files: undefined });
});

test('a field that is null is absent, as in all JSON of the service', async () => {
  const kinds = ['text', 'functionCall', 'executableCode', 'codeExecutionResult', 'inlineData'];
  const parts = [{ text: 'a' }, ...kinds.map((kind) => ({ [kind]: null })), { functionCall: null, text: 'b' }];
  expect((await read([chunk(parts, STOP)])).events).toEqual([
    { type: 'text', delta: 'a' },
    { type: 'text', delta: 'b' },
  ]);
});

test('steps of the service alone are an answer, with whatever they leave out', async () => {
  const { events, reply } = await read([
    chunk([{ executableCode: { language: 'PYTHON', code: '1' } }, { executableCode: {} }]),
    chunk([{ codeExecutionResult: { outcome: 'OUTCOME_OK', output: '2' } }, { codeExecutionResult: {} }], STOP),
  ]);
  expect(events.map((event) => (event.type === 'service' ? event.step : event))).toEqual([
    { kind: 'code', language: 'PYTHON', code: '1' },
    { kind: 'code', language: '', code: '' },
    { kind: 'result', ok: true, outcome: 'OUTCOME_OK', output: '2' },
    { kind: 'result', ok: false, outcome: '', output: '' },
  ]);
  expect(reply).toEqual({ finishReason: 'STOP', usage: {}, model: 'asked' });
});

test('pages that the service loaded are told at the end, each once, with its last status', async () => {
  const pages = (...urlMetadata: readonly object[]) => ({ urlContextMetadata: { urlMetadata } });
  const { events, reply } = await read([
    chunk([{ text: 'a' }], pages({ retrievedUrl: 'u' }, { retrievedUrl: 'v' })),
    chunk([{ text: 'b' }], { ...STOP, ...pages({ retrievedUrl: 'u', urlRetrievalStatus: 'SUCCESS' }) }),
  ]);
  const steps = [
    { kind: 'page', url: 'u', ok: true, status: 'SUCCESS' },
    { kind: 'page', url: 'v', ok: false, status: '' },
  ];
  expect(events.slice(2)).toEqual(steps.map((step) => ({ type: 'service', step })));
  expect(reply?.pages).toEqual(steps);
});

test('a reply that the server wants to continue is not finished once it is resumed', () => {
  const reader = replyReader('asked');
  const states = () => [reader.isFinished(), reader.isToBeContinued()];
  expect(states()).toEqual([false, false]);
  reader.take(chunk([{ text: 'a' }], { finishReason: 'CONTINUATION' }));
  expect(states()).toEqual([true, true]);
  reader.resume();
  expect(states()).toEqual([false, false]);
  reader.take(chunk([], STOP));
  expect(states()).toEqual([true, false]);
});

test.for([
  ['LANGUAGE', 'The model does not answer in this language. Ask in another one, or choose another model with -m.'],
  ['SPII', 'The answer would have held personal data. Leave such data out of the prompt.'],
  ['TOO_MANY_TOOL_CALLS', 'Ask for fewer steps at once.'],
  ['MISSING_THOUGHT_SIGNATURE', 'Begin a new session: the model misses its own signatures in this one.'],
  ['IMAGE_SAFETY', 'Describe the picture in other words.'],
  ['IMAGE_PROHIBITED_CONTENT', 'Describe the picture in other words.'],
  ['IMAGE_RECITATION', 'Describe the picture in other words.'],
  ['IMAGE_OTHER', 'Describe the picture in other words.'],
  ...['SAFETY', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'OTHER', 'SOMETHING_NEW'].map(
    (reason) => [reason, 'Rephrase the prompt, or choose another model with -m.'] as const,
  ),
] as const)('after %s the next step is: %s', async ([finishReason, hint]) => {
  const objection = finishReason === 'MISSING_THOUGHT_SIGNATURE' ? 'signature' : undefined;
  const message = `the model stopped without finishing its answer: ${finishReason}`;
  expect(await read([chunk([], { finishReason })])).toMatchObject({ fault: 'api', message, hint, objection });
});

test('an answer that was cut short says so once, and to send the prompt again', () => {
  const lost = new AppError('api', 'the line was lost', { hint: 'Look.', retry: {} });
  const cut = { fault: 'api', message: 'the answer was cut short: the line was lost', hint: 'Send the prompt again.' };
  expect(cutShortError(lost)).toMatchObject({ ...cut, retry: {} });
  expect(cutShortError(cutShortError(lost))).toMatchObject(cut);
  expect(stalledError()).toMatchObject({
    fault: 'api',
    message: 'the answer was cut short: the server never finished it',
    hint: 'Send the prompt again.',
    retry: undefined,
  });
  expect(stalledError({ retry: { atMost: 1 } }).retry).toEqual({ atMost: 1 });
});

test.for<readonly [string, readonly Chunk[], object]>([
  ['nothing at all', [], { isFinished: false, message: 'empty response from the model', retry: {} }],
  [
    'no text',
    [chunk([{ text: '' }], STOP)],
    {
      message: 'empty response from the model',
      hint: 'Try again, rephrase the prompt, or choose another model with -m.',
      retry: {},
    },
  ],
  [
    'calls that nobody asked for',
    [chunk([{ functionCall: { name: 'x' } }, { functionCall: { name: 'y' } }], STOP)],
    {
      message: 'the model called x, y, but no tools were offered to it',
      hint: 'Say in the prompt that it should answer in text, or offer tools with --tools.',
    },
  ],
  [
    'a part of an answer that cannot be continued',
    [chunk([{ text: 'a' }], { finishReason: 'CONTINUATION' })],
    {
      message: 'the answer was cut short: the server gave no way to continue it',
      hint: 'Send the prompt again.',
      retry: undefined,
    },
  ],
  [
    'a call at the wrong time',
    [chunk([{ functionCall: { name: 'x' } }], { finishReason: 'UNEXPECTED_TOOL_CALL' })],
    { message: 'the model stopped without finishing its answer: UNEXPECTED_TOOL_CALL', retry: { atMost: 2 } },
  ],
  [
    'words that came before the reason',
    [chunk([], { finishMessage: 'no way' }), chunk([], { finishReason: 'OTHER' })],
    { message: 'the model stopped without finishing its answer: OTHER: no way' },
  ],
  [
    'text without an end',
    [chunk([{ text: 'a' }])],
    { message: 'the answer was cut short: the stream ended without a finish reason', retry: {} },
  ],
  [
    'a thought without an end',
    [chunk([{ text: 'a', thought: true }])],
    { message: 'the answer was cut short: the stream ended without a finish reason', hint: 'Send the prompt again.' },
  ],
  [
    'a call without an end',
    [chunk([{ functionCall: { name: 'x' } }])],
    { message: 'the answer was cut short: the stream ended without a finish reason' },
  ],
  [
    'nothing but the limit',
    [chunk([], { finishReason: 'MAX_TOKENS' })],
    {
      message: 'empty response: the token limit was spent before the answer began (MAX_TOKENS)',
      hint: 'Raise --max-output-tokens, or lower --thinking-level or --thinking-budget.',
      retry: undefined,
    },
  ],
  [
    'a reason and its words',
    [chunk([{ text: 'a' }], { finishReason: 'SAFETY', finishMessage: 'no\nway' })],
    {
      message: 'the model stopped without finishing its answer: SAFETY: no way',
      hint: 'Rephrase the prompt, or choose another model with -m.',
      retry: undefined,
    },
  ],
  [
    'an answer too close to a source',
    [chunk([{ text: 'a' }], { finishReason: 'RECITATION' })],
    {
      message: 'the model stopped without finishing its answer: RECITATION',
      hint: 'The answer was too close to a published text. Ask for a summary, or for other words.',
    },
  ],
  [
    'a picture that was not made',
    [chunk([], { finishReason: 'NO_IMAGE' })],
    {
      message: 'the model stopped without finishing its answer: NO_IMAGE',
      hint: 'Say in the prompt that you want a picture.',
    },
  ],
  [
    'a call that is none',
    [chunk([{ text: 'a' }], { finishReason: 'MALFORMED_FUNCTION_CALL' })],
    {
      message: 'the model stopped without finishing its answer: MALFORMED_FUNCTION_CALL',
      hint: 'Try again, rephrase the prompt, or choose another model with -m.',
      retry: { atMost: 2 },
    },
  ],
  [
    'a reply that the service could not read',
    [chunk([], { finishReason: 'MALFORMED_RESPONSE' })],
    {
      message: 'the model stopped without finishing its answer: MALFORMED_RESPONSE',
      retry: { atMost: 2 },
    },
  ],
  [
    'a conversation whose signatures the model misses',
    [chunk([], { finishReason: 'MISSING_THOUGHT_SIGNATURE' })],
    {
      message: 'the model stopped without finishing its answer: MISSING_THOUGHT_SIGNATURE',
      objection: 'signature',
    },
  ],
])('%s is no answer, and the error says so', async ([, chunks, wanted]) => {
  expect(await read(chunks)).toMatchObject({ fault: 'api', ...wanted });
});

test('an answer that was cut at the limit counts, and a notice says so (S19)', async () => {
  const { events, reply } = await read([chunk([{ text: 'and' }], { finishReason: 'MAX_TOKENS' })]);
  expect(events.at(-1)).toEqual({
    type: 'notice',
    message: 'the answer was cut at the token limit; raise --max-output-tokens',
  });
  expect(reply?.finishReason).toBe('MAX_TOKENS');
});

test('words of the server are quoted without the caller’s secrets', async () => {
  const secrets = new Set(['a-secret-of-mine']);
  const told = chunk([], { finishReason: 'OTHER', finishMessage: 'because a-secret-of-mine' });
  expect((await read([told], { secrets })).message).toMatch(/: OTHER: because ‹redacted›$/);
  expect(blockedPromptError('SAFETY a-secret-of-mine', secrets)).toMatchObject({
    fault: 'api',
    message: 'prompt blocked: SAFETY ‹redacted›',
    hint: 'Rephrase the prompt, or leave out what the filter may object to.',
  });
});

const call = (functionCall: object): CallPart => ({ functionCall }) as CallPart;

test('every call has an id of its own, its given one where that is free', () => {
  const ids = createCallIds(() => 99);
  const calls = toReplyCalls([call({ name: 'a', id: 'x' }), call({ name: 'b' }), call({ name: 'b' })], ids);
  expect(calls).toEqual([
    { id: 'x', name: 'a', args: {}, givenId: 'x' },
    { id: 'b_99_1', name: 'b', args: {} },
    { id: 'b_99_2', name: 'b', args: {} },
  ]);
  expect(toReplyCalls([call({ name: 'a', id: 'x' })], ids)).toEqual([{ id: 'x_3', name: 'a', args: {}, givenId: 'x' }]);
});

test('calls without ids do not repeat each other', () => {
  const calls = toReplyCalls(
    [call({ name: 'a' }), call({ name: 'a' })],
    createCallIds(() => 99),
  );
  expect(calls.map(({ fault }) => fault)).toEqual([undefined, undefined]);
});

test('a call that cannot run says why', () => {
  const ids = createCallIds(() => 99);
  const calls = toReplyCalls(
    [
      call({ name: 'a', id: 'x', args: null }),
      call({ name: 'a', id: 'x', args: 'no' }),
      call({ name: 'a', args: [] }),
      call({ id: 'y' }),
    ],
    ids,
  );
  expect(calls).toEqual([
    { id: 'x', givenId: 'x', name: 'a', args: {} },
    {
      id: 'x_1',
      givenId: 'x',
      name: 'a',
      args: {},
      fault: 'another call in this reply has the same id; nothing was run',
    },
    { id: 'a_99_2', name: 'a', args: {}, fault: 'args must be an object; nothing was run' },
    { id: 'y', givenId: 'y', name: 'generic_tool', args: {}, fault: 'the call names no function; nothing was run' },
  ]);
});
