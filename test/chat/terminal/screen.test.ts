import fc from 'fast-check';
import { expect, test } from 'vitest';
import { lineEditor } from '../../../src/chat/line/editor.ts';
import { type Layout, layOut } from '../../../src/chat/line/layout.ts';
import { createScreen } from '../../../src/chat/terminal/screen.ts';
import { diffFrames, eraseFrame, moveBelow, rewrapFrame } from '../../../src/core/text/frame.ts';
import { measureWidth } from '../../../src/core/text/width.ts';
import { emulator } from '../../support/emulator.ts';
import { fuzz } from '../../support/fuzz.ts';
import { testScreen } from '../../support/screen.ts';
import { anyText, bordersOf, KEY_NAMES, lineText } from '../arbitrary.ts';

const drafts = fc.record({ text: anyText, place: fc.nat() }).map(({ text, place }) => {
  const borders = bordersOf(text);
  return { text, caret: borders[place % borders.length] ?? 0 };
});
const widths = fc.oneof(fc.integer({ min: 1, max: 12 }), fc.constantFrom(40, 80, 200));

function textsOf({ rows }: Pick<Layout, 'rows'>): readonly string[] {
  const texts = rows.map((row) =>
    row
      .map(({ text }) => text)
      .join('')
      .trimEnd(),
  );
  return texts.slice(0, texts.findLastIndex((text) => text !== '') + 1);
}

test('a layout never leaves the window, and its caret is a cell of it', () => {
  fc.assert(
    fc.property(drafts, widths, lineText, (draft, columns, prompt) => {
      const { rows, caret } = layOut({ prompt, ...draft, columns });
      for (const row of rows) {
        expect(row.reduce((sum, { width }) => sum + width, 0)).toBeLessThanOrEqual(columns);
        for (const { text, width } of row) expect(measureWidth(text)).toBe(width);
      }
      expect(caret.row).toBeLessThan(rows.length);
      expect(caret.column).toBeLessThan(columns);
    }),
    fuzz(120, 20_000),
  );
});

test('whatever stood there before, the screen shows the new rows, and the cursor is at the caret', () => {
  fc.assert(
    fc.property(fc.array(drafts, { minLength: 1, maxLength: 6 }), widths, (steps, columns) => {
      const screen = testScreen({ columns, rows: 1000 });
      screen.write('earlier\r\n');
      const start = screen.cursor.row;
      let before: Layout | undefined;
      for (const draft of steps) {
        const next = layOut({ prompt: '› ', ...draft, columns });
        screen.write(diffFrames(before, next));
        before = next;
        expect(screen.rows.slice(start)).toEqual(textsOf(next));
        expect(screen.cursor).toEqual({ row: start + next.caret.row, column: next.caret.column });
      }
    }),
    fuzz(120, 20_000),
  );
});

test('after a change of width nothing of the old line is left, and nothing above it is lost', () => {
  fc.assert(
    fc.property(drafts, widths, widths, (draft, wide, narrow) => {
      const screen = testScreen({ columns: wide, rows: 1000 });
      screen.write('x\r\n');
      const before = layOut({ prompt: '› ', ...draft, columns: wide });
      screen.write(diffFrames(undefined, before));
      screen.resize(narrow);
      screen.write(eraseFrame(rewrapFrame(before, narrow)));
      const next = layOut({ prompt: '› ', ...draft, columns: narrow });
      screen.write(diffFrames(undefined, next));
      expect(screen.rows).toEqual(['x', ...textsOf(next)]);
      expect(screen.cursor).toEqual({ row: 1 + next.caret.row, column: next.caret.column });
    }),
    fuzz(120, 20_000),
  );
});

test('a row of wide characters is broken before the one that no longer fits, and not within it', () => {
  const frame = layOut({ prompt: '', text: 'あ'.repeat(50), caret: 50, columns: 80 });
  // Thirteen to a row of 27: the first forty take four rows, and the caret stands behind the tenth after them.
  expect(rewrapFrame(frame, 27).caret).toEqual({ row: 4, column: 20 });
});

test('a line that was sent stays, and what comes next begins below it', () => {
  fc.assert(
    fc.property(drafts, widths, (draft, columns) => {
      const screen = testScreen({ columns, rows: 1000 });
      const frame = layOut({ prompt: '› ', ...draft, columns });
      screen.write(diffFrames(undefined, frame) + moveBelow(frame, columns));
      const { row, column } = screen.cursor;
      expect([frame.rows.length - 1, frame.rows.length]).toContain(row);
      expect(column).toBe(0);
      expect(screen.rows).toEqual(textsOf(frame));
      expect(textsOf(frame).length).toBeLessThanOrEqual(row);
    }),
  );
});

test.each([
  ['fills a row', 'abcd', ['› abcd', 'next']],
  ['fills two rows', 'abcdefgh', ['› abcd', '  efgh', 'next']],
  ['fills a row with wide characters', '日本', ['› 日本', 'next']],
  ['is one character longer than a row', 'abcde', ['› abcd', '  e', 'next']],
  ['has no room for its last wide character', '日a語', ['› 日a', '  語', 'next']],
  ['is one character shorter than a row', 'abc', ['› abc', 'next']],
  ['ends with a line break', 'abc\n', ['› abc', '', 'next']],
  ['is empty', '', ['›', 'next']],
])('what comes after a line that %s begins right below it', async (_, text, rows) => {
  for (const caret of [text.length, 0]) {
    const terminal = emulator({ columns: 6, rows: 4 });
    const screen = createScreen(terminal, false);
    screen.show(layOut({ prompt: '› ', text, caret, columns: 6 }), 6);
    screen.moveBelow();
    await terminal.write('next');
    expect((await terminal.shown()).lines).toEqual(rows);
  }
});

test('typing at the end writes what was typed and nothing else', () => {
  const at = (text: string) => layOut({ prompt: '› ', text, caret: text.length, columns: 80 });
  expect(diffFrames(at('こんにち'), at('こんにちは'))).toBe('は');
  expect(diffFrames(at('👨‍👩‍👧'), at('👨‍👩‍👧a'))).toBe('a');
  expect(diffFrames(at('same'), at('same'))).toBe('');
});

test.each([
  ['a wide character that does not fit is on the next row', 'abcあ', 4, ['abc', 'あ']],
  ['a full row is followed by a free one', 'abcd', 4, ['abcd', '']],
  ['a character wider than the window is a question mark', 'あa', 1, ['?', 'a', '']],
  ['a tab reaches to the next stop', 'a\tb', 80, ['a   b']],
  ['control characters are seen', 'a\u001b[2Jb\u0007', 80, ['a\\x1b[2Jb\\x07']],
  ['hidden characters are seen', 'a\u202eb\u200b', 80, ['a\\u202eb\\u200b']],
  ['emoji are whole', '👨‍👩‍👧‍👦🇯🇵1️⃣', 80, ['👨‍👩‍👧‍👦🇯🇵1️⃣']],
  ['a mark without a letter has a place to stand', '\u0301a', 80, ['◌\u0301a']],
])('%s', (_, text, columns, rows) => {
  const layout = layOut({ prompt: '', text, caret: 0, columns });
  expect(layout.rows.map((row) => row.map((piece) => piece.text).join(''))).toEqual(rows);
});

test('rows line up behind a short prompt', () => {
  const { rows, caret } = layOut({ prompt: '› ', text: 'abcd\nef', caret: 7, columns: 6 });
  expect(rows.map((row) => row.map(({ text }) => text).join(''))).toEqual(['› abcd', '  ', '  ef']);
  expect(caret).toEqual({ row: 2, column: 4 });
});

test('a text taller than the window is shown around its caret, whatever is done', () => {
  const keys = fc.oneof(
    anyText.map((text) => ({ kind: 'text' as const, text })),
    fc.constantFrom(...KEY_NAMES).map((name) => ({ kind: 'key' as const, name })),
  );
  fc.assert(
    fc.property(fc.array(keys, { maxLength: 30 }), widths, fc.integer({ min: 1, max: 6 }), (presses, columns, rows) => {
      const screen = testScreen({ columns, rows });
      const editor = lineEditor({
        entries: () => ['one', 'two\nlines', '三つ目'],
        size: () => ({ columns, rows }),
        isStyled: true,
        isPlain: false,
      });
      editor.begin('› ', '');
      let before = editor.frame();
      screen.write(diffFrames(undefined, before));
      for (const key of presses) {
        editor.press(key, 0);
        if (key.kind === 'key' && key.name === 'tab') {
          editor.showCompletion({ start: 0, candidates: [{ insert: 'aあ' }, { insert: 'aい', hint: 'x\u001b[2J' }] });
        }
        const next = editor.frame();
        screen.write(diffFrames(before, next));
        before = next;
        expect(next.rows.length).toBeLessThanOrEqual(rows);
        const fresh = testScreen({ columns, rows });
        fresh.write(diffFrames(undefined, next));
        const start = screen.cursor.row - next.caret.row;
        expect(screen.rows.slice(start)).toEqual(fresh.rows);
        expect(screen.cursor.column).toBe(fresh.cursor.column);
      }
    }),
    fuzz(80, 20_000),
  );
});
