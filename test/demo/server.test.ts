import { expect, test } from 'vitest';
import { ask, errorOf, events, FLASH, STREAM, testDemo, texts } from './support.ts';

const user = { role: 'user', parts: [{ text: 'a' }] };
const call = { role: 'model', parts: [{ functionCall: { name: 'f', args: {} } }] };
const answer = { role: 'user', parts: [{ functionResponse: { name: 'f', response: {} } }] };

test.each([
  ['{', /^Invalid JSON payload received: /],
  ['[]', /must be an object/],
  [{}, /contents is not specified/],
  [{ contents: [] }, /contents is not specified/],
  [{ contents: [{ role: 'user', parts: [] }] }, /contents\[0\]\.parts: must not be empty/],
  [{ contents: [{ role: 'user', parts: [{}] }] }, /contents\[0\]\.parts\[0\]\.data/],
  [{ contents: [{ role: 'system', parts: [{ text: 'a' }] }] }, /Role "system" of contents\[0\] is not valid/],
  [{ contents: [{ role: 'model', parts: [{ text: 'a' }] }, user] }, /first content must have the role user/],
  [{ contents: [user, { role: 'model', parts: [{ text: 'a' }] }] }, /last content must have the role user/],
  [{ contents: [user, answer] }, /contents\[1\]: a function response must come right after/],
  [{ contents: [answer] }, /contents\[0\]: a function response must come right after/],
  [{ contents: [user, call, user] }, /number of function responses \(0\) must equal .* \(1\)/],
  [
    { contents: [user, call, { role: 'user', parts: [...answer.parts, ...answer.parts] }] },
    /number of function responses \(2\) must equal .* \(1\)/,
  ],
  [
    { contents: [user, call, { role: 'user', parts: [{ functionResponse: { name: 'g', response: {} } }] }] },
    /function responses for g do not answer calls of f/,
  ],
  [
    {
      contents: [
        user,
        { role: 'model', parts: [{ functionCall: { id: '1', name: 'f' } }] },
        { role: 'user', parts: [{ functionResponse: { id: '2', name: 'f', response: {} } }] },
      ],
    },
    /no function call has the id "2"/,
  ],
  [{ contents: [{ role: 'user', parts: call.parts }] }, /calls belong to the role model/],
  [ask('a', { prompt: 'b' }), /Unknown name "prompt" in the request/],
  [ask('a', { session_id: 'b' }), /Unknown name "session_id"/],
  [ask('a', { generationConfig: { maxTokens: 5 } }), /Unknown name "maxTokens" in generation_config/],
  [ask('a', { store: 'no' }), /Invalid value at 'store'/],
  [ask('a', { generationConfig: { temperature: 3 } }), /temperature must be a number from 0 to 2/],
  [ask('a', { generationConfig: { maxOutputTokens: 0 } }), /maxOutputTokens must be a number from 1/],
  [ask('a', { generationConfig: { responseSchema: {} } }), /needs response_mime_type/],
  [
    ask('a', { tools: [{ googleSearch: {} }], generationConfig: { responseMimeType: 'application/json' } }),
    /Tool use with a response mime type of application\/json is not supported by gemini-2.5-flash/,
  ],
  [
    ask('a', { tools: [{ google_search: {} }, { functionDeclarations: [{ name: 'f' }] }] }),
    /gemini-2.5-flash takes either tools of the service or function declarations/,
  ],
  [ask('a', { generationConfig: { thinkingConfig: { thinkingLevel: 'LOW' } } }), /thinking_level is not supported/],
  [
    ask('a', { generationConfig: { thinkingConfig: { thinkingLevel: 'LOW', thinkingBudget: 1 } } }),
    /cannot be set together/,
  ],
])('%j is refused with 400', async (body, message) => {
  const response = await (await testDemo()).post(STREAM, body);
  expect(response.status).toBe(400);
  const error = await errorOf(response);
  expect(error).toMatchObject({ code: 400, status: 'INVALID_ARGUMENT' });
  expect(error.message).toMatch(message);
});

test('a request of today’s SDK is taken, and Gemini 4 thinks at least a little', async () => {
  const demo = await testDemo();
  const argon = '/v1beta/models/gemini-4-argon:streamGenerateContent?alt=sse';
  const ask4 = (generationConfig: object) => demo.post(argon, ask('a', { store: false, generationConfig }));
  expect((await ask4({ audioTranscriptionConfig: {}, thinkingConfig: { thinkingLevel: 'LOW' } })).status).toBe(200);
  expect((await ask4({ thinkingConfig: { thinkingLevel: 'MINIMAL' } })).status).toBe(400);
  expect((await ask4({ thinkingConfig: { thinkingLevel: 'XHIGH' } })).status).toBe(400);
  const hydrogen = '/v1beta/models/gemini-4-hydrogen:streamGenerateContent?alt=sse';
  const xhigh = ask('a', { generationConfig: { thinkingConfig: { thinkingLevel: 'XHIGH' } } });
  expect((await demo.post(hydrogen, xhigh)).status).toBe(200);
  const { supportedGenerationMethods } = (await (await demo.get('/v1beta/models/gemini-4-argon')).json()) as {
    supportedGenerationMethods: string[];
  };
  expect(supportedGenerationMethods).not.toContain('createCachedContent');
});

test('Office files are for the models that read them', async () => {
  const demo = await testDemo();
  const inlineData = { mimeType: 'application/vnd.ms-excel', data: '0M8R4A==' };
  const body = { contents: [{ role: 'user', parts: [{ inlineData }, { text: 'a' }] }] };
  const ask4 = (model: string) => demo.post(`/v1beta/models/${model}:streamGenerateContent?alt=sse`, body);
  for (const model of ['gemini-4-carbon', 'gemini-4-hydrogen']) expect((await ask4(model)).status).toBe(200);
  const refused = await ask4('gemini-4-argon');
  expect([refused.status, (await errorOf(refused)).message]).toEqual([
    400,
    'Unsupported MIME type: application/vnd.ms-excel',
  ]);
});

test('complete turns of calls and results are accepted', async () => {
  const demo = await testDemo();
  const response = await demo.post(STREAM, { contents: [user, call, answer, call, answer] });
  expect(response.status).toBe(200);
  // A client may number the answers to calls that came without ids.
  const numbered = { role: 'user', parts: [{ functionResponse: { id: 'own', name: 'f', response: {} } }] };
  expect((await demo.post(STREAM, { contents: [user, call, numbered] })).status).toBe(200);
});

test('both spellings of the keys are understood', async () => {
  const demo = await testDemo();
  const body = ask('Hello', {
    system_instruction: { parts: [{ text: 's' }] },
    generation_config: { max_output_tokens: 100, top_p: 0.5 },
  });
  expect(texts(await events(await demo.post(STREAM, body))).join('')).toBe('Hello! How can I help you today?');
});

test.each([
  ['/v1beta/models/gemini-2.5-flash:generateContent', {}, 403, 'PERMISSION_DENIED'],
  ['/v1beta/models/gemini-2.5-flash:generateContent', { 'x-goog-api-key': '' }, 403, 'PERMISSION_DENIED'],
  ['/v1internal:generateContent', { 'x-goog-api-key': 'k' }, 401, 'UNAUTHENTICATED'],
  ['/v1internal:loadCodeAssist', {}, 401, 'UNAUTHENTICATED'],
  ['/v1beta1/publishers/google/models/gemini-2.5-flash:generateContent', {}, 401, 'UNAUTHENTICATED'],
])('%s with %j is refused', async (path, headers, code, status) => {
  const response = await (await testDemo()).post(path, ask('a'), headers);
  expect(response.status).toBe(code);
  expect(await errorOf(response)).toMatchObject({ code, status });
});

test.each<[string, Record<string, string>]>([
  ['/v1beta/models/gemini-2.5-flash:generateContent', { 'x-goog-api-key': 'k' }],
  ['/v1beta/models/gemini-2.5-flash:generateContent?key=k', {}],
  ['/v1/models/gemini-2.5-flash:generateContent', { authorization: 'Bearer t' }],
  ['/v1beta1/publishers/google/models/gemini-2.5-flash:generateContent', { 'x-goog-api-key': 'k' }],
  [
    '/v1beta1/projects/p/locations/us-central1/publishers/google/models/gemini-2.5-flash:generateContent',
    { authorization: 'Bearer t' },
  ],
])('%s is served', async (path, headers) => {
  const response = await (await testDemo()).post(path, ask('Hello'), headers);
  expect(response.status).toBe(200);
  expect(texts([await response.json()])).toEqual(['Hello! How can I help you today?']);
});

test.each([
  ['GET', '/'],
  ['GET', `${FLASH}:generateContent`],
  ['POST', '/v1beta/models'],
  ['POST', `${FLASH}:tuneModel`],
  ['POST', '/v2/models/gemini-2.5-flash:generateContent'],
  ['POST', '/v1beta/models/gpt-4:generateContent'],
  ['POST', '/v1beta/models/gemini-1.5-pro:generateContent'],
  ['POST', '/v1beta/models/gemini-embedding-001:generateContent'],
  ['POST', `${FLASH}:embedContent`],
  ['POST', '/v1beta/models/gemini-decision-1:generateContent'],
  ['GET', '/v1beta/models/gpt-4'],
  ['GET', '/v1internal/operations/other'],
  ['POST', '/v1internal:unheardOf'],
])('%s %s is not found', async (method, path) => {
  const demo = await testDemo();
  const response = await (method === 'GET' ? demo.get(path) : demo.post(path, ask('a')));
  expect(response.status).toBe(404);
  expect(await errorOf(response)).toMatchObject({ code: 404, status: 'NOT_FOUND' });
});

test('the models are listed in pages', async () => {
  const demo = await testDemo();
  const all = await (await demo.get('/v1beta/models')).json();
  expect(all.nextPageToken).toBeUndefined();
  const names: string[] = [];
  let token = '';
  do {
    const page = await (await demo.get(`/v1beta/models?pageSize=4&pageToken=${token}`)).json();
    names.push(...page.models.map((model: { name: string }) => model.name));
    token = page.nextPageToken ?? '';
  } while (token !== '');
  expect(names).toEqual(all.models.map((model: { name: string }) => model.name));
  expect(await (await demo.get('/v1beta/models/gemini-2.5-flash')).json()).toEqual(all.models[0]);
});

test('the same text always has the same embedding, of length 1', async () => {
  const demo = await testDemo();
  const path = '/v1beta/models/gemini-embedding-001';
  const content = { parts: [{ text: 'tea' }] };
  const one = await (await demo.post(`${path}:embedContent`, { content, outputDimensionality: 8 })).json();
  const other = { content: { parts: [{ text: 'coffee' }] }, outputDimensionality: 8 };
  const batch = { requests: [{ content, outputDimensionality: 8 }, other] };
  const { embeddings } = await (await demo.post(`${path}:batchEmbedContents`, batch)).json();
  expect(embeddings[0]).toEqual(one.embedding);
  expect(embeddings[1]).not.toEqual(one.embedding);
  expect(Math.hypot(...one.embedding.values)).toBeCloseTo(1, 5);
  const full = await (await demo.post(`${path}:embedContent`, { content })).json();
  expect(full.embedding.values).toHaveLength(3072);
  const vertex = '/v1beta1/publishers/google/models/gemini-embedding-001:predict';
  const instances = { instances: [{ content: 'tea' }], parameters: { outputDimensionality: 8 } };
  const predicted = await (await demo.post(vertex, instances)).json();
  expect(predicted.predictions[0].embeddings.values).toEqual(one.embedding.values);
});

test('an error of an array stream is in an array, as the real API has it', async () => {
  const response = await (await testDemo()).post(`${FLASH}:streamGenerateContent`, {});
  expect(await response.json()).toEqual([{ error: expect.objectContaining({ code: 400 }) }]);
});

test('requests are seen whole, and logged without their keys', async () => {
  const seen: string[] = [];
  const log: string[] = [];
  const demo = await testDemo({
    onRequest: ({ method, path, query, headers, body }) =>
      seen.push(`${method} ${path} ${query.get('key')} ${headers['x-goog-api-key']} ${body}`),
    log: (line) => log.push(line),
  });
  await demo.post(`${FLASH}:countTokens?key=secret`, ask('Hello'));
  expect(seen).toEqual([`POST ${FLASH}:countTokens secret k ${JSON.stringify(ask('Hello'))}`]);
  expect(log).toEqual([`POST ${FLASH}:countTokens 200`]);
});
