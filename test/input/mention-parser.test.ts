import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseMentions } from '../../src/input/mentions.ts';
import { codePoint } from '../support/properties.ts';

const mentioned = (prompt: string): readonly (readonly string[])[] =>
  parseMentions(prompt, '/').flatMap((piece) => (piece.kind === 'mention' ? [piece.paths] : []));

test.each([
  ['explain @a.txt', [['a.txt']]],
  ['@a.txt explain', [['a.txt']]],
  ['one\n@src/a.ts\ttwo @b', [['src/a.ts'], ['b']]],
  ['see (@a.txt) please', [['a.txt)', 'a.txt']]],
  [
    '@a.txt, @b.txt.',
    [
      ['a.txt,', 'a.txt'],
      ['b.txt.', 'b.txt'],
    ],
  ],
  ['is it @a.txt?!', [['a.txt?!', 'a.txt?', 'a.txt']]],
  ['wait @a.txt...', [['a.txt...', 'a.txt..', 'a.txt.', 'a.txt']]],
  ["@a.txt's end", [["a.txt's", 'a.txt']]],
  [
    '@src/a.ts:12 and @b.c:3:4',
    [
      ['src/a.ts:12', 'src/a.ts'],
      ['b.c:3:4', 'b.c:3', 'b.c'],
    ],
  ],
  ['@a.txtを要約して', [['a.txtを要約して', 'a.txt']]],
  ['@a.txt、要約', [['a.txt、要約', 'a.txt']]],
  ['@server:uri and @docs://x.y', [['server:uri'], ['docs://x.y']]],
  ['@"my file.txt" x', [['my file.txt']]],
  ['@"say \\"hi\\".txt"', [['say "hi".txt']]],
  ['@my\\ file.txt x', [['my file.txt']]],
  ['@src\\a.ts', [['src\\a.ts']]],
])('%j mentions %j', (prompt, paths) => {
  expect(mentioned(prompt)).toEqual(paths);
});

test.each(['me@example.com', 'a @ b', '@', '@"', '@"open', '@""', '\\@a.txt', 'x\\@y', '"@a"'])(
  '%j mentions nothing',
  (prompt) => {
    expect(mentioned(prompt)).toEqual([]);
  },
);

test('on Windows a backslash may also end the name of a directory', () => {
  const [mention] = parseMentions('@src\\ and more', '\\');
  expect(mention).toMatchObject({ kind: 'mention', paths: ['src and', 'src\\'] });
  expect(parseMentions('@\\ x', '\\')[0]).toMatchObject({ paths: [' x'] });
});

test('only at the start of a word is a backslash an escape', () => {
  const escapes = (prompt: string) => parseMentions(prompt).filter(({ kind }) => kind === 'escape').length;
  expect([escapes('\\@a \\@b'), escapes('x\\@a'), escapes('\\\\@a')]).toEqual([2, 0, 0]);
});

test('the pieces, joined, are the prompt, and the paths of a mention are ever shorter beginnings of it', () => {
  const word = fc.constantFrom(
    '@',
    '\\@',
    '@"',
    '"',
    '\\ ',
    '\\',
    '(',
    ')',
    ' ',
    '\n',
    '.',
    ',',
    ':1',
    'a',
    'を',
    '😀',
    '\ud800',
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: codePoint }),
        fc.array(word).map((words) => words.join('')),
      ),
      (prompt) => {
        const pieces = parseMentions(prompt, '/');
        expect(pieces.map(({ raw }) => raw).join('')).toBe(prompt);
        expect(pieces.every(({ raw }) => raw !== '')).toBe(true);
        for (const piece of pieces) {
          if (piece.kind !== 'mention') continue;
          piece.paths.slice(1).forEach((path, index) => {
            expect(path.length).toBeLessThan(piece.paths[index]?.length ?? 0);
            expect(piece.paths[0]?.startsWith(path)).toBe(true);
          });
        }
      },
    ),
    { numRuns: 300 },
  );
});

test('a long prompt full of marks is cut in a moment, with few paths each', () => {
  const pieces = parseMentions(`@${'a,'.repeat(50_000)} ${'@( '.repeat(50_000)}`);
  expect(pieces[0]).toMatchObject({ kind: 'mention', paths: [] });
  expect(pieces.length).toBeGreaterThan(50_000);
});
