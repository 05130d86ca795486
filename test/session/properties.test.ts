import { readFileSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { TurnRecord } from '../../src/core/history.ts';
import { FUZZ_TIMEOUT, fuzz } from '../support/fuzz.ts';
import { temporary } from '../support/temporary.ts';
import { anyRecord, onlyFile, place, prompt, reply } from './support.ts';

async function recordsOf(home: string, id: string): Promise<readonly TurnRecord[]> {
  const { store } = place(home);
  const { records } = await store.read(await store.find(id));
  return records.map(({ at: _, ...record }) => record);
}

test(
  'what is appended is what is read back, whatever it holds',
  async () => {
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
      fuzz(20, 3_000),
    );
  },
  FUZZ_TIMEOUT,
);

test('a session cut off at any byte loads as far as its complete lines go, and continues from there', async () => {
  const { home, store } = place();
  const session = await store.create({ cwd: '/work', by: 'chat' });
  const records: TurnRecord[] = [prompt('何を？'), reply('😀 yes'), prompt('more'), reply('done')];
  for (const record of records) await session.append(record);
  await session.close();
  const file = onlyFile(home);
  const bytes = readFileSync(file);
  const start = bytes.indexOf('\n') + 1;
  for (let length = start; length <= bytes.length; length += bytes[length - 1] === 10 ? 1 : 7) {
    writeFileSync(file, bytes.subarray(0, length));
    const kept = bytes.subarray(0, length).toString('latin1').split('\n').length - 2;
    const next = await store.resume(await store.find(session.id), '/work');
    await next.append(prompt('again'));
    await next.close();
    expect(await recordsOf(home, session.id)).toEqual([...records.slice(0, kept), prompt('again')]);
  }
}, 120_000);

test(
  'the conversation of a session is that of its file, whatever was rewound or replaced',
  async () => {
    const step = fc.oneof(
      anyRecord.map((record) => ({ kind: 'append', record }) as const),
      fc.nat(3).map((turns) => ({ kind: 'rewind', turns }) as const),
      fc.constant({ kind: 'takeBack' } as const),
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
          else if (step.kind === 'takeBack') await session.retractPrompt();
          else await session.replace(step.records);
        }
        await session.close();
        const records = await recordsOf(home, session.id);
        expect(records).toEqual(session.records.map(({ at: _, ...record }) => record));
        expect(records.map(({ content }) => content)).toEqual(session.contents);
        const found = await store.find(session.id);
        expect([found.turns, found.isUnanswered]).toEqual([session.turns, session.unanswered !== undefined]);
      }),
      fuzz(20, 3_000),
    );
  },
  FUZZ_TIMEOUT,
);

/** One way to damage bytes: some are put in the place of others. */
const damage = fc.record({
  at: fc.nat(),
  gone: fc.oneof(fc.nat(4), fc.nat(400)),
  put: fc.oneof(
    fc.uint8Array({ maxLength: 6 }),
    fc
      .constantFrom('\n', '\0', '{', '"', '}\n{', '\r\n', '[]\n', 'null\n', '{"seq":1}\n')
      .map((text) => Buffer.from(text)),
  ),
});

test(
  'whatever happens to the bytes of a session, every line that is still whole is read, and none is changed',
  async () => {
    const { home, store } = place();
    const session = await store.create({ cwd: '/work', by: 'chat' });
    const texts = ['何を？', '😀 yes', 'more', 'done'];
    for (const text of texts) await session.append(text.length % 2 === 0 ? prompt(text) : reply(text));
    await session.close();
    const file = onlyFile(home);
    const original = readFileSync(file);
    const whole = original.toString('utf8').split('\n').slice(1, -1);
    await fc.assert(
      fc.asyncProperty(fc.array(damage, { minLength: 1, maxLength: 4 }), async (damages) => {
        let bytes = original;
        for (const { at, gone, put } of damages) {
          const place = at % (bytes.length + 1);
          bytes = Buffer.concat([bytes.subarray(0, place), put, bytes.subarray(place + gone)]);
        }
        writeFileSync(file, bytes);
        const read = await place(home)
          .store.find(session.id)
          .then((found) => store.read(found))
          .catch((thrown: unknown) => thrown);
        expect(readFileSync(file).equals(bytes)).toBe(true);
        if (!(typeof read === 'object' && read !== null && 'records' in read)) {
          // Nothing is left of it, and that is said.
          expect(read).toMatchObject({ name: 'AppError', fault: 'usage' });
          return;
        }
        const lines = bytes.toString('utf8').split('\n').slice(1, -1);
        const kept = lines.flatMap((line) => (whole.includes(line) ? [texts[whole.indexOf(line)]] : []));
        expect(wordsOf(read.records)).toEqual(expect.arrayContaining(kept));
      }),
      fuzz(40),
    );
  },
  FUZZ_TIMEOUT,
);

function wordsOf(records: unknown): readonly string[] {
  const found = JSON.stringify(records).matchAll(/"text":("(?:[^"\\]|\\.)*")/g);
  return [...found].map(([, text]) => JSON.parse(text ?? '""'));
}
