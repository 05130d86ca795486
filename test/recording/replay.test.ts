import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Exchange } from '../../src/recording/exchange.ts';
import { readRecording } from '../../src/recording/exchange.ts';
import { temporary } from '../support/temporary.ts';
import { ask, recording, replaying, STREAM, text, toRequest } from './support.ts';

/** A recording of these prompts, which are answered `re: …`. */
async function recorded(...prompts: readonly (string | object)[]): Promise<string> {
  const bodies = prompts.map((prompt) => (typeof prompt === 'string' ? ask(prompt) : prompt));
  const { send, file } = await recording(bodies.map((_, index) => ({ chunks: [text(`answer ${index + 1}`)] })));
  for (const body of bodies) await send(toRequest(STREAM, body));
  return file;
}

test('equal requests are answered in their order, however their keys are ordered', async () => {
  const file = await recorded('a', 'b', 'a');
  const { ask: again, listProblems } = await replaying(file);
  const order = { generationConfig: undefined, contents: [{ parts: [{ text: 'a' }], role: 'user' }] };
  expect((await again(toRequest(STREAM, order))).text).toContain('answer 1');
  expect(listProblems().unused).toHaveLength(2);
  expect((await again(toRequest(STREAM, ask('a')))).text).toContain('answer 3');
  expect((await again(toRequest(STREAM, ask('b')))).text).toContain('answer 2');
  expect(listProblems()).toEqual({ refused: [], unused: [] });
  await expect(again(toRequest(STREAM, ask('a')))).rejects.toThrow(/recorded 2 times, and is asked for once more/);
});

test.each([
  [
    ask('please colour it'),
    'contents[0].parts[0].text differs at character 8: "please colour it", recorded was "please fold it"',
  ],
  [ask('please fold it', { generationConfig: { seed: 1 } }), 'generationConfig is new: {"seed":1}'],
  [{ contents: [] }, 'contents has 0 items, recorded were 1'],
  [{}, 'contents is missing'],
])('%j is refused with what differs', async (body, message) => {
  const { ask: again, listProblems } = await replaying(await recorded('please fold it', 'something else entirely'));
  await expect(again(toRequest(STREAM, body))).rejects.toThrow(message);
  expect(listProblems().refused).toHaveLength(1);
});

test('another method is refused, and a model of another name', async () => {
  const { ask: again } = await replaying(await recorded('a'));
  await expect(again(toRequest('/v1beta/models/x:countTokens', ask('a')))).rejects.toThrow(
    'the recording has no POST countTokens',
  );
  await expect(again(toRequest('/v1beta/models/x:streamGenerateContent?alt=sse', ask('a')))).rejects.toThrow(
    'path is /v1beta/models/x:streamGenerateContent, recorded was /v1beta/models/gemini-2.5-flash:streamGenerateContent',
  );
});

const call = (id: string | undefined, thoughtSignature = 'c2ln'): object => ({
  contents: [
    { role: 'user', parts: [{ text: 'go' }] },
    { role: 'model', parts: [{ functionCall: { id, name: 'f', args: {} }, thoughtSignature }] },
    { role: 'user', parts: [{ functionResponse: { id, name: 'f', response: {} } }] },
  ],
});

test('ids of calls may differ between runs, signatures may not', async () => {
  const file = await recorded(call('f_1'));
  expect((await (await replaying(file)).ask(toRequest(STREAM, call('f_2')))).text).toContain('answer 1');
  const { ask: again } = await replaying(file);
  await expect(again(toRequest(STREAM, call('f_2', 'b3Ro')))).rejects.toThrow(
    /contents\[1\].parts\[0\].thoughtSignature differs at character 1/,
  );
});

test.each([
  [['date'], 'on 2026-11-18', 'on 2027-01-02'],
  [['date'], 'on Wed Nov 18 2026', 'on Thu Jan 1 2027'],
  [['uuid', 'time'], '9:41:00 0b0e7a3c-1111-4222-8333-444455556666', '10:00:01 ffffffff-1111-4222-8333-444455556666'],
  [['path'], 'read /tmp/gmn-1/a.txt', 'read /home/you/x/a.txt'],
  [['contents.*.text:/tmp/\\S+'], 'read /tmp/1', 'read /tmp/2'],
  [['contents'], 'anything', 'something'],
  [[':\\d+'], 'try 1', 'try 22'],
])('--ignore %j', async (ignore, then, now) => {
  const file = await recorded(then);
  const request = toRequest(STREAM, ask(now));
  await expect((await replaying(file)).ask(request)).rejects.toThrow(/differs/);
  expect((await (await replaying(file, { ignore })).ask(request)).text).toContain('answer 1');
});

test.each(['contents.*.text:(', 'a b', '{}'])('--ignore %j is refused', async (spec) => {
  await expect(replaying(await recorded('a'), { ignore: [spec] })).rejects.toThrow(/--ignore/);
});

test('--match order looks at the method only, last-user at the last words of the user', async () => {
  const file = await recorded('a', 'b');
  const inOrder = await replaying(file, { match: 'order' });
  expect((await inOrder.ask(toRequest(STREAM, ask('anything')))).text).toContain('answer 1');
  expect((await inOrder.ask(toRequest(STREAM, ask('else')))).text).toContain('answer 2');
  await expect(inOrder.ask(toRequest(STREAM, ask('more')))).rejects.toThrow();
  const byWords = await replaying(file, { match: 'last-user' });
  const other = ask('b', { systemInstruction: { parts: [{ text: 'new' }] }, generationConfig: { seed: 3 } });
  expect((await byWords.ask(toRequest(STREAM, other))).text).toContain('answer 2');
  await expect(byWords.ask(toRequest(STREAM, ask('c')))).rejects.toThrow(/differs at character 1/);
});

test('a resource that is looked at may be looked at more often, or less', async () => {
  const { send, file } = await recording(
    ['PROCESSING', 'PROCESSING', 'ACTIVE'].map((state) => ({
      headers: { 'content-type': 'application/json' },
      chunks: [Buffer.from(JSON.stringify({ state }))],
    })),
  );
  const look = toRequest('/v1beta/files/a');
  for (let count = 0; count < 3; count += 1) await send(look);
  const { ask: again, listProblems } = await replaying(file);
  expect(JSON.parse((await again(look)).text)).toEqual({ state: 'PROCESSING' });
  expect(listProblems().unused).toEqual([]);
  for (let count = 0; count < 5; count += 1) await again(look);
  expect(JSON.parse((await again(look)).text)).toEqual({ state: 'ACTIVE' });
});

test('bodies are divided as recorded, not at all, or by a seed', async () => {
  const { send, file } = await recording([{ chunks: [text('東京 🦊'), text('b'), text('c')] }]);
  const request = toRequest(STREAM, ask('a'));
  const whole = (await send(request)).text;
  const piecesOf = async (options: Parameters<typeof replaying>[1]): Promise<readonly string[]> => {
    const { send: again } = await replaying(file, options);
    const pieces: string[] = [];
    const { body } = await again(request, new AbortController().signal);
    for await (const piece of body) pieces.push(Buffer.from(piece).toString('latin1'));
    expect(Buffer.from(pieces.join(''), 'latin1').toString('utf8')).toBe(whole);
    return pieces;
  };
  expect(await piecesOf({})).toHaveLength(3);
  expect(await piecesOf({ chunks: '1' })).toHaveLength(1);
  const split = await piecesOf({ chunks: 'split', seed: 7 });
  expect(split.length).toBeGreaterThan(20);
  expect(await piecesOf({ chunks: 'split', seed: 7 })).toEqual(split);
  expect(await piecesOf({ chunks: 'split', seed: 8 })).not.toEqual(split);
});

test('--speed waits as the service did, or faster', async () => {
  const file = await recorded('a');
  const { exchanges } = await readRecording(file, 'x');
  const [{ response, ...rest }] = exchanges as [Exchange];
  const chunks = response.chunks.map((chunk) => ({ ...chunk, ms: 400 }));
  writeFileSync(file, `${JSON.stringify({ ...rest, response: { ...response, chunks } })}\n`);
  const waits: number[] = [];
  const clock = { now: () => 0, sleep: async (ms: number) => void waits.push(ms) };
  for (const speed of [0, 1, 4]) await (await replaying(file, { speed, clock })).ask(toRequest(STREAM, ask('a')));
  expect(waits).toEqual([400, 100]);
});

const LINE = {
  v: 1,
  id: 1,
  at: '2026-11-18T00:00:00Z',
  request: { method: 'GET', path: '/' },
  response: { status: 200, chunks: [] },
};

test.each([
  ['{oops', 'calls.jsonl:1: not JSON'],
  ['[]', 'calls.jsonl:1: not an object'],
  ['{}', 'calls.jsonl:1: no exchange: "v" is missing'],
  [`${JSON.stringify(LINE)}\n{"v":2}`, 'calls.jsonl:2: "v" is not 1'],
  [JSON.stringify({ ...LINE, id: 'x' }), '"id" must be a number'],
  [JSON.stringify({ ...LINE, at: 'soon' }), '"at" must be a time'],
  [JSON.stringify({ ...LINE, request: { method: 'GET' } }), '"request" must have a method and a path'],
  [JSON.stringify({ ...LINE, request: { ...LINE.request, query: { a: 1 } } }), 'must be texts by name'],
  [JSON.stringify({ ...LINE, response: { status: 99, chunks: [] } }), '"status" must be that of a response'],
  [JSON.stringify({ ...LINE, response: { status: 200, chunks: [{ ms: -1, text: '' }] } }), '"chunks" must be a list'],
  [`{"v":1,"x":${'['.repeat(200_000)}${']'.repeat(200_000)}}`, 'nested deeper than 100 levels'],
])('a file that is no recording is refused with its line: %#', async (content, message) => {
  const path = join(temporary({ 'calls.jsonl': `${content}\n` }), 'calls.jsonl');
  await expect(readRecording(path, 'calls.jsonl')).rejects.toThrow(message);
});

test('a recording that is too large, missing or no file is refused', async () => {
  const directory = temporary({ 'calls.jsonl': '' });
  truncateSync(join(directory, 'calls.jsonl'), 300_000_000);
  await expect(readRecording(join(directory, 'calls.jsonl'), 'x')).rejects.toThrow('x is larger than 256 MB');
  await expect(readRecording(join(directory, 'none'), 'x')).rejects.toThrow('there is no file x');
  await expect(readRecording(directory, 'x')).rejects.toThrow('x is not a file');
});

test('a last line that was cut off is skipped with a notice', async () => {
  const path = join(temporary({ 'calls.jsonl': `${JSON.stringify(LINE)}\n{"v":1,"id":2,"at` }), 'calls.jsonl');
  const { exchanges, notices } = await readRecording(path, 'calls.jsonl');
  expect(exchanges).toHaveLength(1);
  expect(notices).toEqual(['calls.jsonl:2: the last line is not complete, and is skipped']);
});
