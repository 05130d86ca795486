import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createNamer } from '../../../../src/mcp/client/tools/names.ts';

type Origin = readonly [server: string, tool: string];

function named(origins: readonly Origin[], reserved: readonly string[] = [], others: readonly Origin[] = []) {
  const servers = new Set([...origins, ...others].map(([server]) => server));
  const nameOf = createNamer(reserved, [...servers]);
  return origins.map(([server, tool]) => nameOf({ server, tool }));
}

test('the first keeps its own name, later ones get the name of their server', () => {
  expect(
    named([
      ['a', 'read'],
      ['b', 'read'],
      ['b', 'write'],
    ]),
  ).toEqual(['read', 'b__read', 'write']);
});

test('a built-in name is never given out', () => {
  expect(
    named(
      [
        ['a', 'read_file'],
        ['b', 'read_file'],
      ],
      ['read_file'],
    ),
  ).toEqual(['a__read_file', 'b__read_file']);
});

test('characters the API does not take become an underscore, and a name begins with a letter or one', () => {
  expect(
    named([
      ['a', 'do.it/now!'],
      ['a', '9lives'],
      ['a', 'naïve-größe'],
      ['a', '👍'],
    ]),
  ).toEqual(['do.it_now_', '_9lives', 'na_ve-gr__e', '_']);
});

test('a name that looks like the tool of another server is not given to a stranger', () => {
  expect(
    named([
      ['evil', 'files__delete'],
      ['files', 'delete'],
      ['evil', 'nobody__delete'],
    ]),
  ).toEqual(['evil__files__delete', 'delete', 'nobody__delete']);
});

test('a long name keeps its beginning and its end', () => {
  const tool = `${'a'.repeat(40)}${'z'.repeat(40)}`;
  expect(
    named([
      ['s', tool],
      ['s2', tool],
    ]),
  ).toEqual([`${'a'.repeat(28)}___${'z'.repeat(32)}`, `s2__${'a'.repeat(24)}___${'z'.repeat(32)}`]);
  expect(named([['s', 'x'.repeat(63)]])).toEqual(['x'.repeat(63)]);
});

test('names that are still the same are numbered', () => {
  expect(
    named([
      ['a', 'x y'],
      ['a', 'x_y'],
      ['a', 'x-y'],
      ['a', 'x/y'],
    ]),
  ).toEqual(['x_y', 'a__x_y', 'x-y', 'a__x_y_2']);
});

const origin = fc.tuple(fc.string({ maxLength: 40 }), fc.string({ maxLength: 100, unit: 'grapheme' }));

test('whatever servers say, names are ones the API takes, all different, none reserved, and the same every time', () => {
  const reserved = ['read_file', 'glob'];
  fc.assert(
    fc.property(
      fc.array(fc.oneof(origin, fc.constant(['s', 'read_file'] as [string, string])), { maxLength: 60 }),
      (origins) => {
        const names = named(origins, reserved);
        for (const name of names) expect(name).toMatch(/^[A-Za-z_][A-Za-z0-9_.-]{0,62}$/);
        expect(new Set([...names, ...reserved]).size).toBe(names.length + reserved.length);
        expect(named(origins, reserved)).toEqual(names);
      },
    ),
  );
});

test('a tool that comes later changes no name before it', () => {
  fc.assert(
    fc.property(fc.array(origin, { maxLength: 30 }), origin, (origins, last) => {
      expect(named([...origins, last]).slice(0, -1)).toEqual(named(origins, [], [last]));
    }),
  );
});
