import { expect, test } from 'vitest';
import { groupView, questionView } from '../../src/commands/approval-view.ts';
import type { Preview } from '../../src/core/tool.ts';

const bodyOf = (preview: Preview) => questionView('tool', preview, { columns: 80, isStyled: false }).body;
const ofCommand = (command: string) => bodyOf({ kind: 'command', command, directory: '/w' });
const ofDiff = (diff: string) => bodyOf({ kind: 'diff', path: 'a', diff: `@@ @@\n${diff}`, added: 1, removed: 0 });

test('long runs of blanks are counted, so that what stands behind them is in sight', () => {
  expect(ofCommand(`ls${' '.repeat(8000)}; rm -rf y`)).toEqual(['│ ls⟨8000 spaces⟩; rm -rf y']);
  expect(ofDiff(`+a${'\t'.repeat(300)}b\n`)).toEqual(['│ @@ @@', '│ +a⟨300 tabs⟩b']);
});

test('many empty lines are one line with their count', () => {
  expect(ofCommand(`ls\n${'\n'.repeat(300)}rm -rf y`)).toEqual(['│ ls', '│ ⟨300 empty lines⟩', '│ rm -rf y']);
  expect(ofCommand(`ls\n${' \n'.repeat(300)}\nrm -rf y`)).toEqual(['│ ls', '│ ⟨301 blank lines⟩', '│ rm -rf y']);
  expect(ofDiff(` a\n${'+\n'.repeat(300)}+b\n`)).toEqual(['│ @@ @@', '│  a', '│ +⟨300 empty lines⟩', '│ +b']);
});

test('blanks at the end of a line are visible', () => {
  expect(ofCommand('echo a \\ \nb')).toEqual(['│ echo a \\⟨1 space⟩', '│ b']);
  expect(ofDiff('-a\n+a  \n \n')).toEqual(['│ @@ @@', '│ -a', '│ +a⟨2 spaces⟩', '│']);
});

test('indentation, and a few empty lines, stay as they are', () => {
  expect(ofCommand(`if a\n\n\n\n${' '.repeat(40)}b`)).toEqual(['│ if a', '│', '│', '│', `│ ${' '.repeat(40)}b`]);
});

test('what a long line goes on with cannot pass for a line of its own', () => {
  const long = `+${'a'.repeat(76)}`;
  expect(ofDiff(`${long}-removed line\n`)).toEqual(['│ @@ @@', `│ ${long}`, '┊ -removed line']);
  expect(ofCommand(`${'a'.repeat(77)}rm -rf y`)).toEqual([`│ ${'a'.repeat(77)}`, '┊ rm -rf y']);
});

test('the titles of a group are marked as no line of a diff is', () => {
  const preview: Preview = { kind: 'diff', path: 'a', diff: '@@ @@\n+x\n', added: 1, removed: 0 };
  const view = questionView('write_file', preview, { columns: 80, isStyled: false });
  const title = '├ write_file a  +1 −0';
  expect(groupView([view, view], [preview, preview])).toEqual({
    title: ['╭ 2 changes  +2 −0'],
    body: [title, '│ @@ @@', '│ +x', title, '│ @@ @@', '│ +x'],
    brief: [title, title],
  });
});
