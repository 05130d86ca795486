import { mkdirSync, readdirSync, symlinkSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fuzz } from '../support/fuzz.ts';
import { codePoint } from '../support/properties.ts';
import { temporary } from '../support/temporary.ts';
import { files, place, prompt, reply, saved, talk } from './support.ts';

test('a name is for one session, whoever gives it', async () => {
  const { store } = place();
  const first = await store.create({ cwd: '/work', by: 'chat', name: 'trip' });
  await talk(first, ['one']);
  await expect(store.create({ cwd: '/work', by: 'chat', name: ' trip ' })).rejects.toMatchObject({
    fault: 'usage',
    message: 'there is a session with the name "trip"',
    hint: `To continue it: -r ${first.id.slice(0, 8)}`,
  });
  const second = await store.create({ cwd: '/work', by: 'chat' });
  await talk(second, ['two']);
  await expect(second.rename('trip')).rejects.toMatchObject({ fault: 'usage' });
  await second.rename('京都旅行');
  await first.rename('trip');
  expect((await store.find('京都旅行')).id).toBe(second.id);
  await first.close();
  await second.close();
  await store.rename(await store.find('trip'), 'journey');
  expect((await store.list()).map(({ name }) => name)).toEqual(expect.arrayContaining(['journey', '京都旅行']));
});

test.each([
  ...['', '  ', '12', 'last', 'Latest', 'a\nb', '\u001b[31m', '\u2028', 'x'.repeat(101)],
  ...['\u200d', '\u202eabc', 'a\u200db', '\u2800', '\ufeff', 'tag\u{e0041}', '\ud800'],
  ...['AAAAAAAA-1111-4111-8111-111111111111'],
])('%j cannot be a name', async (name) => {
  const { store } = place();
  await expect(store.create({ cwd: '/work', by: 'chat', name })).rejects.toMatchObject({ fault: 'usage' });
});

test('a session is found by every kind of reference', async () => {
  const ids = ['aaaaaaaa-1111-4111-8111-111111111111', 'aaaabbbb-1111-4111-8111-111111111111'];
  const left = [...ids];
  const { store, time } = place(temporary(), { newId: () => left.shift() ?? '' });
  await saved(store, ['one'], 'first');
  time.now += 1000;
  await saved(store, ['two']);
  const found = async (reference: string): Promise<string> => (await store.find(reference)).id;
  expect(await found('last')).toBe(ids[1]);
  expect(await found('latest')).toBe(ids[1]);
  expect(await found('1')).toBe(ids[1]);
  expect(await found('2')).toBe(ids[0]);
  expect(await found('first')).toBe(ids[0]);
  expect(await found('aaaaa')).toBe(ids[0]);
  expect(await found('AAAABBBB')).toBe(ids[1]);
  expect(await found(ids[0] ?? '')).toBe(ids[0]);
  await expect(found('aaaa')).rejects.toMatchObject({
    fault: 'usage',
    message: `"aaaa" could be 2 sessions: ${ids.join(', ')}`,
  });
  await expect(found('3')).rejects.toMatchObject({
    message: 'there is no session number 3',
    hint: 'The last one is 2: gmn sessions list --all. For an id, give 8 characters of it.',
  });
  await expect(found('\u001b[2J')).rejects.toMatchObject({ message: 'there is no session "\\x1b[2J"' });
});

test('a number is a place in the list and never the beginning of an id, and fewer than 4 characters are none', async () => {
  const ids = ['81818181-1111-4111-8111-111111111111', 'eeeeeeee-1111-4111-8111-111111111111'];
  const left = [...ids];
  const { store } = place(temporary(), { newId: () => left.shift() ?? '' });
  await saved(store, ['one']);
  await saved(store, ['two']);
  for (const number of ['8', '81', '8181', '8181818'])
    await expect(store.find(number)).rejects.toMatchObject({ message: `there is no session number ${number}` });
  for (const short of ['e', 'eee', 'E'])
    await expect(store.find(short)).rejects.toMatchObject({
      fault: 'usage',
      message: `"${short}" is too short to be the beginning of an id`,
    });
  expect((await store.find('81818181')).id).toBe(ids[0]);
  expect((await store.find('81818181-1')).id).toBe(ids[0]);
  expect((await store.find('eeee')).id).toBe(ids[1]);
});

test('where nothing is saved, the next step is to save something', async () => {
  await expect(place().store.find('last')).rejects.toMatchObject({
    fault: 'usage',
    message: 'there is no saved session yet',
    hint: 'The next prompt makes one: gmn "…"',
  });
});

test('the newest of a directory is the one that was written to last, links not counted', async () => {
  const { home, store, time } = place();
  mkdirSync(join(home, 'here'));
  symlinkSync(join(home, 'here'), join(home, 'link'));
  const ids: string[] = [];
  for (const cwd of ['here', 'link', 'elsewhere']) {
    const session = await store.create({ cwd: join(home, cwd), by: 'chat' });
    await talk(session, [cwd]);
    await session.close();
    ids.push(session.id);
    time.now += 1000;
  }
  expect((await store.newestIn(join(home, 'here'))).id).toBe(ids[1]);
  expect((await store.newestIn(join(home, 'link'))).id).toBe(ids[1]);
  await expect(store.newestIn(home)).rejects.toMatchObject({
    fault: 'usage',
    message: 'there is no saved session of this directory',
  });
});

test('the newest is found by its records, however much later its file, or another one, was touched', async () => {
  const { store, time } = place();
  const made: { readonly file: string; readonly id: string; readonly at: number }[] = [];
  for (const cwd of ['/work', '/work', '/elsewhere', '/work']) {
    const session = await store.create({ cwd, by: 'chat' });
    await talk(session, ['hello']);
    await session.close();
    const summary = await store.find(session.id);
    made.push({ file: summary.file, id: session.id, at: summary.updatedAt });
    time.now += 10_000;
  }
  const lateMs = fc.tuple(...made.map(() => fc.integer({ min: -2000, max: 60_000 })));
  await fc.assert(
    fc.asyncProperty(lateMs, async (late) => {
      for (const [index, { file, at }] of made.entries()) {
        const seconds = (at + (late[index] ?? 0)) / 1000;
        utimesSync(file, seconds, seconds);
      }
      expect((await store.newestIn('/work')).id).toBe(made[3]?.id);
      expect((await store.newestIn('/elsewhere')).id).toBe(made[2]?.id);
    }),
    fuzz(50),
  );
});

test('a newest session whose file is older than its records, by a clock that was set back, is found', async () => {
  const { store, time } = place();
  const first = await saved(store, ['one']);
  time.now += 10_000;
  const second = await saved(store, ['two']);
  for (const { id, seconds } of [
    { id: first, seconds: 2000 },
    { id: second, seconds: 1000 },
  ]) {
    utimesSync((await store.find(id)).file, seconds, seconds);
  }
  expect((await store.newestIn('/work')).id).toBe(second);
});

test('continuing in another directory is reported', async () => {
  const { home, store, said } = place();
  await saved(store, ['one']);
  await (await store.resume(await store.find('last'), home)).close();
  expect(said).toEqual(['this session was started in /work']);
});

test('an id that is taken, or is none, is refused', async () => {
  const { store } = place();
  const id = await saved(store, ['one']);
  await expect(store.create({ cwd: '/work', by: 'chat', id: id.toUpperCase() })).rejects.toMatchObject({
    fault: 'usage',
    hint: `To continue it: -r ${id.toUpperCase()}`,
  });
  expect((await store.find(id.toUpperCase())).id).toBe(id);
  await saved(store, ['two'], 'trip');
  for (const [wrong, why] of [
    ['../../x', 'it has characters other than letters, digits, - and _'],
    ['', 'it is empty'],
    ['-x', 'it begins like a flag'],
    ['x'.repeat(65), 'it is longer than 64 characters'],
    ['1234567', 'it is a number, which stands for a place in the list'],
    ['Latest', 'that word means the newest one'],
    ['NUL', 'some systems have a device of that name'],
    ['trip', 'it is the name of another session'],
  ] as const) {
    await expect(store.create({ cwd: '/work', by: 'chat', id: wrong })).rejects.toMatchObject({
      fault: 'usage',
      message: `"${wrong}" cannot be the id of a session: ${why}`,
      hint: 'Use 1 to 64 letters, digits, - and _; or give it a name instead: --session-name',
    });
  }
});

test('an id that somebody gave is kept as it is, comes before names and prefixes, and cannot be a name', async () => {
  const { store, home } = place();
  for (const id of ['abc-123', 'abc-123_B', '12345678']) {
    const session = await store.create({ cwd: '/work', by: 'prompt', id });
    await talk(session, [id]);
    await session.close();
    expect(await store.find(id)).toMatchObject({ id });
    expect(await store.find(id.toUpperCase())).toMatchObject({ id });
  }
  expect(files(home).filter((name) => name.endsWith('.jsonl'))).toHaveLength(3);
  await expect(store.find('abc-1')).rejects.toMatchObject({ message: expect.stringContaining('could be 2 sessions') });
  expect(await store.find('abc-123_')).toMatchObject({ id: 'abc-123_B' });
  await expect(store.create({ cwd: '/work', by: 'chat', id: 'ABC-123' })).rejects.toMatchObject({ fault: 'usage' });
  await expect(store.create({ cwd: '/work', by: 'chat', name: 'abc-123' })).rejects.toMatchObject({
    message: 'there is a session with the id abc-123',
  });
});

test('whatever is given as an id is refused, or the one file of its session is in its place', async () => {
  const { store, home } = place();
  const id = fc.oneof(fc.string(), fc.string({ unit: codePoint }), fc.stringMatching(/^[\w./-]{1,70}$/));
  await fc.assert(
    fc.asyncProperty(id, async (given) => {
      const before = files(home);
      const session = await store.create({ cwd: '/work', by: 'prompt', id: given }).catch((thrown) => {
        expect(thrown).toMatchObject({ fault: 'usage' });
        return undefined;
      });
      if (session !== undefined) {
        await talk(session, ['one']);
        await session.close();
        expect(await store.find(given)).toMatchObject({ id: given, turns: 1 });
      }
      const more = files(home).filter((name) => !before.includes(name));
      expect(more).toEqual(session === undefined ? [] : [expect.stringMatching(`Z-${given}.jsonl$`)]);
      expect(readdirSync(home)).toEqual(before.length + more.length === 0 ? [] : ['sessions']);
    }),
    fuzz(100, 3_000),
  );
});

test('a session is from where it is held nearest to the person, and that decides what is the last', async () => {
  const { home, store, time } = place();
  const clock = { now: () => time.now, sleep: async () => {} };
  const storeFor = (by: 'chat' | 'mcp') => place(home, { by, clock }).store;
  const stores = { chat: storeFor('chat'), prompt: store, mcp: storeFor('mcp') };
  const ids: Record<string, string> = {};
  for (const by of ['chat', 'prompt', 'mcp'] as const) {
    const session = await stores[by].create({ cwd: '/work', by });
    time.now += 1000;
    await session.append(prompt(by));
    await session.append(reply('yes'));
    await session.close();
    ids[by] = session.id;
  }
  const last = async (by: keyof typeof stores) => [
    (await stores[by].find('last')).id,
    (await stores[by].newestIn('/work')).id,
  ];
  expect(await last('chat')).toEqual([ids.chat, ids.chat]);
  expect(await last('prompt')).toEqual([ids.prompt, ids.prompt]);
  expect(await last('mcp')).toEqual([ids.mcp, ids.mcp]);
  const goOn = async (by: keyof typeof stores, id = ''): Promise<void> => {
    const session = await stores[by].resume(await stores[by].find(id), '/work');
    await talk(session, ['more']);
    await session.close();
  };
  const sources = async () => Object.fromEntries((await store.list()).map(({ id, source }) => [id, source]));
  await goOn('mcp', ids.chat);
  await goOn('prompt', ids.mcp);
  expect(await sources()).toEqual({
    [String(ids.chat)]: 'chat',
    [String(ids.prompt)]: 'prompt',
    [String(ids.mcp)]: 'prompt',
  });
  await goOn('chat', ids.prompt);
  await store.rename(await store.find(ids.prompt ?? ''), 'trip');
  await goOn('mcp', ids.prompt);
  expect((await sources())[String(ids.prompt)]).toBe('chat');
  const copy = await stores.mcp.fork(await store.find(ids.prompt ?? ''), { cwd: '/work' });
  await talk(copy, ['copied']);
  await copy.close();
  expect((await sources())[copy.id]).toBe('chat');
});

test('where the caller may resume nothing, the error says what there is', async () => {
  const { home, store } = place();
  const chats = place(home, { by: 'chat' }).store;
  const served = await store.create({ cwd: '/work', by: 'mcp' });
  await talk(served, ['one']);
  await served.close();
  for (const looking of [store.find('last'), store.newestIn('/work')]) {
    await expect(looking).rejects.toMatchObject({
      message: 'there is no saved session of yours yet',
      hint: 'To continue what an agent delegated, name it: -r <id>. To see them: gmn sessions list --all',
    });
  }
  const mine = await store.create({ cwd: '/work', by: 'prompt' });
  await talk(mine, ['one']);
  await mine.close();
  for (const looking of [chats.find('last'), chats.newestIn('/work')]) {
    await expect(looking).rejects.toMatchObject({
      message: 'there is no saved chat yet',
      hint: 'To continue a one-shot, name it: -r <id>. To see them: gmn sessions list --all',
    });
  }
  await saved(store, ['one']);
  await expect(chats.newestIn(home)).rejects.toMatchObject({ message: 'there is no saved chat of this directory' });
});

test('a chat whose prompt was never answered is in the list, and the last, until it is asked or given up', async () => {
  const { home, store, time } = place();
  await saved(store, ['one']);
  time.now += 1000;
  const failed = await store.create({ cwd: '/work', by: 'chat' });
  await failed.append(prompt('two'));
  await failed.retractPrompt();
  expect(failed).toMatchObject({ turns: 0, unanswered: prompt('two').content });
  await failed.close();
  expect((await store.list())[0]).toMatchObject({ id: failed.id, turns: 0, isUnanswered: true, title: 'two' });
  expect((await store.find('last')).id).toBe(failed.id);
  expect((await store.newestIn('/work')).id).toBe(failed.id);
  await store.rename(await store.find('last'), 'trip');
  expect((await store.find('last')).id).toBe(failed.id);
  const again = await place(home).store.resume(await store.find('trip'), '/work');
  expect(again).toMatchObject({ turns: 0, unanswered: prompt('two').content });
  await again.retractPrompt();
  await again.append(prompt('two'));
  expect(again.unanswered).toBeUndefined();
  await again.append(reply('yes'));
  await again.retractPrompt();
  expect(again.turns).toBe(1);
  await again.close();
  expect(await store.find('trip')).toMatchObject({ turns: 1, isUnanswered: false });
  const empty = await store.resume(await store.find('trip'), '/work');
  await empty.append(prompt('three'));
  await empty.retractPrompt();
  await empty.rewind(1);
  expect(empty).toMatchObject({ turns: 0, unanswered: undefined });
  await empty.close();
  expect(await store.find('trip')).toMatchObject({ turns: 0, isUnanswered: false });
});

test('a chat whose turns were all rewound is skipped by the list, last and -c, but found by its id', async () => {
  const { store, time } = place();
  const answered = await saved(store, ['one']);
  time.now += 1000;
  const failed = await store.create({ cwd: '/work', by: 'chat' });
  await failed.append(prompt('two'));
  await failed.rewind(1);
  await failed.close();
  expect((await store.list()).map(({ id }) => id)).toEqual([answered]);
  expect((await store.find('last')).id).toBe(answered);
  expect((await store.find('1')).id).toBe(answered);
  expect((await store.newestIn('/work')).id).toBe(answered);
  expect(await store.find(failed.id)).toMatchObject({ id: failed.id, turns: 0 });
});

test('an empty session with a name is listed, and is not the newest', async () => {
  const { store } = place();
  const failed = await store.create({ cwd: '/work', by: 'chat', name: 'trip' });
  await failed.append(prompt('two'));
  await failed.rewind(1);
  await failed.close();
  expect((await store.list()).map(({ name }) => name)).toEqual(['trip']);
  expect((await store.find('trip')).id).toBe(failed.id);
  await expect(store.find('last')).rejects.toMatchObject({ fault: 'usage', message: 'there is no saved session yet' });
  await expect(store.newestIn('/work')).rejects.toMatchObject({ fault: 'usage' });
});

test('of many who ask for one name at the same time, one gets it, before anything is in a file', async () => {
  const { home } = place();
  const create = () => place(home).store.create({ cwd: '/work', by: 'prompt', name: 'same' });
  const outcomes = await Promise.allSettled(Array.from({ length: 12 }, create));
  const sessions = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  const refusals = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
  expect([sessions.length, refusals.length]).toEqual([1, 11]);
  expect(refusals[0]).toMatchObject({
    fault: 'usage',
    message: 'another session is being given the name "same"',
    hint: 'Use another name, or wait until that run is over.',
  });
  for (const session of sessions) await session.close();
  const next = await create();
  await next.close();
  expect(files(home)).toEqual([]);
});

test('a name is free again once its session has another', async () => {
  const { store } = place();
  const first = await store.create({ cwd: '/work', by: 'chat', name: 'trip' });
  await first.rename('journey');
  const second = await store.create({ cwd: '/work', by: 'chat', name: 'trip' });
  await expect(first.rename('trip')).rejects.toMatchObject({ fault: 'usage' });
  expect([first.name, second.name]).toEqual(['journey', 'trip']);
  await first.close();
  await second.close();
});

test.each([
  ['👨‍👩‍👧 trip', '👨‍👩‍👧 trip'],
  ['I ❤️ Kyoto', 'I ❤️ Kyoto'],
  ['京都　旅行', '京都 旅行'],
])('%j can be a name, kept as %j, and finds its session', async (given, kept) => {
  const { store } = place();
  const id = await saved(store, ['one'], given);
  expect(await store.find(given)).toMatchObject({ id, name: kept });
});

const PATHS = [
  ...[
    '../../x',
    '../x',
    '/etc/passwd',
    '/tmp/x',
    'a/b',
    'a\\b',
    '..',
    '.',
    '~',
    '~/x',
    '$HOME/x',
    'C:\\x',
    'file:///etc/passwd',
  ],
  ...[
    'CON',
    'nul',
    'COM1',
    'aux.txt',
    'x.jsonl',
    '.hidden',
    '-rf',
    '--help',
    'index',
    'sessions',
    '__proto__',
    'constructor',
  ],
  ...[
    '%2e%2e%2fx',
    '..%2f..',
    '\uff0e\uff0e/x',
    'x'.repeat(100),
    '日本語',
    'a b',
    'a;b',
    '$(x)',
    '`x`',
    '*',
    '?',
    '[x]',
    'last ',
    'x.',
  ],
  ...['a\0b', '../\0', 'x\n/../y', 'x'.repeat(300), '\u202e../x'],
];

test('a name is kept as text, or refused; none of them leads to a file', async () => {
  const home = temporary();
  const { store } = place(home);
  expect(PATHS.length).toBeGreaterThanOrEqual(40);
  let kept = 0;
  for (const name of PATHS) {
    const session = await store.create({ cwd: '/work', by: 'chat', name }).catch(({ fault }) => fault);
    if (session === 'usage') continue;
    await talk(session, ['one']);
    await session.close();
    kept += 1;
    expect((await store.find(name)).id).toBe(session.id);
  }
  expect(kept).toBeGreaterThan(25);
  const left = readdirSync(home, { recursive: true, encoding: 'utf8' }).filter(
    (path) => !path.startsWith(join('sessions', '2')),
  );
  expect(left.sort()).toEqual(['sessions']);
  const own = files(home).filter((file) => !/^\d{8}T\d{6}Z-[0-9a-f-]{36}\.jsonl$/.test(file));
  expect(own).toEqual([]);
});
