import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseChunk } from '../../src/api/chunk.ts';
import { createContentCollector, replyReader } from '../../src/api/reply.ts';
import type { Part } from '../../src/core/content.ts';
import { fuzz } from '../support/fuzz.ts';

/** Text with many characters of two halves, and halves alone. */
const text = fc.string({
  unit: fc.constantFrom('a', 'é', '日', '😀', '\ud83d', '\ude00', '\ud800', '\udbff', '\udfff', '\ufffd'),
});

function split(whole: string, cuts: readonly number[]): readonly string[] {
  const places = [0, ...cuts.map((cut) => cut % (whole.length + 1)).sort((a, b) => a - b), whole.length];
  return places.slice(1).map((place, n) => whole.slice(places[n], place));
}

test('where a text is split into events, inside a character too, makes no difference to what is shown', async () => {
  await fc.assert(
    fc.asyncProperty(text, text, fc.array(fc.nat(), { maxLength: 12 }), async (answer, thought, cuts) => {
      const reader = replyReader('asked');
      const parts = [
        ...split(thought, cuts).map((piece) => ({ text: piece, thought: true })),
        ...split(`!${answer}`, cuts).map((piece) => ({ text: piece })),
      ];
      const events = parts.flatMap((part) => reader.take(parseChunk({ candidates: [{ content: { parts: [part] } }] })));
      reader.take(parseChunk({ candidates: [{ finishReason: 'STOP' }] }));
      const { events: rest } = await reader.finish();
      const shown = (type: 'text' | 'thought') =>
        [...events, ...rest].flatMap((event) => (event.type === type ? [event.delta] : [])).join('');
      expect({ text: shown('text'), thought: shown('thought') }).toEqual({
        text: `!${answer}`.toWellFormed(),
        thought: thought.toWellFormed(),
      });
      for (const event of [...events, ...rest]) if ('delta' in event) expect(event.delta.isWellFormed()).toBe(true);
    }),
    fuzz(200),
  );
});

test('of a text that ends in half of a character only that half is held back', () => {
  const reader = replyReader('asked');
  const take = (text: string) => reader.take(parseChunk({ candidates: [{ content: { parts: [{ text }] } }] }));
  const deltas = ['ab\ud83d', '\ude00c'].flatMap((text) => take(text));
  expect(deltas).toEqual(['ab', '😀c'].map((delta) => ({ type: 'text', delta })));
});

const part = fc.oneof(
  { arbitrary: fc.record({ text }), weight: 3 },
  { arbitrary: fc.record({ text, thought: fc.constant(true) }), weight: 3 },
  fc.record({ text, thought: fc.boolean() }, { requiredKeys: ['text'] }),
  fc.record({ text, thoughtSignature: fc.base64String() }),
  fc.record({ functionCall: fc.record({ name: fc.string() }), thoughtSignature: fc.base64String() }),
  fc.record({ text, isNew: fc.jsonValue() }),
  fc.record({ isNew: fc.jsonValue() }),
) as fc.Arbitrary<Part>;

test('parts are kept as they came; only plain neighbours of the same kind become one', () => {
  const isPlain = (one: object): boolean => Object.keys(one).every((key) => key === 'text' || key === 'thought');
  const thoughtOf = (one: object): unknown => ('thought' in one ? one.thought : undefined);
  const textOf = (all: readonly Part[]) => all.map((one) => ('text' in one ? one.text : '|')).join('');
  fc.assert(
    fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
      const keeper = createContentCollector(1_000_000);
      for (const one of parts) keeper.add(one);
      const kept = keeper.content()?.parts ?? [];
      for (const thought of [undefined, true, false]) {
        const ofKind = (all: readonly Part[]) => textOf(all.filter((one) => thoughtOf(one) === thought));
        expect(ofKind(kept)).toBe(ofKind(parts));
      }
      expect(kept.filter((one) => !isPlain(one))).toEqual(parts.filter((one) => !isPlain(one)));
      for (const [n, one] of kept.entries()) {
        const next = kept[n + 1];
        if (next && isPlain(one) && isPlain(next)) expect(thoughtOf(one)).not.toBe(thoughtOf(next));
      }
    }),
    fuzz(200),
  );
});

test('a thought and what follows it stay two, a part with a null text is kept, and nothing of either is lost', () => {
  const keeper = createContentCollector(1_000);
  const parts = [
    { text: 'a', thought: true },
    { text: 'b' },
    { text: null },
    { text: 'c' },
    { text: 'd', thought: false },
  ];
  for (const part of parts) keeper.add(part as Part);
  expect(keeper.content()?.parts).toEqual(parts);
});

test.for([
  [10, 'kept'],
  [9, 'let go of'],
] as const)('a reply of ten characters is, with a limit of %i, %s', ([limit, what]) => {
  const keeper = createContentCollector(limit);
  keeper.add({ text: 'five.' });
  keeper.add({ text: 'five!' });
  keeper.add({ text: '' });
  const whole = { role: 'model', parts: [{ text: 'five.five!' }] };
  expect(keeper.content()).toEqual(what === 'kept' ? whole : undefined);
});

test('parts other than text count by their JSON, and a reply over the limit stays dropped', () => {
  const keeper = createContentCollector(29);
  keeper.add({ functionCall: { name: 'x' } });
  expect(keeper.content()?.parts).toHaveLength(1);
  keeper.add({ text: 'x' });
  expect(keeper.content()).toBeUndefined();
  keeper.add({ text: '' });
  expect(keeper.content()).toBeUndefined();
});

test('media do not count, but what only looks like media does', () => {
  const keep = (inlineData: object) => {
    const keeper = createContentCollector(29);
    keeper.add({ inlineData } as Part);
    return keeper.content()?.parts;
  };
  const picture = { mimeType: 'image/png', data: 'AAAA'.repeat(100) };
  expect(keep(picture)).toEqual([{ inlineData: picture }]);
  expect(keep({ data: 'AAAA'.repeat(100) })).toBeUndefined();
});

const LIMITS = { text: 1000, other: 2000, nesting: 10 };
const nested = (depth: number): object => JSON.parse(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`);

/** The error of an answer that begins with a text and then holds these parts, and what was told of it. */
function overrun(parts: readonly object[], extra: object = {}) {
  const reader = replyReader('asked', { limits: LIMITS });
  const content = { parts: [{ text: 'first' }, ...parts] };
  const told = reader.take(parseChunk({ candidates: [{ content, ...extra }] }));
  try {
    reader.throwIfOver();
    return { told, error: undefined };
  } catch (error) {
    return { told, error };
  }
}

test.for([
  ['text', [{ text: 'é'.repeat(600) }], 'longer than 0 MB'],
  ['thoughts', Array.from({ length: 30 }, () => ({ text: 'x'.repeat(50), thought: true })), 'longer than 0 MB'],
  ['signatures', Array.from({ length: 90 }, () => ({ thoughtSignature: 'x' })), 'more than 0 MB besides its text'],
  ['signatures of empty texts', [{ text: '', thoughtSignature: 'x'.repeat(3000) }], 'more than 0 MB besides its text'],
  ['media', [{ inlineData: { mimeType: 'a/b', data: 'x'.repeat(3000) } }], 'more than 0 MB besides its text'],
  ['keys', [{ ['x'.repeat(3000)]: 1 }], 'more than 0 MB besides its text'],
  ['depth', [{ functionCall: { name: 'f', args: nested(12) } }], 'nested more than 10 deep'],
  ['depth that ends the stack', [{ functionCall: { name: 'f', args: nested(300_000) } }], 'nested more than 10 deep'],
] as const)('an answer with too much %s is ended, and keeps what had arrived', ([, parts, words]) => {
  const { told, error } = overrun(parts);
  expect(error).toMatchObject({ fault: 'limit', message: expect.stringContaining(words), exitCode: 1 });
  expect(error).toMatchObject({ hint: 'Ask for less at once, or choose another model with -m.' });
  expect(told[0]).toEqual({ type: 'text', delta: 'first' });
});

test('grounding, citations and pages count towards the limit of an answer', () => {
  const long = 'x'.repeat(3000);
  const grounding = { groundingMetadata: { a: long } };
  const citations = { citationMetadata: { citationSources: [{ uri: long }] } };
  const pages = { urlContextMetadata: { urlMetadata: [{ retrievedUrl: long }] } };
  for (const found of [grounding, citations, pages]) {
    expect(overrun([], found)).toMatchObject({ told: [], error: { fault: 'limit' } });
  }
});

test('the part that exceeds a limit is not shown, nor what follows it', () => {
  expect(overrun([{ text: 'x'.repeat(1000) }, { text: 'y' }]).told).toEqual([{ type: 'text', delta: 'first' }]);
});

test('an answer may be as long as its limits, and not a character longer', () => {
  expect(overrun([{ text: 'x'.repeat(995) }]).error).toBeUndefined();
  expect(overrun([{ text: 'x'.repeat(996) }]).error).toBeDefined();
  // Each of the two values counts 16, the name of the second 1.
  expect(overrun([{ x: 'y'.repeat(1967) }]).error).toBeUndefined();
  expect(overrun([{ x: 'y'.repeat(1968) }]).error).toBeDefined();
  expect(overrun(Array.from({ length: 200 }, () => ({ text: 'x' }))).error).toBeUndefined();
});

test('an answer within its limits is not ended', () => {
  const parts = [
    { text: 'x'.repeat(900) },
    { functionCall: { name: 'f', args: nested(8) } },
    { text: 'a', thoughtSignature: 'b' },
  ];
  expect(overrun(parts).error).toBeUndefined();
});

test('an answer for which no limits are given may hold values nested a hundred deep', () => {
  const take = (depth: number) => {
    const reader = replyReader('asked');
    reader.take({ parts: [{ functionCall: { name: 'f', args: nested(depth) } } as Part], otherCandidates: 0 });
    return reader;
  };
  expect(() => take(98).throwIfOver()).not.toThrow();
  expect(() => take(99).throwIfOver()).toThrow('the answer contains values nested more than 100 deep');
});

test('thirty thousand pieces of text are joined into one part', () => {
  const keeper = createContentCollector(Number.POSITIVE_INFINITY);
  for (let count = 0; count < 30_000; count += 1) keeper.add({ text: `${count} ` });
  const whole = Array.from({ length: 30_000 }, (_, count) => `${count} `).join('');
  expect(keeper.content()?.parts).toEqual([{ text: whole }]);
});

/** Takes a text with these counts, as the end of a connection. */
function takeUsage(reader: ReturnType<typeof replyReader>, usageMetadata: object, finishReason = 'STOP'): void {
  reader.take(parseChunk({ candidates: [{ content: { parts: [{ text: 'a' }] }, finishReason }], usageMetadata }));
}

test('what a price depends on is kept: modalities, over all connections, and the tier', async () => {
  const audio = { modality: 'AUDIO', tokenCount: 7 };
  const spoken = { promptTokenCount: 9, promptTokensDetails: [{ modality: 'TEXT', tokenCount: 2 }, audio] };
  const reader = replyReader('asked');
  takeUsage(reader, { ...spoken, trafficType: 'ON_DEMAND_FLEX' }, 'CONTINUATION');
  reader.resume();
  takeUsage(reader, spoken);
  expect((await reader.finish()).reply).toMatchObject({
    usage: { promptTokenCount: 18 },
    promptTokens: 9,
    details: { promptTokensDetails: [expect.anything(), audio, expect.anything(), audio] },
    serviceTier: 'flex',
  });
  const plain = replyReader('asked');
  takeUsage(plain, {
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: 2 }],
    trafficType: 'TRAFFIC_TYPE_UNSPECIFIED',
  });
  expect((await plain.finish()).reply).toEqual({ finishReason: 'STOP', usage: {}, model: 'asked' });
  const named = replyReader('asked');
  takeUsage(named, { serviceTier: 'SERVICE_TIER_PRIORITY', trafficType: 'ON_DEMAND' });
  takeUsage(named, { serviceTier: 'unspecified' });
  expect((await named.finish()).reply).toMatchObject({ serviceTier: 'priority' });
  for (const [trafficType, serviceTier] of [
    ['ON_DEMAND', 'standard'],
    ['NOT_ON_DEMAND', 'not_on_demand'],
    ['ON_DEMAND_', undefined],
    ['ON_DEMAND_OFFPEAK', 'offpeak'],
    ['PROVISIONED_THROUGHPUT', 'provisioned_throughput'],
    ['\u001b[31m', 'unknown'],
    ['FLEX[31m', 'unknown'],
    ['NOT_ON_DEMAND_FLEX', 'not_on_demand_flex'],
  ]) {
    const other = replyReader('asked');
    takeUsage(other, { trafficType });
    expect((await other.finish()).reply).toMatchObject({ serviceTier });
  }
});

test('a last chunk that leaves out a count does not break the sum', async () => {
  const reader = replyReader('asked');
  takeUsage(reader, { promptTokenCount: 9, candidatesTokenCount: 21, thoughtsTokenCount: 35, totalTokenCount: 65 });
  const last = { promptTokenCount: 87, thoughtsTokenCount: 78, totalTokenCount: 165 };
  takeUsage(reader, last);
  takeUsage(reader, { trafficType: 'ON_DEMAND' });
  expect((await reader.finish()).reply.usage).toEqual(last);
});

test('tokens of the last sum that nobody names are not lost: earlier counts stay', async () => {
  const reader = replyReader('asked');
  takeUsage(reader, { promptTokenCount: 10, thoughtsTokenCount: 50, totalTokenCount: 60 });
  takeUsage(reader, { promptTokenCount: 10, candidatesTokenCount: 20, totalTokenCount: 80 });
  const usage = { promptTokenCount: 10, candidatesTokenCount: 20, thoughtsTokenCount: 50, totalTokenCount: 80 };
  expect((await reader.finish()).reply.usage).toEqual(usage);
});

test('counts of one connection alone are kept, and what are no counts is left out', async () => {
  const reader = replyReader('asked');
  const details = { candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 5 }] };
  takeUsage(reader, { ...details, promptTokensDetails: 7, trafficType: 'TRAFFIC_TYPE_UNSPECIFIED' });
  reader.resume();
  takeUsage(reader, {});
  expect((await reader.finish()).reply).toEqual({ finishReason: 'STOP', usage: {}, model: 'asked', details });
});

test('what a connection has cost so far is told with the model that answers, and nothing before it is known', () => {
  const reader = replyReader('asked');
  expect(reader.counted()).toBeUndefined();
  takeUsage(reader, { trafficType: 'ON_DEMAND' });
  expect(reader.counted()).toBeUndefined();
  const promptTokensDetails = [{ modality: 'AUDIO', tokenCount: 9 }];
  takeUsage(reader, { promptTokenCount: 9, promptTokensDetails }, 'CONTINUATION');
  const first = reader.counted();
  const counted = { usage: { promptTokenCount: 9 }, model: 'asked', serviceTier: 'standard' };
  expect(first).toEqual({ ...counted, details: { promptTokensDetails } });
  takeUsage(reader, { candidatesTokenCount: 1 }, 'CONTINUATION');
  expect(first?.usage).toEqual({ promptTokenCount: 9 });
  reader.resume();
  expect(reader.counted()).toBeUndefined();
  reader.take(parseChunk({ modelVersion: 'gemini-x', usageMetadata: { totalTokenCount: 4 } }));
  expect(reader.counted()).toEqual({ ...counted, usage: { totalTokenCount: 4 }, model: 'gemini-x' });
});

test('the tokens of the request are those before the service continued by itself', async () => {
  const reader = replyReader('asked');
  takeUsage(reader, { promptTokenCount: 70_000, initialPromptTokenCount: 9 }, 'CONTINUATION');
  reader.resume();
  takeUsage(reader, { promptTokenCount: 80_000, initialPromptTokenCount: 70_000 });
  expect((await reader.finish()).reply).toMatchObject({ promptTokens: 9, usage: { promptTokenCount: 150_000 } });
});
