import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { failure, fakeGemini, reply } from '../../../support/gemini.ts';
import { echo, readModel, serve, silence } from '../support.ts';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
);

const METADATA = {
  model: 'gemini-2.5-flash',
  tokensUsed: 17,
  finishReason: 'STOP',
  usage: { promptTokenCount: 5, candidatesTokenCount: 12, totalTokenCount: 17 },
  cost: 0.0000315,
  // 5 tokens at $0.75 and 12 at $3.75, per million; twice that in 2027.
  costWithFlash: expect.toBeOneOf([0.00004875, 0.0000975]),
};

test('generate_text answers with content and metadata, mirrored in _meta', async (t) => {
  const gemini = await fakeGemini(t, [reply('Hello.')]);
  const server = await serve(t, { gemini });
  expect(await server.call('generate_text', { prompt: 'Hello, world!', thinkingLevel: 'high' })).toEqual({
    content: [{ type: 'text', text: 'Hello.' }],
    metadata: METADATA,
    _meta: METADATA,
  });
  const [{ path, body }] = gemini.requests as [(typeof gemini.requests)[0]];
  expect(path).toContain('models/gemini-3-pro-preview:streamGenerateContent');
  expect(body.generationConfig).toEqual({
    temperature: 1,
    topP: 0.95,
    topK: 40,
    maxOutputTokens: 65_536,
    thinkingConfig: { thinkingLevel: 'HIGH' },
  });
  expect(body.tools).toBeUndefined();
});

test('a picture of an answer is image content of generate_text, without an empty text', async (t) => {
  const data = PNG.toString('base64');
  const gemini = await fakeGemini(t, [
    reply({ inlineData: { mimeType: 'image/png', data }, thoughtSignature: 'c2ln' }),
  ]);
  const server = await serve(t, { gemini });
  const result = await server.call('generate_text', { prompt: 'a fox', model: 'gemini-3.1-flash-image' });
  expect(result.content).toEqual([{ type: 'image', data, mimeType: 'image/png' }]);
  expect(JSON.stringify(result._meta)).not.toContain(data);
});

test('every option of generate_text reaches the model, an explicit 0 too', async (t) => {
  const gemini = await fakeGemini(t, [reply('{}')]);
  const server = await serve(t, { gemini });
  const jsonSchema = { type: 'object', properties: { a: { type: 'string' } } };
  const safetySettings = [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }];
  await server.call('generate_text', {
    prompt: 'x',
    model: 'gemini-2.5-pro',
    systemInstruction: '@/etc/passwd',
    temperature: 0,
    maxTokens: 100,
    topK: 1,
    topP: 0.5,
    jsonSchema,
    grounding: true,
    safetySettings,
  });
  expect(gemini.requests[0]?.body).toEqual({
    contents: [{ role: 'user', parts: [{ text: 'x' }] }],
    systemInstruction: { role: 'user', parts: [{ text: '@/etc/passwd' }] },
    tools: [{ googleSearch: {} }],
    safetySettings,
    generationConfig: {
      temperature: 0,
      topP: 0.5,
      topK: 1,
      maxOutputTokens: 100,
      responseMimeType: 'application/json',
      responseJsonSchema: jsonSchema,
    },
  });
});

test('a thinking level the model does not have is refused before the network', async (t) => {
  const server = await serve(t, { gemini: await fakeGemini(t, []) });
  const { isError, content } = await server.call('generate_text', { prompt: 'x', thinkingLevel: 'minimal' });
  expect(isError).toBe(true);
  expect(content[0].text).toBe('gemini-3-pro-preview has no thinking level "minimal"\nIts levels: low, high');
});

const GONE = failure(404, 'NOT_FOUND', 'models/gemini-3-pro-preview is no longer available.');
const RETIRED =
  'model gemini-3-pro-preview is retired (404 NOT_FOUND): models/gemini-3-pro-preview is no longer available; using gemini-pro-latest (give `model` to choose)';

function askedModels({ requests }: { readonly requests: readonly { readonly path: string }[] }) {
  return requests.map(({ path }) => /models\/([^:]+):/.exec(path)?.[1]);
}

test('a retired default model of the plain tools has a fallback, which is named once and cached', async (t) => {
  const gemini = await fakeGemini(t, [GONE, reply('{}'), reply('again'), reply('A dot.')]);
  const server = await serve(t, { gemini, files: { 'dot.png': PNG } });
  const jsonSchema = { type: 'object', properties: { a: { type: 'string' } } };
  const first = await server.call('generate_text', { prompt: 'x', jsonSchema, temperature: 0 });
  expect(first._meta.notices).toEqual([RETIRED]);
  expect(first.content).toEqual([
    { type: 'text', text: '{}' },
    { type: 'text', text: `Note:\n- ${RETIRED}` },
  ]);
  expect(gemini.requests[1]?.body.generationConfig).toMatchObject({
    temperature: 0,
    responseMimeType: 'application/json',
    responseJsonSchema: jsonSchema,
  });
  expect((await server.call('generate_text', { prompt: 'y' })).content).toEqual([{ type: 'text', text: 'again' }]);
  const image = await server.call('analyze_image', { prompt: 'z', imagePath: 'dot.png' });
  expect(image.content).toEqual([{ type: 'text', text: 'A dot.' }]);
  expect(askedModels(gemini)).toEqual(['gemini-3-pro-preview', ...Array(3).fill('gemini-pro-latest')]);
});

test('the fallback model of the plain tools is not that of the command line', async (t) => {
  const gemini = await fakeGemini(t, [GONE, reply('one'), echo]);
  const server = await serve(t, { gemini });
  await server.call('generate_text', { prompt: 'x' });
  await server.call('chat', { prompt: 'x' });
  expect(askedModels(gemini)).toEqual(['gemini-3-pro-preview', 'gemini-pro-latest', 'gemini-2.5-flash']);
});

test.for([
  [
    'nobody chose',
    {},
    'API error: model gemini-pro-latest not found (404 NOT_FOUND): no; it was asked instead of gemini-3-pro-preview',
  ],
  ['somebody chose', { model: 'gemini-9' }, 'API error: model gemini-9 is retired (404 NOT_FOUND)'],
] as const)('a model that %s and that is gone leaves a next step to its caller', async ([_, model, words], t) => {
  const gone = 'model' in model ? [GONE] : [GONE, failure(404, 'NOT_FOUND')];
  const server = await serve(t, { gemini: await fakeGemini(t, gone) });
  const { isError, content } = await server.call('generate_text', { prompt: 'x', ...model });
  expect(isError).toBe(true);
  expect(content[0].text.split('\n')).toEqual([
    expect.stringContaining(words),
    expect.stringMatching(
      /^See which models there are: gmn models --refresh.*\. The resource gmn:\/\/models lists .* `model`\.$/,
    ),
  ]);
});

test('count_tokens counts with the fallback model where its model is retired', async (t) => {
  const counted = (response: ServerResponse): void => void response.end('{"totalTokens":7}');
  const gemini = await fakeGemini(t, [GONE, counted]);
  const server = await serve(t, { gemini });
  const { content, isError } = await server.call('count_tokens', { text: 'x' });
  expect([isError, content[0].text]).toEqual([undefined, expect.stringContaining('7')]);
  expect(askedModels(gemini)).toEqual(['gemini-3-pro-preview', 'gemini-pro-latest']);
});

test('a conversation grows by one turn per call, and lives in this process only', async (t) => {
  const gemini = await fakeGemini(t, [echo, echo, echo, echo]);
  const server = await serve(t, { gemini });
  for (const prompt of ['one', 'two', 'three']) {
    const { _meta } = await server.call('generate_text', { prompt, conversationId: 'mine' });
    expect(_meta.conversationId).toBe('mine');
  }
  await server.call('generate_text', { prompt: 'other', conversationId: '../mine' });
  expect(gemini.requests.map(({ body }) => body.contents.length)).toEqual([1, 3, 5, 1]);
});

test('a conversation keeps the model and the instruction it began with', async (t) => {
  const gemini = await fakeGemini(t, [echo, echo, echo, echo]);
  const server = await serve(t, { gemini, flags: ['-m', 'gemini-2.5-flash'] });
  const call = (args: object) => server.call('generate_text', { prompt: 'x', ...args });
  const conversationId = 'mine';
  await call({ conversationId, model: 'gemini-2.5-pro', systemInstruction: 'Be brief.' });
  await call({ conversationId, model: 'gemini-2.5-flash-lite', systemInstruction: 'Be long.' });
  await call({ conversationId });
  // Without a model of its own, the one that the server was started with.
  await call({});
  expect(gemini.requests.map(({ path, body }) => [readModel(path), body.systemInstruction?.parts[0].text])).toEqual([
    ['gemini-2.5-pro', 'Be brief.'],
    ['gemini-2.5-flash-lite', 'Be long.'],
    ['gemini-2.5-pro', 'Be brief.'],
    ['gemini-2.5-flash', undefined],
  ]);
});

test('a failed turn of a conversation is not kept', async (t) => {
  const gemini = await fakeGemini(t, [echo, (response) => void response.writeHead(400).end('{}'), echo]);
  const server = await serve(t, { gemini });
  const call = (prompt: string) => server.call('generate_text', { prompt, conversationId: 'c' });
  await call('one');
  expect((await call('two')).isError).toBe(true);
  await call('three');
  expect(gemini.requests[2]?.body.contents.length).toBe(3);
});

test('an image from a path, or in base64, is looked at as closely as asked', async (t) => {
  const gemini = await fakeGemini(t, [reply('A dot.'), reply('A dot.')]);
  const server = await serve(t, { gemini, files: { 'dot.png': PNG } });
  const image = { inlineData: { mimeType: 'image/png', data: PNG.toString('base64') } };
  expect(await server.call('analyze_image', { prompt: 'What is it?', imagePath: 'dot.png' })).toEqual({
    content: [{ type: 'text', text: 'A dot.' }],
    metadata: METADATA,
    _meta: METADATA,
  });
  await server.call('analyze_image', {
    prompt: 'And this?',
    imageBase64: PNG.toString('base64'),
    mimeType: 'image/png',
    mediaResolution: 'media_resolution_high',
  });
  expect(gemini.requests.map(({ body }) => body.contents[0].parts)).toEqual([
    [image, { text: 'What is it?' }],
    [image, { text: 'And this?' }],
  ]);
  expect(gemini.requests.map(({ body }) => body.generationConfig.mediaResolution)).toEqual([
    'MEDIA_RESOLUTION_MEDIUM',
    'MEDIA_RESOLUTION_HIGH',
  ]);
});

test('what is no image, or not for this caller, never reaches the model', async (t) => {
  const server = await serve(t, {
    gemini: await fakeGemini(t, []),
    files: { 'notes.txt': 'text', '.ssh/dot.png': PNG },
    home: { 'dot.png': 'x' },
  });
  const refused = async (args: object): Promise<string> => {
    const { isError, content } = await server.call('analyze_image', { prompt: 'x', ...args });
    expect(isError).toBe(true);
    return content[0].text;
  };
  expect(await refused({})).toMatch(/one way/);
  expect(await refused({ imagePath: 'a.png', imageUrl: 'https://x/y.png' })).toMatch(/one way/);
  expect(await refused({ imagePath: 'notes.txt' })).toMatch(/not an image/);
  expect(await refused({ imagePath: '.ssh/dot.png' })).toMatch(/may hold secrets/);
  expect(await refused({ imagePath: '../home/dot.png' })).toMatch(/not inside a root.*--root/s);
  expect(await refused({ imagePath: '/etc/passwd' })).toMatch(/not inside a root.*--root/s);
  expect(await refused({ imageUrl: 'http://127.0.0.1/x.png' })).toMatch(/https/);
  expect(await refused({ imageUrl: 'https://127.0.0.1:9/x.png' })).not.toMatch(/image that Gemini/);
  expect(await refused({ imageUrl: 'file:///etc/passwd' })).toMatch(/https/);
  expect(await refused({ imageBase64: '***' })).toMatch(/not base64/);
  expect(await refused({ imageBase64: PNG.toString('base64'), mimeType: 'image/jpeg' })).toMatch(/image\/png/);
});

test('tokens are counted and texts embedded by the service', async (t) => {
  const json = (value: object) => (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(value));
  };
  const gemini = await fakeGemini(t, [json({ totalTokens: 7 }), json({ embeddings: [{ values: [0.5, -1] }] })]);
  const server = await serve(t, { gemini });
  const counted = { model: 'gemini-3-pro-preview', tokensUsed: 7, tokenCount: 7 };
  expect(await server.call('count_tokens', { text: 'one two' })).toEqual({
    content: [{ type: 'text', text: '7 tokens for gemini-3-pro-preview' }],
    metadata: counted,
    _meta: counted,
  });
  const embedded = { model: 'gemini-embedding-001', dimensions: 2 };
  expect(await server.call('embed_text', { text: 'one' })).toEqual({
    content: [{ type: 'text', text: '[0.5,-1]' }],
    metadata: embedded,
    _meta: embedded,
  });
  expect(gemini.requests.map(({ path }) => path)).toEqual([
    '/v1beta/models/gemini-3-pro-preview:countTokens',
    '/v1beta/models/gemini-embedding-001:batchEmbedContents',
  ]);
});

test('a text is decided about by the service, and what is no answer is an error', async (t) => {
  const send = (answer: object) => (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ answers: { answer }, usage: { total_tokens: 12 } }));
  };
  const choice = { type: 'choice', choice: 'bug', probabilities: { bug: 0.9, feature: 0.1 } };
  const gemini = await fakeGemini(t, [send({ type: 'noul', noul: 0.93 }), send(choice), send({ type: 'maybe' })]);
  const server = await serve(t, { gemini });
  const asked = { question: 'Is it rude?', text: 'You fool.' };
  expect(await server.call('decide', asked)).toMatchObject({
    content: [{ type: 'text', text: '0.93' }],
    _meta: { model: 'gemini-decision-1', decision: 'yes', answers: { answer: { noul: 0.93 } }, tokensUsed: 12 },
  });
  expect(await server.call('decide', { ...asked, choices: ['bug', 'feature'] })).toMatchObject({
    content: [{ type: 'text', text: 'bug' }],
    metadata: { answers: { answer: choice } },
  });
  expect(await server.call('decide', asked)).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('the server sent an answer of the type maybe') }],
  });
  const refused = await server.call('decide', { ...asked, choices: ['a'], levels: ['b'] });
  expect([refused.isError, refused.content[0].text]).toEqual([true, expect.stringContaining('exclude each other')]);
  expect(gemini.requests[1]?.body).toEqual({
    model: 'gemini-decision-1',
    input: [{ type: 'text', text: 'You fool.' }],
    questions: { answer: { type: 'choice', instructions: 'Is it rude?', criteria: { bug: null, feature: null } } },
  });
});

test('where there are no embeddings, the way out is named', async (t) => {
  const server = await serve(t, {
    env: {
      GOOGLE_GENAI_USE_GCA: 'true',
      GOOGLE_CLOUD_ACCESS_TOKEN: 'token',
      CODE_ASSIST_ENDPOINT: 'http://127.0.0.1:9',
    },
  });
  const { isError, content } = await server.call('embed_text', { text: 'x' });
  expect(isError).toBe(true);
  expect(content[0].text).toMatch(/Code Assist, .* has no embeddings.*GEMINI_API_KEY/s);
});

test('models and help need no request', async (t) => {
  const server = await serve(t);
  const models = await server.call('list_models');
  expect(models.content[0].text).toContain('gemini-3-pro-preview');
  expect(models.metadata.default).toBe('gemini-2.5-flash');
  expect((await server.call('get_help')).content[0].text).toContain('delegate_status');
});

test('a long answer continues in pages, no character lost or split', async (t) => {
  const text = `${'x'.repeat(39_999)}💡${'y'.repeat(50_000)}`;
  const server = await serve(t, { gemini: await fakeGemini(t, [reply(text)]) });
  const { content, _meta } = await server.call('generate_text', { prompt: 'Write a lot' });
  let whole = content[0].text;
  expect(whole.length).toBeLessThanOrEqual(40_000);
  expect(content[1].text).toContain(_meta.next);
  for (let next = _meta.next; next !== undefined; ) {
    const { contents } = (await server.ask('resources/read', { uri: next })).result;
    whole += contents[0].text;
    next = contents[0]._meta?.next;
  }
  expect(whole).toBe(text);
});

test('many queued calls of one conversation delay no others', async (t) => {
  const { scripted, begun } = silence();
  const gemini = await fakeGemini(t, [scripted, echo]);
  const server = await serve(t, { gemini });
  const talk = (): void => void server.call('generate_text', { prompt: 'x', conversationId: 'busy' });
  talk();
  await begun;
  for (let index = 0; index < 70; index += 1) talk();
  expect((await server.call('generate_text', { prompt: 'other' })).content[0].text).toBe('echo: other');
});

test('an image that Gemini does not take is refused with the list of those it takes', async (t) => {
  const server = await serve(t, { gemini: await fakeGemini(t, []) });
  const imageBase64 = Buffer.from('fLaC\0\0\0\xff', 'latin1').toString('base64');
  const { content, isError } = await server.call('analyze_image', { prompt: 'x', imageBase64 });
  expect(isError).toBe(true);
  expect(content[0].text).toBe(
    'this is not an image that Gemini accepts, but audio/flac\nIt takes image/png, image/jpeg, image/gif, image/webp, image/heic, image/heif.',
  );
});
