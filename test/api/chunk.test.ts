import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseChunk } from '../../src/api/chunk.ts';
import { replyReader } from '../../src/api/reply.ts';
import { AppError } from '../../src/core/error.ts';
import type { Usage } from '../../src/core/usage.ts';

test('the parts are the very objects that came, unknown fields included', () => {
  const part = { text: 'x', thoughtSignature: 'c2ln', futureField: { a: 1 } };
  const { parts } = parseChunk({ candidates: [{ content: { parts: [part] } }] });
  expect(parts[0]).toBe(part);
});

test('everything gmn reads is read', () => {
  const chunk = parseChunk({
    candidates: [{ content: { parts: [{ text: 'x' }] }, finishReason: 'STOP', finishMessage: 'done' }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 0, thoughtsTokenCount: 7, trafficType: 'ON_DEMAND' },
    modelVersion: 'gemini-x',
    promptFeedback: { safetyRatings: [] },
  });
  expect(chunk).toEqual({
    parts: [{ text: 'x' }],
    otherCandidates: 0,
    finishReason: 'STOP',
    finishMessage: 'done',
    modelVersion: 'gemini-x',
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 0, thoughtsTokenCount: 7, trafficType: 'ON_DEMAND' },
  });
});

/** What a reply with this `usageMetadata` cost. */
async function readUsage(usageMetadata: unknown): Promise<Usage> {
  const reader = replyReader('asked');
  const candidates = [{ content: { parts: [{ text: 'x' }] }, finishReason: 'STOP' }];
  reader.take(parseChunk({ candidates, usageMetadata }));
  return (await reader.finish()).reply.usage;
}

test('a count that is no count is absent (S31)', async () => {
  const usageMetadata = {
    promptTokenCount: -1,
    candidatesTokenCount: 1.5,
    totalTokenCount: 1e300,
    thoughtsTokenCount: '3',
  };
  expect(await readUsage(usageMetadata)).toEqual({});
  expect(await readUsage('many')).toEqual({});
  expect(await readUsage({ totalTokenCount: 0, trafficType: 'ON_DEMAND' })).toEqual({ totalTokenCount: 0 });
});

const HARMLESS: readonly unknown[] = [
  {},
  { candidates: null },
  { candidates: [] },
  { candidates: [{}] },
  { candidates: [{ content: null }] },
  { candidates: [{ content: {} }] },
  { candidates: [{ content: { parts: null } }] },
  { candidates: [{ finishReason: 7 }] },
  { candidates: [{ index: 1, content: { parts: [{ text: 'other' }] } }] },
  { promptFeedback: 'x', modelVersion: 3, usageMetadata: [] },
];

test.for(HARMLESS)('%j carries no text and is no failure (S15)', (value) => {
  expect(parseChunk(value)).toMatchObject({ parts: [] });
});

test('no JSON at all makes anything but an AppError', () => {
  const key = fc.constantFrom(
    'candidates',
    'content',
    'parts',
    'text',
    'error',
    'usageMetadata',
    'functionCall',
    'index',
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 6 },
      fc.jsonValue({ maxDepth: 1 }),
      fc.array(tie('value')),
      fc.dictionary(key, tie('value')),
    ),
  }));
  fc.assert(
    fc.property(value, (json) => {
      try {
        parseChunk(json);
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(AppError);
      }
    }),
  );
});

test.for<readonly [unknown, string]>([
  ...[null, [], 'x', 7, true].map((value) => [value, 'not an object'] as const),
  ...['x', {}].map((candidates) => [{ candidates }, 'candidates is not a list'] as const),
  ...[null, [], 1].map((candidate) => [{ candidates: [candidate] }, 'a candidate is not an object'] as const),
  ...['x', [], 1].map((content) => [{ candidates: [{ content }] }, 'content is not an object'] as const),
  ...['x', {}].map((parts) => [{ candidates: [{ content: { parts } }] }, 'parts is not a list'] as const),
  ...[null, 'x', 1].map(
    (part) => [{ candidates: [{ content: { parts: [part] } }] }, 'a part is not an object'] as const,
  ),
  [{ candidates: [{ content: { parts: [{ text: 1 }] } }] }, 'a text is not a string'],
  ...['x', 1].map(
    (functionCall) =>
      [{ candidates: [{ content: { parts: [{ functionCall }] } }] }, 'a function call is not an object'] as const,
  ),
])('%j may hide text and is an API failure, which says what is wrong (S15)', ([value, what]) => {
  const parse = () => parseChunk(value);
  expect(parse).toThrow(`the answer was cut short: malformed event from the server (${what})`);
  expect(parse).toThrow(
    expect.objectContaining({
      fault: 'api',
      hint: 'Send the prompt again. If this keeps happening, the server does not speak the Gemini API.',
      retry: {},
    }),
  );
});

test('parts whose text or call is null are kept as they came', () => {
  const parts = [{ text: null }, { functionCall: null }, { inlineData: {} }];
  expect(parseChunk({ candidates: [{ content: { parts } }] }).parts).toBe(parts);
});

test('an error is handed on whole, and null is none', () => {
  const body = { error: { code: 503 }, candidates: 'x' };
  expect(parseChunk(body)).toStrictEqual({ parts: [], otherCandidates: 0, error: body });
  expect(parseChunk({ error: null, candidates: [{ finishReason: 'STOP' }] })).toMatchObject({ finishReason: 'STOP' });
});

test('the first candidate is the one without a number or with 0; the others are counted', () => {
  const content = { parts: [{ text: 'x' }] };
  expect(parseChunk({ candidates: null }).otherCandidates).toBe(0);
  expect(parseChunk({ candidates: [{ index: 1, content }] })).toMatchObject({ parts: [], otherCandidates: 1 });
  expect(parseChunk({ candidates: [{ index: 1 }, { index: 0, content }] })).toMatchObject({
    parts: content.parts,
    otherCandidates: 1,
  });
});

test('where the model searched is handed on as it came, if it is an object', () => {
  const groundingMetadata = { webSearchQueries: ['x'] };
  expect(parseChunk({ candidates: [{ groundingMetadata }] }).grounding).toBe(groundingMetadata);
  expect(parseChunk({ candidates: [{ groundingMetadata: 'x' }] }).grounding).toBeUndefined();
});

test('a token that is too long to be sent back is left out', () => {
  const token = (continuationToken: unknown) => parseChunk({ candidates: [{ continuationToken }] }).continuationToken;
  const longest = 'x'.repeat(1_000_000);
  expect([token('t'), token(longest), token(`${longest}x`), token(''), token(7)]).toEqual([
    ...['t', longest, undefined, undefined, undefined],
  ]);
});

test('pages are read with their status, and without one as not loaded', () => {
  const urlMetadata = [
    { retrievedUrl: 'a', urlRetrievalStatus: 'URL_RETRIEVAL_STATUS_SUCCESS' },
    { retrievedUrl: 'b', urlRetrievalStatus: 'URL_RETRIEVAL_STATUS_PAYWALL' },
    { retrievedUrl: 'c', urlRetrievalStatus: 'NO_URL_RETRIEVAL_STATUS_SUCCESS' },
    { retrievedUrl: 'd' },
    ...[{ urlRetrievalStatus: 'URL_RETRIEVAL_STATUS_SUCCESS' }, { retrievedUrl: 7 }, 'e'],
  ];
  expect(parseChunk({ candidates: [{ urlContextMetadata: { urlMetadata } }] }).pages).toEqual([
    { kind: 'page', url: 'a', ok: true, status: 'SUCCESS' },
    { kind: 'page', url: 'b', ok: false, status: 'PAYWALL' },
    { kind: 'page', url: 'c', ok: false, status: 'NO_URL_RETRIEVAL_STATUS_SUCCESS' },
    { kind: 'page', url: 'd', ok: false, status: '' },
  ]);
});

test('a reason that is not specified is none, and a number is a name', () => {
  const reason = (finishReason: string | number) => parseChunk({ candidates: [{ finishReason }] }).finishReason;
  expect(['FINISH_REASON_UNSPECIFIED', '_UNSPECIFIED_X'].map(reason)).toEqual([undefined, '_UNSPECIFIED_X']);
  expect([0, 1, 2, 3, 4, 5, 42].map(reason)).toEqual([
    ...[undefined, 'STOP', 'MAX_TOKENS', 'SAFETY', 'RECITATION', 'OTHER', 'reason 42'],
  ]);
  const block = (blockReason: number) => parseChunk({ promptFeedback: { blockReason } }).block;
  expect([0, 1, 2, 3, 4, 42].map(block)).toEqual([
    ...[undefined, 'SAFETY', 'OTHER', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'reason 42'],
  ]);
});

const UNSAFE = [
  { category: 'HARASSMENT', probability: 'HIGH' },
  { category: 'HATE', probability: 'MEDIUM', blocked: false },
  { category: 'DANGER', probability: 'LOW', blocked: true },
  { category: 'OTHER', blocked: true },
];
const SAFE = [
  { category: 'X', probability: 'LOW' },
  { category: 'Y', probability: 'NEGLIGIBLE', blocked: 'true' },
  'Z',
];
const SAID = 'HARASSMENT HIGH, HATE MEDIUM, DANGER LOW, OTHER';

test.for<readonly [object, string | undefined]>([
  [{ blockReason: 'SAFETY' }, 'SAFETY'],
  [{ blockReasonMessage: 'No.' }, 'No.'],
  [{ blockReason: 'SAFETY', blockReasonMessage: 'No.', safetyRatings: SAFE }, 'SAFETY: No.'],
  [{ blockReason: 'SAFETY', blockReasonMessage: 'No.', safetyRatings: [...SAFE, ...UNSAFE] }, `SAFETY: No.: ${SAID}`],
  [{ blockReason: 'SAFETY', safetyRatings: UNSAFE }, `SAFETY: ${SAID}`],
  [{ safetyRatings: UNSAFE }, undefined],
  [{ blockReason: 'BLOCKED_REASON_UNSPECIFIED', blockReasonMessage: '' }, undefined],
])('a prompt is blocked by %j because of %j', ([promptFeedback, block]) => {
  expect(parseChunk({ promptFeedback }).block).toBe(block);
});

test.for<readonly [object, string | undefined]>([
  [{ finishReason: 'SAFETY', safetyRatings: [...SAFE, ...UNSAFE] }, SAID],
  [{ finishReason: 'SAFETY', finishMessage: 'No.', safetyRatings: UNSAFE }, `No.: ${SAID}`],
  [{ finishReason: 'SAFETY', finishMessage: 'No.', safetyRatings: SAFE }, 'No.'],
  [{ finishReason: 'SAFETY', safetyRatings: SAFE }, undefined],
  [{ finishReason: 'STOP', finishMessage: 'Done.', safetyRatings: UNSAFE }, 'Done.'],
  [{ finishReason: 'STOP', safetyRatings: UNSAFE }, undefined],
  [{ finishMessage: 'Wait.', safetyRatings: UNSAFE }, 'Wait.'],
  [{ safetyRatings: UNSAFE }, undefined],
])(
  'an answer that ends with %j says of it %j: ratings of an answer that goes on, or is whole, are no reason',
  ([candidate, finishMessage]) => {
    expect(parseChunk({ candidates: [candidate] }).finishMessage).toBe(finishMessage);
  },
);

test('published texts that are repeated are read under both names, and nothing else with them', () => {
  const sources = [{ uri: 'https://a.test' }, { uri: 'https://b.test' }];
  const citations = (citationMetadata: unknown) => parseChunk({ candidates: [{ citationMetadata }] }).citations;
  expect(citations({ citationSources: [...sources, 'x', null] })).toEqual(sources);
  expect(citations({ citations: sources })).toEqual(sources);
  expect(citations({})).toEqual([]);
  expect(citations('x')).toBeUndefined();
});
