import { readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { acquireLock } from '../../src/platform/files/lock.ts';
import { posixTest } from '../support/posix.ts';
import { temporary } from '../support/temporary.ts';
import { contentsOf, files, onlyFile, picture, place, reply, saved } from './support.ts';

const DAY_MS = 86_400_000;
const { signal } = new AbortController();

function agePictures(home: string): void {
  for (const name of files(home, 'blobs')) utimesSync(join(home, 'blobs', name), 1, 1);
}

test('media stay for a week with the deleted session that uses them, and go with it', async () => {
  const { home, store, time } = place();
  const session = await store.create({ cwd: '/work', by: 'chat' });
  await session.append(picture());
  await session.append(reply('nice'));
  await session.close();
  const other = await saved(store, ['other']);
  const before = await contentsOf(home, session.id);
  await store.discard(await store.find(session.id));
  agePictures(home);
  await store.remove(await store.find(other));
  time.now += 6 * DAY_MS;
  await store.prune(undefined, signal);
  expect(files(home, 'blobs').length).toBe(1);
  await store.restore(await store.findTrashed(session.id));
  expect(await contentsOf(home, session.id)).toEqual(before);
  await store.discard(await store.find(session.id));
  time.now += 8 * DAY_MS;
  agePictures(home);
  await store.prune(undefined, signal);
  expect([files(home, 'trash'), files(home, 'blobs'), await store.listTrash()]).toEqual([[], [], []]);
});

test('an incomplete last line that was saved beside a session goes along, there and back', async () => {
  const { home, store } = place();
  const id = await saved(store, ['one']);
  const torn = `${onlyFile(home)}.torn-20260501T120000Z`;
  writeFileSync(torn, 'half');
  await store.discard(await store.find(id));
  expect(files(home)).toEqual([]);
  await store.restore(await store.findTrashed(id));
  expect(readFileSync(torn, 'utf8')).toBe('half');
});

test('a name or id that was given again meanwhile stays with the one who has it', async () => {
  const { home, store, time } = place();
  const id = await saved(store, ['one'], 'trip');
  await store.discard(await store.find(id));
  const other = await saved(store, ['two'], 'trip');
  expect(await store.restore(await store.findTrashed('trip'))).toBe(false);
  expect([(await store.find('trip')).id, (await store.find(id)).name]).toEqual([other, undefined]);
  const make = async (text: string): Promise<void> => {
    const session = await store.create({ cwd: '/work', by: 'chat', id: 'nightly' });
    await session.append({ kind: 'prompt', content: { role: 'user', parts: [{ text }] } });
    await session.append(reply('ok'));
    await session.close();
  };
  for (const text of ['first', 'second', 'third']) {
    await make(text);
    if (text !== 'third') await store.discard(await store.find('nightly'));
    time.now += 1;
  }
  const trashed = await store.findTrashed('nightly');
  expect(trashed.summary.title).toBe('second');
  await expect(store.restore(trashed)).rejects.toMatchObject({
    message: 'there is another session with the id nightly now',
    hint: 'Delete that one first: gmn sessions delete nightly',
  });
  expect(files(home, 'trash').length).toBe(2);
});

test('a deleted session is found by its id, then its name, then the beginning of a generated id, or as the last', async () => {
  const { store, time } = place();
  const uuid = 'deadbeef-1111-4111-8111-111111111111';
  for (const [id, name] of [
    ['review-2', undefined],
    ['review', undefined],
    ['nightly', 'deadbeef'],
    [uuid, undefined],
  ] as const) {
    const session = await store.create({ cwd: '/work', by: 'chat', id, name });
    await session.append(picture());
    await session.append(reply('nice'));
    await session.close();
    await store.discard(await store.find(id));
    time.now += 1000;
  }
  const found = async (reference: string): Promise<string> => (await store.findTrashed(reference)).summary.id;
  for (const [reference, id] of [
    ['review', 'review'],
    ['REVIEW-2', 'review-2'],
    ['deadbeef', 'nightly'],
    ['deadbeef-', uuid],
    ['last', uuid],
    ['latest', uuid],
    [' Latest ', uuid],
  ] as const) {
    expect([reference, await found(reference)]).toEqual([reference, id]);
  }
  await expect(found('revi')).rejects.toMatchObject({ fault: 'usage', message: '"revi" is not in the trash' });
});

test('a session in the trash is removed for good with its media, and no other', async () => {
  const { home, store } = place();
  const other = await saved(store, ['other']);
  const session = await store.create({ cwd: '/work', by: 'chat', name: 'trip' });
  await session.append(picture());
  await session.append(reply('nice'));
  await session.close();
  await store.discard(await store.find(other));
  writeFileSync(`${onlyFile(home)}.torn-20260501T120000Z`, 'half');
  await store.discard(await store.find('trip'));
  agePictures(home);
  await store.remove(await store.findNamed('trip', '/work', { withTrash: true }));
  expect((await store.listTrash()).map(({ summary }) => summary.id)).toEqual([other]);
  expect([files(home, 'trash').length, files(home, 'blobs')]).toEqual([1, []]);
});

test('a session whose name is just being given to another stays in the trash, until that is decided', async () => {
  const { home, store } = place();
  const id = await saved(store, ['one'], 'trip');
  await store.discard(await store.find(id));
  const trashed = await store.findTrashed(id);
  const next = await place(home).store.create({ cwd: '/work', by: 'chat', name: 'trip' });
  await expect(store.restore(trashed)).rejects.toMatchObject({
    fault: 'usage',
    message: 'another session is being given the name "trip"',
  });
  expect((await store.listTrash()).map(({ summary }) => summary.name)).toEqual(['trip']);
  await next.close();
  expect(await store.restore(trashed)).toBe(true);
  expect((await store.find('trip')).id).toBe(id);
});

test('a restored session does not expire at once, and counts as the newest', async () => {
  const { store, time } = place();
  const old = await saved(store, ['one']);
  time.now += 5 * DAY_MS;
  await saved(store, ['two']);
  await store.discard(await store.find(old));
  time.now += DAY_MS;
  await store.restore(await store.findTrashed(old));
  await store.prune(time.now - DAY_MS / 2, signal);
  expect((await store.list()).map(({ id }) => id)).toEqual([old]);
});

test('a session that is open elsewhere is neither deleted nor restored', async () => {
  const { home, store } = place();
  const session = await store.create({ cwd: '/work', by: 'chat' });
  await session.append(picture());
  const elsewhere = place(home).store;
  await expect(elsewhere.discard(await elsewhere.find(session.id))).rejects.toMatchObject({ fault: 'usage' });
  await session.close();
  await elsewhere.discard(await elsewhere.find(session.id));
  const clock = { now: Date.now, sleep: async () => {} };
  const options = { clock, signal, maxWaitMs: 0, isDone: async () => false };
  const held = await acquireLock(join(home, 'sessions', `${session.id}.lock`), options);
  await expect(store.restore(await store.findTrashed(session.id))).rejects.toMatchObject({ fault: 'usage' });
  await held?.release();
});

test('of two who delete or restore the same session, the second is told that it is gone', async () => {
  const home = temporary();
  const { store } = place(home);
  const found = await store.find(await saved(store, ['one']));
  const outcomes = await Promise.allSettled([store.discard(found), place(home).store.discard(found)]);
  expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  const trashed = await store.findTrashed(found.id);
  await store.restore(trashed);
  await expect(store.restore(trashed)).rejects.toMatchObject({ message: `there is no session ${found.id} any more` });
  expect((await store.list()).length).toBe(1);
});

test('a session of a newer gmn comes back unchanged', async () => {
  const { home, store } = place();
  const id = await saved(store, ['one']);
  const file = onlyFile(home);
  const text = readFileSync(file, 'utf8').replace('{"v":1,', '{"v":2,');
  writeFileSync(file, text);
  await store.discard(await store.find(id));
  await store.restore(await store.findTrashed(id));
  expect(readFileSync(file, 'utf8')).toBe(text);
});

posixTest('only the owner can read the trash', async () => {
  const { home, store } = place();
  await store.discard(await store.find(await saved(store, ['one'])));
  const trash = join(home, 'trash');
  const entry = join(trash, readdirSync(trash)[0] ?? '');
  const modes = [trash, entry, join(entry, readdirSync(entry)[0] ?? '')].map((path) => statSync(path).mode & 0o777);
  expect(modes).toEqual([0o700, 0o700, 0o600]);
});
