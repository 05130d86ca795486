import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { editText } from '../../src/tools/edit-text.ts';
import { place } from './place.ts';

const LINES = ['alpha', '  beta = $1;', '\tgamma("x")', 'δέλτα 😀', '', "$& $` $' $$", 'repeat'] as const;

interface Case {
  /** Lines with their endings, so that mixed files are possible. */
  readonly lines: readonly (readonly [text: string, ending: string])[];
  readonly encoding: 'utf8' | 'utf8-bom' | 'utf16le' | 'utf16be';
  readonly mode: number;
  readonly index: number;
  readonly replacement: readonly string[];
}

const ending = fc.constantFrom('\n', '\r\n', '\r');
const lines = fc.oneof(
  ending.chain((same) =>
    fc.array(fc.tuple(fc.constantFrom(...LINES), fc.constant(same)), { minLength: 1, maxLength: 12 }),
  ),
  fc.array(fc.tuple(fc.constantFrom(...LINES), fc.constantFrom('\n', '\r\n')), { minLength: 1, maxLength: 12 }),
);
const edit: fc.Arbitrary<Case> = fc.record({
  lines: fc.tuple(lines, fc.boolean()).map(([all, hasEnd]) => {
    const last = all.length - 1;
    return all.map(([text, end], index) => [text, index === last && !hasEnd ? '' : end] as const);
  }),
  encoding: fc.constantFrom('utf8' as const, 'utf8-bom' as const, 'utf16le' as const, 'utf16be' as const),
  mode: fc.constantFrom(0o644, 0o600, 0o755, 0o640),
  index: fc.nat(11),
  replacement: fc.array(fc.constantFrom(...LINES, 'new $& line', '日本'), { minLength: 1, maxLength: 3 }),
});

function encoded(text: string, encoding: Case['encoding']): Buffer {
  if (encoding === 'utf8') return Buffer.from(text);
  if (encoding === 'utf8-bom') return Buffer.from(`\uFEFF${text}`);
  const wide = Buffer.from(`\uFEFF${text}`, 'utf16le');
  return encoding === 'utf16be' ? wide.swap16() : wide;
}

test('500 random edits change only what was asked', async () => {
  const here = await place();
  const path = join(here.root, 'file.txt');
  let count = 0;
  await fc.assert(
    fc.asyncProperty(edit, async ({ lines: all, encoding, mode, index, replacement }) => {
      // A line of its own that is nowhere else, so that it can be named.
      const marked = all.map(([text, end], at) =>
        at === index % all.length ? (['<mark>', end] as const) : ([text, end] as const),
      );
      const whole = marked.map(([text, end]) => text + end).join('');
      writeFileSync(path, encoded(whole, encoding));
      chmodSync(path, mode);
      await here.call('read_file', { file_path: 'file.txt' });
      const { ok, response } = await here.call('edit_file', {
        file_path: 'file.txt',
        old_string: '<mark>',
        new_string: replacement.join('\n'),
      });
      expect(response).toEqual({ output: 'Changed file.txt in one place.' });
      expect(ok).toBe(true);
      const [before = '', after = ''] = whole.split('<mark>');
      const written = readFileSync(path);
      const usual = [...new Set(['\n', '\r\n', '\r'])].map((end) =>
        encoded(before + replacement.join(end) + after, encoding),
      );
      expect(
        usual.some((bytes) => bytes.equals(written)),
        JSON.stringify(written.toString()),
      ).toBe(true);
      expect(statSync(path).mode & 0o7777).toBe(mode);
      count += 1;
    }),
    { numRuns: 500 },
  );
  expect(count).toBe(500);
}, 60_000);

test('in a file with one kind of line ending, new lines have it too', () => {
  for (const end of ['\n', '\r\n', '\r']) {
    const text = ['a', 'b', 'c', ''].join(end);
    const edited = editText(text, { oldText: 'a\nb', newText: 'a\nx\ny', isMultiple: false });
    expect(edited).toEqual({ text: ['a', 'x', 'y', 'c', ''].join(end), count: 1, isLoose: false });
  }
});

test('lines around a change keep the endings they have', () => {
  const edited = editText('a\r\nb\nc\r\nd', { oldText: 'a\nb\nc\nd', newText: 'a\nb\nX\nd', isMultiple: false });
  expect(edited.text).toBe('a\r\nb\nX\r\nd');
});

test.each([
  ['x', 'not found'],
  ['a', 'found 2 times'],
  ['', 'not found'],
  ['   ', 'not found'],
])('old text %j is refused: %s', (oldText, why) => {
  expect(() => editText('a b\nc a\n', { oldText, newText: 'new', isMultiple: false })).toThrow(why);
});

test('the same text twice is nothing to change', () => {
  expect(() => editText('a', { oldText: 'a\r\n', newText: 'a\n', isMultiple: false })).toThrow('the same');
});

test('all places are changed if asked for', () => {
  expect(editText('a-a-a', { oldText: 'a', newText: '$&', isMultiple: true })).toEqual({
    text: '$&-$&-$&',
    count: 3,
    isLoose: false,
  });
});

test('lines that differ in indentation are found, and the new ones indented alike', () => {
  const text = 'function f() {\n    if (a) {\n        b();\n    }\n}\n';
  const edited = editText(text, {
    oldText: 'if (a) {\n    b();\n}\n',
    newText: 'if (a) {\n    c();\n    d();\n}\n',
    isMultiple: false,
  });
  expect(edited.isLoose).toBe(true);
  expect(edited.text).toBe(
    'function f() {\n    if (a) {\n        c();\n        d();\n    }\n}\n'.replaceAll('        c', '        c'),
  );
});

test('neighbouring loose matches are both seen, so neither is changed by mistake', () => {
  expect(() => editText(' a\n a\n', { oldText: 'a  ', newText: 'b', isMultiple: false })).toThrow('found 2 times');
});

test('words with other white space between them are found', () => {
  const edited = editText('call(one,\n     two);\n', {
    oldText: 'call(one, two);',
    newText: 'call(2);',
    isMultiple: false,
  });
  expect(edited).toEqual({ text: 'call(2);\n', count: 1, isLoose: true });
});

test('a file that is not Unicode is left alone', async () => {
  const here = await place({ 'latin.txt': Buffer.from('caf\xe9\n', 'latin1') });
  expect(await here.output('read_file', { path: 'latin.txt' })).toBe(
    '[not valid Unicode, shown as Windows-1252; it cannot be edited]\ncafé',
  );
  for (const [tool, args] of [
    ['edit_file', { path: 'latin.txt', old_string: 'caf', new_string: 'x' }],
    ['write_file', { path: 'latin.txt', content: 'x' }],
  ] as const) {
    expect(await here.error(tool, args)).toContain('not a Unicode text file');
  }
  expect(readFileSync(join(here.root, 'latin.txt'), 'latin1')).toBe('caf\xe9\n');
});
