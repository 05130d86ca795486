import { expect, test } from 'vitest';
import { errorOf, events, parts, type TestDemo, testDemo, texts, type WirePart } from './support.ts';

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
  const asked = user('call glob {"pattern":"*"}');
  const reply = await turn(demo, [asked]);
  const functionCall = reply[0]?.functionCall;
  const back = (part: object): Promise<WirePart[]> => turn(demo, [asked, model([part]), answers(reply)]);
  await expect(back({ functionCall })).rejects.toThrow(
    'Function call is missing a thought_signature in functionCall parts: call of `glob`.',
  );
  await expect(back({ functionCall, thoughtSignature: 'eA==' })).rejects.toThrow(
    'Thought signature is not valid: call of `glob`.',
  );
  await expect(back({ functionCall, thoughtSignature: 'skip_thought_signature_validator' })).resolves.toBeTruthy();
  await expect(back({ functionCall, thought_signature: reply[0]?.thoughtSignature })).resolves.toBeTruthy();
});

test('a signature outlives the process that issued it', async () => {
  const asked = user('call glob {"pattern":"*"}');
  const reply = await turn(await testDemo(), [asked]);
  await expect(turn(await testDemo(), [asked, model(reply), answers(reply)])).resolves.toBeTruthy();
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
  const asked = user('hello.js:\nconsole.log("Hello");\n\n挨拶を日本語にして @hello.js');
  const body = { contents: [asked], tools };
  const first = await events(await demo.post('/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse', body));
  expect(parts(first[0])[0]?.functionCall).toEqual({
    id: 'demo-edit',
    name: 'edit_file',
    args: { file_path: 'hello.js', old_string: 'console.log("Hello");', new_string: 'console.log("こんにちは");' },
  });
  const reply = first.flatMap(parts);
  const done = { contents: [asked, model(reply), answers(reply)], tools };
  const second = await events(await demo.post('/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse', done));
  expect(texts(second)).toEqual(['日本語の挨拶に変えました。']);
  const total = (key: string): number => (first[0]?.usageMetadata?.[key] ?? 0) + (second[0]?.usageMetadata?.[key] ?? 0);
  expect([total('promptTokenCount'), total('candidatesTokenCount'), total('totalTokenCount')]).toEqual([96, 41, 137]);
});
