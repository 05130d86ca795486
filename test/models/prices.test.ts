import { calcPrice, extractUsage, findProvider } from '@pydantic/genai-prices';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type BilledUsage,
  type CostContext,
  computeCost,
  countAffordableTokens,
  findPrice,
  PRICES_VERSION,
} from '../../src/models/prices.ts';
import { FLASH_MODEL } from '../../src/models/table.ts';

const IN_2026 = Date.UTC(2026, 10, 17);
const IN_2027 = Date.UTC(2027, 0, 1);

const cost = (usage: BilledUsage, context: Partial<CostContext> = {}): number | undefined =>
  computeCost(usage, { model: 'gemini-2.5-flash', at: IN_2026, ...context });

/** Usages as a server sends them, and what they cost by hand: tokens times dollars per million, in millionths of a dollar. */
const RECORDED: readonly [name: string, usage: BilledUsage, context: Partial<CostContext>, micros: number][] = [
  ['plain', { promptTokenCount: 1000, candidatesTokenCount: 200 }, {}, 1000 * 0.3 + 200 * 2.5],
  [
    'thoughts are output',
    { promptTokenCount: 12, candidatesTokenCount: 7, thoughtsTokenCount: 431, totalTokenCount: 450 },
    {},
    12 * 0.3 + 438 * 2.5,
  ],
  [
    'tokens of the total that no count names are output, as recorded',
    { promptTokenCount: 20648, candidatesTokenCount: 12, totalTokenCount: 20769 },
    {},
    20648 * 0.3 + 121 * 2.5,
  ],
  [
    'cached tokens are part of the prompt',
    { promptTokenCount: 5000, cachedContentTokenCount: 4096, candidatesTokenCount: 10 },
    {},
    904 * 0.3 + 4096 * 0.03 + 10 * 2.5,
  ],
  [
    'what a tool of the service read is input',
    { promptTokenCount: 100, toolUsePromptTokenCount: 900, candidatesTokenCount: 10 },
    {},
    1000 * 0.3 + 10 * 2.5,
  ],
  [
    'audio',
    {
      promptTokenCount: 1100,
      promptTokensDetails: [
        { modality: 'TEXT', tokenCount: 100 },
        { modality: 'AUDIO', tokenCount: 1000 },
      ],
      candidatesTokenCount: 10,
    },
    {},
    100 * 0.3 + 1000 * 1 + 10 * 2.5,
  ],
  [
    'cached audio',
    {
      promptTokenCount: 1100,
      promptTokensDetails: [
        { modality: 'TEXT', tokenCount: 100 },
        { modality: 'AUDIO', tokenCount: 1000 },
      ],
      cachedContentTokenCount: 800,
      cacheTokensDetails: [{ modality: 'AUDIO', tokenCount: 800 }],
    },
    {},
    100 * 0.3 + 200 * 1 + 800 * 0.1,
  ],
  [
    'a prompt at the step',
    { promptTokenCount: 200_000, candidatesTokenCount: 10 },
    { model: 'gemini-2.5-pro' },
    250_100,
  ],
  ['above it', { promptTokenCount: 200_001, candidatesTokenCount: 10 }, { model: 'gemini-2.5-pro' }, 500_002.5 + 150],
  [
    'cached above it',
    { promptTokenCount: 300_000, cachedContentTokenCount: 100_000 },
    { model: 'models/gemini-3.1-pro-preview' },
    200_000 * 4 + 100_000 * 0.4,
  ],
  [
    'two connections, each below the step',
    { promptTokenCount: 300_000, candidatesTokenCount: 10 },
    { model: 'gemini-2.5-pro', promptTokens: 150_000 },
    300_000 * 1.25 + 10 * 10,
  ],
  [
    'a picture',
    {
      promptTokenCount: 20,
      candidatesTokenCount: 1300,
      candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 1290 }],
    },
    { model: 'gemini-2.5-flash-image' },
    20 * 0.3 + 10 * 2.5 + 1290 * 30,
  ],
  ['flex', { promptTokenCount: 1000, candidatesTokenCount: 200 }, { serviceTier: 'flex' }, 500 * 0.3 + 100 * 2.5],
  ['standard', { promptTokenCount: 1000 }, { serviceTier: 'STANDARD' }, 300],
  ['priority', { promptTokenCount: 1000 }, { model: 'gemini-3.8-flash', serviceTier: 'priority' }, 1000 * 0.75 * 1.8],
  [
    'batch, with the cache at its usual rate',
    { promptTokenCount: 1000, cachedContentTokenCount: 400, candidatesTokenCount: 200 },
    { isBatch: true },
    600 * 0.15 + 400 * 0.03 + 200 * 1.25,
  ],
  ['before a date', { promptTokenCount: 1000 }, { model: 'gemini-3.6-flash', at: IN_2027 - 1 }, 750],
  ['from a date', { promptTokenCount: 1000 }, { model: 'gemini-3.6-flash', at: IN_2027 }, 1500],
  [
    'a model that the package lacks',
    { promptTokenCount: 1000, cachedContentTokenCount: 400, candidatesTokenCount: 100 },
    { model: 'gemini-4-argon' },
    600 * 2 + 400 * 0.1 + 100 * 10,
  ],
  [
    'the newest model that the package lacks',
    { promptTokenCount: 1000, cachedContentTokenCount: 400, candidatesTokenCount: 100 },
    { model: 'gemini-4-hydrogen' },
    600 * 1.5 + 400 * 0.075 + 100 * 7.5,
  ],
  ['the same, later', { candidatesTokenCount: 10 }, { model: 'gemini-4-carbon', at: Date.UTC(2026, 11, 1) }, 200],
  [
    'Vertex',
    { promptTokenCount: 1000 },
    { model: 'publishers/google/models/gemini-2.5-flash', backend: 'vertex' },
    300,
  ],
  ['free of charge', { promptTokenCount: 1000, candidatesTokenCount: 5 }, { model: 'gemma-4-31b-it' }, 0],
];

test.each(RECORDED)('a recorded usage costs what the table says: %s', (_, usage, context, micros) => {
  expect(Math.abs((cost(usage, context) ?? Number.NaN) * 1e6 - micros)).toBeLessThan(1e-6);
});

test.each<[string, BilledUsage, Partial<CostContext>]>([
  ['an unknown model', { promptTokenCount: 1 }, { model: 'gemini-99' }],
  ['a moving name', { promptTokenCount: 1 }, { model: 'gemini-flash-latest' }],
  ['a variant of a family', { promptTokenCount: 1 }, { model: 'gemini-3.8-flash-tts' }],
  ['a Google login', { promptTokenCount: 1 }, { backend: 'code-assist' }],
  ['a free model on one’s own machines', { promptTokenCount: 1 }, { model: 'gemma-4-31b-it', backend: 'vertex' }],
  ['a tier without a rate', { promptTokenCount: 1 }, { serviceTier: 'priority' }],
  ['an unknown tier', { promptTokenCount: 1 }, { serviceTier: 'deferred' }],
  ['output that has no rate', { candidatesTokenCount: 1 }, { model: 'gemini-embedding-001' }],
  [
    'cached tokens that may be text or audio',
    {
      promptTokenCount: 9,
      cachedContentTokenCount: 5,
      promptTokensDetails: [{ modality: 'AUDIO', tokenCount: 6 }],
    },
    {},
  ],
])('no cost is guessed: %s', (_, usage, context) => {
  expect(cost(usage, context)).toBeUndefined();
});

test('the prices of the settings come first', () => {
  const overrides = {
    'gemini-*': { input: 1, output: 1 },
    'gemini-2.5-*': { input: 2, output: 2 },
    'Gemini-2.5-flash': { input: 3, output: 4, steps: [{ above: 100, input: 6 }] },
  };
  const inMillionths = (model: string, promptTokenCount: number): number =>
    Math.round(1e6 * (cost({ promptTokenCount, candidatesTokenCount: 1 }, { model, overrides }) ?? Number.NaN));
  expect(inMillionths('gemini-99', 10)).toBe(11);
  expect(inMillionths('gemini-2.5-pro', 10)).toBe(22);
  expect(inMillionths('models/gemini-2.5-flash', 10)).toBe(34);
  expect(inMillionths('gemini-2.5-flash', 101)).toBe(610);
  expect(cost({ promptTokenCount: 10 }, { overrides, backend: 'code-assist' })).toBeCloseTo(30e-6, 12);
});

test('the prices are those of the package that the project depends on', () => {
  expect(PRICES_VERSION).toMatch(/^\d+\.\d+\.\d+$/);
  expect(findPrice({ model: 'gemini-2.5-flash', at: IN_2026 })).toEqual({
    input: 0.3,
    output: 2.5,
    cached: 0.03,
    inputAudio: 1,
    cachedAudio: 0.1,
  });
});

const tokens = fc.nat({ max: 400_000 });
const usages = fc
  .record({
    text: tokens,
    audio: tokens,
    image: tokens,
    video: tokens,
    cachedShare: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  .chain(({ cachedShare, ...kinds }) =>
    fc.record({ candidates: tokens, thoughts: tokens, tool: tokens, pictures: tokens }).map((made): BilledUsage => {
      const details = (share: number) =>
        Object.entries(kinds).map(([kind, all]) => ({
          modality: kind.toUpperCase(),
          tokenCount: Math.floor(all * share),
        }));
      const sum = (list: readonly { tokenCount: number }[]): number =>
        list.reduce((all, { tokenCount }) => all + tokenCount, 0);
      return {
        promptTokenCount: sum(details(1)),
        cachedContentTokenCount: sum(details(cachedShare)),
        candidatesTokenCount: made.candidates + made.pictures,
        thoughtsTokenCount: made.thoughts,
        toolUsePromptTokenCount: made.tool,
        promptTokensDetails: details(1),
        cacheTokensDetails: details(cachedShare),
        toolUsePromptTokensDetails: [{ modality: 'TEXT', tokenCount: made.tool }],
        candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: made.pictures }],
      };
    }),
  );

const google = findProvider({ providerId: 'google' })!;
const MODELS = google.models
  .map(({ id }) => id)
  .filter((id) => /^gem/.test(id) && calcPrice({}, id, { provider: google }) !== null);

test('every model costs what the package itself says, for any usage', () => {
  const isPriced = (model: string): boolean => findPrice({ model, at: IN_2026 })?.output !== undefined;
  expect(MODELS.filter(isPriced).length).toBeGreaterThan(30);
  fc.assert(
    fc.property(
      fc.constantFrom(...MODELS.filter(isPriced)),
      usages,
      fc.constantFrom(IN_2026, IN_2027),
      (model, usage, at) => {
        const { usage: reported } = extractUsage(google, { modelVersion: model, usageMetadata: usage });
        const theirs = calcPrice(reported, model, { provider: google, timestamp: new Date(at) });
        expect(Math.abs((cost(usage, { model, at }) ?? Number.NaN) - theirs!.total_price)).toBeLessThan(1e-9);
      },
    ),
    { numRuns: 300 },
  );
});

const contexts = fc.record({
  model: fc.constantFrom(...MODELS),
  at: fc.constantFrom(IN_2026, IN_2027),
  serviceTier: fc.constantFrom(undefined, 'flex', 'priority'),
  isBatch: fc.boolean(),
  promptTokens: fc.constantFrom(1000, 300_000),
});

test('a cost is never negative or not a number, whatever the server counts', () => {
  const anything = fc.oneof(fc.double(), fc.constantFrom(undefined, null, '7', -1, Number.NaN), fc.integer());
  const keys = Object.keys({
    promptTokenCount: 0,
    candidatesTokenCount: 0,
    cachedContentTokenCount: 0,
    thoughtsTokenCount: 0,
    toolUsePromptTokenCount: 0,
  });
  const counts = fc.dictionary(fc.constantFrom(...keys), anything);
  const details = fc.array(
    fc.record({ modality: fc.constantFrom('AUDIO', 'IMAGE', 'TEXT', undefined), tokenCount: anything }),
  );
  fc.assert(
    fc.property(counts, details, details, contexts, (usage, heard, recalled, context) => {
      const hostile = {
        ...usage,
        promptTokensDetails: heard,
        cacheTokensDetails: recalled,
        candidatesTokensDetails: heard,
      };
      const found = cost(hostile as unknown as BilledUsage, context);
      if (found !== undefined) expect(found).toBeGreaterThanOrEqual(0);
    }),
    { numRuns: 300 },
  );
});

test('at the same rates, a cost adds up and grows with every token', () => {
  fc.assert(
    fc.property(usages, usages, contexts, (left, right, context) => {
      const add = (key: keyof BilledUsage): unknown => {
        const [a, b] = [left[key], right[key]];
        return Array.isArray(a) && Array.isArray(b) ? [...a, ...b] : (a as number) + (b as number);
      };
      const sum = Object.fromEntries((Object.keys(left) as (keyof BilledUsage)[]).map((key) => [key, add(key)]));
      const [one, other, both] = [left, right, sum as BilledUsage].map((usage) => cost(usage, context));
      if (one === undefined || other === undefined || both === undefined) return;
      expect(Math.abs(both - one - other)).toBeLessThan(1e-9);
      expect(both).toBeGreaterThanOrEqual(Math.max(one, other) - 1e-12);
    }),
    { numRuns: 200 },
  );
});

test('affordable tokens are as many as the money buys, and not one more', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 2, noNaN: true }), contexts, (dollars, context) => {
      const bought = countAffordableTokens(dollars, context);
      const price = (candidatesTokenCount: number): number =>
        computeCost({ promptTokenCount: context.promptTokens, candidatesTokenCount }, context) ?? Number.NaN;
      if (bought === undefined || bought === Number.POSITIVE_INFINITY) return;
      if (bought > 0) expect(price(bought)).toBeLessThanOrEqual(dollars + 1e-9);
      expect(price(bought + 1)).toBeGreaterThan(dollars - 1e-9);
    }),
    { numRuns: 200 },
  );
});

test('what the description of generate_text says of the price of pro beside flash is so', () => {
  const both = { promptTokenCount: 1000, candidatesTokenCount: 1000 };
  const ratio = (at: number): number => {
    const [pro = 0, flash = 1] = ['gemini-3.1-pro-preview', FLASH_MODEL].map((model) =>
      computeCost(both, { model, at }),
    );
    return pro / flash;
  };
  expect(ratio(IN_2027 - 1)).toBeCloseTo(3.1, 1);
  expect(ratio(IN_2027)).toBeCloseTo(1.6, 1);
});
