import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { SessionSummary } from '../../src/core/session.ts';
import { fuzz } from '../support/fuzz.ts';
import { place, talk } from './support.ts';

const STARTS = ['deadbeef', 'deadbee1', 'dead1111', '99999999', '12345678'] as const;
const CHOSEN = ['review', 'review-2', 'Review-23', 'deadbeef', 'deadbeef-2', 'dead', '12345678'] as const;

/** A generated id, or one that somebody chose. */
const anyId = fc.oneof(
  fc
    .tuple(fc.constantFrom(...STARTS), fc.nat(9))
    .map(([start, digit]) => `${start}-1111-4111-8111-11111111111${digit}`),
  fc.constantFrom(...CHOSEN),
);

test('what is changed or deleted is what was named: an id, a name, 4 or more characters of a generated id, a number in the list', async () => {
  const name = fc.constantFrom('deadbeef', 'dead', 'review', 'deadbee', 'trip', 'e', undefined);
  const made = fc.uniqueArray(
    fc.record({ id: anyId, name, cwd: fc.constantFrom('/work', '/elsewhere'), isDeleted: fc.boolean() }),
    { minLength: 1, maxLength: 5, selector: ({ id }) => id.toLowerCase() },
  );
  const reference = fc.oneof(
    fc.tuple(anyId, fc.integer({ min: 1, max: 36 })).map(([id, length]) => id.slice(0, length)),
    fc.tuple(made, fc.nat(4)).map(([all, index]) => all[index % all.length]?.id ?? ''),
    name.map((text) => text ?? ' review '),
    fc.nat(6).map(String),
    fc.constantFrom('last', 'latest', '', '-', '99', ' e ', 'REVIEW', 'DEAD'),
  );
  await fc.assert(
    fc.asyncProperty(made, reference, fc.boolean(), async (sessions, wanted, withTrash) => {
      const { store, time } = place();
      for (const { id, name, cwd, isDeleted } of sessions) {
        const beginning = { cwd, by: 'chat', id } as const;
        const session = await store
          .create({ ...beginning, name })
          .catch(() => store.create(beginning))
          .catch(() => undefined);
        if (session === undefined) continue;
        await talk(session, ['hello']);
        await session.close();
        if (isDeleted) await store.discard(await store.find(id));
        time.now += 1000;
      }
      const list = await store.list();
      const found = await store.findNamed(wanted, '/work', { withTrash }).catch((thrown) => {
        expect(thrown).toMatchObject({ fault: 'usage' });
      });
      const trashed = withTrash ? (await store.listTrash()).map(({ summary }) => summary) : [];
      const text = wanted.trim();
      const isWhole = ({ id }: SessionSummary) => id.toLowerCase() === text.toLowerCase();
      const exact = [...list, ...trashed].filter((each) => isWhole(each));
      if (exact.length > 0) return void expect(exact).toContainEqual(found);
      if (found === undefined) return;
      const isPlace = /^[1-9]\d{0,6}$/.test(text);
      const begun = [...list, ...trashed].filter(
        ({ id }) => id.length === 36 && text.length >= 4 && !isPlace && id.startsWith(text.toLowerCase()),
      );
      const named = [list, trashed]
        .map((all) => all.filter((each) => each.name === text))
        .find((all) => all.length > 0);
      const listed = text === 'last' || text === 'latest' ? list[0] : list[Number(text) - 1];
      if (named !== undefined) {
        expect(named).toEqual([found]);
        expect(begun.filter(({ id }) => id !== found.id)).toEqual([]);
      } else if (begun.length > 0) {
        expect([begun, list]).toEqual([[found], expect.arrayContaining([found])]);
      } else expect([found, found.cwd]).toEqual([listed, '/work']);
    }),
    fuzz(100),
  );
});

test('a deleted session whose id begins like the name of a saved one is in doubt, whatever its own name was', async () => {
  const { store } = place();
  const ids = ['deadbeef-1111-4111-8111-111111111111', 'review'] as const;
  for (const id of ids) {
    const session = await store.create({ cwd: '/work', by: 'chat', id, name: 'deadbee' });
    await talk(session, ['hello']);
    await session.close();
    if (id !== 'review') await store.discard(await store.find(id));
  }
  expect((await store.findNamed('deadbee', '/work')).id).toBe('review');
  await expect(store.findNamed('deadbee', '/work', { withTrash: true })).rejects.toMatchObject({
    message: expect.stringContaining('could be 2 sessions: review (by its name), '),
  });
});

test('what a word names in two ways is refused with both, and a chosen id is named only by the whole of it', async () => {
  const { store } = place();
  const uuid = 'deadbeef-1111-4111-8111-111111111111';
  for (const [id, name] of [
    [uuid, undefined],
    ['nightly', 'deadbeef'],
    ['review', undefined],
    ['review-2', undefined],
  ] as const) {
    const session = await store.create({ cwd: '/work', by: 'chat', id, name });
    await talk(session, [id]);
    await session.close();
  }
  const named = async (reference: string, withTrash = false): Promise<string> =>
    (await store.findNamed(reference, '/work', { withTrash })).file;
  const fileOf = async (id: string): Promise<string> => (await store.find(id)).file;
  await expect(named('deadbeef')).rejects.toMatchObject({
    fault: 'usage',
    message: `"deadbeef" could be 2 sessions: nightly (by its name), ${uuid}`,
  });
  expect(await named('deadbee')).toBe(await fileOf(uuid));
  expect(await named('review')).toBe(await fileOf('review'));
  await store.discard(await store.find('review'));
  await expect(named('review')).rejects.toMatchObject({
    message: '"review" is only the beginning of the id review-2',
    hint: 'If that is the one, give the whole id: review-2',
  });
  expect(await named('review', true)).toBe((await store.findTrashed('review')).summary.file);
  await store.discard(await store.find(uuid));
  await expect(named('deadbeef', true)).rejects.toMatchObject({ message: expect.stringContaining('2 sessions') });
  await expect(named('deadbee', true)).rejects.toMatchObject({
    message: `"deadbee" is only the beginning of the id ${uuid}, which is in the trash`,
    hint: `If that is the one, give the whole id: ${uuid}`,
  });
});
