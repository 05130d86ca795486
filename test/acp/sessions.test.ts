import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SessionUpdate } from '@agentclientprotocol/sdk';
import { expect, test } from 'vitest';
import { answerEach, call, fakeGemini, finish, reply, stream } from '../support/gemini.ts';
import { callGmnIn } from '../support/gmn.ts';
import { type Editor, openEditor } from './support.ts';

const SHOWN: readonly SessionUpdate['sessionUpdate'][] = [
  'user_message_chunk',
  'agent_message_chunk',
  'agent_thought_chunk',
  'tool_call',
  'tool_call_update',
  'plan',
];

function listShown({ updates }: Editor): readonly SessionUpdate[] {
  return updates.filter(({ sessionUpdate }) => SHOWN.includes(sessionUpdate));
}

const WRITE = { file_path: 'new.txt', content: 'one\n' };
const TODOS = {
  todos: [
    { description: 'look', status: 'completed' },
    { description: 'leave', status: 'cancelled' },
  ],
};

/** A conversation with a thought, a plan, a call that needs approval, and an answer. */
const TALK = [
  reply(
    { text: 'Hm.', thought: true },
    call('write_todos', TODOS),
    call('write_file', WRITE, { thoughtSignature: 'c2ln' }),
  ),
  reply('Written.'),
];

test('a session that is loaded shows what was said, goes on, and keeps signatures', async (t) => {
  const first = await openEditor(t, { script: TALK, answer: () => 'once' });
  const { sessionId } = await first.begin();
  expect(await first.say(sessionId, 'write it')).toBe('end_turn');
  const path = join(first.at.cwd, 'new.txt');
  await first.close();

  const gemini = await fakeGemini(t, [reply('Again.')]);
  const second = await openEditor(t, { at: first.at, gemini });
  const load = { sessionId, cwd: second.at.cwd, mcpServers: [] };
  expect(await second.agent.request('session/load', load)).toMatchObject({ modes: { currentModeId: 'default' } });
  expect(listShown(second)).toMatchObject([
    { sessionUpdate: 'user_message_chunk', content: { text: 'write it' } },
    { sessionUpdate: 'agent_thought_chunk', content: { text: 'Hm.' } },
    { sessionUpdate: 'tool_call', kind: 'edit', title: 'write_file new.txt', locations: [{ path }] },
    { sessionUpdate: 'plan', entries: [{ content: 'look', status: 'completed' }] },
    { sessionUpdate: 'tool_call_update', status: 'completed', content: [{ type: 'diff', path, newText: 'one\n' }] },
    { sessionUpdate: 'agent_message_chunk', content: { text: 'Written.' } },
  ]);
  expect(await second.say(sessionId, 'and?')).toBe('end_turn');
  // The fake service refuses a request without its own signatures.
  expect(gemini.requests[0]?.body.contents).toHaveLength(5);
  for (const _ of ['the last turn changed nothing', 'the one before']) await second.say(sessionId, '/undo');
  expect(() => readFileSync(path)).toThrow('ENOENT');
});

test('a session of which only a part was written loads with that part, and goes on', async (t) => {
  const gemini = await fakeGemini(t, (response, request) => {
    const { requests } = gemini;
    return (requests.length <= TALK.length ? TALK[requests.length - 1] : reply('On.'))?.(response, request);
  });
  const editor = await openEditor(t, { gemini, answer: () => 'once' });
  const { sessionId } = await editor.begin();
  await editor.say(sessionId, 'write it');
  await editor.agent.request('session/close', { sessionId });
  const directory = join(editor.at.home, '.gmn', 'sessions');
  const file = join(directory, readdirSync(directory).find((name) => name.endsWith('.jsonl')) ?? '');
  const whole = readFileSync(file);
  const ends = [...whole.keys()].filter((at) => whole[at] === 0x0a).map((at) => at + 1);
  const [head = 0] = ends;
  // The editor knows the session once its first line is there. Before, at, and after the end of each later one, and in its middle.
  const cuts = [head, ...ends.slice(1).flatMap((end, index) => [((ends[index] ?? 0) + end) >> 1, end - 1, end])];
  for (const cut of cuts) {
    const lines = whole.subarray(0, cut).toString('utf8').split('\n').slice(0, -1);
    const has = (text: string) => lines.some((line) => line.includes(text));
    writeFileSync(file, whole.subarray(0, cut));
    editor.updates.length = 0;
    await editor.agent.request('session/load', { sessionId, cwd: editor.at.cwd, mcpServers: [] });
    const shown = JSON.stringify(listShown(editor));
    expect([cut, shown.includes('write it'), shown.includes('Written.')]).toEqual([
      cut,
      has('write it'),
      has('Written.'),
    ]);
    expect(await editor.say(sessionId, 'and?')).toBe('end_turn');
    await editor.agent.request('session/close', { sessionId });
  }
  expect(cuts.length).toBeGreaterThan(12);
});

test('a conversation goes on in a chat, and back in the editor', async (t) => {
  const first = await openEditor(t, { script: TALK, answer: () => 'once' });
  const { sessionId } = await first.begin();
  await first.say(sessionId, 'write it');
  await first.close();
  const { at } = first;

  const gemini = await fakeGemini(
    t,
    answerEach((_, count) => `answer ${count}`),
  );
  const env = { ...at.env, GEMINI_API_KEY: 'test-key-0123456789', GOOGLE_GEMINI_BASE_URL: gemini.url };
  const asked = await callGmnIn(t, { ...at, env }, ['chat', '-r', sessionId, 'in the chat']);
  expect(asked).toMatchObject({ exitCode: 0, stdout: 'answer 1\n' });

  const second = await openEditor(t, { at, gemini });
  await second.agent.request('session/resume', { sessionId, cwd: at.cwd, mcpServers: [] });
  expect(listShown(second)).toEqual([]);
  expect(await second.say(sessionId, 'back')).toBe('end_turn');
  const texts = gemini.requests[1]?.body.contents.map(({ parts }: { parts: { text?: string }[] }) => parts[0]?.text);
  expect(texts.slice(-3)).toEqual(['in the chat', 'answer 1', 'back']);
  await second.close();
  // `last` of a chat: the same session.
  expect(await callGmnIn(t, { ...at, env }, ['chat', '-r', 'last', '/undo'])).toMatchObject({ exitCode: 1 });
  const undone = await callGmnIn(t, { ...at, env }, ['undo']);
  expect(undone).toMatchObject({ exitCode: 0 });
  expect(() => readFileSync(join(at.cwd, 'new.txt'))).toThrow('ENOENT');
});

test('sessions are listed by folder, closed and deleted', async (t) => {
  const editor = await openEditor(t, { script: answerEach((prompt) => `to ${prompt}`) });
  const other = join(editor.at.root, 'other');
  mkdirSync(other);
  const [one, two] = [await editor.begin(), await editor.begin({ cwd: other })];
  await editor.say(one.sessionId, 'first');
  await editor.say(two.sessionId, 'second');
  const list = async (cwd?: string) => (await editor.agent.request('session/list', { cwd })).sessions;
  expect(await list()).toMatchObject([
    { sessionId: two.sessionId, cwd: other, title: 'second' },
    { sessionId: one.sessionId, cwd: editor.at.cwd, title: 'first' },
  ]);
  expect(await list(other)).toMatchObject([{ sessionId: two.sessionId }]);
  expect(await editor.agent.request('session/close', { sessionId: two.sessionId })).toEqual({});
  await expect(editor.say(two.sessionId, 'x')).rejects.toMatchObject({ code: -32002 });
  expect(await editor.agent.request('session/delete', { sessionId: one.sessionId })).toEqual({});
  expect(await list()).toMatchObject([{ sessionId: two.sessionId }]);
  const load = { sessionId: one.sessionId, cwd: editor.at.cwd, mcpServers: [] };
  await expect(editor.agent.request('session/load', load)).rejects.toMatchObject({ code: -32002 });
  const restored = await callGmnIn(t, editor.at, ['sessions', 'restore', one.sessionId]);
  expect(restored.exitCode).toBe(0);
  await expect(editor.agent.request('session/load', load)).resolves.toBeDefined();
});

test.for(['last', '1', 'first', '../x', ''])(
  'a session is loaded by its id, not by the word "%s"',
  async (sessionId, t) => {
    const editor = await openEditor(t, { script: [reply('x')] });
    await editor.say((await editor.begin()).sessionId, 'first');
    const load = { sessionId, cwd: editor.at.cwd, mcpServers: [] };
    for (const method of ['session/load', 'session/resume'] as const) {
      await expect(editor.agent.request(method, load)).rejects.toMatchObject({ code: -32002, data: { sessionId } });
    }
  },
);

test('twenty sessions answer at once, each its own prompts', async (t) => {
  let waiting = 0;
  let all = (): void => {};
  const together = new Promise<void>((resolve) => {
    all = resolve;
  });
  const editor = await openEditor(t, {
    script: async (response, request) => {
      waiting += 1;
      if (waiting === 20) all();
      await together;
      await stream(`to ${request.prompt}`, finish())(response, request);
      response.end();
    },
  });
  const opened = await Promise.all(Array.from({ length: 20 }, () => editor.begin()));
  expect(new Set(opened.map(({ sessionId }) => sessionId)).size).toBe(20);
  await editor.agent.request('session/set_mode', { sessionId: opened[3]?.sessionId ?? '', modeId: 'plan' });
  const stops = await Promise.all(opened.map(({ sessionId }, index) => editor.say(sessionId, `prompt ${index}`)));
  expect(stops).toEqual(Array(20).fill('end_turn'));
  for (const [index, { sessionId }] of opened.entries()) {
    const own = editor.updates.filter((update) => update.sessionId === sessionId);
    expect(own).toContainEqual(expect.objectContaining({ content: { type: 'text', text: `to prompt ${index}` } }));
  }
  const switched = editor.updates.filter(({ sessionUpdate }) => sessionUpdate === 'current_mode_update');
  expect(switched.map(({ sessionId }) => sessionId)).toEqual([opened[3]?.sessionId]);
});

test('a session is loaded while it is loaded, and again when it is open', async (t) => {
  const editor = await openEditor(t, { script: answerEach(() => 'x') });
  const { sessionId } = await editor.begin();
  await editor.say(sessionId, 'first');
  const load = { sessionId, cwd: editor.at.cwd, mcpServers: [] };
  const answers = await Promise.all([1, 2, 3].map(() => editor.agent.request('session/load', load)));
  expect(answers).toMatchObject(Array(3).fill({ modes: { currentModeId: 'default' } }));
  expect(await editor.say(sessionId, 'second')).toBe('end_turn');
  expect((await editor.agent.request('session/list', {})).sessions).toHaveLength(1);
});

test('what is not saved cannot be loaded, and is not lost by trying', async (t) => {
  const gemini = await fakeGemini(
    t,
    answerEach(() => 'x'),
  );
  const first = await openEditor(t, { gemini });
  const { sessionId: saved } = await first.begin();
  await first.say(saved, 'kept');
  await first.close();
  const editor = await openEditor(t, { at: first.at, gemini, options: { noSession: true } });
  const { sessionId } = await editor.begin();
  await editor.say(sessionId, 'first');
  for (const id of [sessionId, saved]) {
    const load = { sessionId: id, cwd: editor.at.cwd, mcpServers: [] };
    const code = id === saved ? -32602 : -32002;
    await expect(editor.agent.request('session/load', load)).rejects.toMatchObject({ code });
  }
  expect(await editor.say(sessionId, 'second')).toBe('end_turn');
  expect(gemini.requests.at(-1)?.text).toContain('first');
});

test('a session that a chat has open is not shared', async (t) => {
  const first = await openEditor(t, { script: answerEach(() => 'x') });
  const { sessionId } = await first.begin();
  await first.say(sessionId, 'x');
  const second = await openEditor(t, { at: first.at });
  const load = { sessionId, cwd: first.at.cwd, mcpServers: [] };
  await expect(second.agent.request('session/load', load)).rejects.toMatchObject({
    code: -32602,
    message: expect.stringContaining('open in another program'),
  });
  await first.close();
  await expect(second.agent.request('session/load', load)).resolves.toBeDefined();
});
