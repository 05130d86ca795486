import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { posixTest, systemMode } from '../support/posix.ts';
import { temporary } from '../support/temporary.ts';
import { contentsOf, files, linesOf, onlyFile, place, prompt, reply, START, saved, talk } from './support.ts';

test('a session is a file of lines: a header, then every record with what a list needs', async () => {
  const { home, store, time } = place(temporary(), { newId: () => '11111111-2222-4333-8444-555555555555' });
  const session = await store.create({ cwd: '/work', by: 'chat', name: 'trip' });
  await session.append(prompt('best month for Kyoto?'));
  time.now += 1500;
  await session.append(reply('November.'));
  await session.close();
  expect(files(home)).toEqual(['20260501T120000Z-11111111-2222-4333-8444-555555555555.jsonl']);
  expect(linesOf(onlyFile(home))).toEqual([
    {
      v: 1,
      type: 'session',
      id: '11111111-2222-4333-8444-555555555555',
      t: '2026-05-01T12:00:00.000Z',
      cwd: '/work',
      by: 'chat',
      gmn: '1.2.3',
      title: 'best month for Kyoto?',
      name: 'trip',
    },
    {
      seq: 1,
      t: '2026-05-01T12:00:00.000Z',
      type: 'prompt',
      turn: 1,
      name: 'trip',
      content: { role: 'user', parts: [{ text: 'best month for Kyoto?' }] },
    },
    {
      seq: 2,
      t: '2026-05-01T12:00:01.500Z',
      type: 'reply',
      turn: 1,
      name: 'trip',
      model: 'gemini-test',
      content: { role: 'model', parts: [{ text: 'November.' }], origin: 'here' },
      usage: { totalTokenCount: 3 },
      finishReason: 'STOP',
    },
  ]);
  const file = onlyFile(home);
  expect(await store.list()).toEqual([
    {
      id: '11111111-2222-4333-8444-555555555555',
      name: 'trip',
      title: 'best month for Kyoto?',
      cwd: '/work',
      model: 'gemini-test',
      createdAt: START,
      updatedAt: START + 1500,
      turns: 1,
      isUnanswered: false,
      source: 'chat',
      bytes: statSync(file).size,
      file,
    },
  ]);
});

posixTest('nobody else can read a session', async () => {
  const { home, store } = place();
  await saved(store, ['secret']);
  expect(statSync(onlyFile(home)).mode & 0o777).toBe(systemMode(0o600));
  expect(statSync(join(home, 'sessions')).mode & 0o777).toBe(systemMode(0o700));
});

test('a session without a record has no file', async () => {
  const { home, store } = place();
  const session = await store.create({ cwd: '/work', by: 'chat' });
  await session.rename('early');
  await session.close();
  expect(files(home)).toEqual([]);
});

test('a resumed session continues where it was', async () => {
  const { home, store } = place();
  await saved(store, ['one', 'two'], 'mine');
  const session = await store.resume(await store.find('mine'), '/work');
  expect([session.name, session.turns, session.contents.length]).toEqual(['mine', 2, 4]);
  await talk(session, ['three']);
  await session.close();
  expect((await contentsOf(home)).map(({ parts }) => parts)).toEqual(
    ['one', 'one!', 'two', 'two!', 'three', 'three!'].map((text) => [{ text }]),
  );
  expect(linesOf(onlyFile(home)).map(({ seq }) => seq)).toEqual([undefined, 1, 2, 3, 4, 5, 6]);
});

test('what is rewound does not count, and the file keeps it', async () => {
  const { home, store } = place();
  const session = await store.create({ cwd: '/work', by: 'chat' });
  await talk(session, ['one', 'two', 'three']);
  await session.rewind(2);
  expect([session.turns, session.contents.length]).toEqual([1, 2]);
  await talk(session, ['four']);
  await session.rewind(0);
  await session.close();
  expect((await store.list()).map(({ turns }) => turns)).toEqual([2]);
  expect((await contentsOf(home)).map(({ parts }) => parts)).toEqual(
    ['one', 'one!', 'four', 'four!'].map((text) => [{ text }]),
  );
  expect(readFileSync(onlyFile(home), 'utf8')).toContain('three!');
});

test('a reply under way is written down every 2 seconds, and its own record takes the place of that', async () => {
  const { home, store, time } = place();
  const session = await store.create({ cwd: '/work', by: 'chat' });
  await session.append(prompt('tell me'));
  await session.appendDelta?.('Once ');
  time.now += 2000;
  await session.appendDelta?.('upon ');
  await session.appendDelta?.('a time');
  expect((await contentsOf(home)).map(({ parts }) => parts)).toEqual([[{ text: 'tell me' }], [{ text: 'Once upon ' }]]);
  await session.appendDelta?.('.'.repeat(65_536));
  expect((await contentsOf(home))[1]?.parts).toEqual([{ text: `Once upon a time${'.'.repeat(65_536)}` }]);
  await session.append(reply('Once.'));
  await session.close();
  expect((await contentsOf(home)).map(({ parts }) => parts)).toEqual([[{ text: 'tell me' }], [{ text: 'Once.' }]]);
  expect(linesOf(onlyFile(home)).map(({ type }) => type)).toEqual(['session', 'prompt', 'partial', 'partial', 'reply']);
});

test('a reply that a crash cut off is there as far as it was written, and the next prompt comes after it', async () => {
  const { home, store, time } = place();
  const session = await store.create({ cwd: '/work', by: 'chat' });
  await session.append(prompt('tell me'));
  time.now += 2000;
  await session.appendDelta?.('Once upon');
  rmSync(join(home, 'sessions', `${session.id}.lock`));
  const after = place(home);
  const next = await after.store.resume(await after.store.find('last'), '/work');
  await talk(next, ['go on']);
  await next.close();
  const texts = ['tell me', 'Once upon', 'go on', 'go on!'];
  expect((await contentsOf(home)).map(({ parts }) => parts)).toEqual(texts.map((text) => [{ text }]));
  const { records } = await after.store.read(await after.store.find('last'));
  expect(records[1]).toEqual({
    kind: 'reply',
    content: { role: 'model', parts: [{ text: 'Once upon' }] },
    usage: {},
    model: '',
    at: START + 2000,
  });
  await session.close();
});

test('a removed session is gone with what was torn off it, unless somebody has it open', async () => {
  const { home, store } = place();
  const session = await store.create({ cwd: '/work', by: 'chat' });
  await talk(session, ['one']);
  const summary = await store.find('last');
  await expect(store.remove(summary)).rejects.toMatchObject({ fault: 'usage', hint: 'Close it there first.' });
  await expect(store.rename(summary, 'x')).rejects.toMatchObject({ fault: 'usage' });
  await session.close();
  writeFileSync(`${summary.file}.torn-1`, 'x');
  await store.remove(summary);
  expect(files(home)).toEqual([]);
});
