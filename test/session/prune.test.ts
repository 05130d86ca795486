import { chmodSync, readFileSync, renameSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { acquireLock } from '../../src/platform/files/lock.ts';
import { posixTest } from '../support/posix.ts';
import { temporary } from '../support/temporary.ts';
import { files, intrude, onlyFile, picture, place, reply, START, saved, talk } from './support.ts';

const YEAR_MS = 365 * 86_400_000;
const { signal } = new AbortController();

/** A home with a session that has a picture, all of it old. */
async function oldPicture() {
  const here = place();
  const session = await here.store.create({ cwd: '/work', by: 'chat', name: 'kept' });
  await session.append(picture());
  await session.append(reply('nice'));
  await session.close();
  utimesSync(join(here.home, 'blobs', files(here.home, 'blobs')[0] ?? ''), 1, 1);
  return here;
}

test('media stay while the sessions cannot be listed', async () => {
  const { home, store } = await oldPicture();
  const sessions = join(home, 'sessions');
  renameSync(sessions, join(home, 'away'));
  await store.prune(START, signal);
  writeFileSync(sessions, 'a file in the way');
  await store.prune(START, signal);
  expect(files(home, 'blobs').length).toBe(1);
});

posixTest('media stay while a session cannot be read', async (t) => {
  if (process.getuid?.() === 0) t.skip('root may read everything');
  const { home, store } = await oldPicture();
  chmodSync(onlyFile(home), 0);
  await store.prune(START, signal);
  expect(files(home, 'blobs').length).toBe(1);
});

test('media stay while there is a session of a newer gmn, and go once no session names them', async () => {
  const { home, store } = await oldPicture();
  const file = onlyFile(home);
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replace('{"v":1,', '{"v":2,').replace('"blobs"', '"media"'));
  await store.prune(undefined, signal);
  expect(files(home, 'blobs').length).toBe(1);
  writeFileSync(file, text.replace('"blobs"', '"media"'));
  await store.prune(undefined, signal);
  expect(files(home, 'blobs').length).toBe(0);
});

test('a session that was used a moment ago stays, however old it was when the list was made', async () => {
  const { home, store } = place();
  await saved(store, ['old']);
  const pruning = store.prune(START + YEAR_MS, signal);
  intrude(onlyFile(home), START + YEAR_MS);
  expect([await pruning, files(home).length]).toEqual([[], 1]);
});

test('a removed session takes the media along that no other has', async () => {
  const { home, store } = place();
  const first = await store.create({ cwd: '/work', by: 'chat' });
  await first.append(picture());
  await first.append(picture(Buffer.alloc(80_000, 'shared').toString('base64')));
  await first.close();
  const second = await store.create({ cwd: '/work', by: 'chat' });
  await second.append(picture(Buffer.alloc(80_000, 'shared').toString('base64')));
  await second.close();
  expect(files(home, 'blobs').length).toBe(2);
  await store.remove(await store.find(first.id));
  expect(files(home, 'blobs').length).toBe(1);
  await store.remove(await store.find(second.id));
  expect([files(home, 'blobs'), files(home)]).toEqual([[], []]);
});

test('what dead processes left behind goes, once it is old', async () => {
  const { home, store } = place();
  await saved(store, ['one']);
  const [left, fresh] = ['a', 'b'].map((name) => join(home, 'sessions', `${name}.jsonl.1.tmp`));
  writeFileSync(left ?? '', 'half');
  utimesSync(left ?? '', 1, 1);
  writeFileSync(fresh ?? '', 'half');
  utimesSync(fresh ?? '', START / 1000, START / 1000);
  writeFileSync(join(home, 'sessions', 'x.lock'), '{"pid":4194305,"host":"", "began":"","nonce":""}');
  utimesSync(join(home, 'sessions', 'x.lock'), 1, 1);
  await store.prune(undefined, signal);
  expect(files(home)).toEqual([expect.stringMatching(/^2026.*\.jsonl$/), 'b.jsonl.1.tmp']);
});

test('pruning ends when the signal says so', async () => {
  const { home, store } = place();
  await saved(store, ['one']);
  expect(await store.prune(START + YEAR_MS, AbortSignal.abort())).toEqual([]);
  expect(files(home).length).toBe(1);
});

test('who resumes a session while somebody tidies up waits a moment rather than taking a copy', async () => {
  const home = temporary();
  const id = await saved(place(home).store, ['one']);
  const clock = { now: () => START, sleep: async () => {} };
  const options = { clock, signal, maxWaitMs: 0, isDone: async () => false };
  const lock = await acquireLock(join(home, 'sessions', `${id}.lock`), options);
  const { store, said } = place(home, { clock: { ...clock, sleep: async () => lock?.release() } });
  const session = await store.resume(await store.find(id), '/work');
  await talk(session, ['two']);
  await session.close();
  expect([session.id, said]).toEqual([id, []]);
});
