import { expect, onTestFinished, test } from 'vitest';
import { createBatchesClient } from '../../src/api/batches.ts';
import type { BatchesClient } from '../../src/core/batches.ts';
import { AppError } from '../../src/core/error.ts';
import type { HttpRequest } from '../../src/core/io.ts';
import { parseFaults } from '../../src/demo/fault.ts';
import { startDemo } from '../../src/demo/server.ts';
import { createHttpClient } from '../../src/platform/http/send.ts';
import { systemClock } from '../../src/platform/runtime/clock.ts';
import { keyIdentity } from './conversation.ts';

const { signal } = new AbortController();
const MODEL = 'gemini-3.8-flash';

async function demo(faults: string) {
  const server = await startDemo({ clock: systemClock, faults: parseFaults([faults]) });
  onTestFinished(() => server.close());
  const requests: HttpRequest[] = [];
  const trace = (): void => {};
  const timers = { connectMs: 5000, headersMs: 5000, idleMs: 5000 };
  const http = createHttpClient({ timers, env: {}, trace, clock: systemClock });
  const client = createBatchesClient({
    place: { baseUrl: new URL(server.url), userAgent: 'gmn/test' },
    identity: keyIdentity('k'),
    userAgent: 'gmn/test',
    send(request, until) {
      requests.push(request);
      return http.send(request, until);
    },
    clock: { ...systemClock, sleep: async () => {} },
    ...{ random: () => 0.5, trace, retryBaseMs: 1 },
  });
  /** As another client would, with the requests in the body. */
  const createInline = async (displayName: string): Promise<string> => {
    const request = { contents: [{ role: 'user', parts: [{ text: 'a' }] }] };
    const batch = { displayName, inputConfig: { requests: { requests: [{ request, metadata: { key: 'one' } }] } } };
    const answer = await fetch(`${server.url}/v1beta/models/${MODEL}:batchGenerateContent`, {
      method: 'POST',
      headers: { 'x-goog-api-key': 'k' },
      body: JSON.stringify({ batch }),
    });
    return (await answer.json()).name;
  };
  return { client, requests, createInline };
}

test.each(['batch-job-state', 'batch-flat', 'batch-metadata', 'batch-response', 'batch-flat,batch-metadata'])(
  'states and results are read with %s',
  async (fault) => {
    const { client, createInline } = await demo(`${fault},batch-polls=2`);
    const name = await createInline('a batch');
    expect(await client.get(name, signal)).toMatchObject({
      name,
      displayName: 'a batch',
      state: 'running',
      requests: 1,
    });
    const job = await client.get(name, signal);
    expect(job).toMatchObject({ state: 'succeeded', failed: 0, createdAt: expect.any(Number) });
    const results = job?.results ?? { inlined: [] };
    const [line = {}] = 'inlined' in results ? results.inlined : [];
    const result = await client.parseResult(line, MODEL);
    expect(result).toMatchObject({ key: 'one', reply: { text: 'demo: a', model: MODEL, finishReason: 'STOP' } });
  },
);

test('all pages of the list are read', async () => {
  const { client, createInline, requests } = await demo('batch-polls=1');
  for (let count = 0; count < 101; count += 1) await createInline(`batch ${count}`);
  const names: string[] = [];
  for await (const { displayName } of client.list(signal)) names.push(displayName);
  expect(names).toHaveLength(101);
  expect(requests).toHaveLength(2);
});

test('a creation is sent once, whatever becomes of it', async () => {
  const { client, requests } = await demo('503x1,batch-lostx1');
  const create = () => client.create({ model: MODEL, displayName: 'a', fileName: 'files/none' }, signal);
  await expect(create()).rejects.toMatchObject({ fault: 'api', details: { status: 503 } });
  await expect(create()).rejects.toMatchObject({ fault: 'api', details: { status: 404 } });
  expect(requests.map(({ isRepeatable }) => isRepeatable)).toEqual([false, false]);
});

test('a job that is not there is undefined, or false', async () => {
  const { client } = await demo('batch-polls=1');
  expect(await client.get('batches/none', signal)).toBeUndefined();
  expect(await client.cancel('batches/none', signal)).toBe(false);
  expect(await client.delete('batches/none', signal)).toBe(false);
  await expect(client.get('batches/../files', signal)).rejects.toMatchObject({ fault: 'usage' });
});

test.each([
  [{ error: { code: 500, message: 'x' } }, true],
  [{ error: { code: 13, message: 'x' } }, true],
  [{ error: { code: 8, message: 'x', details: [] } }, true],
  [{ error: { code: 14, message: 'x' } }, true],
  [{ error: { code: 3, message: 'x' } }, false],
  [{ error: { code: 400, message: 'x' } }, false],
  [{ response: { error: { code: 500, message: 'x' } } }, true],
  [{ response: { promptFeedback: { blockReason: 'SAFETY' } } }, false],
  [{ response: { candidates: [{ finishReason: 'RECITATION' }] } }, false],
  [{ response: { candidates: [{ content: { parts: [] }, finishReason: 'STOP' }] } }, true],
  [{ response: 'nonsense' }, true],
  [{}, true],
])('%j is an error of that row', async (fields, canRetry) => {
  const { reply } = (await parse({ key: 'k', ...fields })) ?? {};
  expect(reply).toBeInstanceOf(AppError);
  expect([(reply as AppError).fault, (reply as AppError).retry !== undefined]).toEqual(['api', canRetry]);
});

test.each([
  { promptFeedback: { blockReason: 'SAFETY' } },
  { candidates: [{ finishReason: 'RECITATION' }] },
  { candidates: [{ finishReason: 'MAX_TOKENS' }] },
])('%j was counted, though it is no answer', async (ending) => {
  const usage = { promptTokenCount: 7, candidatesTokenCount: 3 };
  const response = { ...ending, usageMetadata: usage, modelVersion: 'gemini-3.5-flash' };
  expect(await parse({ key: 'k', response })).toMatchObject({ counted: { usage, model: 'gemini-3.5-flash' } });
});

test.each(['', 'nonsense', '[]', '{"response":{}}', '{"key":7}'])('the line %j belongs to nobody', async (line) => {
  expect(await parse(line)).toBeUndefined();
});

async function parse(line: Parameters<BatchesClient['parseResult']>[0]) {
  const { client } = await demo('batch-polls=1');
  return client.parseResult(line, MODEL);
}
