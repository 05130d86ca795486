import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import type { Clock } from '../../src/core/io.ts';
import { parseFaults } from '../../src/demo/fault.ts';
import { forward, startProxy } from '../../src/demo/proxy.ts';
import { startReplay } from '../../src/demo/replay.ts';
import { createHttpClient } from '../../src/platform/http/send.ts';
import { systemClock } from '../../src/platform/runtime/clock.ts';
import { createRecorder } from '../../src/recording/recorder.ts';
import { openReplay, type ReplayOptions } from '../../src/recording/replay.ts';
import { temporary } from '../support/temporary.ts';
import { ask, errorOf, events, FLASH, parts, STREAM, testDemo, texts } from './support.ts';

const KEY = { 'x-goog-api-key': 'canary-key-0123456789' };
const TIMERS = { connectMs: 10_000, headersMs: 10_000, idleMs: 10_000 };

function post(url: string, path: string, body: unknown, headers: Record<string, string> = KEY): Promise<Response> {
  return fetch(url + path, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body), headers });
}

async function openRecorder(file: string) {
  const reports: string[] = [];
  const { send } = createHttpClient({ timers: TIMERS, env: {}, clock: systemClock });
  const recorder = await createRecorder({
    ...{ file, cwd: '/', send, clock: systemClock },
    secrets: async () => new Set<string>(),
    report: (message) => void reports.push(message),
  });
  return { ...recorder, reports };
}

/** The proxy in front of the offline model, and the file that it writes. */
async function recordingProxy() {
  const demo = await testDemo();
  const file = join(temporary(), 'calls.jsonl');
  const { send, reports } = await openRecorder(file);
  const proxy = await startProxy({ upstream: new URL(demo.url), send });
  onTestFinished(() => proxy.close());
  return { url: proxy.url, file, reports, upstream: demo };
}

async function replayServer(
  file: string,
  { faults = [], ...options }: Partial<ReplayOptions> & { readonly faults?: readonly string[] } = {},
) {
  const clock: Clock = { now: () => Date.UTC(2026, 10, 18, 9), sleep: async () => {} };
  const replay = await openReplay(file, { name: 'calls.jsonl', clock, ...options });
  const log: string[] = [];
  const server = await startReplay({ replay, clock, faults: parseFaults(faults), log: (line) => void log.push(line) });
  onTestFinished(() => server.close());
  return { url: server.url, log, listProblems: replay.listProblems };
}

test('a client that is recorded gets what the service says, and a replay says the same', async () => {
  const { url, file, upstream } = await recordingProxy();
  const asked: readonly (readonly [string, object])[] = [
    [STREAM, ask('Hello')],
    [`${FLASH}:generateContent`, ask('3 colors')],
    [`${FLASH}:streamGenerateContent`, ask('Hello')],
    [`${FLASH}:countTokens`, ask('how many')],
    ['/v1beta/models/gemini-embedding-001:embedContent', { content: { parts: [{ text: 'x' }] } }],
    [`${FLASH}:generateContent`, { contents: 'wrong' }],
  ];
  const answers: string[] = [];
  for (const [path, body] of asked) {
    const response = await post(url, path, body);
    answers.push(`${response.status} ${response.headers.get('content-type')} ${await response.text()}`);
  }
  await upstream.close();
  expect(readFileSync(file, 'utf8')).not.toContain('canary-key');
  const replay = await replayServer(file);
  for (const [index, [path, body]] of asked.entries()) {
    const response = await post(replay.url, path, body, { 'x-goog-api-key': 'another' });
    const said = `${response.status} ${response.headers.get('content-type')} ${await response.text()}`;
    // A list is one chunk, and comes back indented.
    const isList = path === `${FLASH}:streamGenerateContent`;
    const compact = (answer = ''): string => answer.replace(isList ? /\s+/g : /$/, '');
    expect(compact(said.replace(/"response-\d"/g, 'id'))).toBe(compact(answers[index]?.replace(/"demo-\d+"/g, 'id')));
  }
  expect(replay.listProblems()).toEqual({ refused: [], unused: [] });
});

test('a tool loop keeps its ids and signatures, and a client that loses one is refused', async () => {
  const { url, file } = await recordingProxy();
  const tools = [{ functionDeclarations: [{ name: 'look' }] }];
  const loop = async (at: string, lose = false): Promise<Response> => {
    const first = { ...ask('call look {"at":"sky"}'), tools };
    const [event] = await events(await post(at, STREAM, first));
    const [called] = parts(event);
    const kept = lose ? { functionCall: called?.functionCall } : called;
    const result = { functionResponse: { name: 'look', id: called?.functionCall?.id, response: { output: 'blue' } } };
    return post(at, STREAM, {
      contents: [
        ...(ask('call look {"at":"sky"}') as { contents: object[] }).contents,
        { role: 'model', parts: [kept] },
        { role: 'user', parts: [result] },
      ],
      tools,
    });
  };
  const recorded = texts(await events(await loop(url)));
  const replay = await replayServer(file, { chunks: 'split', seed: 3 });
  expect(texts(await events(await loop(replay.url)))).toEqual(recorded);
  const strict = await replayServer(file);
  const refused = await loop(strict.url, true);
  expect(refused.status).toBe(422);
  expect((await errorOf(refused)).message).toMatch(
    /^Not in calls.jsonl: contents\[1\]\.parts\[0\]\.thoughtSignature is missing, recorded was "/,
  );
  expect(strict.listProblems().unused).toEqual(['#2 POST /v1beta/models/gemini-2.5-flash:streamGenerateContent']);
});

test.each([
  ['503x1', 503],
  ['429', 429],
  ['404-retired', 404],
])('a fault on top of a recording: %s', async (fault, status) => {
  const { url, file } = await recordingProxy();
  await (await post(url, STREAM, ask('Hello'))).text();
  const replay = await replayServer(file, { faults: [fault] });
  expect((await post(replay.url, STREAM, ask('Hello'))).status).toBe(status);
  if (fault.endsWith('x1')) expect((await post(replay.url, STREAM, ask('Hello'))).status).toBe(200);
});

test('the recorded conversation, but the line drops here: the client may ask once more', async () => {
  const { url, file } = await recordingProxy();
  const recorded = texts(await events(await post(url, STREAM, ask('Hello'))));
  const replay = await replayServer(file, { faults: ['cut-after=1x1', 'max-tokensx1', 'safetyx1'] });
  await expect(post(replay.url, STREAM, ask('Hello')).then((response) => response.text())).rejects.toThrow();
  const again = await replayServer(file, { faults: ['max-tokensx1'] });
  expect((await events(await post(again.url, STREAM, ask('Hello')))).at(-1)?.candidates?.[0]?.finishReason).toBe(
    'MAX_TOKENS',
  );
  expect(again.listProblems()).toEqual({ refused: [], unused: [] });
  expect(texts(await events(await post(again.url, STREAM, ask('Hello'))))).toEqual(recorded);
  expect(again.listProblems()).toEqual({ refused: [], unused: [] });
});

test('a fault that a recording cannot have is refused at once', async () => {
  const { url, file } = await recordingProxy();
  await (await post(url, STREAM, ask('Hello'))).text();
  await expect(replayServer(file, { faults: ['batch-lost'] })).rejects.toThrow(
    'fault "batch-lost" does not apply to a recording',
  );
});

test('Code Assist is recorded without its project, and a replay knows the account anyway', async () => {
  const { url, file } = await recordingProxy();
  const bearer = { authorization: 'Bearer ya29.canary-token-0123456789' };
  const wrap = (project: string) => ({
    model: 'gemini-2.5-flash',
    project,
    user_prompt_id: project,
    request: { ...ask('Hello'), session_id: project },
  });
  const recorded = await (await post(url, '/v1internal:streamGenerateContent?alt=sse', wrap('mine-1'), bearer)).text();
  expect(readFileSync(file, 'utf8')).not.toMatch(/mine-1|ya29/);
  const replay = await replayServer(file, {});
  const account = await (await post(replay.url, '/v1internal:loadCodeAssist', {}, bearer)).json();
  expect(account).toMatchObject({ currentTier: { id: 'standard-tier' }, cloudaicompanionProject: 'project' });
  const again = await (
    await post(replay.url, '/v1internal:streamGenerateContent?alt=sse', wrap('project'), bearer)
  ).text();
  expect(again.replace(/"(?:response|trace)-1"/g, 'id')).toBe(recorded.replace(/"demo-\d+"/g, 'id'));
  const faulty = await replayServer(file, { faults: ['no-finish'] });
  const [event] = await events(
    await post(faulty.url, '/v1internal:streamGenerateContent?alt=sse', wrap('project'), bearer),
  );
  expect(event).toHaveProperty('response.candidates');
});

test('a request that is compressed goes through the proxy as it is', async () => {
  const upstream = createServer((request, response) => {
    void request.toArray().then((pieces) => {
      const { 'content-encoding': encoding } = request.headers;
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ encoding, text: gunzipSync(Buffer.concat(pieces)).toString('utf8') }));
    });
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void upstream.close());
  await once(upstream, 'listening');
  const { send } = await openRecorder(join(temporary(), 'calls.jsonl'));
  const { port } = upstream.address() as AddressInfo;
  const proxy = await startProxy({ upstream: new URL(`http://127.0.0.1:${port}`), send });
  onTestFinished(() => proxy.close());
  const headers = { ...KEY, 'content-encoding': 'gzip' };
  const body = gzipSync('{"contents":[]}');
  const response = await fetch(`${proxy.url}${FLASH}:generateContent`, { method: 'POST', body, headers });
  expect(await response.json()).toEqual({ encoding: 'gzip', text: '{"contents":[]}' });
});

test('uploads go through the proxy in both directions', async () => {
  const { url, file } = await recordingProxy();
  const bytes = Buffer.from([0xff, 0xd8, 0, 1, 2, 3]);
  const upload = async (at: string): Promise<string> => {
    const start = await post(
      at,
      '/upload/v1beta/files',
      { file: { displayName: 'a.jpg' } },
      {
        ...KEY,
        'x-goog-upload-protocol': 'resumable',
        'x-goog-upload-command': 'start',
        'x-goog-upload-header-content-length': String(bytes.length),
        'x-goog-upload-header-content-type': 'image/jpeg',
      },
    );
    const address = start.headers.get('x-goog-upload-url') ?? '';
    expect(address.startsWith(at)).toBe(true);
    const headers = { ...KEY, 'x-goog-upload-command': 'upload, finalize', 'x-goog-upload-offset': '0' };
    const done = await fetch(address, { method: 'POST', body: bytes, headers });
    return (await done.json()).file.uri;
  };
  const uri = await upload(url);
  const replay = await replayServer(file);
  expect(await upload(replay.url)).toBe(uri);
  expect(replay.listProblems()).toEqual({ refused: [], unused: [] });
});

test('a service that is not there is reported, and nothing is recorded', async () => {
  const { url, file, upstream } = await recordingProxy();
  await upstream.close();
  const response = await post(url, STREAM, ask('Hello'));
  expect(response.status).toBe(502);
  expect((await errorOf(response)).message).toMatch(
    /^The service could not be asked: connection to 127.0.0.1:\d+ refused/,
  );
  expect(() => readFileSync(file)).toThrow(/ENOENT/);
});

test('what is missing can be asked for, and is there the next time', async () => {
  const { url, file, upstream } = await recordingProxy();
  await (await post(url, STREAM, ask('Hello'))).text();
  const clock = systemClock;
  const replay = await openReplay(file, { name: 'calls.jsonl', clock });
  const { send } = await openRecorder(file);
  const server = await startReplay({
    replay,
    clock,
    missing: (request, reply) => forward(request, reply, { upstream: new URL(upstream.url), send }),
  });
  onTestFinished(() => server.close());
  expect(texts(await events(await post(server.url, STREAM, ask('3 colors')))).join('')).toContain('red');
  expect(replay.listProblems().refused).toEqual([]);
  const later = await replayServer(file);
  for (const prompt of ['Hello', '3 colors']) expect((await post(later.url, STREAM, ask(prompt))).status).toBe(200);
  expect(later.listProblems()).toEqual({ refused: [], unused: [] });
});
