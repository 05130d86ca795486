import { expect, test } from 'vitest';
import { classifyResponse } from '../../src/api/failure.ts';
import { withFallback } from '../../src/api/succession.ts';
import type { Model, ReplyEvent } from '../../src/core/model.ts';
import { BUILT_IN } from '../../src/models/table.ts';
import { REQUEST } from './conversation.ts';

/** What is told and remembered where the default answers 404 with this body. */
async function asked(body: string) {
  const events: ReplyEvent[] = [];
  const remembered: string[] = [];
  const model: Model = {
    // biome-ignore lint/correctness/useYield: it has nothing to tell
    async *stream({ model: name }) {
      if (name === 'heir') return { finishReason: 'STOP', usage: {}, model: name };
      throw classifyResponse({
        status: 404,
        headers: {},
        body,
        model: name,
        credential: 'key',
        authHint: '',
        secrets: new Set(),
      });
    },
  };
  const succession = {
    retired: REQUEST.model,
    successor: 'heir',
    choose: BUILT_IN.choose,
    generationConfig: () => ({}),
    remember: async () => void remembered.push('heir'),
  };
  const stream = withFallback(model, succession).stream(REQUEST, new AbortController().signal);
  try {
    for await (const event of stream) events.push(event);
  } catch (error) {
    return { events, remembered, error };
  }
  return { events, remembered };
}

test.for([
  '{"error":{"code":404,"status":"NOT_FOUND","message":"Requested entity was not found."}}',
  '{"error":{"message":"models/gemini-test is no longer available"}}',
])('%s retires the default', async (body) => {
  expect(await asked(body)).toEqual({
    events: [{ type: 'notice', message: 'gemini-test is retired, using heir (set GMN_MODEL to choose)' }],
    remembered: ['heir'],
  });
});

test.for(['', '<html><h1>404</h1></html>', '{"message":"Not Found"}', '{"error":{"code":404,"message":"no route"}}'])(
  '%j is a wrong address, and retires nothing',
  async (body) => {
    expect(await asked(body)).toMatchObject({
      events: [],
      remembered: [],
      error: { fault: 'api', message: expect.stringContaining('nothing is found at this address (404)') },
    });
  },
);
