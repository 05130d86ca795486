import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Queries } from '../../../src/api/queries.ts';
import type { App, Settings } from '../../../src/core/app.ts';
import { estimatePartTokens } from '../../../src/core/media-tokens.ts';
import type { ModelRequest } from '../../../src/core/model.ts';
import { type Budget, openBudget } from '../../../src/engine/limits/budget.ts';
import { createAbortable } from '../../../src/platform/runtime/abort.ts';

const AT = Date.UTC(2026, 10, 17);

function budgetOf(maxCost: number, document: Settings['document'] = {}) {
  const app = { settings: async () => ({ document }), clock: { now: () => AT } } as unknown as App;
  return openBudget({ maxCost, hint: 'Raise it.' }, app);
}

const request = (text: string, maxOutputTokens = 65_536): ModelRequest => ({
  model: 'gemini-2.5-flash',
  contents: [{ role: 'user', parts: [{ text }] }],
  generationConfig: { maxOutputTokens },
});

const NEVER = createAbortable().signal;
const FLASH = { models: ['gemini-2.5-flash'], backend: 'gemini-api', sizes: new Map<string, number>() } as const;

/** Admits the request, and answers it with as many tokens as it may have, up to `eager`. */
async function ask(budget: Budget, asked: ModelRequest, eager: number) {
  const { request: sent, notice, settle } = await budget.limitSpending(FLASH).admit(asked, NEVER);
  const limit = Number(sent.generationConfig.maxOutputTokens);
  const [text] = asked.contents.flatMap(({ parts }) => parts.map((part) => ('text' in part ? part.text : '')));
  const usage = { promptTokenCount: Math.ceil((text ?? '').length / 4), candidatesTokenCount: Math.min(eager, limit) };
  // Other calls may begin meanwhile.
  await Promise.resolve();
  settle({ model: asked.model, usage }, true);
  return { limit, notice, usage };
}

test('a call gets as many tokens of output as the rest of the money buys', async () => {
  const budget = await budgetOf(0.01);
  // 4000 characters are 1000 tokens, $0.0003; a token of output is $0.0000025.
  expect(await ask(budget, request('x'.repeat(4000)), 3000)).toMatchObject({ limit: 3880 });
  expect(budget.spent).toBeCloseTo(0.0003 + 0.0075, 12);
  expect(await ask(budget, request('x'.repeat(4000)), 3000)).toMatchObject({
    limit: 760,
    notice: '--max-cost 0.01 left room for 760 tokens of this answer',
  });
  await expect(ask(budget, request('x'.repeat(4000)), 3000)).rejects.toMatchObject({
    fault: 'limit',
    details: { isCostSpent: true },
    message: 'stopped at --max-cost: $0.01 of $0.01 is spent, and the rest does not buy the next answer',
    hint: 'Raise it.',
  });
});

test('whatever is asked, at once or in turn, no more is spent than was allowed', async () => {
  const calls = fc.array(fc.record({ characters: fc.nat({ max: 8000 }), eager: fc.nat({ max: 20_000 }) }), {
    maxLength: 8,
  });
  await fc.assert(
    fc.asyncProperty(
      fc.double({ min: 0.0001, max: 0.05, noNaN: true }),
      calls,
      fc.boolean(),
      async (limit, list, isAtOnce) => {
        const budget = await budgetOf(limit);
        const run = ({ characters, eager }: (typeof list)[number]): Promise<unknown> =>
          ask(budget, request('x'.repeat(characters)), eager).catch(({ fault }) => expect(fault).toBe('limit'));
        if (isAtOnce) await Promise.all(list.map(run));
        else for (const call of list) await run(call);
        expect(budget.spent).toBeLessThanOrEqual(limit + 1e-9);
      },
    ),
    { numRuns: 60 },
  );
});

test('a call waits for those in flight before it gets less, or is refused', async () => {
  const budget = await budgetOf(0.2);
  // Each may take $0.16384, of which an answer needs little.
  const asked = await Promise.all(Array.from({ length: 20 }, () => ask(budget, request('x'), 10)));
  expect(asked.map(({ limit }) => limit)).toEqual(Array(20).fill(65_536));
  const { admit } = budget.limitSpending(FLASH);
  await admit(request('x'), NEVER);
  const stop = createAbortable();
  const waiting = admit(request('x'), stop.signal);
  stop.abort(new Error('stopped'));
  await expect(waiting).rejects.toThrow('stopped');
});

test('a short answer that was asked for is not too short', async () => {
  const { usage } = await ask(await budgetOf(0.0005), request('hi', 50), 100);
  expect(usage.candidatesTokenCount).toBe(50);
});

test('a call without a count costs its prompt, if the service may have read it', async () => {
  const budget = await budgetOf(1);
  for (const mayCost of [true, false]) {
    const { settle } = await budget.limitSpending(FLASH).admit(request('x'.repeat(4000)), NEVER);
    settle(undefined, mayCost);
    expect(budget.spent).toBeCloseTo(0.0003, 12);
  }
});

test('a text to embed is paid for, and too long a one is refused', async () => {
  const budget = await budgetOf(0.001);
  const sent: string[] = [];
  const queries = budget.limitQueries(
    {
      embed: async ({ texts: [text = ''] }: { texts: readonly string[] }) => {
        sent.push(text);
        if (text === 'bad') throw new Error('refused');
        return { vectors: [[1]], usage: text === 'counted' ? { promptTokenCount: 1000 } : {} };
      },
    } as unknown as Queries,
    FLASH,
  );
  const embed = (text: string, model = 'gemini-embedding-001') => queries.embed({ model, texts: [text] }, NEVER);
  await expect(embed('bad')).rejects.toThrow('refused');
  expect(budget.spent).toBe(0);
  // $0.15 for a million tokens.
  await embed('counted');
  expect(budget.spent).toBeCloseTo(0.00015, 12);
  await embed('x'.repeat(20_000));
  expect(budget.spent).toBeCloseTo(0.0009, 12);
  await expect(embed('x'.repeat(20_000))).rejects.toMatchObject({ fault: 'limit' });
  await expect(embed('x', 'embedding-99')).rejects.toThrow('the price of embedding-99 is not known');
  expect(sent).toEqual(['bad', 'counted', 'x'.repeat(20_000)]);
});

test.for([
  ['video/mp4', 23_000_000, 50_000, 150_000],
  ['audio/mpeg', 23_000_000, 40_000, 200_000],
  ['audio/wav', 1_920_000, 1920, 4000],
  ['application/pdf', 23_000_000, 25_000, 258_000],
  ['application/pdf', 60_000, 258, 5000],
  ['application/vnd.openxmlformats-officedocument.wordprocessingml.document', 60_000, 20_000, 100_000],
  ['application/vnd.ms-excel', 2_000_000_000, 1_048_576, 1_048_576],
  ['image/jpeg', 4_000_000, 6192, 15_000],
  ['image/png', 300, 258, 1500],
  ['text/csv', 400_000, 100_000, 200_000],
  ['video/mp4', 2_000_000_000, 1_048_576, 1_048_576],
] as const)('%s of %d bytes is estimated by its kind, before and after its upload', ([mimeType, bytes, low, high]) => {
  const localFile = { name: 'f', path: '/f', bytes, sha256: '', modifiedAt: 0 };
  const sizes = new Map([['https://x/files/1', bytes]]);
  const fileData = { mimeType, fileUri: 'https://x/files/1' };
  const tokens = estimatePartTokens({ fileData: { mimeType, fileUri: '' }, localFile });
  expect(tokens).toBeGreaterThanOrEqual(low);
  expect(tokens).toBeLessThanOrEqual(high);
  expect(estimatePartTokens({ fileData }, sizes)).toBe(tokens);
  expect(estimatePartTokens({ fileData })).toBeGreaterThan(1000);
});

test('a model without a price is refused before it is asked', async () => {
  const budget = await budgetOf(1);
  const limit = (model: string, backend: 'gemini-api' | 'code-assist') => () =>
    budget.limitSpending({ ...FLASH, models: [model], backend });
  expect(limit('gemini-99', 'gemini-api')).toThrow('--max-cost: the price of gemini-99 is not known');
  expect(limit('gemini-2.5-flash', 'code-assist')).toThrow('with a Google login');
  const own = await budgetOf(1, { prices: { 'gemini-99': { input: 1, output: 2 } } });
  expect(own.hasPrice('gemini-99', 'gemini-api')).toBe(true);
  await expect(budgetOf(0)).rejects.toMatchObject({ fault: 'usage' });
  await expect(budgetOf(Number.NaN)).rejects.toMatchObject({ fault: 'usage' });
});
