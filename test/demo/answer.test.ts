import fc from 'fast-check';
import { expect, test } from 'vitest';
import { codePoint } from '../support/properties.ts';
import { ask, events, FLASH, parts, STREAM, type TestDemo, testDemo, texts, type WireEvent } from './support.ts';

async function streamed(demo: TestDemo, body: object, model = 'gemini-2.5-flash'): Promise<WireEvent[]> {
  return events(await demo.post(`/v1beta/models/${model}:streamGenerateContent?alt=sse`, body));
}

test('Hello is answered in three chunks, byte for byte', async () => {
  const demo = await testDemo();
  const response = await demo.post(STREAM, ask('Hello'));
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  const chunk = (text: string, candidates: number, finish: object = {}): WireEvent => ({
    candidates: [{ content: { parts: [{ text }], role: 'model' }, ...finish, index: 0 }],
    usageMetadata: { promptTokenCount: 5, candidatesTokenCount: candidates, totalTokenCount: 5 + candidates },
    modelVersion: 'gemini-2.5-flash',
    responseId: 'demo-000001',
  });
  expect(await events(response)).toEqual([
    chunk('Hello', 2),
    chunk('! How can', 5),
    chunk(' I help you today?', 12, { finishReason: 'STOP' }),
  ]);
});

test.each([
  ['hello', 'Hello! How can I help you today?', 5, 12],
  ['hi', 'Hi! What are we building today?', 4, 9],
  ['best month for Kyoto?', 'November.', 8, 3],
  ['bash script that prints the date', "```bash\ndate '+%F'\n```", 9, 14],
  ['3 colors', 'red, green, blue', 6, 5],
  [
    'Style: const.\n\ndiff --git a b\n\nreview this change',
    '- src/sum.ts:3 adds a loop that never ends when `n` is negative. Guard it.\n- STYLE.md asks for `const`; line 5 uses `let`.',
    48,
    31,
  ],
])('%j is answered as the sample runs say', async (prompt, answer, promptTokens, answerTokens) => {
  const list = await streamed(await testDemo(), ask(prompt));
  expect(texts(list).join('')).toBe(answer);
  expect(list.at(-1)?.usageMetadata).toEqual({
    promptTokenCount: promptTokens,
    candidatesTokenCount: answerTokens,
    totalTokenCount: promptTokens + answerTokens,
  });
  const counted = await (await testDemo()).post(`${FLASH}:countTokens`, ask(prompt));
  expect(await counted.json()).toEqual({ totalTokens: promptTokens });
});

test('a follow-up is understood from what was said before', async () => {
  const demo = await testDemo();
  const contents = [
    { role: 'user', parts: [{ text: 'best month for Kyoto?' }] },
    { role: 'model', parts: [{ text: 'November.' }] },
    { role: 'user', parts: [{ text: 'and the second best?' }] },
  ];
  expect(texts(await streamed(demo, { contents }))).toEqual(['April.']);
  contents[0] = { role: 'user', parts: [{ text: 'hi' }] };
  contents[1] = { role: 'model', parts: [{ text: 'Kyoto?', thought: true }, { text: 'Yes.' }] as { text: string }[] };
  expect(texts(await streamed(demo, { contents })).join('')).toBe('demo: and the second best?');
  expect(texts(await streamed(demo, ask('and the second best?'))).join('')).toBe('demo: and the second best?');
});

test('three colors fit an array schema in either dialect', async () => {
  const demo = await testDemo();
  const upper = { responseMimeType: 'application/json', responseSchema: { type: 'ARRAY', items: { type: 'STRING' } } };
  const lower = { responseMimeType: 'application/json', responseJsonSchema: { type: 'array' } };
  for (const generationConfig of [upper, lower]) {
    const text = texts(await streamed(demo, ask('3 colors', { generationConfig }))).join('');
    expect(text).toBe('["red","green","blue"]');
  }
});

test('a schema is met, whatever was asked', async () => {
  const responseJsonSchema = {
    type: 'object',
    properties: { name: { type: 'string' }, age: { type: 'integer', minimum: 18 } },
    required: ['name', 'age'],
  };
  const generationConfig = { responseMimeType: 'application/json', responseJsonSchema };
  const list = await streamed(await testDemo(), ask('Hello', { generationConfig }));
  expect(JSON.parse(texts(list).join(''))).toEqual({ name: 'demo', age: 18 });
});

test('counting goes to the end, past any token limit', async () => {
  const list = await streamed(
    await testDemo(),
    ask('count to 100000', { generationConfig: { maxOutputTokens: 8192 } }),
  );
  const wanted = Array.from({ length: 100_000 }, (_line, index) => index + 1).join('\n');
  expect(texts(list).join('') === wanted).toBe(true);
  expect(list.length).toBe(400);
  expect(list.at(-1)?.candidates?.[0]?.finishReason).toBe('STOP');
});

test('the long story begins at once, takes its time, and counts at the end', async () => {
  const demo = await testDemo();
  const list = await streamed(demo, ask('write a very long story'));
  expect(texts(list)[0]).toBe('Once upon a time, in a harbour town');
  expect(list.slice(0, -1).some((event) => event.usageMetadata)).toBe(false);
  expect(list.at(-1)?.usageMetadata?.candidatesTokenCount).toBeGreaterThan(100);
  expect(demo.sleeps.slice(0, 3)).toEqual([2000, 400, 400]);
});

test('thinking about something takes its time, and is told only if that is asked for', async () => {
  const demo = await testDemo();
  const told = { generationConfig: { thinkingConfig: { includeThoughts: true } } };
  const [silent, aloud] = [
    await streamed(demo, ask('think about tea')),
    await streamed(demo, ask('think about tea', told)),
  ];
  expect(texts(silent).join('')).toBe('demo: think about tea');
  expect(texts(aloud).join('')).toMatch(
    /^\*\*Reading the question\*\*\n\n[\s\S]*\*\*Choosing[\s\S]*\n\ndemo: think about tea$/,
  );
  expect(demo.sleeps).toEqual([1500, 1500, 1500, 1500, 1500, 1500]);
});

test('everything else is repeated, its first line whole and well-formed in every chunk', async () => {
  const demo = await testDemo();
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: codePoint, minLength: 1, maxLength: 200 }), async (line) => {
      const prompt = `x${line.replace(/[\r\n]/g, '')}y`;
      const list = texts(await streamed(demo, ask(`${prompt}\nsecond line`)));
      expect(list.join('')).toBe(`demo: ${prompt}`);
      expect(list.every((text) => text.isWellFormed())).toBe(true);
    }),
    { numRuns: 20 },
  );
});

test('half a character in the prompt does not come back as half a character', async () => {
  const body = '{"contents":[{"parts":[{"text":"a \\ud83d b"}]}]}';
  expect(texts(await events(await (await testDemo()).post(STREAM, body))).join('')).toBe('demo: a \ufffd b');
});

test('attachments are acknowledged in words', async () => {
  const demo = await testDemo();
  const media = (mimeType: string, bytes: number): object => ({
    inlineData: { mimeType, data: Buffer.alloc(bytes).toString('base64') },
  });
  const says = async (...list: object[]): Promise<string> =>
    texts(await streamed(demo, { contents: [{ parts: list }] })).join('');
  expect(await says(media('image/png', 1234))).toBe('demo: I see 1 image (image/png, 1.2 kB)');
  expect(
    await says(media('image/png', 10), media('application/pdf', 2_500_000), media('image/gif', 999), { text: 'what?' }),
  ).toBe('demo: I see 2 images (image/png, 10 B; image/gif, 999 B) and 1 PDF (application/pdf, 2.5 MB): what?');
  expect(await says({ inline_data: { mime_type: 'audio/mp3', data: 'AAAA' } })).toBe(
    'demo: I see 1 audio file (audio/mp3, 3 B)',
  );
});

test('thoughts come only when they are asked for, and are counted apart', async () => {
  const demo = await testDemo();
  const list = await streamed(demo, ask('Hello', { generationConfig: { thinkingConfig: { includeThoughts: true } } }));
  expect(parts(list[0])[0]?.thought).toBe(true);
  expect(texts(list.slice(1))).toEqual(['Hello', '! How can', ' I help you today?']);
  const { thoughtsTokenCount = 0, ...usage } = list.at(-1)?.usageMetadata ?? {};
  expect(usage).toEqual({ promptTokenCount: 5, candidatesTokenCount: 12, totalTokenCount: 17 + thoughtsTokenCount });
});

test('maxOutputTokens cuts the answer and says so', async () => {
  const list = await streamed(
    await testDemo(),
    ask('abcdefghijklmnopqrstuvwxyz', { generationConfig: { maxOutputTokens: 3 } }),
  );
  expect(texts(list).join('')).toBe('demo: abcdef');
  expect(list.at(-1)?.candidates?.[0]?.finishReason).toBe('MAX_TOKENS');
  expect(list.at(-1)?.usageMetadata?.candidatesTokenCount).toBe(3);
});

test('models of the third family sign what they said with an empty part', async () => {
  const list = await streamed(await testDemo(), ask('Hello'), 'gemini-3-flash-preview');
  expect(parts(list.at(-1))).toEqual([
    { text: ' I help you today?' },
    { text: '', thoughtSignature: expect.stringMatching(/^[\w+/]{20,}=*$/) },
  ]);
});

test('a call that does not stream gets the whole answer at once', async () => {
  const response = await (await testDemo()).post(`${FLASH}:generateContent`, ask('Hello'));
  expect(await response.json()).toEqual({
    candidates: [
      {
        content: { parts: [{ text: 'Hello! How can I help you today?' }], role: 'model' },
        finishReason: 'STOP',
        index: 0,
      },
    ],
    usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 12, totalTokenCount: 17 },
    modelVersion: 'gemini-2.5-flash',
    responseId: 'demo-000001',
  });
});

test('a stream without alt=sse is a JSON array', async () => {
  const response = await (await testDemo()).post(`${FLASH}:streamGenerateContent`, ask('Hello'));
  expect(response.headers.get('content-type')).toBe('application/json; charset=UTF-8');
  expect(texts(await response.json())).toEqual(['Hello', '! How can', ' I help you today?']);
});

test('a moving alias is answered by the model behind it', async () => {
  const list = await streamed(await testDemo(), ask('hi'), 'gemini-flash-latest');
  expect(list[0]?.modelVersion).toBe('gemini-3.8-flash');
});
