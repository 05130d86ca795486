import { expect, test } from 'vitest';
import { alignColumns, formatListRows } from '../../src/chat/rows.ts';

const ROWS = [
  ['/copy [code|n]', 'Copy the last answer, its last code block, or the n-th answer from the end'],
  ['/exit', 'Leave'],
] as const;

test('texts are wrapped at words, and stay in their column', () => {
  expect(formatListRows(ROWS, 50)).toEqual([
    '  /copy [code|n]  Copy the last answer, its last',
    '                  code block, or the n-th answer',
    '                  from the end',
    '  /exit           Leave',
  ]);
});

test('wide characters count as two columns, in names and in texts', () => {
  const rows = [
    ['메모', '오늘 날씨는 어떻습니까 그리고'],
    ['ab', 'x'],
  ] as const;
  expect(formatListRows(rows, 34)).toEqual(['  메모  오늘 날씨는 어떻습니까', '        그리고', '  ab    x']);
});

test('in a narrow window they stand below, and where there is no window on one line', () => {
  expect(formatListRows(ROWS, 30)).toEqual([
    '  /copy [code|n]',
    '      Copy the last answer,',
    '      its last code block, or',
    '      the n-th answer from the',
    '      end',
    '  /exit',
    '      Leave',
  ]);
  expect(formatListRows(ROWS, Number.POSITIVE_INFINITY)).toHaveLength(2);
});

test('columns line up by the width of their characters, and one that is empty is left out', () => {
  const rows = [
    ['旅行', '', 'chat', '1 turn'],
    ['a', '', 'one-shot', '12 turns'],
    ['', '', 'chat', ''],
  ];
  expect(alignColumns(rows)).toEqual(['旅行  chat      1 turn', 'a     one-shot  12 turns', '      chat']);
  expect(alignColumns([])).toEqual([]);
});
