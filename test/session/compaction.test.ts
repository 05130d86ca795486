import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Compaction, TurnRecord } from '../../src/core/history.ts';
import type { Session } from '../../src/core/session.ts';
import { files, linesOf, onlyFile, place, prompt, reply, START } from './support.ts';

const DAY_MS = 86_400_000;

function answer(output: string): TurnRecord {
  return {
    kind: 'answer',
    content: { role: 'user', parts: [{ functionResponse: { name: 'look', response: { output } } }] },
  };
}

const CALL: TurnRecord = {
  kind: 'call',
  content: { role: 'model', parts: [{ functionCall: { name: 'look', args: {} } }] },
  usage: {},
  model: 'gemini-test',
};

/** Two exchanges; the result of the first is a pointer, and a summary replaces the first. */
async function compacted(session: Session): Promise<readonly Compaction[]> {
  for (const record of [prompt('one'), CALL, answer('long'), reply('1')]) await session.append(record);
  const path = await session.keepOutput?.('long');
  const masked = { outputs: [{ content: 2, part: 0, head: 0, tail: 0, path }] };
  await session.compact(masked);
  for (const record of [prompt('two'), reply('2')]) await session.append(record);
  const summary = { outputs: [], summary: { text: 'Goal: “one”', end: 4, prompt: 0, promptLimit: 7 } };
  await session.compact(summary);
  await session.append(prompt('three'));
  return [masked, summary];
}

async function resumed({ home }: { readonly home: string }) {
  const { store } = place(home);
  const session = await store.resume(await store.find('last'), '/work');
  const state = { contents: [...session.contents], compactions: [...session.compactions] };
  await session.close();
  return state;
}

test('a session is resumed and forked with its compactions, and has all of its contents', async () => {
  const here = place();
  const session = await here.store.create({ cwd: '/work', by: 'chat' });
  const made = await compacted(session);
  await session.close();
  const { contents, compactions } = await resumed(here);
  expect([contents, compactions]).toEqual([session.contents, made]);
  const fork = await here.store.fork(await here.store.find('last'), { cwd: '/work' });
  expect([fork.contents, fork.compactions]).toEqual([session.contents, made]);
  await fork.close();
  const { records } = await here.store.read(await here.store.find(session.id));
  expect(records.map(({ kind }) => kind)).toEqual(['prompt', 'call', 'answer', 'reply', 'prompt', 'reply', 'prompt']);
});

test('what is rewound takes the compactions along that tell of it', async () => {
  const here = place();
  const session = await here.store.create({ cwd: '/work', by: 'chat' });
  await compacted(session);
  const held = (): readonly number[] => [
    session.compactions.flatMap(({ outputs }) => outputs).length,
    session.compactions.flatMap(({ summary }) => summary ?? []).length,
  ];
  await session.rewind(2);
  expect(held()).toEqual([1, 1]);
  await session.rewind(1);
  expect(held()).toEqual([0, 0]);
  for (const record of [prompt('new'), CALL, answer('short'), reply('9')]) await session.append(record);
  await session.close();
  const { contents, compactions } = await resumed(here);
  expect([contents, compactions]).toEqual([session.contents, session.compactions]);
});

test('cut off anywhere in a compaction, a session is as before or as after it', async () => {
  const here = place();
  const session = await here.store.create({ cwd: '/work', by: 'chat' });
  const made = await compacted(session);
  await session.close();
  const file = onlyFile(here.home);
  const bytes = readFileSync(file);
  const records = bytes.toString('latin1').split('\n').slice(0, -1);
  const lengths = records.map((line) => line.length + 1);
  const at = records.findLastIndex((line) => line.includes('"type":"compact"'));
  const begin = lengths.slice(0, at).reduce((sum, length) => sum + length, 0);
  const end = begin + (lengths[at] ?? 0);
  const cuts = [...Array(end - begin).keys()].filter((index) => index % 9 === 0).map((index) => begin + index);
  for (const cut of [...cuts, end - 1, end]) {
    writeFileSync(file, bytes.subarray(0, cut));
    const { contents, compactions } = await resumed(here);
    expect(contents).toEqual(session.contents.slice(0, 6));
    expect(compactions).toEqual(cut === end ? made : made.slice(0, 1));
  }
});

test('with a record lost before it, a compaction is left out: its numbers would mean other contents', async () => {
  const here = place();
  const session = await here.store.create({ cwd: '/work', by: 'chat' });
  await compacted(session);
  await session.close();
  const file = onlyFile(here.home);
  writeFileSync(file, readFileSync(file, 'utf8').replace(/^\{"seq":1,.*$/m, 'damaged'));
  const { contents, compactions } = await resumed(here);
  expect([contents.length, compactions]).toEqual([6, []]);
});

test('a record cannot name a file outside the blobs', async () => {
  const here = place();
  const session = await here.store.create({ cwd: '/work', by: 'chat' });
  await compacted(session);
  await session.close();
  const file = onlyFile(here.home);
  writeFileSync(file, readFileSync(file, 'utf8').replace(/"[\da-f]{64}"/, '"../../../etc/passwd"'));
  const { compactions } = await resumed(here);
  expect(compactions[0]?.outputs).toEqual([{ content: 2, part: 0, head: 0, tail: 0 }]);
});

test('kept outputs stay as long as a session that points to them', async () => {
  const here = place();
  const session = await here.store.create({ cwd: '/work', by: 'chat' });
  await compacted(session);
  await session.close();
  const [blob = ''] = files(here.home, 'blobs');
  const [compact] = linesOf(onlyFile(here.home)).filter(({ type }) => type === 'compact');
  expect(compact?.outputs).toEqual([[2, 0, 0, 0, blob]]);
  const { signal } = new AbortController();
  here.time.now = Date.now() + 3 * DAY_MS;
  await here.store.prune(undefined, signal);
  expect(files(here.home, 'blobs')).toEqual([blob]);
  await here.store.prune(START + DAY_MS, signal);
  expect([files(here.home).filter((name) => name.endsWith('.jsonl')), files(here.home, 'blobs')]).toEqual([[], []]);
});

test('a compaction that tells of contents after it is left out: they would never be sent', async () => {
  const here = place();
  const session = await here.store.create({ cwd: '/work', by: 'chat' });
  const made = await compacted(session);
  await session.close();
  const file = onlyFile(here.home);
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replace('"end":4', '"end":7'));
  expect((await resumed(here)).compactions).toEqual(made.slice(0, 1));
  writeFileSync(file, text.replace('"outputs":[[2,0', '"outputs":[[4,0'));
  expect((await resumed(here)).compactions).toEqual(made.slice(1));
});
