import { expect, test } from 'vitest';
import { createSignatureBook } from '../../src/demo/signature.ts';
import { errorOf, events, parts, STREAM, type TestDemo, testDemo, texts, type WirePart } from './support.ts';

interface Turn {
  role: string;
  parts: object[];
}

const tools = [{ functionDeclarations: [{ name: 'read_file' }, { name: 'glob' }, { name: 'edit_file' }] }];

async function turn(demo: TestDemo, contents: Turn[], model = 'gemini-2.5-flash'): Promise<WirePart[]> {
  const response = await demo.post(`/v1beta/models/${model}:streamGenerateContent?alt=sse`, { contents, tools });
  if (response.status !== 200) throw new Error((await errorOf(response)).message);
  return (await events(response)).flatMap(parts);
}

const user = (text: string): Turn => ({ role: 'user', parts: [{ text }] });
const model = (list: object[]): Turn => ({ role: 'model', parts: list });
const answers = (calls: WirePart[], output = 'first\nsecond'): Turn => ({
  role: 'user',
  parts: calls.map(({ functionCall }) => ({
    functionResponse: { id: functionCall?.id, name: functionCall?.name, response: { output } },
  })),
});

test('calls on request are made, in parallel and one after the other, and answered for', async () => {
  const demo = await testDemo();
  const contents = [
    user('call read_file {"file_path":"a"}\ncall glob {"pattern":"*"}\nthen call glob {"pattern":"b"}'),
  ];
  const first = await turn(demo, contents);
  expect(first).toEqual([
    {
      functionCall: { id: 'demo-1-0', name: 'read_file', args: { file_path: 'a' } },
      thoughtSignature: expect.any(String),
    },
    { functionCall: { id: 'demo-1-1', name: 'glob', args: { pattern: '*' } } },
  ]);
  contents.push(model(first), answers(first));
  const second = await turn(demo, contents);
  expect(second.map((part) => part.functionCall?.args)).toEqual([{ pattern: 'b' }]);
  contents.push(model(second), answers(second));
  expect((await turn(demo, contents)).map(({ text }) => text).join('')).toBe('demo: glob answered: first');
});

test('a prompt that follows a call that was stopped is answered, not the call', async () => {
  const demo = await testDemo();
  const first = await turn(demo, [user('call glob {"pattern":"*"}')]);
  const ask = async (prompt: string): Promise<WirePart[]> => {
    const stopped = { role: 'user', parts: [...answers(first).parts, { text: prompt }] };
    return turn(demo, [user('call glob {"pattern":"*"}'), model(first), stopped]);
  };
  expect((await ask('why?')).map(({ text }) => text).join('')).toBe('demo: why?');
  expect((await ask('call glob {"pattern":"b"}'))[0]?.functionCall?.args).toEqual({ pattern: 'b' });
  expect((await ask('hi')).map(({ text }) => text).join('')).toBe('Hi! What are we building today?');
});

test('a call can be repeated, one reply each', async () => {
  const demo = await testDemo();
  const contents = [user('call glob {"pattern":"*"} x3')];
  for (let round = 0; round < 3; round += 1) {
    const reply = await turn(demo, contents);
    expect(reply).toHaveLength(1);
    contents.push(model(reply), answers(reply));
  }
  expect((await turn(demo, contents))[0]?.text).toBe('demo: gl');
});

test('a tool that was not declared, or arguments that are not JSON, are only repeated', async () => {
  const demo = await testDemo();
  for (const prompt of ['call rm {"a":1}', 'call glob {oops}']) {
    expect((await turn(demo, [user(prompt)])).map(({ text }) => text).join('')).toBe(`demo: ${prompt}`);
  }
});

test('the signature of a call must come back on that call', async () => {
  const demo = await testDemo();
  const prompt = user('call glob {"pattern":"*"}');
  const reply = await turn(demo, [prompt]);
  const functionCall = reply[0]?.functionCall;
  const back = (part: object): Promise<WirePart[]> => turn(demo, [prompt, model([part]), answers(reply)]);
  await expect(back({ functionCall })).rejects.toThrow(
    'Function call is missing a thought_signature in functionCall parts: call of `glob`.',
  );
  await expect(back({ functionCall, thoughtSignature: 'eA==' })).rejects.toThrow(
    'Thought signature is not valid: call of `glob`.',
  );
  const skip = 'skip_thought_signature_validator';
  await expect(back({ functionCall, thoughtSignature: skip })).resolves.toBeTruthy();
  await expect(back({ functionCall, thoughtSignature: btoa(skip) })).resolves.toBeTruthy();
  await expect(back({ functionCall, thought_signature: reply[0]?.thoughtSignature })).resolves.toBeTruthy();
});

test('a server that runs for long remembers the last calls only', () => {
  const book = createSignatureBook();
  const call = (n: number) => ({ name: 'glob', args: { n } });
  for (let n = 0; n <= 10_000; n += 1) book.sign(call(n));
  const check = (n: number, signature: object = {}) =>
    book.check([{ role: 'model', parts: [{ functionCall: call(n), ...signature }] }], 'gemini-2.5-flash');
  expect(check(0)).toBeUndefined();
  expect(check(0, { thoughtSignature: 'wrong' })).toContain('not valid');
  expect(check(1)).toContain('missing a thought_signature');
});

test('a signature outlives the process that issued it', async () => {
  const prompt = user('call glob {"pattern":"*"}');
  const reply = await turn(await testDemo(), [prompt]);
  await expect(turn(await testDemo(), [prompt, model(reply), answers(reply)])).resolves.toBeTruthy();
});

test('the third family wants a signature on the first call of the active loop, and on no other', async () => {
  const demo = await testDemo();
  const bare = (name: string): object => ({ functionCall: { name, args: {} } });
  const old = [user('old'), model([bare('glob')]), answers([bare('glob') as WirePart])];
  const contents = [...old, model([{ text: 'done' }]), user('new')];
  await expect(turn(demo, contents, 'gemini-3-flash-preview')).resolves.toBeTruthy();
  await expect(turn(demo, old, 'gemini-3-flash-preview')).rejects.toThrow(/missing a thought_signature/);
  await expect(turn(demo, old, 'gemini-2.5-flash')).resolves.toBeTruthy();
  const signed = { ...bare('glob'), thoughtSignature: 'skip_thought_signature_validator' };
  const pair = [user('x'), model([signed, bare('read_file')]), answers([signed, bare('read_file')] as WirePart[])];
  await expect(turn(demo, pair, 'gemini-3-flash-preview')).resolves.toBeTruthy();
});

test('the greeting is put into Japanese by an edit', async () => {
  const demo = await testDemo();
  const prompt = user('hello.js:\nconsole.log("Hello");\n\n挨拶を日本語にして @hello.js');
  const body = { contents: [prompt], tools };
  const first = await events(await demo.post('/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse', body));
  expect(parts(first[0])[0]?.functionCall).toEqual({
    id: 'demo-edit',
    name: 'edit_file',
    args: { file_path: 'hello.js', old_string: 'console.log("Hello");', new_string: 'console.log("こんにちは");' },
  });
  const reply = first.flatMap(parts);
  const done = { contents: [prompt, model(reply), answers(reply)], tools };
  const second = await events(await demo.post('/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse', done));
  expect(texts(second)).toEqual(['日本語の挨拶に変えました。']);
  const total = (key: string): number => (first[0]?.usageMetadata?.[key] ?? 0) + (second[0]?.usageMetadata?.[key] ?? 0);
  expect([total('promptTokenCount'), total('candidatesTokenCount'), total('totalTokenCount')]).toEqual([96, 41, 137]);
});

const CITY = { name: 'city', parameters: { type: 'OBJECT', required: ['at'], properties: { at: { type: 'STRING' } } } };

function calling(config: object): object {
  return { tools: [{ functionDeclarations: [{ name: 'glob' }, CITY] }], toolConfig: { functionCallingConfig: config } };
}

async function replyTo(demo: TestDemo, prompt: string, more: object): Promise<WirePart[]> {
  const response = await demo.post(STREAM, { contents: [user(prompt)], ...more });
  if (response.status !== 200) throw new Error((await errorOf(response)).message);
  return (await events(response)).flatMap(parts);
}

test.for([
  ['hello', { mode: 'ANY' }, { name: 'glob', args: {} }],
  ['what is the weather?', { mode: 'ANY', allowedFunctionNames: ['city'] }, { name: 'city', args: { at: 'demo' } }],
  ['call glob {"pattern":"*"}', { mode: 'ANY', allowedFunctionNames: ['city'] }, { name: 'city' }],
  ['call city {"at":"Kyoto"}', { mode: 'ANY' }, { name: 'city', args: { at: 'Kyoto' } }],
  ['call city {"at":"Kyoto"}', { mode: 'VALIDATED' }, { name: 'city', args: { at: 'Kyoto' } }],
] as const)('%s, %j: must be a call', async ([prompt, config, call]) => {
  const reply = await replyTo(await testDemo(), prompt, calling(config));
  expect(reply).toEqual([{ functionCall: expect.objectContaining(call), thoughtSignature: expect.any(String) }]);
});

test.for([
  ['call glob {}', { mode: 'NONE' }],
  ['call glob {}', { mode: 'VALIDATED', allowedFunctionNames: ['city'] }],
  ['no call', { mode: 'AUTO' }],
  ['no call', { mode: 'MODE_UNSPECIFIED' }],
] as const)('%s, %j: is answered with text', async ([prompt, config]) => {
  const reply = await replyTo(await testDemo(), prompt, calling(config));
  expect(reply.map(({ text }) => text).join('')).toBe(`demo: ${prompt}`);
});

test('mode ANY is also obeyed after an answer, and in the other spelling of the keys', async () => {
  const demo = await testDemo();
  const config = { tool_config: { function_calling_config: { mode: 'ANY', allowed_function_names: ['glob'] } } };
  const first = await replyTo(demo, 'hello', { ...calling({}), toolConfig: undefined, ...config });
  const contents = [user('hello'), model(first), answers(first)];
  const response = await demo.post(STREAM, { ...calling({}), toolConfig: undefined, ...config, contents });
  expect((await events(response)).flatMap(parts)[0]?.functionCall?.name).toBe('glob');
});

test.for([
  [{ mode: 'SOMETIMES' }, /mode.: "SOMETIMES" is not one of AUTO/],
  [{ mode: 'AUTO', allowedFunctionNames: ['glob'] }, /can be set with mode ANY or VALIDATED only/],
  [{ mode: 'ANY', allowedFunctionNames: ['rm'] }, /"rm" is not among the function_declarations/],
] as const)('%j is refused', async ([config, why]) => {
  await expect(replyTo(await testDemo(), 'hello', calling(config))).rejects.toThrow(why);
});

test('mode ANY without functions is refused', async () => {
  const toolConfig = { functionCallingConfig: { mode: 'ANY' } };
  await expect(replyTo(await testDemo(), 'hello', { toolConfig })).rejects.toThrow(/needs function_declarations/);
});

test.for(['/v1beta/models/gemini-2.5-flash:computeTokens', '/v1beta/openai/chat/completions', '/v1/chat/completions'])(
  '%s is not served, as docs/demo.md says',
  async (path) => {
    expect((await (await testDemo()).post(path, { contents: [user('hello')] })).status).toBe(404);
  },
);

test('a request that is longer than the window is refused as Google does it', async () => {
  const [own, small] = [await testDemo(), await testDemo({ faults: ['window=100'] })];
  const refusal = /^The input token count \((\d+)\) exceeds the maximum number of tokens allowed \((\d+)\)\.$/;
  await expect(turn(own, [user('a '.repeat(2_100_000))])).rejects.toThrow(refusal);
  expect((await turn(own, [user('a '.repeat(1000))]))[0]?.text).toBe('demo: a ');
  const failed = await turn(small, [user('a '.repeat(200))]).catch((thrown: Error) => thrown.message);
  expect(refusal.exec(String(failed))?.slice(1).map(Number)).toEqual([expect.toSatisfy((count) => count > 100), 100]);
  expect((await turn(small, [user('x')]))[0]?.text).toBe('demo: x');
});
