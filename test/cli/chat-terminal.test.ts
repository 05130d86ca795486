import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { sharedHome } from '../support/chat.ts';
import { chatInTerminal, screenOf } from '../support/chat-terminal.ts';
import { emulator } from '../support/emulator.ts';
import { call, fakeGemini, reply, stream } from '../support/gemini.ts';
import { posixTest } from '../support/posix.ts';

const CTRL_C = '\u0003';
const CTRL_D = '\u0004';
const ESC = '\u001b';

/** Says this much, a paragraph of it whole, and then nothing until the client leaves. */
const begun = (text: string) => stream(`${text}\n\nAnd`);

/** What the files of the sessions hold. */
function sessionTexts(home: string): readonly string[] {
  const directory = join(home, 'sessions');
  const names = readdirSync(directory).filter((name) => name.endsWith('.jsonl'));
  return names.map((name) => readFileSync(join(directory, name), 'utf8'));
}

posixTest.for([
  ['Esc', ESC],
  ['Ctrl+C', CTRL_C],
] as const)(
  '%s ends the answer alone: what came is saved as interrupted, and goes with the next prompt',
  async ([, key], t) => {
    const { env, path } = sharedHome(t);
    const gemini = await fakeGemini(t, [begun('half of it'), reply('and the rest')]);
    const chat = chatInTerminal(t, [], { gemini, env });
    await chat.until(/❯ /);
    chat.enter('one');
    await chat.until(/half of it/);
    chat.type(key);
    await chat.until(/partial answer kept[\s\S]*❯ /);
    chat.enter('two');
    await chat.until(/and the rest[\s\S]*❯ /);
    chat.type(CTRL_D);
    const { exitCode } = await chat.ended;
    expect(exitCode).toBe(0);
    expect(gemini.requests[1]?.body.contents.map(({ parts }: { parts: object[] }) => parts[0])).toEqual([
      { text: 'one' },
      { text: 'half of it\n\nAnd' },
      { text: 'two' },
    ]);
    const [saved = '', ...others] = sessionTexts(path);
    expect(others).toEqual([]);
    const replies = saved
      .trim()
      .split('\n')
      .filter((line) => line.includes('half of it') || line.includes('and the rest'));
    expect(replies.map((line) => line.includes('STOP'))).toEqual([false, true]);
  },
);

posixTest('Ctrl+C clears a line that has text, and leaves with 130 and statistics where it has none', async (t) => {
  const chat = chatInTerminal(t, ['--demo']);
  await chat.until(/❯ /);
  chat.type('half a thought');
  await chat.until(/half a thought/);
  chat.type(CTRL_C);
  chat.enter('hello');
  await chat.until(/help you today[\s\S]*❯ /);
  // Right after a turn, Ctrl+C alone would be taken for one that came too late for it.
  chat.type(`x${CTRL_C}${CTRL_C}`);
  const { exitCode, output } = await chat.ended;
  expect(exitCode).toBe(130);
  expect(screenOf(output)).toMatch(/\n1 turn · 5 in · 12 out · 17 tokens · [\d.]+s$/);
});

posixTest('Ctrl+C twice in a turn leaves, with 130, and what came is in the one file of the session', async (t) => {
  const { env, path } = sharedHome(t);
  const chat = chatInTerminal(t, [], { gemini: await fakeGemini(t, [begun('half of it')]), env });
  await chat.until(/❯ /);
  chat.enter('one');
  await chat.until(/half of it/);
  chat.type(CTRL_C + CTRL_C);
  const { exitCode, output } = await chat.ended;
  expect(exitCode).toBe(130);
  expect(screenOf(output)).toMatch(/\nResume: gmn chat -r [\da-f]{8}$/);
  expect(sessionTexts(path)).toEqual([expect.stringContaining('half of it')]);
});

posixTest('turns that are cancelled one right after the other do not end the chat', async (t) => {
  const gemini = await fakeGemini(t, [begun('the first'), begun('the second')]);
  const chat = chatInTerminal(t, [], { gemini });
  await chat.until(/❯ /);
  chat.enter('one');
  await chat.until(/the first/);
  chat.type(CTRL_C);
  await chat.until(/kept[\s\S]*❯ /);
  chat.enter('two');
  await chat.until(/the second/);
  chat.type(CTRL_C);
  await chat.until(/kept[\s\S]*kept[\s\S]*❯ /);
  chat.enter('/q');
  expect((await chat.ended).exitCode).toBe(0);
});

posixTest.for([
  ['SIGTERM', 143],
  ['SIGHUP', 129],
  ['SIGINT', 130],
] as const)('%s ends the chat, at the prompt and in a turn, with everything saved', async ([signal, code], t) => {
  const idle = chatInTerminal(t, ['--demo']);
  await idle.until(/❯ /);
  idle.kill(signal);
  const first = await idle.ended;
  expect(first.exitCode).toBe(code);
  // Pastes are no longer marked: the terminal is as it was.
  expect(first.output.lastIndexOf('\u001b[?2004l')).toBeGreaterThan(first.output.lastIndexOf('\u001b[?2004h'));
  const { env, path } = sharedHome(t);
  const gemini = await fakeGemini(t, [begun('half of it')]);
  const busy = chatInTerminal(t, [], { gemini, env });
  await busy.until(/❯ /);
  busy.enter('one');
  await busy.until(/half of it/);
  busy.kill(signal);
  const second = await busy.ended;
  expect(second.exitCode).toBe(code);
  expect(second.output.lastIndexOf('\u001b[?2004l')).toBeGreaterThan(second.output.lastIndexOf('\u001b[?2004h'));
  expect(sessionTexts(path)).toEqual([expect.stringContaining('half of it')]);
});

posixTest(
  'a window that is closed in the middle of an answer ends the chat with 129, and what came is saved',
  async (t) => {
    const { env, path } = sharedHome(t);
    const chat = chatInTerminal(t, [], { gemini: await fakeGemini(t, [begun('half of it')]), env });
    await chat.until(/❯ /);
    chat.enter('one');
    await chat.until(/half of it/);
    chat.hangUp();
    expect((await chat.ended).exitCode).toBe(129);
    expect(sessionTexts(path)).toEqual([expect.stringContaining('half of it')]);
  },
);

posixTest('q at a question stops the turn, and the pending call is answered', async (t) => {
  const made = call('write_file', { file_path: 'a.txt', content: 'x' });
  const gemini = await fakeGemini(t, [reply(made), reply('as you like')]);
  const chat = chatInTerminal(t, [], { gemini });
  await chat.until(/❯ /);
  chat.enter('write');
  await chat.until(/› $/);
  chat.type('q');
  await chat.until(/stopped before write_file was run[\s\S]*❯ /);
  chat.enter('do not');
  await chat.until(/as you like[\s\S]*❯ /);
  chat.type(CTRL_D);
  expect((await chat.ended).exitCode).toBe(0);
  expect(gemini.requests[1]?.parts).toMatchObject([
    { functionResponse: { name: 'write_file', response: { error: '[cancelled]' } } },
    { text: 'do not' },
  ]);
});

posixTest.for([
  ['q', 'q'],
  ['Ctrl+C', CTRL_C],
] as const)('%s at a question sends nothing of what was typed before: it stands in the line', async ([, key], t) => {
  const made = call('write_file', { file_path: 'a.txt', content: 'x' });
  const gemini = await fakeGemini(t, [reply(made), reply('as you like')]);
  const chat = chatInTerminal(t, [], { gemini });
  await chat.until(/❯ /);
  chat.type('write\rnext prompt\r');
  await chat.until(/› $/);
  chat.type(key);
  await chat.until(/stopped before write_file was run[\s\S]*❯ (?:\u001b\[0m)?next prompt/);
  expect(gemini.requests).toHaveLength(1);
  chat.enter(', changed');
  await chat.until(/as you like[\s\S]*❯ /);
  chat.type(CTRL_D);
  expect((await chat.ended).exitCode).toBe(0);
  expect(gemini.requests[1]?.parts.at(-1)).toEqual({ text: 'next prompt, changed' });
});

posixTest('/copy in a plain chat without a program for it copies nothing, and says so', async (t) => {
  const chat = chatInTerminal(t, ['--demo', '--plain', 'hello']);
  await chat.until(/> /);
  chat.enter('/copy');
  await chat.until(
    /Error: nothing was copied: no program for the clipboard is known here\r\nPass it to a program of yours: \/pipe <command>\r\n> /,
  );
  chat.type(CTRL_D);
  expect((await chat.ended).output).not.toContain(ESC);
});

posixTest('/copy asks the terminal to copy', async (t) => {
  const chat = chatInTerminal(t, ['--demo', 'bash script that prints the date']);
  await chat.until(/❯ /);
  chat.enter('/copy code');
  await chat.until(/Asked the terminal to copy 11 B\.[\s\S]*❯ /);
  chat.type(CTRL_D);
  const { output } = await chat.ended;
  expect(output).toContain(`\u001b]52;c;${Buffer.from("date '+%F'\n").toString('base64')}\u0007`);
});

posixTest('/edit sends what was written in the editor', async (t) => {
  const editor = `sh -c 'printf "hello" > "$0"'`;
  const chat = chatInTerminal(t, ['--demo'], { env: { EDITOR: editor } });
  await chat.until(/❯ /);
  chat.enter('/edit');
  await chat.until(/How can I help you today\?[\s\S]*❯ /);
  chat.type(CTRL_D);
  expect((await chat.ended).exitCode).toBe(0);
});

posixTest.for(['--plain', 'TERM=dumb'])('%s shows plain text, without one escape', async (way, t) => {
  const args = way === '--plain' ? ['--plain'] : [];
  const chat = chatInTerminal(t, ['--demo', ...args], way === '--plain' ? {} : { env: { TERM: 'dumb' } });
  await chat.until(/> /);
  chat.enter('hello');
  await chat.until(/How can I help you today\?[\s\S]*> /);
  chat.enter('/q');
  const { output, exitCode } = await chat.ended;
  expect(exitCode).toBe(0);
  expect(output).not.toContain(ESC);
  expect(output).not.toContain('of the window left');
});

posixTest('/diff has colours, and marks the words that were changed', async (t) => {
  const edit = call('edit_file', { file_path: 'a.txt', old_string: 'Rotterdam', new_string: 'Yokohama' });
  const gemini = await fakeGemini(t, [reply(call('read_file', { file_path: 'a.txt' })), reply(edit), reply('done')]);
  const files = { 'a.txt': 'the harbour of Rotterdam\n' };
  const chat = chatInTerminal(t, ['--approval-mode', 'auto_edit'], { gemini, files });
  await chat.ready(1);
  chat.enter('change it');
  await chat.shows(/\ndone\n\n❯/);
  chat.enter('/diff');
  const output = await chat.until(/\u001b\[7m[^\n]*Yokohama/);
  expect(output).toMatch(/\u001b\[31m-\S*the harbour of \S*\u001b\[7mRotterdam/);
  await chat.shows(/\n-the harbour of Rotterdam\n\+the harbour of Yokohama\n❯/);
  chat.type('\u0004');
  expect((await chat.ended).exitCode).toBe(0);
});

posixTest.for([
  [80, 24],
  [120, 40],
] as const)('no row is empty between a prompt that fills %i columns and its answer', async ([columns, rows], t) => {
  const gemini = await fakeGemini(t, [reply('one'), reply('two'), reply('three')]);
  const chat = chatInTerminal(t, [], { gemini, columns, rows });
  const prompts = [
    ...['x'.repeat(columns - '❯ '.length), '港'.repeat((columns - '❯ '.length) / 2)],
    'x'.repeat(columns - '❯ '.length - 1),
  ];
  await chat.ready(1);
  for (const [index, answer] of ['one', 'two', 'three'].entries()) {
    chat.enter(prompts[index] ?? '');
    await chat.shows(new RegExp(`\\n${answer}\\n\\n❯`));
  }
  chat.type(CTRL_D);
  const screen = emulator({ columns, rows });
  await screen.write((await chat.ended).output);
  const { lines } = await screen.shown();
  expect(lines.slice(1, 10)).toEqual([
    ...[`❯ ${prompts[0]}`, 'one', '', `❯ ${prompts[1]}`, 'two', '', `❯ ${prompts[2]}`, 'three', ''],
  ]);
});
