import { readFileSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { TurnRecord } from '../../src/core/history.ts';
import { anyRecord, onlyFile, place, prompt, reply, temporary } from './support.ts';

async function recordsOf(home: string, id: string): Promise<readonly TurnRecord[]> {
  const { store } = place(home);
  const { records } = await store.read(await store.find(id));
  return records.map(({ at: _, ...record }) => record);
}

test('what is appended is what is read back, whatever it holds', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyRecord, { minLength: 1, maxLength: 8 }), async (records) => {
      const { home, store } = place(temporary());
      const session = await store.create({ cwd: '/work', by: 'chat' });
      for (const record of records) await session.append(record);
      await session.close();
      expect(await recordsOf(home, session.id)).toEqual(records);
      const resumed = await store.resume(await store.find(session.id), '/work');
      expect(resumed.contents).toEqual(records.map(({ content }) => content));
      await resumed.close();
    }),
    { numRuns: 60 },
  );
}, 60_000);

test('a session cut off at any byte loads as far as its whole lines go, and goes on from there', async () => {
  const { home, store } = place();
  const session = await store.create({ cwd: '/work', by: 'chat' });
  const records: TurnRecord[] = [prompt('何を？'), reply('😀 yes'), prompt('more'), reply('done')];
  for (const record of records) await session.append(record);
  await session.close();
  const file = onlyFile(home);
  const bytes = readFileSync(file);
  const start = bytes.indexOf('\n') + 1;
  for (let length = start; length <= bytes.length; length += bytes[length - 1] === 10 ? 1 : 3) {
    writeFileSync(file, bytes.subarray(0, length));
    const kept = bytes.subarray(0, length).toString('latin1').split('\n').length - 2;
    const next = await store.resume(await store.find(session.id), '/work');
    await next.append(prompt('again'));
    await next.close();
    expect(await recordsOf(home, session.id)).toEqual([...records.slice(0, kept), prompt('again')]);
  }
}, 120_000);

test('the conversation of a session is that of its file, whatever was rewound or replaced', async () => {
  const step = fc.oneof(
    anyRecord.map((record) => ({ kind: 'append', record }) as const),
    fc.nat(3).map((turns) => ({ kind: 'rewind', turns }) as const),
    fc.array(anyRecord, { maxLength: 3 }).map((records) => ({ kind: 'replace', records }) as const),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
      const { home, store } = place(temporary());
      const session = await store.create({ cwd: '/work', by: 'chat' });
      await session.append(prompt('first'));
      for (const step of steps) {
        if (step.kind === 'append') await session.append(step.record);
        else if (step.kind === 'rewind') await session.rewind(step.turns);
        else await session.replace(step.records.map(({ content }) => content));
      }
      await session.close();
      expect((await recordsOf(home, session.id)).map(({ content }) => content)).toEqual(session.contents);
      expect((await store.find(session.id)).turns).toBe(session.turns);
    }),
    { numRuns: 60 },
  );
}, 60_000);
