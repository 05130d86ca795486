import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createPicker } from '../../../src/chat/line/picker.ts';
import type { Key } from '../../../src/chat/terminal/keys.ts';
import { measureWidth } from '../../../src/core/text/width.ts';
import { anyText, KEY_NAMES } from '../arbitrary.ts';

const MODELS = ['gemini-2.5-pro', 'gemini-2.5-flash', '日本語モデル'].map((insert) => ({ insert, hint: `${insert}!` }));

function picking(size = { columns: 40, rows: 10 }) {
  const picker = createPicker({ title: 'model', candidates: MODELS, chosen: 1 }, () => size, false);
  return {
    press: (...names: readonly string[]) => names.map((name) => picker.press({ kind: 'key', name })).at(-1),
    type: (text: string) => picker.press({ kind: 'text', text }),
    get rows() {
      return picker.frame().rows.map((row) => row.map(({ text }) => text).join(''));
    },
    get caret() {
      return picker.frame().caret;
    },
  };
}

test('arrows choose, in a circle, and Enter takes', () => {
  const it = picking();
  expect(it.rows).toEqual([
    'model › ',
    '  gemini-2.5-pro    gemini-2.5-pro!',
    '› gemini-2.5-flash  gemini-2.5-flash!',
    '  日本語モデル      日本語モデル!',
  ]);
  expect(it.press('down', 'down', 'enter')).toBe(MODELS[0]);
});

test('hints begin in one column, and what does not fit is cut, by the width of its characters', () => {
  const candidates = [
    { insert: '旅行の計画を立てて、宿と電車の時間も調べてください', hint: 'just now' },
    { insert: 'hi', hint: '12 days ago, and more' },
    { insert: 'no hint' },
  ];
  const picker = createPicker({ title: 'back to', candidates }, () => ({ columns: 40, rows: 10 }), false);
  expect(picker.frame().rows.map((row) => row.map(({ text }) => text).join(''))).toEqual([
    'back to › ',
    '› 旅行の計画を立てて、宿…  just now',
    '  hi                       12 days ago…',
    '  no hint',
  ]);
});

test('typing narrows the list, with the cursor behind what was typed', () => {
  const it = picking();
  it.type('日本');
  expect(it.rows).toEqual(['model › 日本', '› 日本語モデル  日本語モデル!']);
  expect(it.caret).toEqual({ row: 0, column: 12 });
  it.type('x');
  expect(it.rows).toEqual(['model › 日本x', '  nothing matches; Esc closes']);
  expect(it.press('enter')).toBeUndefined();
  it.press('backspace');
  expect(it.press('enter')).toBe(MODELS[2]);
});

test.each(['escape', 'ctrl-c', 'ctrl-d'])('%s closes it', (name) => {
  expect(picking().press(name)).toBe('closed');
});

test('whatever is pressed, it fits the window and the cursor is in it', () => {
  const keys = fc.oneof(
    anyText.map((text): Key => ({ kind: 'text', text })),
    fc.constantFrom(...KEY_NAMES).map((name): Key => ({ kind: 'key', name })),
  );
  const sizes = fc.record({ columns: fc.integer({ min: 1, max: 40 }), rows: fc.integer({ min: 1, max: 12 }) });
  fc.assert(
    fc.property(fc.array(keys, { maxLength: 20 }), sizes, (presses, size) => {
      const picker = createPicker({ title: 'model', candidates: MODELS }, () => size, true);
      for (const key of presses) picker.press(key);
      const { rows, caret } = picker.frame();
      expect(rows.length).toBeLessThanOrEqual(size.rows);
      expect(caret.row).toBeLessThan(rows.length);
      for (const row of rows) {
        expect(
          row.reduce((sum, { text, width }) => sum + (width === 0 ? 0 : measureWidth(text)), 0),
        ).toBeLessThanOrEqual(size.columns);
      }
    }),
  );
});
