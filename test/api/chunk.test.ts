import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseChunk } from '../../src/api/chunk.ts';
import { AppError } from '../../src/core/error.ts';

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
    usage: { promptTokenCount: 1, candidatesTokenCount: 0, thoughtsTokenCount: 7 },
  });
});

test('S31 a count that is no count is absent', () => {
  const usageMetadata = {
    promptTokenCount: -1,
    candidatesTokenCount: 1.5,
    totalTokenCount: 1e300,
    thoughtsTokenCount: '3',
  };
  expect(parseChunk({ usageMetadata }).usage).toEqual({});
  expect(parseChunk({ usageMetadata: 'many' }).usage).toBeUndefined();
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

test.for(HARMLESS)('S15 %j carries no text and is no failure', (value) => {
  expect(parseChunk(value)).toMatchObject({ parts: [] });
});

const HARMFUL: readonly unknown[] = [
  null,
  [],
  'x',
  7,
  true,
  { candidates: 'x' },
  { candidates: {} },
  { candidates: [null] },
  { candidates: [[]] },
  { candidates: [{ content: 'x' }] },
  { candidates: [{ content: [] }] },
  { candidates: [{ content: { parts: 'x' } }] },
  { candidates: [{ content: { parts: {} } }] },
  { candidates: [{ content: { parts: [null] } }] },
  { candidates: [{ content: { parts: ['x'] } }] },
  { candidates: [{ content: { parts: [{ text: 7 }] } }] },
  { candidates: [{ content: { parts: [{ functionCall: 'x' }] } }] },
];

test.for(HARMFUL)('S15 %j may hide text and is an API failure', (value) => {
  expect(() => parseChunk(value)).toThrow(expect.objectContaining({ fault: 'api', retry: {} }));
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
