import { expect, type TestContext, test } from 'vitest';
import { AppError } from '../../../src/core/error.ts';
import type { HttpRequest } from '../../../src/core/io.ts';
import { openModel } from '../../../src/engine/model/model.ts';
import type { ModelSetup } from '../../../src/engine/model/setup.ts';
import { fitOutput } from '../../../src/engine/model/shared-window.ts';
import { findModelFacts, findPromptWindow } from '../../../src/models/table.ts';
import { place } from '../../config/place.ts';

const MINUTE = 60_000;
const CONTENTS = [{ role: 'user', parts: [{ text: 'hi' }] }] as const;

/** How long one request of a run with these options may be silent, and take in all. */
async function patience(
  t: TestContext,
  { timeout, ...options }: ModelSetup & { readonly timeout?: number },
  env: Readonly<Record<string, string>> = {},
) {
  const { app } = place(t, {}, { GEMINI_API_KEY: 'a-key-0123456789', ...env });
  const sent: HttpRequest[] = [];
  const send = async (request: HttpRequest): Promise<never> => {
    sent.push(request);
    throw new AppError('usage', 'sent');
  };
  const settings = { env: app.env, notices: [] };
  const around = { ...app, send, preconnect: () => {}, settings: async () => settings };
  const opened = await openModel(options, around, { timeout, notify: () => {} });
  const { modelId: model, generationConfig, timeoutMs } = opened;
  const stream = opened.model.stream({ model, contents: CONTENTS, generationConfig }, new AbortController().signal);
  await expect(async () => {
    for await (const _ of stream);
  }).rejects.toThrow('sent');
  return { timers: sent[0]?.timers, timeoutMs };
}

test('an ordinary model has five minutes, and the timers of every request', async (t) => {
  for (const model of ['gemini-3.8-flash', 'gemini-4-hydrogen']) {
    expect(await patience(t, { model })).toEqual({ timers: undefined, timeoutMs: 5 * MINUTE });
  }
});

test.for<[string, ModelSetup]>([
  ['Gemini 4', { model: 'gemini-4-argon' }],
  ['a model of its family', { model: 'gemini-5-new' }],
  ['a model that is told to think long', { model: 'gemini-3.8-flash', thinkingLevel: 'high' }],
  ['one that is told to think longest', { model: 'gemini-4-hydrogen', thinkingLevel: 'xhigh' }],
])('%s has twenty minutes, in total and in silence', async ([, options], t) => {
  const timers = { headersMs: 20 * MINUTE, idleMs: 20 * MINUTE };
  expect(await patience(t, options)).toEqual({ timers, timeoutMs: 20 * MINUTE });
});

test('what the user sets stays as it is', async (t) => {
  const env = { GMN_HEADERS_TIMEOUT: '5s', GMN_IDLE_TIMEOUT: '5s' };
  expect(await patience(t, { model: 'gemini-4-argon', timeout: 1000 }, env)).toEqual({ timers: {}, timeoutMs: 1000 });
});

test('where input and output share the window, a long prompt asks for a shorter answer', () => {
  const window = findModelFacts('gemini-4-carbon')?.inputLimit ?? 0;
  const ask = (characters: number) => {
    const contents = [{ role: 'user', parts: [{ text: 'abcd '.repeat(characters / 5) }] }] as const;
    const request = { model: 'gemini-4-carbon', contents, generationConfig: { maxOutputTokens: 65_536 } };
    return Number(fitOutput(request, window).generationConfig.maxOutputTokens);
  };
  expect(ask(1000)).toBe(65_536);
  expect(ask(4_000_000)).toBeLessThan(65_536);
  // The service decides about a prompt that does not fit at all.
  expect(ask(40_000_000)).toBe(1024);
  expect(findPromptWindow('gemini-4-carbon')).toBe(1_048_576 - 65_536);
  for (const id of ['gemini-4-hydrogen', 'gemini-4-neon']) expect(findPromptWindow(id)).toBe(1_048_576 - 65_536);
  expect(findPromptWindow('gemini-3.8-flash')).toBe(1_048_576);
});
