import { expect, test } from 'vitest';
import { fakeGemini } from '../../support/gemini.ts';
import { place } from '../../support/gmn.ts';
import { echo, serve, silence } from './support.ts';

const UUID = expect.stringMatching(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);

test('cancelling closes the connection to the model, and can be done twice', async (t) => {
  const { scripted, begun, closed } = silence('so far');
  const server = await serve(t, { gemini: await fakeGemini(t, [scripted]) });
  const { job_id } = (await server.call('delegate', { prompt: 'long', mode: 'async' })).structuredContent;
  await begun;
  const cancelled = (await server.call('delegate_cancel', { job_id })).structuredContent;
  expect(cancelled).toMatchObject({ job_id, status: 'cancelled', code: 'CANCELLED', completed_at: TIME });
  await closed;
  expect((await server.call('delegate_cancel', { job_id })).structuredContent).toMatchObject({ status: 'cancelled' });
});

test('a call that its client cancels gets no response', async (t) => {
  const { scripted, begun, closed } = silence();
  const server = await serve(t, { gemini: await fakeGemini(t, [scripted]) });
  const requestId = server.nextId();
  void server.call('delegate', { prompt: 'long' });
  await begun;
  server.notify('notifications/cancelled', { requestId, reason: 'no longer needed' });
  await closed;
  const cancelled = () => server.call('delegate_jobs', { status_filter: 'cancelled' });
  await expect.poll(async () => (await cancelled()).structuredContent.total).toBe(1);
  expect(server.lines.some(({ id }) => id === requestId)).toBe(false);
});

test('a call that is cancelled before its job is created creates none', async (t) => {
  const gemini = await fakeGemini(t, [echo]);
  const at = place(t, { gemini });
  const before = await serve(t, { at });
  const { session_id } = (await before.call('delegate', { prompt: 'one' })).structuredContent;
  await before.end();
  const server = await serve(t, { at });
  const requestId = server.nextId();
  const params = { name: 'delegate', arguments: { prompt: 'two', session_id } };
  // In one piece, so that both are read before the session is found.
  server.send(
    [
      { jsonrpc: '2.0', id: requestId, method: 'tools/call', params },
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } },
    ]
      .map((message) => `${JSON.stringify(message)}\n`)
      .join(''),
  );
  await server.call('delegate_sessions');
  await server.call('delegate_sessions');
  expect(await server.end()).toBe(0);
  const next = await serve(t, { at });
  expect((await next.call('delegate_jobs')).structuredContent.total).toBe(1);
  await next.end();
});

test('a plain call that is cancelled closes its connection too', async (t) => {
  const { scripted, begun, closed } = silence();
  const server = await serve(t, { gemini: await fakeGemini(t, [scripted]) });
  const requestId = server.nextId();
  void server.call('generate_text', { prompt: 'long' });
  await begun;
  server.notify('notifications/cancelled', { requestId });
  await closed;
  expect((await server.ask('ping')).result).toEqual({});
});

test('a timeout is enforced, and keeps the output so far', async (t) => {
  const { scripted, closed } = silence('so far');
  const server = await serve(t, { gemini: await fakeGemini(t, [scripted]) });
  const result = await server.call('delegate', { prompt: 'long', timeout_ms: 2000 });
  expect(result).toEqual({
    content: [
      { type: 'text', text: 'TIMEOUT: it took longer than timeout_ms (2000). Delegate again with more.' },
      { type: 'text', text: 'so far' },
    ],
    isError: true,
    structuredContent: {
      status: 'error',
      error: 'it took longer than timeout_ms (2000). Delegate again with more.',
      code: 'TIMEOUT',
      timeout_ms: 2000,
      job_id: UUID,
      session_id: UUID,
      partial_output: 'so far',
    },
  });
  await closed;
});
