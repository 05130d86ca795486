import { expect, test } from 'vitest';
import { signInFile } from '../support/account.ts';
import { fakeGemini, type Scripted } from '../support/gemini.ts';
import { callGmn, callGmnIn, parseLines, place, startGmn } from '../support/gmn.ts';

/** Answers with the length of each text. */
const lengths: Scripted = (response, { body }) => {
  const embeddings = body.requests.map(({ content }: { content: { parts: [{ text: string }] } }) => ({
    values: [content.parts[0].text.length],
  }));
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ embeddings }));
};

const parse = (text: string) => parseLines(text);

test('each line of stdin becomes a vector, in order, in batches of a hundred', async (t) => {
  const gemini = await fakeGemini(t, [lengths, lengths, lengths]);
  const stdin = Array.from({ length: 250 }, (_, index) => (index === 7 ? '' : 'x'.repeat(index % 50 || 1))).join(
    '\r\n',
  );
  const gmn = await callGmn(t, ['embed', '--task-type', 'retrieval-document', '--dimensions', '8'], { gemini, stdin });
  expect(gmn).toMatchObject({ stderr: '', exitCode: 0 });
  const lines = parse(gmn.stdout);
  expect(lines.map(({ line }) => line)).toEqual(
    Array.from({ length: 250 }, (_, index) => index + 1).filter((line) => line !== 8),
  );
  expect(lines.every(({ text, values }) => values[0] === text.length)).toBe(true);
  expect(gemini.requests.map(({ body }) => body.requests.length).sort()).toEqual([100, 100, 49]);
  expect(gemini.requests[0]?.path).toBe('/v1beta/models/gemini-embedding-001:batchEmbedContents');
  expect(gemini.requests[0]?.body.requests[0]).toMatchObject({
    model: 'models/gemini-embedding-001',
    taskType: 'RETRIEVAL_DOCUMENT',
    outputDimensionality: 8,
  });
});

test('tokens and cost are shown on demand, and counted by gmn usage', async (t) => {
  const counted: Scripted = (response, { body }) => {
    const embeddings = body.requests.map(() => ({ values: [1] }));
    const usageMetadata = { promptTokenCount: 1000 * embeddings.length };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ embeddings, usageMetadata }));
  };
  const gemini = await fakeGemini(t, [counted, counted]);
  const home = { '.gmn/config.json': '{"prices":{"gemini-embedding-2":{"input":0.2}}}' };
  const here = place(t, { gemini, home });
  const gmn = await callGmnIn(t, here, ['embed', '-u', '-m', 'gemini-embedding-2'], 'x\n'.repeat(101));
  expect(gmn.stderr).toMatch(/^gemini-embedding-2 · 101000 in · [\d.]+s · \$0\.02\d*\n$/);
  const usage = await callGmnIn(t, here, ['usage', '--by', 'model', '--json']);
  expect(JSON.parse(usage.stdout).rows).toMatchObject([{ model: 'gemini-embedding-2', cost: 0.0202 }]);
});

test.for([
  [
    'gemini-embedding-001',
    'predict',
    { instances: [{ content: 'x', task_type: 'CLUSTERING' }], parameters: { outputDimensionality: 4 } },
  ],
  [
    'text-embedding-005',
    'predict',
    { instances: [{ content: 'x', task_type: 'CLUSTERING' }], parameters: { outputDimensionality: 4 } },
  ],
  [
    'gemini-embedding-2',
    'embedContent',
    {
      content: { role: 'user', parts: [{ text: 'x' }] },
      embedContentConfig: { taskType: 'CLUSTERING', outputDimensionality: 4 },
    },
  ],
] as const)('on Vertex AI %s is asked through %s', async ([model, verb, body], t) => {
  const values = [0.5, 1];
  const answer: Scripted = (response) => {
    const found =
      verb === 'predict'
        ? { predictions: [{ embeddings: { values, statistics: { token_count: 3 } } }] }
        : { embedding: { values }, usageMetadata: { promptTokenCount: 3 } };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(found));
  };
  const { url, requests } = await fakeGemini(t, [answer]);
  const env = { GOOGLE_API_KEY: 'test-key-0123456789', GOOGLE_GENAI_USE_VERTEXAI: 'true', GOOGLE_VERTEX_BASE_URL: url };
  const words = ['embed', '-m', model, '--task-type', 'clustering', '--dimensions', '4', '-u'];
  const gmn = await callGmn(t, words, { env, stdin: 'x\n' });
  expect(parse(gmn.stdout)).toEqual([{ line: 1, text: 'x', values }]);
  expect(gmn.stderr).toContain(`${model} · 3 in · `);
  expect(requests).toMatchObject([{ path: `/v1beta1/publishers/google/models/${model}:${verb}`, body }]);
});

test('files: by lines, or whole; without the text if that is wanted', async (t) => {
  const files = { 'a.txt': 'one\ntwo\n', 'b.txt': 'three\n' };
  const demo = ['--demo', 'embed', '--dimensions', '2'];
  const lines = await callGmn(t, [...demo, 'a.txt', 'b.txt'], { files });
  expect(parse(lines.stdout).map(({ values: _, ...rest }) => rest)).toEqual([
    { file: 'a.txt', line: 1, text: 'one' },
    { file: 'a.txt', line: 2, text: 'two' },
    { file: 'b.txt', line: 1, text: 'three' },
  ]);
  const whole = await callGmn(t, [...demo, '--whole', '--no-text', 'a.txt', 'b.txt'], { files });
  expect(parse(whole.stdout)).toEqual([
    { file: 'a.txt', values: [expect.any(Number), expect.any(Number)] },
    { file: 'b.txt', values: [expect.any(Number), expect.any(Number)] },
  ]);
});

test('an overloaded service is asked again; one that stays so is exit 3, and says how far it came', async (t) => {
  const fail: Scripted = (response) => void response.writeHead(503).end('{}');
  const gemini = await fakeGemini(t, [fail, lengths]);
  expect(await callGmn(t, ['embed'], { gemini, stdin: 'a\n' })).toMatchObject({ stderr: '', exitCode: 0 });
  const second: Scripted = (response, request) =>
    request.body.requests.length === 100 ? lengths(response, request) : fail(response, request);
  const flaky = await fakeGemini(t, [second, second]);
  const gmn = await callGmn(t, ['embed', '--retries', '0'], { gemini: flaky, stdin: 'x\n'.repeat(101) });
  expect(parse(gmn.stdout)).toHaveLength(100);
  expect(gmn.stderr).toContain('100 vectors are written; only the rest is missing.');
  expect(gmn.exitCode).toBe(3);
});

test('a server that sends too few vectors is not believed', async (t) => {
  const short: Scripted = (response) => void response.writeHead(200).end('{"embeddings":[{"values":[1]}]}');
  const gmn = await callGmn(t, ['embed', '--retries', '0'], { gemini: await fakeGemini(t, [short]), stdin: 'a\nb\n' });
  expect(gmn).toMatchObject({ stdout: '', exitCode: 3 });
  expect(gmn.stderr).toContain('the server sent 1 embeddings for 2 texts');
});

test.for([
  [['this', 'text'], 'there is no file "this": gmn embed takes files', 1],
  [['--task-type', 'poetry'], '--task-type: "poetry" is not one of semantic-similarity', 1],
  [['--dimensions', '0'], '--dimensions: 0 is out of range', 1],
] as const)('embed %j is a usage error', async ([args, message, exitCode], t) => {
  const gmn = await callGmn(t, ['--demo', 'embed', ...args], { stdin: 'x' });
  expect(gmn).toMatchObject({ stdout: '', stderr: expect.stringContaining(`Error: ${message}`), exitCode });
});

test('what is not text is refused, and not sent', async (t) => {
  for (const stdin of ['\xff\xfeh\0i\0', 'caf\xe9', 'cut \xe3\x81'].map((text) => Buffer.from(text, 'latin1'))) {
    const { exitCode, stderr } = await callGmn(t, ['embed'], { script: [], stdin });
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('Error: stdin is not text in UTF-8')]);
  }
});

test('a Google login has no embeddings: exit 2 with the way out', async (t) => {
  const home = {
    '.gemini/oauth_creds.json': signInFile(),
    '.gemini/settings.json': '{"security":{"auth":{"selectedType":"oauth-personal"}}}',
  };
  const env = { CODE_ASSIST_ENDPOINT: 'http://127.0.0.1:9' };
  const gmn = await callGmn(t, ['embed'], { home, env, stdin: 'x' });
  expect(gmn).toMatchObject({ stdout: '', exitCode: 2 });
  expect(gmn.stderr).toContain(
    'has no embeddings\nUse an API key instead: set GEMINI_API_KEY, or run gmn auth set-key.\n',
  );
});

test('a reader that goes away ends it quietly', async (t) => {
  const { child, ended } = await startGmn(t, ['--demo', 'embed', '--dimensions', '8'], {
    stdin: 'open',
    onStdout: (_, { stdout }) => void stdout?.destroy(),
  });
  child.stdin?.write('x\n'.repeat(2000));
  expect(await ended).toMatchObject({ exitCode: 0, stderr: '' });
});
