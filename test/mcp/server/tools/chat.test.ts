import { expect, test } from 'vitest';
import { chunk, events, failure, fakeGemini, finish, reply } from '../../../support/gemini.ts';
import { callGmn, place } from '../../../support/gmn.ts';
import { echo, readModel, serve } from '../support.ts';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

test('chat answers with text and the id of its session, and nothing else', async (t) => {
  const gemini = await fakeGemini(t, [reply('I am ', 'Gemini.')]);
  const server = await serve(t, { gemini });
  expect(
    await server.call('chat', {
      prompt: 'Hello, who are you?',
      model: 'gemini-3-flash',
      systemPrompt: 'You are a helpful coding assistant.',
      cwd: server.cwd,
    }),
  ).toEqual({
    content: [{ type: 'text', text: 'I am Gemini.' }],
    _meta: { sessionId: expect.stringMatching(UUID) },
  });
  const [{ path, body }] = gemini.requests as [(typeof gemini.requests)[0]];
  expect(path).toContain('models/gemini-3-flash-preview:');
  expect(body.systemInstruction.parts).toEqual([{ text: 'You are a helpful coding assistant.' }]);
  expect(body.contents).toEqual([{ role: 'user', parts: [{ text: 'Hello, who are you?' }] }]);
});

test('with --show-session the text of a chat ends with the id of its session, which chat-reply takes', async (t) => {
  const server = await serve(t, { gemini: await fakeGemini(t, [echo, echo]), flags: ['--show-session'] });
  const { content, _meta } = await server.call('chat', { prompt: 'one' });
  expect(content).toEqual([
    { type: 'text', text: 'echo: one' },
    { type: 'text', text: `sessionId: ${_meta.sessionId}` },
  ]);
  const sessionId = content[1].text.replace('sessionId: ', '');
  expect((await server.call('chat-reply', { prompt: 'two', sessionId })).content).toEqual([
    { type: 'text', text: 'echo: two' },
    content[1],
  ]);
});

test('chat-reply continues the session it names, or the newest', async (t) => {
  const gemini = await fakeGemini(t, [echo, echo, echo, echo]);
  const server = await serve(t, { gemini });
  const first = await server.call('chat', { prompt: 'one' });
  const second = await server.call('chat', { prompt: 'two' });
  const { sessionId } = first._meta;
  expect(sessionId).not.toBe(second._meta.sessionId);
  expect(await server.call('chat-reply', { prompt: 'more', sessionId })).toEqual({
    content: [{ type: 'text', text: 'echo: more' }],
    _meta: { sessionId },
  });
  expect((await server.call('chat-reply', { prompt: 'again' }))._meta.sessionId).toBe(sessionId);
  const texts = gemini.requests.at(-1)?.body.contents.map(({ parts }: { parts: { text: string }[] }) => parts[0]?.text);
  expect(texts).toEqual(['one', 'echo: one', 'more', 'echo: more', 'again']);
});

test('without an id and without a chat before, the newest session of the directory is continued', async (t) => {
  const gemini = await fakeGemini(t, [echo, echo]);
  const at = place(t, { gemini });
  const before = await serve(t, { at });
  const { sessionId } = (await before.call('chat', { prompt: 'one' }))._meta;
  await before.end();
  const server = await serve(t, { at });
  expect((await server.call('chat-reply', { prompt: 'two' }))._meta.sessionId).toBe(sessionId);
});

test('a conversation keeps its model and system prompt; what a reply names holds for that turn', async (t) => {
  const answer = (model: string) =>
    events([chunk([{ text: 'yes' }], { modelVersion: model }), { ...finish(), modelVersion: model }]);
  const gemini = await fakeGemini(t, ['gemini-2.5-pro', 'gemini-2.5-pro', 'gemini-2.5-flash-lite', 'x'].map(answer));
  const at = place(t, { gemini, env: { GMN_MODEL: 'gemini-3-flash' } });
  const before = await serve(t, { at });
  const asked = { model: 'gemini-2.5-pro', systemPrompt: 'Be brief.' };
  const { sessionId } = (await before.call('chat', { prompt: 'one', ...asked }))._meta;
  expect(await before.call('chat-reply', { prompt: 'two' })).toEqual({
    content: [{ type: 'text', text: 'yes' }],
    _meta: { sessionId, model: 'gemini-2.5-pro' },
  });
  await before.call('chat-reply', { prompt: 'three', model: 'gemini-2.5-flash-lite', systemPrompt: 'Be long.' });
  await before.end();
  await (await serve(t, { at, flags: ['-m', 'gemini-3-pro'] })).call('chat-reply', { prompt: 'four', sessionId });
  expect(gemini.requests.map(({ path, body }) => [readModel(path), body.systemInstruction.parts[0].text])).toEqual([
    ['gemini-2.5-pro', 'Be brief.'],
    ['gemini-2.5-pro', 'Be brief.'],
    ['gemini-2.5-flash-lite', 'Be long.'],
    ['gemini-2.5-pro', 'Be brief.'],
  ]);
});

test('without an id a new server continues the newest chat that has an answer', async (t) => {
  const gemini = await fakeGemini(t, [echo, failure(400, 'INVALID_ARGUMENT', 'bad'), echo]);
  const at = place(t, { gemini });
  const before = await serve(t, { at });
  const { sessionId } = (await before.call('chat', { prompt: 'one' }))._meta;
  await before.call('chat', { prompt: 'two' });
  await before.end();
  const server = await serve(t, { at });
  expect((await server.call('chat-reply', { prompt: 'three' }))._meta).toEqual({ sessionId });
});

test.for(['latest', 'last', ' Latest '])(
  'chat-reply takes the id "%s" for the newest, as without one',
  async (name, t) => {
    const gemini = await fakeGemini(t, [echo, echo, echo, echo]);
    const at = place(t, { gemini });
    const before = await serve(t, { at });
    expect((await before.call('chat-reply', { prompt: 'none yet', sessionId: name })).content[0].text).toBe(
      (await before.call('chat-reply', { prompt: 'none yet' })).content[0].text,
    );
    const one = (await before.call('chat', { prompt: 'one' }))._meta.sessionId;
    const two = (await before.call('chat', { prompt: 'two' }))._meta.sessionId;
    expect((await before.call('chat-reply', { prompt: 'x', sessionId: name }))._meta.sessionId).toBe(two);
    expect(one).not.toBe(two);
    await before.end();
    const server = await serve(t, { at });
    expect((await server.call('chat-reply', { prompt: 'y', sessionId: name }))._meta.sessionId).toBe(two);
  },
);

test('failures are results in the words callers know', async (t) => {
  const gemini = await fakeGemini(t, [failure(400, 'INVALID_ARGUMENT', 'the prompt is bad')]);
  const server = await serve(t, { gemini });
  const text = (result: { content: { text: string }[]; isError: true }) => {
    expect(result).toEqual({ content: [{ type: 'text', text: expect.any(String) }], isError: true });
    return result.content[0]?.text;
  };
  expect(text(await server.call('chat-reply', { prompt: 'x' }))).toMatch(/^Error executing gemini: /);
  expect(text(await server.call('chat', { prompt: 'x' }))).toMatch(/^Error executing gemini: .*the prompt is bad/);
  expect(text(await server.call('chat', {}))).toBe(
    'Error executing gemini: prompt is required\nWhat to say to Gemini.',
  );
  expect(text(await server.call('chat', { prompt: 7 }))).toMatch(/^Error executing gemini: prompt must be a string/);
  expect(text(await server.call('chat', { prompt: 'x', workdir: '/' }))).toMatch(/there is no argument "workdir"/);
  for (const name of ['sessionId', 'session_id']) {
    expect(text(await server.call('chat', { prompt: 'x', [name]: 'abc' }))).toBe(
      `Error executing gemini: chat takes no ${name}\nIt begins a conversation. To continue one: chat-reply, with this sessionId.`,
    );
  }
  expect(text(await server.call('chat', { prompt: 'x', model: '../../x' }))).toMatch(
    /is not a model\nKnown: .*gemini-2.5/,
  );
  expect(text(await server.call('chat-reply', { prompt: 'x', sessionId: 'nobody' }))).toMatch(/nobody/);
});

test('no credential is a failure of the call, not of the server', async (t) => {
  const server = await serve(t);
  const { isError, content } = await server.call('chat', { prompt: 'x' });
  expect(isError).toBe(true);
  expect(content[0].text).toMatch(/^Error executing gemini: .*GEMINI_API_KEY/s);
  expect((await server.ask('ping')).result).toEqual({});
});

test('a session of the server is a session of the command line', async (t) => {
  const gemini = await fakeGemini(t, [echo]);
  const at = place(t, { gemini });
  const server = await serve(t, { at });
  const { sessionId } = (await server.call('chat', { prompt: 'from an agent' }))._meta;
  await server.end();
  const exported = await callGmn(t, ['sessions', 'export', sessionId], {
    env: { ...at.env, GMN_HOME: `${at.home}/.gmn` },
  });
  expect(exported).toMatchObject({ stdout: expect.stringContaining('from an agent'), exitCode: 0 });
});
