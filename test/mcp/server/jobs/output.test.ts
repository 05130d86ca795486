import { expect, test } from 'vitest';
import { gate } from '../../../support/gate.ts';
import { chunk, endless, events, fakeGemini, finish, type Scripted } from '../../../support/gemini.ts';
import { serve, silence } from '../support.ts';

const MILLION = 'x'.repeat(1_000_000);

test('a long output of a job continues in pages', async (t) => {
  const texts = [MILLION, MILLION, `${MILLION}end`].map((text) => chunk([{ text }]));
  const server = await serve(t, { gemini: await fakeGemini(t, [events([...texts, finish()])]) });
  const { structuredContent, content } = await server.call('delegate', { prompt: 'x' });
  const { output, next, job_id } = structuredContent;
  expect([output.length, next]).toEqual([2_000_000, `gmn://jobs/${job_id}/2`]);
  expect(content.slice(1)).toEqual([{ type: 'text', text: `The answer continues in the resource ${next}` }]);
  const { contents } = (await server.ask('resources/read', { uri: next })).result;
  expect(contents).toEqual([{ uri: next, mimeType: 'text/plain', text: `${MILLION}end` }]);
  expect((await server.ask('resources/read', { uri: `gmn://jobs/${job_id}/3` })).error.code).toBe(-32602);
  expect((await server.call('delegate_status', { job_id })).structuredContent.next).toBe(next);
});

test('an answer without end is an error', async (t) => {
  const { open: close, opened: closed } = gate();
  const talking: Scripted = (response, request) =>
    endless(chunk([{ text: MILLION }]))(response.on('close', close), request);
  const server = await serve(t, { gemini: await fakeGemini(t, [talking]) });
  const { structuredContent } = await server.call('delegate', { prompt: 'x' });
  await closed;
  expect(structuredContent).toMatchObject({
    status: 'error',
    code: 'EXECUTION_FAILED',
    error: 'the answer is longer than 16 million characters\nAsk for less at once.',
  });
}, 30_000);

test('a service that is silent for too long is a timeout', async (t) => {
  const { scripted } = silence('so far');
  const server = await serve(t, { gemini: await fakeGemini(t, [scripted]), env: { GMN_IDLE_TIMEOUT: '200ms' } });
  const { structuredContent } = await server.call('delegate', { prompt: 'x' });
  expect(structuredContent).toMatchObject({ status: 'error', code: 'TIMEOUT', partial_output: 'so far' });
});
