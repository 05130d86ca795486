import { appendFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fifo, isWindows } from '../support/posix.ts';
import { contentsOf, files, onlyFile, place, START, saved, talk } from './support.ts';

test('what is no session is left out of the list, and is not waited for', async () => {
  const { home, store } = place();
  const id = await saved(store, ['one']);
  const there = join(home, 'sessions');
  const nameOf = (digit: string): string => `20260501T120000Z-${digit.repeat(8)}-1111-4111-8111-111111111111.jsonl`;
  writeFileSync(join(there, nameOf('1')), 'not a session\n');
  writeFileSync(join(there, nameOf('2')), '');
  writeFileSync(join(there, nameOf('3')), Buffer.alloc(5000));
  mkdirSync(join(there, nameOf('4')));
  symlinkSync(onlyNamed(there, id), join(there, nameOf('5')));
  writeFileSync(join(there, 'notes.jsonl'), readFileSync(onlyNamed(there, id)));
  if (!isWindows) fifo(join(there, nameOf('6')));
  expect((await store.list()).map((session) => session.id)).toEqual([id]);
});

function onlyNamed(directory: string, id: string): string {
  return join(directory, `20260501T120000Z-${id}.jsonl`);
}

const HEADLESS = 'the first line of this session is damaged: its name and its directory may be lost';

test.each<readonly [what: string, damage: (header: string) => string, left: { title: string; cwd: string }]>([
  ['the middle', (header) => header.replace('"by"', '"by\0'), { title: 'one', cwd: '/work' }],
  ['the beginning', (header) => `x${header.slice(1)}`, { title: 'one', cwd: '/work' }],
  ['the type', (header) => header.replace('"session"', '"sessiom"'), { title: 'one', cwd: '/work' }],
  ['the id', (header) => header.replace(/"id":"./, '"id":"0'), { title: 'one', cwd: '/work' }],
  ['the directory', (header) => header.replace('/work"', '/wor\0"'), { title: 'one', cwd: '' }],
  ['a line break', (header) => header.replace('"title"', '"ti\ntle"'), { title: 'one', cwd: '/work' }],
  ['everything', () => '', { title: 'one', cwd: '' }],
])(
  'a session whose header is damaged (%s) is listed, read and gone on with, and that is told',
  async (_, damage, left) => {
    const { home, store, said } = place(undefined, { newId: () => 'aaaaaaaa-1111-4111-8111-111111111111' });
    const id = await saved(store, ['one'], 'trip');
    const file = onlyFile(home);
    const [header = '', ...lines] = readFileSync(file, 'utf8').split('\n');
    writeFileSync(file, [damage(header), ...lines].join('\n'));
    const summary = { id, name: 'trip', turns: 1, model: 'gemini-test', createdAt: START, ...left };
    expect(await store.list()).toMatchObject([summary]);
    expect(await store.find('aaaaaaaa')).toMatchObject(summary);
    const found = await store.find('trip');
    expect((await store.read(found)).notices).toContain(HEADLESS);
    const session = await store.resume(found, '/work');
    expect(said).toContain(HEADLESS);
    expect(said.filter((words) => words.startsWith('this session was started'))).toEqual([]);
    await talk(session, ['two']);
    await session.close();
    expect((await contentsOf(home, id)).map(({ parts }) => parts)).toEqual(
      ['one', 'one!', 'two', 'two!'].map((text) => [{ text }]),
    );
    await store.remove(await store.find(id));
    expect(files(home)).toEqual([]);
  },
);

test('damaged lines are skipped, counted and reported once', async () => {
  const { home, store, said } = place();
  await saved(store, ['one', 'two']);
  const file = onlyFile(home);
  const lines = readFileSync(file, 'utf8').split('\n');
  lines[2] = '{"seq":2,"t":"x"';
  lines[3] = '\0\0\0\0';
  writeFileSync(file, lines.join('\n'));
  const before = readFileSync(file);
  const session = await store.resume(await store.find('last'), '/work');
  expect(session.contents.map(({ parts }) => parts)).toEqual([[{ text: 'one' }], [{ text: 'two!' }]]);
  expect(said).toEqual(['2 damaged records of this session could not be read']);
  await session.close();
  expect(readFileSync(file)).toEqual(before);
});

test('a session of a newer gmn is listed, and neither read, renamed, pruned nor touched', async () => {
  const { home, store } = place();
  await saved(store, ['one']);
  const file = onlyFile(home);
  writeFileSync(file, readFileSync(file, 'utf8').replace('{"v":1,', '{"v":2,'));
  const before = readFileSync(file);
  const summary = await store.find('last');
  const refusal = {
    fault: 'usage',
    message: `the session ${summary.id} was written by a newer gmn (format 2)`,
    hint: 'Update gmn to use it; how: gmn doctor',
  };
  await expect(store.resume(summary, '/work')).rejects.toMatchObject(refusal);
  await expect(store.read(summary)).rejects.toMatchObject(refusal);
  await expect(store.rename(summary, 'mine')).rejects.toMatchObject(refusal);
  expect(await store.prune(Number.POSITIVE_INFINITY, new AbortController().signal)).toEqual([]);
  expect([readFileSync(file), files(home).length]).toEqual([before, 1]);
});

test('what follows the last newline is quarantined when the session continues', async () => {
  const { home, store, said } = place();
  await saved(store, ['one']);
  const file = onlyFile(home);
  const whole = readFileSync(file);
  appendFileSync(file, '{"seq":3,"t":"2026');
  const session = await store.resume(await store.find('last'), '/work');
  await talk(session, ['two']);
  await session.close();
  expect(said).toEqual(['1 damaged record of this session could not be read']);
  expect(readFileSync(file).subarray(0, whole.length)).toEqual(whole);
  expect((await contentsOf(home)).length).toBe(4);
  expect(files(home)).toEqual([
    expect.stringMatching(/\.jsonl$/),
    expect.stringMatching(/\.jsonl\.torn-20260501T120000000Z$/),
  ]);
  expect(readFileSync(join(home, 'sessions', files(home)[1] ?? ''), 'utf8')).toBe('{"seq":3,"t":"2026');
});
