import { expect, test } from 'vitest';
import { emulator } from '../support/emulator.ts';
import { gate } from '../support/gate.ts';
import { chunk, END, events, fakeGemini, finish, reply, stream } from '../support/gemini.ts';
import { runInTerminal } from '../support/pty.ts';

const ESCAPE = '\u001b';

test('Markdown is laid out and code is coloured', async (t) => {
  const gemini = await fakeGemini(t, [reply('# Title\n\nSome **bold** text.\n\n```js\nconst a = 1;\n```\n')]);
  const { exitCode, output } = await runInTerminal(t, ['hi'], { gemini }).ended;
  expect(exitCode).toBe(0);
  expect(output).not.toContain('**');
  expect(output).toMatch(new RegExp(`${ESCAPE}\\[[0-9;]*m`));
  expect(plain(output)).toContain('Some bold text.');
  expect(plain(output)).toContain('const a = 1;');
});

test('with NO_COLOR there is no style', async (t) => {
  const gemini = await fakeGemini(t, [reply('# Title\n\nSome **bold** text.\n')]);
  const { output } = await runInTerminal(t, ['-q', 'hi'], { gemini, env: { NO_COLOR: '1' } }).ended;
  expect(output).not.toMatch(/\u001b\[[\d;]*m|\u001b\]/);
  expect(output).toContain('Some bold text.');
});

test('links are for terminals that are known to show them', async (t) => {
  const links = async (env: Record<string, string>): Promise<boolean> => {
    const gemini = await fakeGemini(t, [reply('[a](https://x.y)\n')]);
    return (await runInTerminal(t, ['-q', 'hi'], { gemini, env }).ended).output.includes('\u001b]8;;https://x.y');
  };
  const known: Record<string, string>[] = [
    { VTE_VERSION: '7600' },
    { TERM: 'xterm-kitty' },
    { TERM_PROGRAM: 'vscode' },
  ];
  const unknown: Record<string, string>[] = [
    {},
    { VTE_VERSION: '4800' },
    { TERM: 'xterm-kitty', FORCE_HYPERLINK: '0' },
  ];
  expect(await Promise.all(known.map(links))).toEqual([true, true, true]);
  expect(await Promise.all(unknown.map(links))).toEqual([false, false, false]);
});

test('--render never shows the text as it is', async (t) => {
  const gemini = await fakeGemini(t, [reply('# Title\n**bold**\n')]);
  const { output } = await runInTerminal(t, ['--render', 'never', 'hi'], { gemini }).ended;
  expect(plain(output).replaceAll('\r', '')).toContain('# Title\n**bold**\n');
});

test("the model's control sequences do not reach the terminal, however they are cut", async (t) => {
  const evil = ['a\u001b', ']0;owned\u0007b', '\u001b[2', 'Jc\u009b31md', '\u0008\u007fe'];
  for (const render of ['auto', 'never']) {
    const gemini = await fakeGemini(t, [events([...evil.map((text) => chunk([{ text }])), finish()])]);
    const { output } = await runInTerminal(t, ['-q', '--no-color', '--render', render, 'hi'], { gemini }).ended;
    expect(await seen(output)).toEqual(['abcde']);
    expect(output).not.toMatch(/owned|\u001b\[2J|\u009b|[\b\u007f]/);
  }
});

test('a spinner says what is awaited, and is gone before the answer', async (t) => {
  const { open, opened } = gate();
  const slow = stream(opened, finish('STOP', [{ text: 'there you are' }]), END);
  const terminal = runInTerminal(t, ['hi'], { gemini: await fakeGemini(t, [slow]) });
  await terminal.until(/gemini-2\.5-flash/);
  open();
  const { output } = await terminal.ended;
  expect(output.slice(output.lastIndexOf('gemini-2.5-flash'))).toMatch(
    /^gemini-2\.5-flash[^\n]*\u001b8\r\u001b\[Jthere you are/,
  );
});

test('Ctrl+C stops the answer, keeps what came and exits with 130', async (t) => {
  const stalled = stream('Once upon a time.\n\n');
  const terminal = runInTerminal(t, ['--render', 'never', 'story'], { gemini: await fakeGemini(t, [stalled]) });
  await terminal.until(/Once upon a time\./);
  terminal.type('\u0003');
  expect((await terminal.ended).exitCode).toBe(130);
});

test('wide characters wrap by the columns they take', async (t) => {
  const gemini = await fakeGemini(t, [reply(`${'日本語の文章です。'.repeat(12)}\n`)]);
  const { output } = await runInTerminal(t, ['-q', '--no-color', 'hi'], { gemini, columns: 40 }).ended;
  const lines = await seen(output, 40);
  expect(lines.every((line) => [...line].length <= 20)).toBe(true);
  expect(lines.join('')).toBe('日本語の文章です。'.repeat(12));
});

async function seen(output: string, columns = 80): Promise<readonly string[]> {
  const screen = emulator({ columns, rows: 24 });
  await screen.write(output);
  return (await screen.shown()).lines;
}

function plain(output: string): string {
  return output.replace(/\u001b\[[0-9;?]*[A-Za-z]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)/g, '');
}
