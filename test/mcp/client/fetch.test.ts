import { expect, test } from 'vitest';
import { createFetch } from '../../../src/mcp/client/fetch.ts';
import { createHttpClient } from '../../../src/platform/http/send.ts';
import { type Answer, answer, head, loopback } from '../../api/loopback.ts';

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

const KEPT: Answer = (socket) => void socket.write(`${head(200, { 'content-length': '4' })}kept`);

test.for(['tools/call', 'tools/list', 'resources/read', 'prompts/get', 'ping'])(
  'a %s that is read and not answered is not sent again',
  async (method, t) => {
    const server = await loopback(t, [KEPT, (socket) => socket.destroy()]);
    await (await fetch(server.url)).text();
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method });
    await expect(fetch(server.url, { method: 'POST', body })).rejects.toThrow('closed before an answer came');
    expect(server.requests.map((request) => request.body)).toEqual(['', body]);
  },
);
