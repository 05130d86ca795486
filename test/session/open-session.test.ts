import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSession } from '../../src/session/open-session.ts';
import type { SessionWriter } from '../../src/session/session-file.ts';
import { temporary } from '../support/temporary.ts';
import {
  contentsOf,
  files,
  IMAGE,
  intrude,
  linesOf,
  onlyFile,
  picture,
  place,
  prompt,
  reply,
  START,
  saved,
  talk,
} from './support.ts';

test('a fork continues a copy under a name of its own, and the session stays as it was', async () => {
  const { home, store, said } = place();
  const first = await store.create({ cwd: '/work', by: 'chat', name: 'mine' });
  await talk(first, ['one']);
  const fork = await store.fork(await store.find('mine'), { cwd: '/work', name: 'yours' });
  await talk(fork, ['two']);
  await talk(first, ['three']);
  await fork.close();
  await first.close();
  const words = async (id: string) => (await contentsOf(home, id)).map(({ parts }) => parts[0]);
  expect(await words(first.id)).toEqual(['one', 'one!', 'three', 'three!'].map((text) => ({ text })));
  expect(await words(fork.id)).toEqual(['one', 'one!', 'two', 'two!'].map((text) => ({ text })));
  expect([(await store.find('yours')).id, (await store.find('mine')).id, said]).toEqual([fork.id, first.id, []]);
  await expect(store.fork(await store.find('mine'), { cwd: '/work', name: 'yours' })).rejects.toMatchObject({
    fault: 'usage',
  });
});

test('resuming a session that is open elsewhere continues a copy, and neither sees the turns of the other', async () => {
  const { home, store, said } = place();
  const first = await store.create({ cwd: '/work', by: 'chat', name: 'mine' });
  await talk(first, ['one']);
  const other = place(home);
  const second = await other.store.resume(await other.store.find('mine'), '/work');
  expect(second.id).not.toBe(first.id);
  expect(other.said).toEqual([`this session is open elsewhere; continuing in a copy, ${second.id.slice(0, 8)}`]);
  await talk(first, ['two']);
  await talk(second, ['three']);
  await first.close();
  await second.close();
  expect((await contentsOf(home, first.id)).map(({ parts }) => parts)).toEqual(
    ['one', 'one!', 'two', 'two!'].map((text) => [{ text }]),
  );
  expect((await contentsOf(home, second.id)).map(({ parts }) => parts)).toEqual(
    ['one', 'one!', 'three', 'three!'].map((text) => [{ text }]),
  );
  const copy = await store.find(second.id);
  expect(linesOf(copy.file)[0]).toMatchObject({ id: second.id, parent: { id: first.id }, title: 'one' });
  expect([copy.name, (await store.find('mine')).id, said]).toEqual([undefined, first.id, []]);
});

test('a copy or a fork that nothing is added to leaves no file', async () => {
  const { home, store } = place();
  const first = await store.create({ cwd: '/work', by: 'chat' });
  await talk(first, ['one']);
  const found = await store.find('last');
  for (const copy of [await store.resume(found, '/work'), await store.fork(found, { cwd: '/work', name: 'yours' })]) {
    await copy.close();
  }
  await first.close();
  expect(files(home)).toHaveLength(1);
});

test('a session that somebody else writes to all the same is left to them, with its name', async () => {
  const { home, store, said } = place();
  const session = await store.create({ cwd: '/work', by: 'chat', name: 'mine' });
  await talk(session, ['one']);
  const file = onlyFile(home);
  const { id } = session;
  intrude(file);
  const theirs = readFileSync(file);
  await talk(session, ['two']);
  expect([session.id === id, session.name]).toEqual([false, undefined]);
  expect(said).toEqual([`another process wrote to this session; continuing in a copy, ${session.id.slice(0, 8)}`]);
  expect(files(home).filter((name) => /^[^n].*\.lock$/.test(name))).toEqual([`${session.id}.lock`]);
  await session.close();
  expect(readFileSync(file)).toEqual(theirs);
  expect((await contentsOf(home, session.id)).length).toBe(4);
  expect((await store.find(session.id)).name).toBeUndefined();
  expect(files(home).length).toBe(2);
});

test('what somebody else adds between the load and the first word of ours is noticed', async () => {
  const { home, store, said } = place();
  await saved(store, ['one']);
  const file = onlyFile(home);
  const session = await store.resume(await store.find('last'), '/work');
  intrude(file);
  const theirs = readFileSync(file);
  await talk(session, ['two']);
  await session.close();
  expect(readFileSync(file)).toEqual(theirs);
  expect(said).toEqual([`another process wrote to this session; continuing in a copy, ${session.id.slice(0, 8)}`]);
  expect((await contentsOf(home, session.id)).length).toBe(4);
});

test('a copy that cannot be made now is made later', async () => {
  const ids = ['aaaaaaaa-1111-4111-8111-111111111111', '\0', 'aaaabbbb-1111-4111-8111-111111111111'];
  const { home, store, said } = place(temporary(), { newId: () => ids.shift() ?? '' });
  const session = await store.create({ cwd: '/work', by: 'chat' });
  await talk(session, ['one']);
  intrude(onlyFile(home));
  await session.append(prompt('two'));
  expect([said.length, session.id]).toEqual([1, 'aaaaaaaa-1111-4111-8111-111111111111']);
  await session.append(reply('two!'));
  await session.close();
  expect([said.slice(1), session.isSaved]).toEqual([
    ['another process wrote to this session; continuing in a copy, aaaabbbb', 'this session is being saved again'],
    true,
  ]);
  expect((await contentsOf(home, 'aaaabbbb')).length).toBe(4);
});

test('what comes after a session was closed is written nowhere', async () => {
  const { home, store, said } = place();
  const session = await store.create({ cwd: '/work', by: 'chat' });
  await talk(session, ['one']);
  await session.close();
  const before = readFileSync(onlyFile(home));
  await talk(session, ['late']);
  await session.appendDelta?.('x'.repeat(65_536));
  await session.close();
  expect([readFileSync(onlyFile(home)), files(home).length, said]).toEqual([before, 1, []]);
});

test('records that happened before are added with one write, each with its own time', async () => {
  const { home, store, time } = place();
  const puts: number[] = [];
  const writer: SessionWriter = {
    append: async (lines) => void puts.push(lines.length),
    tryPut: async () => true,
    hasBegun: false,
    isSaved: true,
    close: async () => {},
  };
  const counted = createSession({
    clock: { now: () => time.now, sleep: async () => {} },
    file: { id: 'x', name: undefined },
    by: 'chat',
    writer,
    blobs: { put: async () => '', path: (print) => print },
    durability: 'synced',
    reservation: { reserve: async (name) => name, release: async () => {} },
  });
  const records = [prompt('one'), reply('one!')].map((record, index) => ({ ...record, at: START + index }));
  await counted.appendAll(records);
  expect(puts).toEqual([2]);
  time.now += 5000;
  const session = await store.create({ cwd: '/work', by: 'chat' });
  await session.appendAll(records);
  await session.close();
  expect((await store.read(await store.find('last'))).records).toEqual(records);
  expect(files(home)).toEqual([`20260501T120000Z-${session.id}.jsonl`]);
});

test('a piece of a reply that cannot be written now is written with the next', async () => {
  const { home, store, time } = place();
  const session = await store.create({ cwd: '/work', by: 'chat' });
  await session.append(prompt('tell me'));
  const file = onlyFile(home);
  renameSync(file, `${file}.away`);
  // Somebody else wrote to it, and it cannot be copied.
  intrude(`${file}.away`);
  time.now += 2000;
  await session.appendDelta?.('Once ');
  renameSync(`${file}.away`, file);
  time.now += 2000;
  await session.appendDelta?.('upon a time');
  expect((await contentsOf(home, session.id))[1]?.parts).toEqual([{ text: 'Once upon a time' }]);
  await session.close();
});

test('a session that begins with earlier contents has their title, one that begins with none has no file', async () => {
  const { home, store } = place();
  const empty = await store.create({ cwd: '/work', by: 'chat' });
  await empty.replace([]);
  await empty.close();
  expect(files(home)).toEqual([]);
  const session = await store.create({ cwd: '/work', by: 'chat' });
  await session.replace([prompt('best month?'), reply('May')]);
  await session.close();
  expect(await store.list()).toMatchObject([{ title: 'best month?', turns: 1 }]);
});

test('8 who resume one session at once write 8 files, and every word is in one of them', async () => {
  const { home, store } = place();
  await saved(store, ['root']);
  const summary = await store.find('last');
  const sessions = await Promise.all(Array.from({ length: 8 }, () => place(home).store.resume(summary, '/work')));
  await Promise.all(
    sessions.map(async (session, index) => {
      for (let turn = 0; turn < 20; turn += 1) await talk(session, [`${index}.${turn} ${'x'.repeat(10_000)}`]);
      await session.close();
    }),
  );
  const list = await store.list();
  expect([list.length, list.map(({ turns }) => turns)]).toEqual([8, Array(8).fill(21)]);
  const seen = new Set<string>();
  for (const { file } of list) {
    const said = linesOf(file).flatMap((line) => JSON.stringify(line.content ?? '').match(/\d+\.\d+ /g) ?? []);
    expect(new Set(said.map((word) => word.split('.')[0])).size).toBe(1);
    for (const word of said) seen.add(word);
  }
  expect(seen.size).toBe(160);
});

test('50 sessions begun at the same moment are 50 files', async () => {
  const { home, store } = place();
  const ids = await Promise.all(Array.from({ length: 50 }, (_, index) => saved(store, [`hello ${index}`])));
  expect(new Set(ids).size).toBe(50);
  expect((await store.list()).map(({ title }) => title).sort()).toEqual(ids.map((_, index) => `hello ${index}`).sort());
  expect(files(home).length).toBe(50);
});

test('large media are kept apart, once, and come back the same', async () => {
  const { home, store } = place();
  const session = await store.create({ cwd: '/work', by: 'chat' });
  await session.append(picture());
  await session.append(reply('nice'));
  await session.append(picture());
  await session.replace([picture(), reply('nice')]);
  await session.append(picture('aGVsbG8='));
  await session.append(picture(`${IMAGE.toString('base64').slice(0, -4)}AB==`));
  await session.close();
  expect(files(home, 'blobs').length).toBe(1);
  expect(await contentsOf(home)).toEqual(session.contents);
  const lines = linesOf(onlyFile(home));
  expect(lines[1]).toMatchObject({
    content: { parts: [{ text: 'look' }, { inlineData: { mimeType: 'image/png', data: '' } }] },
    blobs: [[0, 1, files(home, 'blobs')[0]]],
  });
  expect(lines[5]?.blobs).toEqual([[0, 1, files(home, 'blobs')[0]]]);
});

test.each(['gone', 'damaged'])('media that are %s become a text that says so, with a notice', async (how) => {
  const { home, store, said } = place();
  const session = await store.create({ cwd: '/work', by: 'chat' });
  await session.append(picture());
  await session.close();
  const blob = join(home, 'blobs', files(home, 'blobs')[0] ?? '');
  if (how === 'gone') rmSync(blob);
  else writeFileSync(blob, 'other bytes');
  const resumed = await store.resume(await store.find('last'), '/work');
  expect(resumed.contents[0]?.parts[1]).toEqual({
    text: '[an attachment of type image/png was here; it is no longer kept]',
  });
  expect(said).toEqual(['1 attachment of this session could not be found']);
  await resumed.close();
});

test('where nothing can be written the conversation continues in memory, with one notice', async () => {
  const home = join(temporary(), 'home');
  writeFileSync(home, 'a file in the way');
  const { store, said } = place(home);
  const session = await store.create({ cwd: '/work', by: 'chat', name: 'mine' });
  await talk(session, ['one', 'two']);
  expect([session.turns, session.contents.length, said.length]).toEqual([2, 4, 1]);
  expect(said[0]).toMatch(/^this session is no longer being saved: /);
  rmSync(home);
  mkdirSync(home);
  await session.append(prompt('three'));
  expect(said.slice(1)).toEqual(['this session is being saved again']);
  await session.close();
  expect((await contentsOf(home)).length).toBe(5);
});

test('a blob that cannot be written is a record that is not saved, not one without its picture', async () => {
  const { home, store, said } = place();
  writeFileSync(join(home, 'blobs'), 'a file in the way');
  const session = await store.create({ cwd: '/work', by: 'chat' });
  await session.append(picture());
  expect(said.length).toBe(1);
  expect(existsSync(join(home, 'sessions')) && files(home).filter((name) => name.endsWith('.jsonl'))).toEqual([]);
  rmSync(join(home, 'blobs'));
  await session.append(reply('nice'));
  await session.close();
  expect(await contentsOf(home)).toEqual(session.contents);
});
