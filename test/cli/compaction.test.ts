import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { estimateTokens } from '../../src/core/usage.ts';
import { serve } from '../mcp/server/support.ts';
import {
  call,
  chunk,
  events,
  failure,
  fakeGemini,
  finish,
  type Scripted,
  type SeenRequest,
  stream,
} from '../support/gemini.ts';
import type { WirePart } from '../support/gemini-rules.ts';
import { callGmnIn, place, startGmn } from '../support/gmn.ts';
import { posixTest, systemMode } from '../support/posix.ts';

/** One hundredth of the window: 10,485 tokens. */
const SETTINGS = { '.gemini/settings.json': JSON.stringify({ model: { compressionThreshold: 0.01 } }) };
const LIMIT = 10_485;

/** Five thousand tokens each. */
function bigFile(name: string): string {
  return Array.from({ length: 780 }, (_, line) => `${name} ${line} is a line of text`).join('\n');
}

const FILES = { 'a.txt': bigFile('a'), 'b.txt': bigFile('b'), 'c.txt': bigFile('c'), 'd.txt': bigFile('d') };

function count({ body }: SeenRequest): number {
  return estimateTokens(JSON.stringify([body.systemInstruction, body.tools, body.contents]));
}

/** Replies as a server that counts. */
function reply(...parts: readonly (string | object)[]): Scripted {
  return (response, request) => {
    const list = parts.map((part) => chunk([typeof part === 'string' ? { text: part } : part]));
    const usageMetadata = { promptTokenCount: count(request), candidatesTokenCount: 10, totalTokenCount: 0 };
    return events([...list, { ...finish(), usageMetadata }])(response, request);
  };
}

function read(path: string): object {
  return call('read_file', { file_path: path });
}

function partsOf({ body }: SeenRequest): readonly WirePart[] {
  return body.contents.flatMap(({ parts }: { parts: readonly WirePart[] }) => parts);
}

function outputsOf(request: SeenRequest): readonly string[] {
  // biome-ignore lint/suspicious/noExplicitAny: a part as it was sent
  return partsOf(request).flatMap(({ functionResponse }: any) =>
    functionResponse ? [functionResponse.response.output] : [],
  );
}

const POINTER = /^\[This result of \d+ characters was taken out to make room; read_file (\S+) shows all of it\.\]$/;

function sessionLines(home: string): readonly { readonly type: string; readonly [key: string]: unknown }[] {
  const [file = ''] = readdirSync(join(home, '.gmn/sessions')).filter((name) => name.endsWith('.jsonl'));
  const lines = readFileSync(join(home, '.gmn/sessions', file), 'utf8')
    .trimEnd()
    .split('\n');
  return lines.map((line) => JSON.parse(line));
}

test('old results become pointers that the model can read, and nothing else of gmn; the session keeps everything', async (t) => {
  let pointer = '';
  const readPointer: Scripted = (response, request) => {
    pointer = POINTER.exec(outputsOf(request)[0] ?? '')?.[1] ?? '';
    const others = [join(pointer, '../../sessions'), pointer.replace(/.$/, (end) => (end === '0' ? '1' : '0'))];
    return reply(read(pointer), ...others.map(read))(response, request);
  };
  const gemini = await fakeGemini(t, [
    reply(read('a.txt')),
    reply(read('b.txt')),
    readPointer,
    reply('Done.'),
    (response, request) => reply(read(pointer))(response, request),
    reply('Again.'),
  ]);
  const at = place(t, { gemini, files: FILES, home: SETTINGS });
  const { stdout, exitCode } = await callGmnIn(t, at, ['--tools', 'read', 'read all', '-o', 'json']);
  const { response, warnings } = JSON.parse(stdout);
  expect([exitCode, response]).toEqual([0, 'Done.']);
  const made =
    /^made room in the model's window: 1 old tool result moved to a file; about 1\d{4} tokens before, \d{4} now$/;
  expect(warnings).toEqual([expect.stringMatching(made), expect.stringMatching(made)]);
  for (const request of gemini.requests) {
    expect(count(request)).toBeLessThan(LIMIT);
  }
  const [, , third, last] = gemini.requests;
  expect(third && outputsOf(third)).toEqual([expect.stringMatching(POINTER), FILES['b.txt']]);
  const [first, second, ...results] = last === undefined ? [] : outputsOf(last);
  expect([first, second]).toEqual([expect.stringMatching(POINTER), expect.stringMatching(POINTER)]);
  expect(results).toEqual([FILES['a.txt'], undefined, undefined]);
  expect(readFileSync(pointer, 'utf8')).toBe(FILES['a.txt']);
  expect(statSync(pointer).mode & 0o777).toBe(systemMode(0o600));
  const [, , , ...steps] = sessionLines(at.home).map(({ type }) => type);
  expect(steps).toEqual([
    ...['call', 'answer', 'call', 'answer', 'compact'],
    ...['call', 'answer', 'answer', 'answer', 'compact', 'reply'],
  ]);
  const { stdout: told } = await callGmnIn(t, at, ['sessions', 'show', 'last']);
  expect(told).toMatch(/\n\[Compacted: 2 tool results are pointers to files\. The session keeps all of it\.\]\n$/);
  const shown = await callGmnIn(t, at, ['sessions', 'export', 'last']);
  for (const name of ['a', 'b']) expect(shown.stdout).toContain(`${name} 779 is a line of text`);
  // Another process sends what this one has sent, and may read the same files.
  await callGmnIn(t, at, ['-c', '--tools', 'read', 'again']);
  expect(gemini.requests[4]?.body.contents.slice(0, last?.body.contents.length)).toEqual(last?.body.contents);
  expect(gemini.requests[5] && outputsOf(gemini.requests[5]).at(-1)).toBe(FILES['a.txt']);
});

test('a run that reads seven times what fits stays below the limit, and is continued without tools, too', async (t) => {
  const names = [...'abcdefghijklmn'];
  const files = Object.fromEntries(names.map((name) => [name, bigFile(name)]));
  let next = 0;
  const isSummary = (request: SeenRequest): boolean => textsOf(request)[0]?.startsWith('Below is the record') ?? false;
  const answer: Scripted = (response, request) => {
    if (isSummary(request)) return reply('Goal: read.')(response, request);
    next += 1;
    return reply(next <= names.length ? read(names[next - 1] ?? '') : 'Done.')(response, request);
  };
  const gemini = await fakeGemini(t, Array(17).fill(answer));
  const at = place(t, { gemini, files, home: SETTINGS });
  expect((await callGmnIn(t, at, ['--tools', 'read', 'read all'])).stdout).toBe('Done.\n');
  expect((await callGmnIn(t, at, ['-c', 'again'])).stdout).toBe('Done.\n');
  for (const request of gemini.requests) expect(count(request)).toBeLessThan(LIMIT);
  const [, ...steps] = gemini.requests.filter((request) => !isSummary(request));
  expect(steps.slice(0, -1).map((request) => outputsOf(request).at(-1))).toEqual(Object.values(files));
  const log = JSON.stringify(sessionLines(at.home));
  for (const name of names) expect(log).toContain(`${name} 779 is a line of text`);
});

const LONG = 'word '.repeat(3000);

function textsOf(request: SeenRequest | undefined): readonly string[] {
  return request === undefined ? [] : partsOf(request).map(({ text }) => String(text).slice(0, 80));
}

posixTest('in a chat the oldest exchanges become a summary, which /context shows and /rewind takes back', async (t) => {
  const gemini = await fakeGemini(t, [
    ...['1', '2', '3', 'Goal: count.', '4', '5'].map((text) => reply(text)),
    // The window of this model is a quarter of the other's.
    ...['Goal: count on.', '6', '7'].map((text) => reply(text)),
  ]);
  const settings = { '.gemini/settings.json': JSON.stringify({ model: { compressionThreshold: 0.011 } }) };
  const lines = [
    ...[`one ${LONG}`, `two ${LONG}`, `three ${LONG}`, `four ${LONG.slice(0, 2500)}`, '/context', 'five'],
    ...['/model gemma-4-31b-it', 'six', '/model gemini-2.5-flash', '/rewind 5', '/context', 'seven'],
  ];
  const at = place(t, { gemini, home: settings });
  const { stdout, stderr } = await callGmnIn(t, at, ['chat', '--tools', 'none'], `${lines.join('\n')}\n`);
  expect(stdout).toBe('1\n2\n3\n4\n5\n6\n7\n');
  const shown = stderr.replace(/\d{3,}/g, 'N').split('\n');
  expect(shown).toContain("made room in the model's window: 4 old messages summarised; about N tokens before, N now");
  expect(shown).toContain('Compacted: a summary replaces the first 4 messages. The session keeps all of it.');
  expect(shown.filter((line) => line.startsWith('Compacted'))).toHaveLength(1);
  const SUMMARY = 'This is a summary of our conversation so far:\n\nGoal: count.';
  const one = (text: string): unknown => expect.stringMatching(new RegExp(`^${text} word`));
  expect(textsOf(gemini.requests[3])).toEqual([expect.stringContaining('Below is the record of the older part')]);
  expect(textsOf(gemini.requests[4])).toEqual([
    ...[SUMMARY, 'I will continue from there.', one('three'), '3', one('four')],
  ]);
  expect(textsOf(gemini.requests[5]).slice(0, 4)).toEqual(textsOf(gemini.requests[4]).slice(0, 4));
  const [later, ...last] = textsOf(gemini.requests[7]);
  expect(later).toBe(SUMMARY.replace('.', ' on.'));
  expect(last).toEqual(['I will continue from there.', one('four'), '4', 'five', '5', 'six']);
  expect(gemini.requests[7] && count(gemini.requests[7])).toBeLessThan(256_000 * 0.011);
  // The exchanges that the summary had replaced are there again.
  expect(textsOf(gemini.requests[8])).toEqual([one('one'), '1', 'seven']);
});

/** When the process is killed: while the summary is asked for, while it comes, or when the next request is sent. */
const MOMENTS = [
  ['before the summary', 3, undefined, false],
  ['in the middle of the summary', 3, 'Goal: co', false],
  ['after the summary', 4, undefined, true],
] as const;

posixTest.for(MOMENTS)(
  'killed %s, a session is continued from before or after it',
  async ([, step, words, isMade], t) => {
    let kill = (): void => {};
    const killer = stream(...(words === undefined ? [] : [words]), () => kill());
    const script = ['1', '2', '3', 'Goal: count.'].slice(0, step).map((text) => reply(text));
    const gemini = await fakeGemini(t, [...script, killer, ...(isMade ? [] : [reply('Goal: count.')]), reply('4')]);
    const at = place(t, {
      gemini,
      settings: { model: { compressionThreshold: 0.011 } },
    });
    const stdin = ['one', 'two', 'three', 'four'].map((name) => `${name} ${LONG}\n`).join('');
    const { child, ended } = await startGmn(t, ['chat', '--tools', 'none'], { at, stdin });
    kill = () => void child.kill('SIGKILL');
    await ended;
    const { stdout } = await callGmnIn(t, at, ['chat', '-c', '--tools', 'none'], 'five\n');
    expect(stdout).toBe('4\n');
    const [summary, , ...rest] = textsOf(gemini.requests.at(-1));
    expect(summary).toBe('This is a summary of our conversation so far:\n\nGoal: count.');
    expect(rest.slice(-2)).toEqual([expect.stringMatching(/^four word/), 'five']);
    expect(sessionLines(at.home).filter(({ type }) => type === 'compact')).toHaveLength(1);
    const log = JSON.stringify(sessionLines(at.home).filter(({ type }) => type === 'prompt'));
    for (const name of ['one', 'two', 'three', 'four']) expect(log).toContain(`${name} word word`);
  },
);

test('delegated work makes room, and a session of it is continued', async (t) => {
  const gemini = await fakeGemini(t, [
    ...[reply(read('a.txt')), reply(read('b.txt')), reply('Done.')],
    ...[failure(400, 'INVALID_ARGUMENT', 'never'), reply(read('c.txt')), reply('More.'), reply('Last.')],
  ]);
  const server = await serve(t, { gemini, files: FILES, home: SETTINGS });
  const first = (await server.call('delegate', { prompt: 'read', working_directory: server.cwd })).structuredContent;
  expect(first).toMatchObject({
    output: 'Done.',
    notices: [expect.stringMatching(/^made room .* 1 old tool result moved/)],
  });
  const goOn = async (prompt: string) =>
    (await server.call('delegate', { prompt, working_directory: server.cwd, session_id: first.session_id }))
      .structuredContent;
  // A prompt without an answer is in the session, and is not sent.
  expect((await goOn('refused')).status).toBe('error');
  expect((await goOn('more')).output).toBe('More.');
  expect((await goOn('last')).output).toBe('Last.');
  for (const request of gemini.requests) expect(count(request)).toBeLessThan(LIMIT);
  const [, , , , fourth, fifth, last] = gemini.requests.map(outputsOf);
  const pointer = expect.stringMatching(POINTER);
  expect([fourth, fifth]).toEqual([
    [pointer, FILES['b.txt']],
    [pointer, pointer, FILES['c.txt']],
  ]);
  expect(last).toEqual(fifth);
});

test('a refusal of the length makes room and asks again', async (t) => {
  const refusal = 'The input token count (12000) exceeds the maximum number of tokens allowed (10000).';
  const gemini = await fakeGemini(t, [
    ...[reply(read('a.txt')), reply(read('b.txt'))],
    ...[failure(400, 'INVALID_ARGUMENT', refusal), reply('Done.')],
  ]);
  const at = place(t, { gemini, files: FILES });
  const { stdout, stderr } = await callGmnIn(t, at, ['--tools', 'read', 'read all']);
  expect(stdout).toBe('Done.\n');
  expect(stderr).toContain('1 old tool result moved to a file');
});

test('/compress without a summary, or with one that is longer, leaves the conversation and its count alone', async (t) => {
  const thought = events([chunk([{ text: 'Hm.', thought: true }, { text: ' \n' }]), finish()]);
  const gemini = await fakeGemini(t, [reply('1'), thought, reply(LONG), reply('2')]);
  const lines = ['one', '/context', '/compress', '/compress', '/context', 'two'];
  const { stderr } = await callGmnIn(t, place(t, { gemini }), ['chat', '--tools', 'read'], `${lines.join('\n')}\n`);
  expect(stderr).toContain('the model wrote no summary');
  expect(stderr).toContain('The conversation stays as it is');
  const [before, after] = stderr.match(/\d+ {2}tokens after the last reply/g) ?? [];
  expect(after).toBe(before);
  expect(textsOf(gemini.requests[3])).toEqual(['one', '1', 'two']);
});

test('a chat remembers the window that a refusal has told', async (t) => {
  const refusal = 'The input token count (12000) exceeds the maximum number of tokens allowed (10000).';
  const gemini = await fakeGemini(t, [
    ...[reply('1'), reply('2'), reply('3'), failure(400, 'INVALID_ARGUMENT', refusal)],
    ...[reply('Goal: count.'), reply('4'), reply('5'), reply('Goal: count on.'), reply('6')],
  ]);
  const lines = [...['one', 'two', 'three', 'four', 'five', 'six'].map((name) => `${name} ${LONG.slice(0, 10_000)}`)];
  const given = [...lines, '/context'].join('\n');
  const { stdout, stderr } = await callGmnIn(t, place(t, { gemini }), ['chat', '--tools', 'none'], `${given}\n`);
  expect(stdout).toBe('1\n2\n3\n4\n5\n6\n');
  expect(stderr).toContain(' % of 10000\n');
  for (const request of gemini.requests.slice(4)) expect(count(request)).toBeLessThan(7000);
});

const counted: Scripted = (response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end('{"totalTokens":42}');
};

test('--dry-run and --count-tokens take what is sent of a compacted session', async (t) => {
  const gemini = await fakeGemini(t, [reply(read('a.txt')), reply(read('b.txt')), reply('1'), counted, reply('2')]);
  const at = place(t, { gemini, files: FILES, home: SETTINGS });
  await callGmnIn(t, at, ['--tools', 'read', 'read all']);
  const shown = await callGmnIn(t, at, ['-c', '--dry-run', 'again']);
  expect((await callGmnIn(t, at, ['-c', '--count-tokens', 'again'])).stdout).toBe('42\n');
  await callGmnIn(t, at, ['-c', 'again']);
  const [, , , count, sent] = gemini.requests.map(({ body }) => body);
  expect(outputsOf({ body: sent } as SeenRequest)[0]).toMatch(POINTER);
  expect(JSON.parse(shown.stdout).body.contents).toEqual(sent.contents);
  expect(count.contents).toEqual(sent.contents);
});

test('--max-cost counts a summary, and ends a run that cannot pay for one', async (t) => {
  const dear = (text: string): Scripted =>
    events([
      chunk([{ text }]),
      { ...finish(), usageMetadata: { promptTokenCount: 9000, candidatesTokenCount: 40_000, totalTokenCount: 49_000 } },
    ]);
  const gemini = await fakeGemini(t, [reply('1'), reply('2'), reply('3'), dear('Goal: count.')]);
  const home = { '.gemini/settings.json': JSON.stringify({ model: { compressionThreshold: 0.011 } }) };
  const at = place(t, { gemini, home });
  const lines = ['one', 'two', 'three', 'four', 'five'].map((name) => `${name} ${LONG}`);
  const flags = ['chat', '--tools', 'none', '--max-cost', '0.1'];
  const { stderr } = await callGmnIn(t, at, flags, `${lines.join('\n')}\n`);
  expect(stderr).toMatch(/stopped at --max-cost: \$0\.1\d+ of \$0\.10 is spent/);
  expect(gemini.requests).toHaveLength(4);
});
