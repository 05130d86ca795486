import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Key } from '../../../src/chat/terminal/keys.ts';
import { anyText, bordersOf, KEY_NAMES } from '../arbitrary.ts';
import { ESC, typing } from '../typing.ts';

test.each([
  ['characters go in at the caret', 'ac\u0002b', 'ab|c'],
  ['left and right go by whole characters', `👨‍👩‍👧e\u0301한${ESC}[D${ESC}[D${ESC}[D${ESC}[C`, '👨‍👩‍👧|e\u0301한'],
  ['backspace takes a whole character', 'a👨‍👩‍👧\u007f', 'a|'],
  ['Ctrl+H, too', 'a🇯🇵\b', 'a|'],
  ['Delete takes the one behind', `a🇯🇵b\u0001${ESC}[C${ESC}[3~`, 'a|b'],
  ['Ctrl+D, too, when there is text', 'ab\u0001\u0004', '|b'],
  ['Ctrl+A and Ctrl+E go to the ends of the line', 'one\ntwo\u0001x\u0005y', 'one\nxtwoy|'],
  ['Home and End, too', `one\ntwo${ESC}[Hx${ESC}[Fy`, 'one\nxtwoy|'],
  ['Alt+B goes back over a word', `hello big world${ESC}b${ESC}b`, 'hello |big world'],
  ['Alt+F goes on over a word', `hello big world\u0001${ESC}f`, 'hello| big world'],
  ['words of Japanese are words', `私は学生です${ESC}b${ESC}b`, '私は|学生です'],
  ['words go on over lines', `one\ntwo${ESC}b${ESC}b`, '|one\ntwo'],
  ['Ctrl+Right, too', `one two\u0001${ESC}[1;5C`, 'one| two'],
  ['Ctrl+K kills to the end, Ctrl+Y puts it back', 'one two\u0001\u000b\u0019\u0019', 'one twoone two|'],
  ['Ctrl+U kills to the start of the line', 'one\ntwo\u0015', 'one\n|'],
  ['Ctrl+W kills to the space before', 'see /a/b.txt\u0017', 'see |'],
  ['Alt+Backspace kills a word', `see /a/b${ESC}\u007f`, 'see /a/|'],
  ['Alt+D kills the word behind', `one two\u0001${ESC}d`, '| two'],
  ['kills in a row are one', 'one two\u0017\u0017\u0019', 'one two|'],
  ['Alt+Y puts the kill before in its place', `a\u0015b\u0015\u0019${ESC}y`, 'a|'],
  ['Ctrl+T swaps characters', '日本\u0014', '本日|'],
  ['Ctrl+_ undoes a word at a time', 'one two\u001f', 'one |'],
  ['Ctrl+J makes a line', 'a\nb', 'a\nb|'],
  ['Alt+Enter, too', `a${ESC}\rb`, 'a\nb|'],
  ['Shift+Enter, too, where it is reported', `a${ESC}[13;2ub`, 'a\nb|'],
  ['a backslash before Enter, too', 'a\\\rb', 'a\nb|'],
  ['Up and Down move within the text', `one\ntwo\nthree${ESC}[A${ESC}[A${ESC}[B`, 'one\ntwo|\nthree'],
  ['Up keeps to its column through a shorter line', `three\n2\nthree${ESC}[A${ESC}[A`, 'three|\n2\nthree'],
  ['Up and Down go by what is seen', `abcdefgh${ESC}[A`, 'abcd|efgh', 6],
])('%s', (_, keys, line, columns = 80) => {
  expect(typing({ columns }).type(keys)).toBe(line);
});

test('the caret is always between characters, whatever is pressed', () => {
  const keys = fc.oneof(
    anyText.map((text): Key => ({ kind: 'text', text })),
    anyText.map((text): Key => ({ kind: 'paste', text: text.repeat(4) })),
    fc.constantFrom(...KEY_NAMES).map((name): Key => ({ kind: 'key', name })),
  );
  fc.assert(
    fc.property(fc.array(keys, { maxLength: 40 }), (presses) => {
      const { editor } = typing({ columns: 20, entries: ['日本語', 'two\nlines', '👨‍👩‍👧'] });
      for (const key of presses) {
        editor.press(key, 0);
        expect(bordersOf(editor.text)).toContain(editor.before.length);
      }
    }),
    { numRuns: 300 },
  );
});

test('undo leads back to the beginning', () => {
  const keys = fc.oneof(
    anyText.map((text): Key => ({ kind: 'text', text })),
    fc
      .constantFrom('backspace', 'ctrl-k', 'ctrl-w', 'ctrl-y', 'ctrl-t', 'left', 'alt-b')
      .map((name): Key => ({ kind: 'key', name })),
  );
  fc.assert(
    fc.property(fc.array(keys, { maxLength: 30 }), (presses) => {
      const { editor } = typing();
      for (const key of presses) editor.press(key, 0);
      for (const _ of presses) editor.press({ kind: 'key', name: 'ctrl-_' }, 0);
      expect(editor.text).toBe('');
    }),
  );
});

test('Enter sends the text as it is, and an empty line sends nothing', () => {
  const it = typing();
  it.type('\r  \r');
  expect(it.requests).toEqual([]);
  it.type('こんにちは \r');
  expect(it.requests).toEqual([{ kind: 'text', text: '  こんにちは ' }]);
  expect(it.line).toBe('|');
});

test('Enter makes lines until the block is closed, which is sent without its marks', () => {
  const it = typing();
  it.type('"""\rone\r');
  expect(it.screen).toEqual(['> """', '  one', '  |', 'A line with """ ends the block.']);
  it.type('two\r"""\r');
  expect(it.requests).toEqual([{ kind: 'text', text: 'one\ntwo' }]);
});

test('a large paste is shown as one thing, deleted as one, and sent in full', () => {
  const lines = Array.from({ length: 84 }, (_, index) => `line ${index}`).join('\n');
  const it = typing();
  it.type('see ');
  it.paste(lines.replaceAll('\n', '\r\n'));
  it.type('!');
  expect(it.screen).toEqual(['> see [pasted 84 lines]!|']);
  it.type('\u007f\u007f');
  expect(it.line).toBe('see |');
  it.type('\u001f\r');
  expect(it.requests).toEqual([{ kind: 'text', text: `see ${lines}` }]);
});

test('Tab behind a large paste shows it in full', () => {
  const lines = Array.from({ length: 21 }, (_, index) => `${index}`).join('\n');
  const it = typing({ rows: 50 });
  it.paste(lines);
  expect(it.screen).toHaveLength(1);
  it.type('\t');
  expect(it.screen).toHaveLength(21);
  expect(it.requests).toEqual([]);
});

test('a small paste is text, and never sends', () => {
  const it = typing();
  it.paste('one\r\ntwo\r\u001b[31m');
  expect(it.line).toBe('one\ntwo\n\u001b[31m|');
  expect(it.screen).toEqual(['> one', '  two', '  \\x1b[31m|']);
  expect(it.requests).toEqual([]);
});

test('Ctrl+C clears the line, can be undone, and leaves the second time', () => {
  const it = typing();
  it.type('abc\u0003');
  expect(it.screen).toEqual(['> |', 'Cleared. Ctrl+_ brings it back, Ctrl+C again leaves.']);
  expect(it.type('\u001f')).toBe('abc|');
  it.type('\u0003');
  it.wait(1999);
  it.type('\u0003');
  expect(it.requests).toEqual([{ kind: 'leave' }]);
});

test('Ctrl+C twice leaves only in a row: what is typed between them is cleared', () => {
  const it = typing();
  it.type('abc\u0003');
  it.wait(1000);
  expect(it.type('new\u0003')).toBe('|');
  expect(it.requests).toEqual([]);
  expect(it.type('\u001f')).toBe('new|');
});

test('Ctrl+C within 800 ms after a turn has ended was meant for that turn, and changes nothing', () => {
  const it = typing();
  const say = 'That has already ended. On an empty line, Ctrl+C leaves.';
  it.editor.noteTurnEnd(0);
  it.wait(799);
  it.type('\u0003\u0003');
  expect(it.screen).toEqual(['> |', say]);
  it.editor.replace('typed ahead');
  it.type('\u0003');
  expect(it.screen).toEqual(['> typed ahead|', say]);
  it.wait(1);
  expect(it.type('\u0003')).toBe('|');
  expect(it.requests).toEqual([]);
  it.type('\u0003');
  expect(it.requests).toEqual([{ kind: 'leave' }]);
});

test('a key that is typed after a turn has ended makes the next Ctrl+C one for the line', () => {
  const it = typing();
  it.editor.noteTurnEnd(0);
  it.type('x\u007f\u0003');
  expect(it.requests).toEqual([{ kind: 'leave' }]);
});

test('Ctrl+C on an empty line leaves, and two far apart do not', () => {
  const it = typing();
  it.type('abc\u0003');
  it.wait(2000);
  it.type('d\u0003');
  expect(it.requests).toEqual([]);
  it.wait(2000);
  it.type('\u0003');
  expect(it.requests).toEqual([{ kind: 'leave' }]);
});

test('Ctrl+D, Ctrl+G, Ctrl+L and Ctrl+Z ask for what they are known for', () => {
  const it = typing();
  it.type('\u0004\u0007\u000c\u001a');
  expect(it.requests.map(({ kind }) => kind)).toEqual(['end', 'edit', 'clear-screen', 'suspend']);
});

test('nothing that is pasted passes for a large paste', () => {
  const it = typing();
  it.paste('\ufdd0a');
  it.type('\r');
  expect(it.requests).toEqual([{ kind: 'text', text: '\ufffda' }]);
});

test('the status stands below the line, cut to the window; a notice takes its place and is shown whole', () => {
  const it = typing({ status: 'gemini-2.5-flash · 記録 · 97 % of the window left', columns: 22 });
  expect(it.screen).toEqual(['> |', 'gemini-2.5-flash · 記']);
  it.type('abc\u0003');
  expect(it.screen).toEqual(['> |', 'Cleared. Ctrl+_', '    brings it back,', '    Ctrl+C again', '    leaves.']);
  expect(it.editor.lastFrame().rows).toHaveLength(1);
  it.type('x');
  expect(it.screen).toEqual(['> x|', 'gemini-2.5-flash · 記']);
});

test('a low window has no status', () => {
  expect(typing({ status: 'gemini-2.5-flash', rows: 7 }).screen).toEqual(['> |']);
});
