import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  contentsOf,
  files,
  linesOf,
  onlyFile,
  place,
  prompt,
  reply,
  START,
  saved,
  talk,
  temporary,
} from './support.ts';

const IMAGE = Buffer.alloc(70_000, 'pixels');

function picture(data = IMAGE.toString('base64')) {
  const content = { role: 'user', parts: [{ text: 'look' }, { inlineData: { mimeType: 'image/png', data } }] } as const;
  return { kind: 'prompt', content } as const;
}

test('who resumes a session that is open elsewhere goes on with a copy, and neither sees the words of the other', async () => {
  const { home, store, said } = place();
  const first = await store.create({ cwd: '/work', by: 'chat', name: 'mine' });
  await talk(first, ['one']);
  const other = place(home);
  const second = await other.store.resume(await other.store.find('mine'), '/work');
  expect(second.id).not.toBe(first.id);
  expect(other.said).toEqual([`this session is open elsewhere; going on with a copy, ${second.id.slice(0, 8)}`]);
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

test('a copy that nothing is added to leaves no file', async () => {
  const { home, store } = place();
  const first = await store.create({ cwd: '/work', by: 'chat' });
  await talk(first, ['one']);
  const second = await store.resume(await store.find('last'), '/work');
  await second.close();
  await first.close();
  expect(files(home).length).toBe(1);
});

test('a session that somebody else writes to all the same is left to them', async () => {
  const { home, store, said } = place();
  const session = await store.create({ cwd: '/work', by: 'chat' });
  await talk(session, ['one']);
  const file = onlyFile(home);
  appendFileSync(file, `${JSON.stringify({ seq: 9, t: new Date(START).toISOString(), type: 'name', turn: 1 })}\n`);
  const theirs = readFileSync(file);
  const { id } = session;
  await talk(session, ['two']);
  await session.close();
  expect(session.id).not.toBe(id);
  expect(said).toEqual([`somebody else wrote to this session; going on with a copy, ${session.id.slice(0, 8)}`]);
  expect(readFileSync(file)).toEqual(theirs);
  expect((await contentsOf(home, session.id)).length).toBe(4);
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
  await session.replace([picture().content, reply('nice').content]);
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
  expect(lines[4]?.blobs).toEqual([[0, 1, files(home, 'blobs')[0]]]);
});

test.each(['gone', 'damaged'])('media that are %s become words, and are told', async (how) => {
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

test('where nothing can be written the conversation goes on in memory, and that is told once', async () => {
  const home = join(temporary(), 'home');
  writeFileSync(home, 'a file in the way');
  const { store, said } = place(home);
  const session = await store.create({ cwd: '/work', by: 'chat', name: 'mine' });
  await talk(session, ['one', 'two']);
  expect([session.turns, session.contents.length, said.length]).toEqual([2, 4, 1]);
  expect(said[0]).toMatch(/^this chat is no longer being saved: /);
  rmSync(home);
  mkdirSync(home);
  await session.append(prompt('three'));
  expect(said.slice(1)).toEqual(['this chat is being saved again']);
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
