import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openBudget } from '../../src/app/budget.ts';
import type { App, Settings } from '../../src/core/app.ts';
import type { Model, ModelRequest, Reply } from '../../src/core/model.ts';

const AT = Date.UTC(2026, 10, 17);

function budgetOf(maxCost: number, document: Settings['document'] = {}) {
  const app = { settings: async () => ({ document }), clock: { now: () => AT } } as unknown as App;
  return openBudget({ maxCost, hint: 'Raise it.' }, app);
}

/** Answers with as many tokens as it may, up to `eager`. */
function fakeModel(eager: number, seen: number[] = []): Model {
  return {
    async *stream({ model, generationConfig, contents }) {
      const limit = Number(generationConfig.maxOutputTokens);
      seen.push(limit);
      yield { type: 'begin', model };
      const [text] = contents.flatMap(({ parts }) => parts.map((part) => ('text' in part ? part.text : '')));
      const usage = {
        promptTokenCount: Math.ceil((text ?? '').length / 4),
        candidatesTokenCount: Math.min(eager, limit),
      };
      return { finishReason: eager > limit ? 'MAX_TOKENS' : 'STOP', usage, model };
    },
  };
}

const request = (text: string, maxOutputTokens = 65_536): ModelRequest => ({
  model: 'gemini-2.5-flash',
  contents: [{ role: 'user', parts: [{ text }] }],
  generationConfig: { maxOutputTokens },
});

async function ask(model: Model, asked: ModelRequest): Promise<{ reply: Reply; notices: string[] }> {
  const notices: string[] = [];
  const stream = model.stream(asked, new AbortController().signal);
  for (;;) {
    const step = await stream.next();
    if (step.done) return { reply: step.value, notices };
    if (step.value.type === 'notice') notices.push(step.value.message);
  }
}

const FLASH = { models: ['gemini-2.5-flash'], backend: 'gemini-api' } as const;

test('a call gets as many tokens of output as the rest of the money buys', async () => {
  const seen: number[] = [];
  const budget = await budgetOf(0.01);
  const model = budget.limitModel(fakeModel(3000, seen), FLASH);
  // 4000 characters are 1000 tokens, $0.0003; a token of output is $0.0000025.
  await ask(model, request('x'.repeat(4000)));
  expect(seen).toEqual([3880]);
  expect(budget.spent).toBeCloseTo(0.0003 + 0.0075, 12);
  const { notices } = await ask(model, request('x'.repeat(4000)));
  expect(seen[1]).toBe(760);
  expect(notices).toEqual(['--max-cost 0.01 left room for 760 tokens of this answer']);
  await expect(ask(model, request('x'.repeat(4000)))).rejects.toMatchObject({
    fault: 'limit',
    message: 'stopped at --max-cost: $0.01 of $0.01 is spent, and the rest does not buy the next answer',
    hint: 'Raise it.',
  });
  expect(seen).toHaveLength(2);
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
          ask(budget.limitModel(fakeModel(eager), FLASH), request('x'.repeat(characters))).catch(({ fault }) =>
            expect(fault).toBe('limit'),
          );
        if (isAtOnce) await Promise.all(list.map(run));
        else for (const call of list) await run(call);
        expect(budget.spent).toBeLessThanOrEqual(limit + 1e-9);
      },
    ),
    { numRuns: 60 },
  );
});

test('a short answer that was asked for is not too short', async () => {
  const budget = await budgetOf(0.0005);
  const { reply } = await ask(budget.limitModel(fakeModel(100), FLASH), request('hi', 50));
  expect(reply.usage.candidatesTokenCount).toBe(50);
});

test('a call that breaks off after it began counts as its prompt', async () => {
  const budget = await budgetOf(1);
  const broken: Model = {
    async *stream({ model }) {
      yield { type: 'begin', model };
      throw new Error('cut');
    },
  };
  await expect(ask(budget.limitModel(broken, FLASH), request('x'.repeat(4000)))).rejects.toThrow('cut');
  expect(budget.spent).toBeCloseTo(0.0003, 12);
});

test('a model without a price is refused before it is asked', async () => {
  const budget = await budgetOf(1);
  const limitModel = (model: string, backend: 'gemini-api' | 'code-assist') => () =>
    budget.limitModel(fakeModel(1), { models: [model], backend });
  expect(limitModel('gemini-99', 'gemini-api')).toThrow('--max-cost: the price of gemini-99 is not known');
  expect(limitModel('gemini-2.5-flash', 'code-assist')).toThrow('with a Google login');
  const own = await budgetOf(1, { prices: { 'gemini-99': { input: 1, output: 2 } } });
  expect(own.hasPrice('gemini-99', 'gemini-api')).toBe(true);
  await expect(budgetOf(0)).rejects.toMatchObject({ fault: 'usage' });
  await expect(budgetOf(Number.NaN)).rejects.toMatchObject({ fault: 'usage' });
});
