import fc from 'fast-check';
import { expect, test } from 'vitest';
import { escapeText, escapeValue, groupView, listViewLines, questionView } from '../../src/approval/view.ts';
import { countInvisible } from '../../src/core/text/terminal.ts';
import { measureWidth } from '../../src/core/text/width.ts';
import type { Preview } from '../../src/core/tool.ts';

const plainView = { columns: 80, isStyled: false, pause: async () => {} };
const bodyOf = async (preview: Preview) => (await questionView('tool', preview, plainView)).body;
const ofCommand = (command: string) => bodyOf({ kind: 'command', command, directory: '/w' });
const ofDiff = (diff: string) => bodyOf({ kind: 'diff', path: 'a', diff: `@@ @@\n${diff}`, added: 1, removed: 0 });

test('long runs of blanks are counted, so that what stands behind them is in sight', async () => {
  expect(await ofCommand(`ls${' '.repeat(8000)}; rm -rf y`)).toEqual(['│ ls⟨8000 spaces⟩; rm -rf y']);
  expect(await ofDiff(`+a${'\t'.repeat(300)}b\n`)).toEqual(['│ @@ @@', '│ +a⟨300 tabs⟩b']);
});

test('blanks of both kinds are counted together, also in what an editor gets', async () => {
  expect(await ofDiff(`+a${' \t'.repeat(300)}b\n`)).toEqual(['│ @@ @@', '│ +a⟨600 blanks⟩b']);
  const few = `${'\t'.repeat(9)}${' '.repeat(4)}`;
  expect([`a${' \t'.repeat(300)}b`, `a${few}b`, `a${few} b`].map(escapeText)).toEqual([
    ...['a⟨600 blanks⟩b', `a${few}b`, 'a⟨14 blanks⟩b'],
  ]);
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(' ', '\t', 'x'), maxLength: 200 }), (text) => {
      for (const [run] of escapeText(text).matchAll(/[ \t]+/g))
        expect(run.replaceAll('\t', '    ').length).toBeLessThan(41);
    }),
  );
  const description = `lists${' '.repeat(90)}files`;
  const { title } = await questionView(
    'sh',
    { kind: 'command', command: 'ls', directory: '/w', description },
    plainView,
  );
  expect(title[1]).toBe('│ The model says: lists⟨90 spaces⟩files');
});

test('many empty lines are one line with their count', async () => {
  expect(await ofCommand(`ls\n${'\n'.repeat(300)}rm -rf y`)).toEqual(['│ ls', '│ ⟨300 empty lines⟩', '│ rm -rf y']);
  expect(await ofCommand(`ls\n${' \n'.repeat(300)}\nrm -rf y`)).toEqual(['│ ls', '│ ⟨301 blank lines⟩', '│ rm -rf y']);
  expect(await ofDiff(` a\n${'+\n'.repeat(300)}+b\n`)).toEqual(['│ @@ @@', '│  a', '│ +⟨300 empty lines⟩', '│ +b']);
  expect(await ofDiff(`${'+\r\n'.repeat(300)}+b\r\n`)).toEqual(['│ @@ @@', '│ +⟨300 blank lines⟩', '│ +b\\r']);
});

test('blanks at the end of a line are visible', async () => {
  expect(await ofCommand('echo a \\ \nb')).toEqual(['│ echo a \\⟨1 space⟩', '│ b']);
  expect(await ofDiff('-a\n+a  \n \n')).toEqual(['│ @@ @@', '│ -a', '│ +a⟨2 spaces⟩', '│']);
});

test('indentation, and a few empty lines, stay as they are', async () => {
  expect(await ofCommand(`if a\n\n\n\n${' '.repeat(40)}b`)).toEqual(['│ if a', '│', '│', '│', `│ ${' '.repeat(40)}b`]);
});

test('the rest of a long line cannot pass for a line of its own', async () => {
  const long = `+${'a'.repeat(76)}`;
  expect(await ofDiff(`${long}-removed line\n`)).toEqual(['│ @@ @@', `│ ${long}`, '┊ -removed line']);
  expect(await ofCommand(`${'a'.repeat(77)}rm -rf y`)).toEqual([`│ ${'a'.repeat(77)}`, '┊ rm -rf y']);
});

test('what the model says about a command is one short line above it, marked as what the model says', async () => {
  const about = async (description: string) =>
    (await questionView('sh', { kind: 'command', command: 'ls', directory: '/w', description }, plainView)).title;
  expect(await about('Lists files')).toEqual(['╭ sh in /w', '│ The model says: Lists files']);
  expect(await about(' ')).toEqual(['╭ sh in /w']);
  const [, ...rows] = await about('Lists\n│ true\n\u001b[2J'.repeat(100));
  expect(rows).toHaveLength(3);
  expect(rows.join('')).toMatch(/^│ The model says: Lists\\n│ true\\n\\x1b\[2J.*…$/);
});

test('a command that goes on in the background says so above it', async () => {
  const preview = { kind: 'command', command: 'ls', directory: '/w', isBackground: true } as const;
  expect((await questionView('sh', preview, plainView)).title).toEqual(['╭ sh in /w, in the background']);
});

test('a change that leaves less than half of a file says so above it, also in a group', async () => {
  const preview: Preview = {
    kind: 'diff',
    path: 'a',
    diff: '@@ @@\n-x\n',
    added: 0,
    removed: 1,
    shrinks: { from: 5000, to: 1 },
  };
  const warning = '│ The file shrinks by more than half: from 5,000 characters to 1';
  const view = await questionView('write_file', preview, plainView);
  expect(view.title).toEqual(['╭ write_file a  +0 −1', warning]);
  expect(groupView([view, view], [preview, preview]).brief).toContain(warning);
});

test('the titles of a group are marked as no line of a diff is', async () => {
  const preview: Preview = { kind: 'diff', path: 'a', diff: '@@ @@\n+x\n', added: 1, removed: 0 };
  const view = await questionView('write_file', preview, plainView);
  const title = '├ write_file a  +1 −0';
  expect(groupView([view, view], [preview, preview])).toEqual({
    title: ['╭ 2 changes  +2 −0'],
    body: [title, '│ @@ @@', '│ +x', title, '│ @@ @@', '│ +x'],
    brief: [title, title],
  });
});

test('a text that is too long to be measured loses no character, and its rows fit', async () => {
  const command = `echo ${'ü漢e\u0301🙂 x'.repeat(12_000)}`;
  const body = await ofCommand(command);
  expect(body.map((row) => row.slice(2)).join('')).toBe(command);
  expect(body.filter((row) => measureWidth(row) > 80)).toEqual([]);
});

test.each(['a\u0903\u0903', '\u0915\u093e\u093e', '\u4e00', 'a\u0301\u0301'])(
  'no row of a text that is too long to be measured is wider than the window: %j',
  async (unit) => {
    const rows = await ofCommand(unit.repeat(Math.ceil(70_000 / unit.length)));
    expect(Math.max(...rows.map(measureWidth))).toBeLessThanOrEqual(80);
  },
);

test('a diff that is too long to be measured is shown line by line, without marked words', async () => {
  const diff = `-old${'x'.repeat(70_000)}\n+${'é'.repeat(100)}\n`;
  const body = await ofDiff(diff);
  expect(body.map((row) => row.slice(2)).join('')).toBe(`@@ @@${diff.replaceAll('\n', '')}`);
  expect(body.filter((row) => row.startsWith('│'))).toHaveLength(3);
});

test('pauses are made while a long text is laid out, whatever it is made of', async () => {
  const texts = ['a', 'ü', '\n', ' ', '\t', '\u0301', '🙂', '\u200b', 'a\n', '\r\n', ' \n'];
  for (const text of texts) {
    let pauses = 0;
    const pause = async () => {
      pauses += 1;
    };
    const command = text.repeat(400_000 / text.length);
    await questionView('run_shell_command', { kind: 'command', command, directory: '/w' }, { ...plainView, pause });
    expect(pauses, JSON.stringify(text)).toBeGreaterThan(400_000 / 8192 / 4);
  }
});

test('the view ends with its pause: nobody waits for the rest', async () => {
  const command = 'ü'.repeat(400_000);
  const pause = () => Promise.reject(new Error('stopped'));
  const view = questionView(
    'run_shell_command',
    { kind: 'command', command, directory: '/w' },
    { ...plainView, pause },
  );
  await expect(view).rejects.toThrow('stopped');
});

test('where a text is cut into slices makes no difference to what is shown of it', async () => {
  const piece = fc.constantFrom('a', ' ', '\t', '\n', '+', '-', '\u0301', '🙂', '漢', '\r', 'word '.repeat(2000));
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 20 }), async (pieces) => {
      const body = await ofCommand(pieces.join(''));
      expect(body.filter((row) => measureWidth(row) > 80)).toEqual([]);
    }),
  );
});

test('the words that a change replaces are marked, also where a line is wrapped and beside invisible characters', async () => {
  const diff = [
    '--- a/a.ts',
    '+++ b/a.ts',
    '@@ -1,5 +1,4 @@',
    ' const a = 1;',
    "-const name = 'the harbour of Rotterdam';",
    '-\tlet 港 = 3;',
    '-gone',
    "+const name = 'the harbour of Yoko\u200bhama';",
    '+\tlet 港 = 4;',
    '',
  ].join('\n');
  const preview = { kind: 'diff', path: 'a.ts', diff, added: 2, removed: 3 } as const;
  const { body } = await questionView('edit_file', preview, { ...plainView, columns: 40, isStyled: true });
  const shown = body.map((row) =>
    row
      .replace(/\u001b\[7m/g, '[')
      .replace(/\u001b\[27m/g, ']')
      .replace(/\u001b\[\d+m/g, ''),
  );
  expect(shown).toEqual([
    '│ @@ -1,5 +1,4 @@',
    '│  const a = 1;',
    "│ -const name = 'the harbour of [Rotterd]",
    "┊ [am]';",
    '│ -→   let 港 = [3];',
    '│ -gone',
    "│ +const name = 'the harbour of [Yoko\\u2]",
    "┊ [00bhama]';",
    '│ +→   let 港 = [4];',
  ]);
  const { body: plain } = await questionView('edit_file', preview, { ...plainView, columns: 40 });
  expect(plain).toEqual(shown.map((row) => row.replace(/(?<!@.*)[[\]]/g, '')));
});

test('who lays out the rows gets one for each line, whatever its length', async () => {
  const command = `ls ${'a'.repeat(500)}\u202e${' '.repeat(90)}b\n\n\n\n\n\nc`;
  expect(await listViewLines('sh', { kind: 'command', command, directory: '/w' }, async () => {})).toEqual([
    ...['╭ sh in /w', '│ 1 character that cannot be seen: shown as escapes'],
    ...[`│ ls ${'a'.repeat(500)}\\u202e⟨90 spaces⟩b`, '│ ⟨5 empty lines⟩', '│ c'],
  ]);
});

test('any text shows nothing invisible, and one of plain words stays as it is', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(countInvisible(escapeText(text).replace(/[\n\t]/g, ''))).toBe(0);
    }),
  );
  fc.assert(
    fc.property(fc.array(fc.stringMatching(/^[!-~]([ \t]?[!-~])*$/)), (lines) => {
      expect(escapeText(lines.join('\n'))).toBe(lines.join('\n'));
    }),
  );
});

test('of a value all texts are shown like that, keys too', () => {
  const value = { a: ['\u202e', 1, null], 'b\u200b': { c: `x${'\t'.repeat(90)}\nd\ud800` }, e: undefined };
  expect(escapeValue(value)).toEqual({
    a: ['\\u202e', 1, null],
    'b\\u200b': { c: 'x⟨90 tabs⟩\nd\ufffd' },
    e: undefined,
  });
});
