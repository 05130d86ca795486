import { expect, test } from 'vitest';
import { AppError } from '../../src/core/error.ts';
import { parseScript } from '../../src/demo/script.ts';
import { ask, errorOf, events, FLASH, STREAM, testDemo, texts } from './support.ts';

const chunk = (text: string, finishReason?: string): object => ({
  candidates: [{ content: { role: 'model', parts: [{ text }] }, ...(finishReason ? { finishReason } : {}) }],
});
const lines = (...items: object[]): string => `${items.map((item) => JSON.stringify(item)).join('\n\n')}\n`;

test('recorded responses are replayed in order, each method on its own', async () => {
  const text = lines(
    { method: 'generateContentStream', response: [chunk('one '), chunk('two', 'STOP')] },
    { method: 'countTokens', response: { totalTokens: 7 } },
    { method: 'generateContent', response: { ...chunk('whole', 'STOP'), sdkHttpResponse: { headers: {} } } },
    { method: 'generateContentStream', response: [chunk('three', 'STOP')] },
    { method: 'embedContent', response: { embeddings: [{ values: [1, 2] }] } },
    { method: 'embedContent', response: { embeddings: [{ values: [3] }, { values: [4] }] } },
  );
  const demo = await testDemo({ script: parseScript(text, 's.jsonl') });
  const embedding = '/v1beta/models/gemini-embedding-001';
  expect(texts(await events(await demo.post(STREAM, ask('a'))))).toEqual(['one ', 'two']);
  expect(texts(await events(await demo.post(STREAM, ask('b'))))).toEqual(['three']);
  expect(await (await demo.post(`${FLASH}:generateContent`, ask('c'))).json()).toEqual(chunk('whole', 'STOP'));
  expect(await (await demo.post(`${FLASH}:countTokens`, ask('d'))).json()).toEqual({ totalTokens: 7 });
  const content = { parts: [{ text: 'x' }] };
  expect(await (await demo.post(`${embedding}:embedContent`, { content })).json()).toEqual({
    embedding: { values: [1, 2] },
  });
  expect(await (await demo.post(`${embedding}:batchEmbedContents`, { requests: [{ content }] })).json()).toEqual({
    embeddings: [{ values: [3] }, { values: [4] }],
  });
});

test('an exhausted script says so', async () => {
  const demo = await testDemo({ script: [] });
  const response = await demo.post(STREAM, ask('a'));
  expect(response.status).toBe(500);
  expect(await errorOf(response)).toEqual({
    code: 500,
    status: 'INTERNAL',
    message: 'The script has no more responses for generateContentStream.',
  });
});

test('a signature from a script is demanded back', async () => {
  const functionCall = { name: 'f', args: { a: 1, b: 2 } };
  const response = [
    {
      candidates: [
        { content: { role: 'model', parts: [{ functionCall, thoughtSignature: 'c2ln' }] }, finishReason: 'STOP' },
      ],
    },
  ];
  const step = { method: 'generateContentStream', response };
  const demo = await testDemo({ script: parseScript(lines(step, step, step), 's') });
  await (await demo.post(STREAM, ask('go'))).text();
  const back = (part: object): object => ({
    contents: [
      { role: 'user', parts: [{ text: 'go' }] },
      { role: 'model', parts: [part] },
      { role: 'user', parts: [{ functionResponse: { name: 'f', response: { output: 'x' } } }] },
    ],
  });
  const reordered = { name: 'f', args: { b: 2, a: 1 } };
  expect((await demo.post(STREAM, back({ functionCall: reordered, thoughtSignature: 'c2ln' }))).status).toBe(200);
  expect((await errorOf(await demo.post(STREAM, back({ functionCall })))).message).toMatch(
    /missing a thought_signature/,
  );
  const wrong = await demo.post(STREAM, back({ functionCall, thoughtSignature: 'eA==' }));
  expect((await errorOf(wrong)).message).toMatch(/signature is not valid/);
});

test.each([
  ['{"method":"generateContent","response":{}}\n\n{oops', 's.jsonl:3: not JSON'],
  ['{"method":"chat","response":{}}', 's.jsonl:1: "method" must be one of'],
  ['{"method":"generateContent","response":[]}', 's.jsonl:1: "response" of generateContent must be an object'],
  ['{"method":"generateContentStream","response":{}}', 's.jsonl:1: "response" of a stream must be an array'],
  ['[]', 's.jsonl:1: "method" must be one of'],
])('%j is refused with its line', (text, message) => {
  try {
    parseScript(text, 's.jsonl');
    expect.unreachable();
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(AppError);
    expect((thrown as AppError).fault).toBe('usage');
    expect((thrown as AppError).message).toContain(message);
  }
});
