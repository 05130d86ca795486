import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import type { Approval, GmnEvent } from '../../src/library/gmn.d.ts';
import { createLibrary } from '../../src/library/library.ts';
import { answerEach, call, fakeGemini, reply } from '../support/gemini.ts';
import { temporary } from '../support/temporary.ts';

const { chat, defineTool } = createLibrary('0.0.0');

const pay = defineTool({
  ...{ name: 'pay', description: 'Pays', input: { type: 'object', properties: { yen: { type: 'integer' } } } },
  needsApproval: true,
  run: ({ yen }) => `paid ${yen}`,
});

test('a conversation remembers what was said, and its turns run one after the other', async (t) => {
  const server = await fakeGemini(
    t,
    answerEach((prompt) => `re: ${prompt}`),
  );
  await using session = await chat({ server, system: 'Be brief.' });
  expect(server.requests).toHaveLength(0);
  const turns = ['one', 'two', 'three'].map((prompt) => session.send(prompt));
  // In the order in which they are wanted, not in that in which they were made.
  const texts = await Promise.all([turns[1]!.text(), turns[0]!.text(), turns[2]!.text()]);
  expect(texts).toEqual(['re: two', 're: one', 're: three']);
  const contents = server.requests[2]?.body.contents.map(({ parts }: { parts: { text: string }[] }) => parts[0]?.text);
  expect(contents).toEqual(['two', 're: two', 'one', 're: one', 'three']);
  expect(server.requests.every(({ body }) => body.systemInstruction.parts[0].text === 'Be brief.')).toBe(true);
  expect(session.sessionId).toBeUndefined();
});

test('a schema holds for its turn', async (t) => {
  const server = await fakeGemini(t, [reply('["red"]'), reply('plain')]);
  await using session = await chat({ server });
  const colours: string[] = await session
    .send('colours', { schema: { type: 'array', items: { type: 'string' } } })
    .json();
  expect([colours, await session.send('and now?').text()]).toEqual([['red'], 'plain']);
  expect(server.requests[1]?.body.generationConfig.responseJsonSchema).toBeUndefined();
});

test('a cancelled turn leaves the conversation as it was, and those that wait go on', async (t) => {
  const server = await fakeGemini(
    t,
    answerEach((prompt) => (prompt === 'forever' ? undefined : `re: ${prompt}`)),
  );
  await using session = await chat({ server });
  const forever = session.send('forever');
  const failed = forever.catch((error: unknown) => error);
  const waiting = session.send('later').catch((error: unknown) => error);
  const controller = new AbortController();
  const dropped = session.send('dropped', { signal: controller.signal }).catch((error: unknown) => error);
  await expect.poll(() => server.requests.length).toBe(1);
  controller.abort();
  expect(await dropped).toMatchObject({ code: 'interrupted' });
  forever.cancel();
  expect(await failed).toMatchObject({ code: 'interrupted' });
  expect(await waiting).toMatchObject({ text: 're: later' });
  expect(server.requests.map(({ body }) => body.contents.length)).toEqual([1, 1]);
});

test('closing ends what runs and waits, and refuses what comes later', async (t) => {
  const server = await fakeGemini(t, () => {});
  const session = await chat({ server });
  const failed = ['running', 'waiting'].map((prompt) => session.send(prompt).catch((error: unknown) => error));
  const unwanted = session.send('never awaited');
  await expect.poll(() => server.requests.length).toBe(1);
  await Promise.all([session.close(), session.close()]);
  const closed = { code: 'interrupted', message: 'the session is closed' };
  expect(await Promise.all(failed)).toMatchObject([closed, closed]);
  await expect(unwanted).rejects.toMatchObject(closed);
  expect(await session.undo()).toEqual([]);
});

test('the signal of a session closes it', async (t) => {
  const server = await fakeGemini(t, () => {});
  const controller = new AbortController();
  const session = await chat({ server, signal: controller.signal });
  const failed = session.send('running').catch((error: unknown) => error);
  await expect.poll(() => server.requests.length).toBe(1);
  controller.abort(new Error('enough'));
  expect(await failed).toMatchObject({ code: 'interrupted', cause: { message: 'enough' } });
  await expect(session.send('later')).rejects.toMatchObject({ code: 'interrupted' });
  await session.close();
  await expect(chat({ server, signal: controller.signal })).rejects.toMatchObject({ code: 'interrupted' });
});

test('a session whose signal aborts while it is opened is not opened', async (t) => {
  const server = await fakeGemini(t, []);
  const controller = new AbortController();
  const options = { server, cwd: temporary(), tools: ['read'], signal: controller.signal };
  const opening = chat(options).catch((error: unknown) => error);
  controller.abort(new Error('enough'));
  // A turn of the event loop is less than it takes to open one.
  expect(await Promise.race([opening, new Promise((resolve) => setImmediate(resolve, 'late'))])).toMatchObject({
    ...{ code: 'interrupted', cause: { message: 'enough' } },
  });
  expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
});

test.for([
  ['once', 'paid 100'],
  [{ deny: 'too much' }, 'too much'],
  [{ args: { yen: 5 } }, 'paid 5'],
] as const)('an approval that is answered later: %j', async ([approval, result], t) => {
  const server = await fakeGemini(t, [reply(call('pay', { yen: 100 })), reply('done')]);
  await using session = await chat({ server, tools: [pay], approve: 'defer' });
  const turn = session.send('pay');
  const questions: GmnEvent[] = [];
  for await (const event of turn) {
    if (event.type !== 'approval') continue;
    questions.push(event);
    expect(() => session.answer('another', 'once')).toThrow('no call with the id "another" waits');
    expect(() => session.answer(event.call, 'yes' as Approval)).toThrow("an approval is 'once'");
    session.answer(event.call, approval);
    expect(() => session.answer(event.call, approval)).toThrow('waits for an approval');
  }
  expect(questions).toEqual([
    {
      ...{ type: 'approval', call: expect.any(String), name: 'pay', args: { yen: 100 }, default: 'no' },
      title: expect.stringContaining('pay'),
      view: ['╭ pay', '│ {', '│   "yen": 100', '│ }'],
    },
  ]);
  expect(JSON.stringify(server.requests[1]?.results)).toContain(result);
});

test('`always` holds for the session, and a question whose turn is cancelled is forgotten', async (t) => {
  const pays = [reply(call('pay', { yen: 1 })), reply('paid')];
  const server = await fakeGemini(t, [...pays, ...pays, reply(call('pay', { yen: 1 }))]);
  let asked = 0;
  await using session = await chat({
    ...{ server, tools: [pay] },
    approve: () => {
      asked += 1;
      return 'always';
    },
  });
  await session.send('pay');
  await session.send('again');
  expect(asked).toBe(1);
  await using other = await chat({ server, tools: [pay], approve: 'defer' });
  const turn = other.send('pay');
  const call_ = await (async () => {
    for await (const event of turn) if (event.type === 'approval') return event.call;
    return '';
  })();
  await expect(turn).rejects.toMatchObject({ code: 'interrupted' });
  await expect
    .poll(() => {
      try {
        other.answer(call_, 'once');
        return 'answered';
      } catch (error) {
        return (error as Error).message;
      }
    })
    .toContain('waits for an approval');
});
