import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, realpathSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import { callGmnIn, type GmnResult, place } from '../support/gmn.ts';

const OLD = '2020-01-01T00:00:00.000Z';

function start(t: TestContext) {
  const here = place(t);
  const cwd = realpathSync(here.cwd);
  const gmn = (...args: readonly string[]): Promise<GmnResult> => callGmnIn(t, { ...here, cwd }, args);
  return { ...here, cwd, directory: join(here.home, '.gmn', 'sessions'), gmn };
}

test('a session of the official CLI is copied, and left as it is', async (t) => {
  const { gmn, home, cwd } = start(t);
  const id = '7c1e90aa-0000-4000-8000-000000000001';
  const chats = join(home, '.gemini', 'tmp', 'work', 'chats');
  mkdirSync(chats, { recursive: true });
  writeFileSync(join(home, '.gemini', 'tmp', 'work', '.project_root'), cwd);
  const answer = { functionResponse: { id: 'c1', name: 'read_file', response: { output: 'text' } } };
  const lines = [
    { sessionId: id, projectHash: 'x', startTime: OLD, lastUpdated: OLD, kind: 'main' },
    { id: 'm0', type: 'user', content: '<session_context>' },
    { id: 'm1', type: 'user', content: [{ text: 'draft' }] },
    { id: 'm1', type: 'user', content: [{ text: 'look at it' }] },
    { id: 'm2', type: 'info', content: 'noise' },
    {
      id: 'm3',
      type: 'gemini',
      content: 'I will look.',
      model: 'gemini-2.5-pro',
      tokens: { input: 5, output: 2, total: 7 },
      toolCalls: [{ id: 'c1', name: 'read_file', args: { path: 'a' }, result: [answer] }],
    },
    { id: 'm4', type: 'user', content: [answer] },
    { id: 'm5', type: 'gemini', content: 'It says text.', model: 'gemini-2.5-pro' },
    { id: 'm6', type: 'user', content: 'wrong turn' },
    { $rewindTo: 'm6' },
    { $set: { summary: 'x' } },
  ];
  const file = join(chats, 'session-2020-01-01T00-00-7c1e90aa.jsonl');
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const before = readFileSync(file);
  expect((await gmn('sessions', 'list', '--gemini')).stdout).toBe(
    `ID        TITLE         STARTED     DIRECTORY\n7c1e90aa  "look at it"  2020-01-01  ${cwd}\n`,
  );
  expect(await gmn('sessions', 'import', 'latest')).toMatchObject({
    stdout: 'copied as 7c1e90aa; to continue it: gmn -r 7c1e90aa "…"\n',
    exitCode: 0,
  });
  const { records } = JSON.parse((await gmn('sessions', 'show', id, '--json')).stdout);
  expect(records.map(({ time: _, ...record }: { time: string }) => record)).toEqual([
    { kind: 'prompt', content: { role: 'user', parts: [{ text: 'look at it' }] } },
    {
      kind: 'call',
      content: {
        role: 'model',
        parts: [{ text: 'I will look.' }, { functionCall: { id: 'c1', name: 'read_file', args: { path: 'a' } } }],
      },
      usage: { promptTokenCount: 5, candidatesTokenCount: 2, totalTokenCount: 7 },
      model: 'gemini-2.5-pro',
    },
    { kind: 'answer', content: { role: 'user', parts: [answer] } },
    {
      kind: 'reply',
      content: { role: 'model', parts: [{ text: 'It says text.' }] },
      usage: {},
      model: 'gemini-2.5-pro',
      finishReason: 'STOP',
    },
  ]);
  expect([readFileSync(file), readdirSync(chats).length]).toEqual([before, 1]);
  expect(await gmn('sessions', 'import', file)).toMatchObject({
    stderr: `Error: there is a session with the id ${id}\nTo continue it: -r ${id}\n`,
    exitCode: 1,
  });
  expect(await gmn('sessions', 'import', 'nobody')).toMatchObject({
    stderr: 'Error: the official CLI has no session "nobody" here\nRun: gmn sessions list --gemini\n',
    exitCode: 1,
  });
});

test('a copy has the times of the original, and stays as long as any session', async (t) => {
  const { gmn, cwd, directory } = start(t);
  const messages = [
    { id: 'a', timestamp: '2020-01-01T00:00:01.000Z', type: 'user', content: 'hello' },
    { id: 'b', timestamp: '2020-01-01T00:00:02.000Z', type: 'gemini', content: 'hi' },
    { id: 'c', type: 'user', content: 'bye' },
  ];
  const sessionId = '7c1e90aa-0000-4000-8000-000000000002';
  writeFileSync(join(cwd, 'old.json'), JSON.stringify({ sessionId, startTime: OLD, messages }));
  await gmn('sessions', 'import', 'old.json');
  const { records } = JSON.parse((await gmn('sessions', 'show', sessionId, '--json')).stdout);
  expect(records.map(({ time }: { time: string }) => time)).toEqual([
    '2020-01-01T00:00:01.000Z',
    '2020-01-01T00:00:02.000Z',
    '2020-01-01T00:00:02.000Z',
  ]);
  expect(readdirSync(directory)).toEqual([`20200101T000000Z-${sessionId}.jsonl`]);
  const { sessions } = JSON.parse((await gmn('sessions', 'list', '--json')).stdout);
  expect(sessions.map(({ createdAt }: { createdAt: string }) => createdAt)).toEqual([OLD]);
  expect((await gmn('sessions', 'prune', '--dry-run')).stdout).toBe('');
});

test('official files that are damaged or too large are left out, and a short id that two have is refused', async (t) => {
  const { gmn, home, cwd } = start(t);
  const chats = join(home, '.gemini', 'tmp', 'work', 'chats');
  mkdirSync(chats, { recursive: true });
  writeFileSync(join(home, '.gemini', 'tmp', 'work', '.project_root'), cwd);
  const put = (name: string, sessionId: string, parts: readonly unknown[]): void => {
    const messages = [
      { id: 'a', type: 'user', content: parts },
      { id: 'b', type: 'gemini', content: 'hi' },
    ];
    writeFileSync(join(chats, `session-${name}.json`), JSON.stringify({ sessionId, startTime: OLD, messages }));
  };
  put('1', '7c1e90aa-0000-4000-8000-000000000001', [{ text: null }, { functionResponse: null }, { text: 'fine' }]);
  put('2', '7c1e90aa-0000-4000-8000-000000000002', [{ text: 'other' }]);
  put('3', '7c1e90aa-0000-4000-8000-000000000003', [{ text: 7 }, { inlineData: {} }]);
  writeFileSync(join(chats, 'session-4.json'), '');
  truncateSync(join(chats, 'session-4.json'), 300_000_000);
  const listed = await gmn('sessions', 'list', '--gemini');
  expect(listed).toMatchObject({
    stderr: `gmn: skipped: ${join(chats, 'session-4.json')} is too large\n`,
    exitCode: 0,
  });
  expect(listed.stdout.match(/"\w+"/g)?.sort()).toEqual(['"fine"', '"other"']);
  expect(await gmn('sessions', 'import', '7c1e90aa', '--quiet')).toMatchObject({
    stdout: '',
    stderr: expect.stringMatching(/^Error: "7c1e90aa" could be 2 sessions: 7c1e90aa-\S+, 7c1e90aa-\S+\nRun: /),
    exitCode: 1,
  });
});

test('an older official session, one object in a file, is copied too', async (t) => {
  const { gmn, cwd } = start(t);
  const messages = [
    { id: 'a', type: 'user', content: 'hello' },
    { id: 'b', type: 'gemini', content: 'hi' },
  ];
  writeFileSync(join(cwd, 'old.json'), JSON.stringify({ sessionId: 'not-a-uuid', startTime: OLD, messages }));
  expect((await gmn('sessions', 'import', 'old.json')).exitCode).toBe(0);
  expect((await gmn('sessions', 'show', 'last')).stdout).toBe('> hello\n\nhi\n\n');
});

test('the directory of an official session is found by the list of projects and by hashes too', async (t) => {
  const { gmn, home, cwd } = start(t);
  const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');
  const put = (folder: string, digit: string, projectHash: string): string => {
    const chats = join(home, '.gemini', 'tmp', folder, 'chats');
    mkdirSync(chats, { recursive: true });
    const file = join(chats, `session-${digit}.json`);
    const messages = [{ id: 'a', type: 'user', content: `from ${digit}` }];
    const sessionId = `${digit.repeat(8)}-0000-4000-8000-000000000001`;
    writeFileSync(file, JSON.stringify({ sessionId, projectHash, startTime: `202${digit}-01-01T00:00:00Z`, messages }));
    return file;
  };
  const listed = join(home, 'listed');
  mkdirSync(join(home, '.gemini'), { recursive: true });
  writeFileSync(join(home, '.gemini', 'projects.json'), JSON.stringify({ projects: { [listed]: 'slug', '/x': 7 } }));
  put('slug', '1', 'x');
  put(hashOf(listed), '2', 'x');
  put(hashOf(cwd), '3', 'x');
  const file = put('elsewhere', '4', hashOf(listed));
  put('nobody', '5', hashOf('/nobody'));
  const { sessions } = JSON.parse((await gmn('sessions', 'list', '--gemini', '--json')).stdout);
  expect(sessions.map(({ title, cwd: of }: { title: string; cwd?: string }) => [title, of])).toEqual([
    ['from 5', undefined],
    ['from 4', listed],
    ['from 3', cwd],
    ['from 2', listed],
    ['from 1', listed],
  ]);
  const copied = JSON.parse((await gmn('sessions', 'import', file, '--json')).stdout);
  expect(copied.session.cwd).toBe(listed);
  expect((await gmn('sessions', 'import', 'latest')).stdout).toMatch(/^copied as 33333333;/);
});

test.for([
  ['7c1e90aa-0000-4000-8000-000000000003', '7c1e90aa'],
  ['Abc-123_of-a-wrapper', 'Abc-123_of-a-wrapper'],
] as const)(
  'a session %s that has grown is copied again into its copy, unless that went its own way',
  async (ids, t) => {
    const [sessionId, short] = ids;
    const { gmn, cwd } = start(t);
    const put = (...texts: readonly string[]): void => {
      const messages = texts.map((content, id) => ({
        id: String(id),
        type: id % 2 === 0 ? 'user' : 'gemini',
        content,
      }));
      writeFileSync(join(cwd, 'old.json'), JSON.stringify({ sessionId, startTime: OLD, messages }));
    };
    put('one', 'two');
    await gmn('sessions', 'import', 'old.json');
    put('one', 'two', 'three', 'four');
    expect((await gmn('sessions', 'import', 'old.json')).stdout).toBe(
      `added what is new to ${short}; to continue it: gmn -r ${short} "…"\n`,
    );
    const grown = '> one\n\ntwo\n\n> three\n\nfour\n\n';
    expect((await gmn('sessions', 'show', sessionId)).stdout).toBe(grown);
    const refusal = {
      stderr: `Error: there is a session with the id ${sessionId}\nTo continue it: -r ${sessionId}\n`,
    };
    expect(await gmn('sessions', 'import', 'old.json')).toMatchObject({ ...refusal, exitCode: 1 });
    put('one', 'other', 'three', 'four', 'five');
    expect(await gmn('sessions', 'import', 'old.json')).toMatchObject({ ...refusal, exitCode: 1 });
    expect((await gmn('sessions', 'show', sessionId)).stdout).toBe(grown);
  },
);
