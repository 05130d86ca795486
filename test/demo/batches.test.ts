import { expect, test } from 'vitest';
import { parseLines } from '../support/gmn.ts';
import { ask, errorOf, type TestDemo, testDemo } from './support.ts';

const CREATE = '/v1beta/models/gemini-3.8-flash:batchGenerateContent';

function inlined(prompts: readonly string[], displayName = 'a batch'): object {
  const requests = prompts.map((prompt, index) => ({ request: ask(prompt), metadata: { key: `row-${index}` } }));
  return { batch: { displayName, inputConfig: { requests: { requests } } } };
}

const path = ({ name }: { name: string }): string => `/v1beta/${name}`;

test('a batch moves on with each look at it, and then has the answers', async () => {
  const demo = await testDemo();
  const created = await (await demo.post(CREATE, inlined(['Hello', 'one two']))).json();
  expect(created.metadata).toMatchObject({
    state: 'BATCH_STATE_PENDING',
    displayName: 'a batch',
    model: 'models/gemini-3.8-flash',
    batchStats: { requestCount: '2', pendingRequestCount: '2' },
  });
  expect(created.done).toBeUndefined();
  const running = await (await demo.get(path(created))).json();
  expect(running.metadata.state).toBe('BATCH_STATE_RUNNING');
  const complete = await (await demo.get(path(created))).json();
  expect(complete.done).toBe(true);
  expect(complete.metadata.state).toBe('BATCH_STATE_SUCCEEDED');
  expect(complete.metadata.batchStats).toEqual({
    requestCount: '2',
    successfulRequestCount: '2',
    failedRequestCount: '0',
  });
  const rows = complete.response.inlinedResponses.inlinedResponses;
  expect(rows.map((row: { metadata: unknown }) => row.metadata)).toEqual([{ key: 'row-0' }, { key: 'row-1' }]);
  expect(JSON.stringify(rows[1].response.candidates)).toContain('demo: one two');
  expect(complete.metadata.output).toEqual({ inlinedResponses: complete.response.inlinedResponses });
});

test('the same creation twice makes two batches, which the list has in pages and without their responses', async () => {
  const demo = await testDemo({ faults: ['batch-polls=1'] });
  const bodies = [inlined(['a']), inlined(['a']), inlined(['b'], 'another')];
  const names: string[] = [];
  for (const body of bodies) {
    const created = await (await demo.post(CREATE, body)).json();
    names.push(created.name);
    await demo.get(path(created));
  }
  expect(new Set(names).size).toBe(3);
  const first = await (await demo.get('/v1beta/batches?pageSize=2')).json();
  const second = await (await demo.get(`/v1beta/batches?pageSize=2&pageToken=${first.nextPageToken}`)).json();
  expect(second.nextPageToken).toBeUndefined();
  const listed = [...first.operations, ...second.operations];
  expect(listed.map(({ name }) => name).sort()).toEqual(names.sort());
  expect(JSON.stringify(listed)).not.toContain('inlinedResponses');
});

test('a cancelled batch stays cancelled, a deleted one is gone', async () => {
  const demo = await testDemo();
  const created = await (await demo.post(CREATE, inlined(['a']))).json();
  expect((await demo.post(`${path(created)}:cancel`, {})).status).toBe(200);
  for (let look = 0; look < 3; look += 1) {
    const { metadata, done, error } = await (await demo.get(path(created))).json();
    expect([metadata.state, done, error.code]).toEqual(['BATCH_STATE_CANCELLED', true, 1]);
  }
  const headers = { 'x-goog-api-key': 'k' };
  expect((await fetch(demo.url + path(created), { method: 'DELETE', headers })).status).toBe(200);
  expect((await demo.get(path(created))).status).toBe(404);
  expect(await (await demo.get('/v1beta/batches')).json()).toEqual({});
});

test('time and the lag of the list follow the clock', async () => {
  let now = Date.UTC(2026, 10, 15, 9);
  const demo = await testDemo({ faults: ['batch-time=1h,batch-lag=30s'], now: () => now });
  const created = await (await demo.post(CREATE, inlined(['a']))).json();
  expect(await (await demo.get('/v1beta/batches')).json()).toEqual({});
  now += 30_000;
  expect((await (await demo.get('/v1beta/batches')).json()).operations).toHaveLength(1);
  for (let look = 0; look < 5; look += 1) {
    expect((await (await demo.get(path(created))).json()).metadata.state).toBe('BATCH_STATE_RUNNING');
  }
  now += 3_600_000;
  expect((await (await demo.get(path(created))).json()).metadata.state).toBe('BATCH_STATE_SUCCEEDED');
});

test('a batch that nobody looked at for 48 hours has expired', async () => {
  let now = Date.UTC(2026, 10, 15, 9);
  const demo = await testDemo({ now: () => now });
  const created = await (await demo.post(CREATE, inlined(['a']))).json();
  now += 48 * 3_600_000;
  const expired = await (await demo.get(path(created))).json();
  expect(expired.metadata.state).toBe('BATCH_STATE_EXPIRED');
  expect(expired.response).toBeUndefined();
});

test.each([
  ['batch-job-state', 'JOB_STATE_SUCCEEDED'],
  ['batch-failed', 'BATCH_STATE_FAILED'],
  ['batch-expired', 'BATCH_STATE_EXPIRED'],
])('%s ends in %s', async (fault, state) => {
  const demo = await testDemo({ faults: [fault, 'batch-polls=1'] });
  const created = await (await demo.post(CREATE, inlined(['a']))).json();
  const { metadata, done } = await (await demo.get(path(created))).json();
  expect([metadata.state, done]).toEqual([state, true]);
});

test.each([
  ['batch-flat', { inMetadata: true, inResponse: true, isFlat: true }],
  ['batch-metadata', { inMetadata: true, inResponse: false, isFlat: false }],
  ['batch-response', { inMetadata: false, inResponse: true, isFlat: false }],
])('%s chooses where the responses are', async (fault, expected) => {
  const demo = await testDemo({ faults: [fault, 'batch-polls=1'] });
  const created = await (await demo.post(CREATE, inlined(['a']))).json();
  const { metadata, response } = await (await demo.get(path(created))).json();
  const responses = (response ?? metadata.output).inlinedResponses;
  expect({
    inMetadata: metadata.output !== undefined,
    inResponse: response !== undefined,
    isFlat: Array.isArray(responses),
  }).toEqual(expected);
});

test('a creation whose answer is lost has made a batch all the same', async () => {
  const demo = await testDemo({ faults: ['batch-lostx1'] });
  await expect(demo.post(CREATE, inlined(['a'])).then((response) => response.text())).rejects.toThrow();
  expect((await (await demo.get('/v1beta/batches')).json()).operations).toHaveLength(1);
});

test('too many enqueued tokens are a 429, and make no batch', async () => {
  const demo = await testDemo({ faults: ['batch-fullx1'] });
  const response = await demo.post(CREATE, inlined(['a']));
  expect(response.status).toBe(429);
  expect((await errorOf(response)).status).toBe('RESOURCE_EXHAUSTED');
  expect(await (await demo.get('/v1beta/batches')).json()).toEqual({});
  expect((await demo.post(CREATE, inlined(['a']))).status).toBe(200);
});

test.each([
  [{}, /display_name/],
  [{ batch: { displayName: 'a' } }, /neither a file nor requests/],
  ['{', /Invalid JSON/],
])('a creation with %j is refused with 400', async (body, message) => {
  const response = await (await testDemo()).post(CREATE, body);
  expect(response.status).toBe(400);
  expect((await errorOf(response)).message).toMatch(message);
});

test('a batch from a file has its results in a file, with the keys of its rows', async () => {
  const demo = await testDemo({ faults: ['batch-polls=1,batch-row-errors=2,batch-row-missing=3,batch-reversed'] });
  const rows = ['a', 'b', 'c', 'd'].map((text) => JSON.stringify({ key: text, request: ask(text) }));
  const fileName = await upload(demo, rows.join('\n'));
  const body = { batch: { display_name: 'from a file', input_config: { file_name: fileName } } };
  const created = await (await demo.post(CREATE, body)).json();
  expect(created.metadata.inputConfig).toEqual({ fileName });
  const { response } = await (await demo.get(path(created))).json();
  expect(await readLines(demo, response.responsesFile)).toEqual([
    { key: 'd', error: { code: 500, message: 'The row could not be processed.' } },
    { key: 'b', error: { code: 500, message: 'The row could not be processed.' } },
    { key: 'a', response: expect.objectContaining({ candidates: expect.anything() }) },
  ]);
});

test('a line that is no request is a row with an error, a file that is not there a 404', async () => {
  const demo = await testDemo({ faults: ['batch-polls=1'] });
  const fileName = await upload(demo, '{"key":"1","request":{}}\nnonsense\n');
  const create = (name: string) =>
    demo.post(CREATE, { batch: { displayName: 'a', inputConfig: { fileName: name } } }).then((answer) => answer.json());
  expect((await create('files/none')).error.code).toBe(404);
  const { response, metadata } = await (await demo.get(path(await create(fileName)))).json();
  expect(metadata.batchStats.failedRequestCount).toBe('2');
  const results = await readLines(demo, response.responsesFile);
  expect(results.map(({ error }) => error.code)).toEqual([400, 400]);
});

test('a batch whose file is deleted too early fails, and nobody sees the batches of others', async () => {
  const demo = await testDemo({ faults: ['batch-polls=1'] });
  const fileName = await upload(demo, '{"key":"1","request":{}}\n');
  const body = { batch: { displayName: 'a', inputConfig: { fileName } } };
  const created = await (await demo.post(CREATE, body)).json();
  await fetch(`${demo.url}/v1beta/${fileName}`, { method: 'DELETE', headers: { 'x-goog-api-key': 'k' } });
  const other = { 'x-goog-api-key': 'another' };
  expect((await demo.get(path(created), other)).status).toBe(404);
  expect(await (await demo.get('/v1beta/batches', other)).json()).toEqual({});
  expect((await (await demo.get(path(created))).json()).metadata.state).toBe('BATCH_STATE_FAILED');
});

async function upload(demo: TestDemo, text: string): Promise<string> {
  const key = { 'x-goog-api-key': 'k' };
  const started = await demo.post(
    '/upload/v1beta/files',
    { file: {} },
    {
      ...key,
      'x-goog-upload-protocol': 'resumable',
      'x-goog-upload-command': 'start',
      'x-goog-upload-header-content-length': String(text.length),
      'x-goog-upload-header-content-type': 'application/jsonl',
    },
  );
  const address = started.headers.get('x-goog-upload-url') ?? '';
  const headers = { ...key, 'x-goog-upload-command': 'upload, finalize', 'x-goog-upload-offset': '0' };
  const ended = await fetch(address, { method: 'POST', headers, body: text });
  return (await ended.json()).file.name;
}

async function readLines(demo: TestDemo, name: string) {
  const text = await (await demo.get(`/v1beta/${name}:download?alt=media`)).text();
  return parseLines(text);
}
