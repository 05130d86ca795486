import { once } from 'node:events';
import { expect, test } from 'vitest';
import { createRequestDeadline } from '../../src/app/request-time.ts';
import type { Model, ModelRequest, Reply } from '../../src/core/model.ts';

const REQUEST: ModelRequest = { model: 'm', contents: [], generationConfig: {} };
const REPLY: Reply = { finishReason: 'STOP', usage: {}, model: 'm' };

/** A model whose first request is never answered, and every later one at once. */
function stuckOnce(): Model {
  let requests = 0;
  return {
    async *stream(_, signal) {
      requests += 1;
      if (requests === 1) await once(signal, 'abort').then(() => signal.throwIfAborted());
      signal.throwIfAborted();
      yield { type: 'text', delta: 'in time' };
      return REPLY;
    },
  };
}

test('each request has a time of its own: one that took too long takes nothing from the next', async () => {
  const model = createRequestDeadline(20).limit(stuckOnce());
  const { signal } = new AbortController();
  await expect(model.stream(REQUEST, signal).next()).rejects.toMatchObject({
    fault: 'api',
    message: 'timed out after 20 ms',
  });
  expect(await model.stream(REQUEST, signal).next()).toEqual({
    done: false,
    value: { type: 'text', delta: 'in time' },
  });
});
