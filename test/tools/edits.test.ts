import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { editText } from '../../src/tools/edit-text.ts';
import { FUZZ_TIMEOUT, fuzz } from '../support/fuzz.ts';
import { systemMode } from '../support/posix.ts';
import { CALM, NO_JOURNAL, place, snapshot } from './place.ts';

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

test(
  'random edits change only what was asked',
  async () => {
    const here = await place();
    const path = join(here.root, 'file.txt');
    const cases = fuzz(40, 2000);
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
        expect(response).toEqual({ output: 'Changed.' });
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
        expect(statSync(path).mode & 0o7777).toBe(systemMode(mode));
        count += 1;
      }),
      cases,
    );
    expect(count).toBe(cases.numRuns);
  },
  FUZZ_TIMEOUT,
);

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

test('an edit that would be larger than any file may be is refused before it is made', () => {
  const text = 'x\n'.repeat(9_999);
  const edit = { oldText: 'x\n', newText: `${'y'.repeat(2_500)}\n`, isMultiple: true };
  expect(() => editText(text, edit)).toThrow('the file would be larger than 20 MB');
  expect(editText(text, { ...edit, newText: `${'y'.repeat(1_500)}\n` }).count).toBe(9_999);
  // The same where white space differs: by lines, and by words.
  const loose = { ...edit, oldText: ' x \n x\n' };
  expect(() => editText(text, { ...loose, newText: ` ${'y'.repeat(5_000)}\n` })).toThrow('larger than 20 MB');
  const words = { oldText: 'a\nb', newText: 'c'.repeat(5_000), isMultiple: true };
  expect(() => editText('a  b '.repeat(4_500), words)).toThrow('larger than 20 MB');
});

test('lines found too often without regard to white space are refused as well', () => {
  const edit = { oldText: ' x\n', newText: 'y\n', isMultiple: true };
  expect(() => editText('x\n'.repeat(10_001), edit)).toThrow('old_string was found more than 10000 times');
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

const indent = fc.constantFrom('', ' ', '  ', '    ', '\t', '\t\t');
const blank = fc.constantFrom('', ' ', '\t ', '   ');
const word = fc.constantFrom('if (a)', 'b();', '}', 'x = 1', '');

test('500 loose edits leave every byte of the lines that were not to be changed', () => {
  const line = fc.record({ text: word, indent, end: blank, ending: fc.constantFrom('\n', '\r\n'), told: indent });
  const scene = fc.record({
    lines: fc.array(line, { minLength: 1, maxLength: 8 }),
    around: fc.nat(7),
    changed: fc.nat(7),
    hasEnd: fc.boolean(),
  });
  let loose = 0;
  fc.assert(
    fc.property(scene, ({ lines: all, around, changed, hasEnd }) => {
      const at = changed % all.length;
      const from = Math.max(0, at - around);
      const to = Math.min(all.length, at + 1 + (around % 3));
      const texts = all.map((one, index) => (index === at ? 'MARK' : one.text));
      const whole = all.map((one, index) => `${one.indent}${texts[index]}${one.end}${one.ending}`);
      // As a model has it that does not mind white space: other indentation, none at the ends.
      const told = (mark: string) =>
        all
          .slice(from, to)
          .map((one, index) => (from + index === at ? `${one.told}${mark}` : `${one.told}${one.text}`))
          .join('\n') + (hasEnd ? '\n' : '');
      const edited = editText(whole.join(''), { oldText: told('MARK'), newText: told('DONE'), isMultiple: false });
      if (edited.isLoose) loose += 1;
      const result = edited.text.split(/(?<=\n)/);
      expect(result.filter((_, index) => index !== at)).toEqual(whole.filter((_, index) => index !== at));
      expect(result[at]).toContain('DONE');
      expect(/\r?\n$/.exec(result[at] ?? '')?.[0]).toBe(all[at]?.ending);
    }),
    { numRuns: 500 },
  );
  expect(loose).toBeGreaterThan(100);
});

test('lines in the middle of a change keep the endings they have', () => {
  const edited = editText('a\r\nb\nc\r\nd', { oldText: 'a\nb\nc', newText: 'x\nb\ny', isMultiple: false });
  expect(edited.text).toBe('x\r\nb\ny\r\nd');
});

test.each([
  ['lines that are to go leave no empty line', '\ta\n\tb\n\tc\n', '  b\n', '', '\ta\n\tc\n'],
  ['so do the last ones of a file without a line end', '\ta\n\tb', '  b\n', '', '\ta\n'],
  ['a line feed that is to go goes', '\ta\n\tb\n', '  a\n', '  a;', '\ta;\tb\n'],
  ['a line feed that is to come comes', 'f(a,  b)\n', 'f(a, b)', 'f(a, b)\ng()\n', 'f(a,  b)\ng()\n\n'],
  [
    'tabs stay tabs at every depth',
    '\tif\n\t\ta\n\tend\n',
    'if\n  a\nend',
    'if\n  b\n  c\nend',
    '\tif\n\t\tb\n\t\tc\n\tend\n',
  ],
  ['gaps between words that stay are kept', 'f(a,\n  b,  c)\n', 'f(a, b, c)', 'f(a, b, d)', 'f(a,\n  b, d)\n'],
])('%s', (_, text, oldText, newText, expected) => {
  expect(editText(text, { oldText, newText, isMultiple: false })).toMatchObject({ text: expected, isLoose: true });
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

test('in a large file only exact text is looked for, and neither there nor in many places does an edit take long', () => {
  const text = 'some words here\n'.repeat(100_000);
  const edit = { oldText: 'some  words', newText: 'x', isMultiple: true };
  expect(() => editText(text, edit)).toThrow(
    'old_string was not found in the file; in a file of this size white space counts, too',
  );
  expect(() => editText(text, { ...edit, oldText: 'some words' })).toThrow(
    'old_string was found more than 10000 times',
  );
  expect(editText(`${text}the end`, { ...edit, oldText: 'the end' })).toEqual({
    text: `${text}x`,
    count: 1,
    isLoose: false,
  });
  expect(editText(text.slice(0, 16 * 16_000).replace('some', 'any'), { ...edit, oldText: 'any  words' })).toMatchObject(
    {
      count: 1,
      isLoose: true,
    },
  );
});

/** What several edits should make of a text: undefined if one is not found exactly once, or two overlap. */
function editNaively(text: string, edits: readonly (readonly [old: string, next: string])[]): string | undefined {
  const places: [start: number, end: number, next: string][] = [];
  for (const [old, next] of edits) {
    const start = text.indexOf(old);
    if (old === '' || old === next || start === -1 || text.indexOf(old, start + old.length) !== -1) return undefined;
    places.push([start, start + old.length, next]);
  }
  places.sort(([left], [right]) => right - left);
  let result = text;
  let begin = text.length;
  for (const [start, end, next] of places) {
    if (end > begin) return undefined;
    result = result.slice(0, start) + next + result.slice(end);
    begin = start;
  }
  return result;
}

const letters = fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz0123456789 \n\n\n'.split(''));
const joint = fc.record({
  text: fc.string({ unit: letters, minLength: 1, maxLength: 120, size: 'max' }),
  ranges: fc.array(fc.tuple(fc.nat(120), fc.integer({ min: 2, max: 12 }), fc.string({ unit: letters, maxLength: 8 })), {
    minLength: 2,
    maxLength: 3,
  }),
  end: fc.constantFrom('\n', '\r\n'),
});

test(
  'edits made together are what a naive model makes of them, or nothing changes',
  async () => {
    const changes: string[] = [];
    const journal = { ...NO_JOURNAL, record: async (...[path]: readonly unknown[]) => void changes.push(String(path)) };
    const here = await place({}, { journal });
    const path = join(here.root, 'file.txt');
    const seen = { made: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(joint, async ({ text, ranges, end }) => {
        const edits = ranges.map(([start, length, next]) => {
          const from = start % text.length;
          return [text.slice(from, from + length), next] as const;
        });
        const wanted = editNaively(text, edits);
        writeFileSync(path, text.replaceAll('\n', end));
        await here.call('read_file', { file_path: 'file.txt' });
        const args = {
          file_path: 'file.txt',
          edits: edits.map(([old_string, new_string]) => ({ old_string, new_string })),
        };
        const before = snapshot(here.root);
        changes.length = 0;
        const shown = await here.tools.get('edit_file')?.preview?.(args, CALM);
        expect(snapshot(here.root)).toEqual(before);
        const { ok } = await here.call('edit_file', args);
        expect(ok).toBe(wanted !== undefined);
        expect(shown).toMatchObject(ok ? { kind: 'diff' } : { ok: false });
        if (wanted === undefined) {
          expect([snapshot(here.root), changes]).toEqual([before, []]);
          seen.refused += 1;
        } else {
          const usual = text.includes('\n') ? end : '\n';
          expect(readFileSync(path, 'utf8')).toBe(wanted.replaceAll('\n', usual));
          seen.made += 1;
        }
      }),
      fuzz(20, 2000),
    );
    expect(Math.min(seen.made, seen.refused)).toBeGreaterThan(4);
  },
  FUZZ_TIMEOUT,
);

test('several edits are shown as one diff, and what cannot be made is refused in words the model can act on', async () => {
  const text = 'one\ntwo\nthree\nfour\ntwo\n';
  const here = await place({ 'a.txt': text, 'b.txt': text, '.git/config': text });
  const edit = (old_string: string, new_string: string) => ({ old_string, new_string });
  const failure = (edits: readonly object[], more = {}) =>
    here.error('edit_file', { file_path: 'a.txt', edits: edits as never, ...more });
  const good = [edit('four', 'FOUR'), edit('one', 'ONE\n1')];
  expect(await failure(good)).toContain('it exists and was not read in this run');
  await here.output('read_file', { path: 'a.txt' });
  expect(await failure([edit('one', '1'), edit('two', '2')])).toBe(
    'edit 2 of 2: old_string was found 2 times; none of them was made. Add lines around it until there is one such place, or set allow_multiple to change them all.',
  );
  expect(await failure([edit('five', '5'), edit('one', '1')])).toContain('edit 1 of 2: old_string was not found');
  expect(await failure([edit('three\nfour', '7'), edit('one', '1'), edit('four\ntwo', '6')])).toBe(
    'edits 1 and 3 overlap; none of them was made. Make one edit of the two, or leave out the lines that both of them have in old_string.',
  );
  expect(await failure([edit('one', '1'), edit('', '2')])).toContain('edit 2 of 2: old_string was not found');
  expect(await failure([edit('one', '1')], edit('two', '2'))).toContain('both "edits" and "old_string"');
  expect(await failure([edit('one', '1'), { old_string: 'four' }])).toBe(
    '"edits[1].new_string" is missing. It must be a string.',
  );
  expect(await failure([])).toBe('"old_string" is missing. It must be a string.');
  expect(await failure(['one'] as never)).toBe('"edits" is wrong. It must be a list of objects.');
  expect(await failure(Array.from({ length: 101 }, () => edit('one', '1')))).toContain('more than 100 changes');
  for (const file_path of ['.git/config', '../a.txt', '/etc/passwd'])
    expect((await here.call('edit_file', { file_path, edits: good })).ok).toBe(false);
  expect(readFileSync(join(here.root, 'a.txt'), 'utf8')).toBe(text);
  const args = { file_path: 'a.txt', edits: good };
  const shown = await here.tools.get('edit_file')?.preview?.(args, CALM);
  expect(shown).toMatchObject({ kind: 'diff', added: 3, removed: 2 });
  expect(shown).toHaveProperty(
    'diff',
    '--- a/a.txt\n+++ b/a.txt\n@@ -1,5 +1,6 @@\n-one\n+ONE\n+1\n two\n three\n-four\n+FOUR\n two\n',
  );
  expect(await here.call('edit_file', args)).toMatchObject({
    response: { output: 'Changed in 2 places.' },
    change: { added: 3, removed: 2 },
  });
  expect(readFileSync(join(here.root, 'a.txt'), 'utf8')).toBe('ONE\n1\ntwo\nthree\nFOUR\ntwo\n');
  const both = { file_path: 'a.txt', edits: [edit('two', '2'), edit('1', 'i')], allow_multiple: true };
  // Models give an optional argument that they do not need as an empty text.
  expect(await here.output('edit_file', { ...both, ...edit('', '') })).toBe('Changed in 3 places.');
});
