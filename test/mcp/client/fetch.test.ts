import { expect, test } from 'vitest';
import { createFetch } from '../../../src/mcp/client/fetch.ts';
import { createHttpClient } from '../../../src/platform/http/send.ts';
import { answer, head, loopback } from '../../api/loopback.ts';

const fetch = createFetch(
  createHttpClient({ timers: { connectMs: 10_000, headersMs: 0, idleMs: 0 }, env: {}, clock: { now: () => 0 } }).send,
);

test('a status that is none counts as a failure of the server', async (t) => {
  const server = await loopback(t, [answer(999, 'no')]);
  const response = await fetch(server.url);
  expect([response.status, await response.text()]).toEqual([599, 'no']);
});

test('what comes with a status that has no body is left, and its connection with it', async (t) => {
  const server = await loopback(t, [(socket) => socket.write(`${head(205, {})}more`)]);
  const response = await fetch(server.url);
  expect([response.status, response.body]).toEqual([205, null]);
  await expect.poll(server.closed).toBe(1);
});
