import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { KEY_TABLE } from '../../src/chat/commands/general.ts';
import { COMMANDS } from '../../src/chat/commands/table.ts';
import { pipedChat, sharedHome } from '../support/chat.ts';
import { chatInTerminal, screenOf } from '../support/chat-terminal.ts';
import { gate } from '../support/gate.ts';
import { call, fakeGemini, reply, type Scripted } from '../support/gemini.ts';
import { posixTest } from '../support/posix.ts';

const CTRL_D = '\u0004';
const ESC = '\u001b';

/** A terminal's answer that it knows kitty's keys, and what gmn says to it: by then, it has read what was typed before. */
const KITTY_ANSWER = `${ESC}[?0u`;
const KITTY_PUSHED = /\u001b\[>5u/;

posixTest('what is typed during an answer stands in the line after it', async (t) => {
  const [asked, typed] = [gate(), gate()];
  const slow: Scripted = async (response, request) => {
    asked.open();
    await typed.opened;
    return reply('first')(response, request);
  };
  const gemini = await fakeGemini(t, [slow, reply('second')]);
  const chat = chatInTerminal(t, [], { gemini });
  await chat.until(/❯ /);
  chat.enter('one');
  await asked.opened;
  chat.type(`two${KITTY_ANSWER}`);
  await chat.until(KITTY_PUSHED);
  typed.open();
  await chat.shows(/first\n\n❯ two/);
  chat.type('\r');
  await chat.until(/second[\s\S]*❯ /);
  chat.type(CTRL_D);
  expect((await chat.ended).exitCode).toBe(0);
  expect(gemini.requests[1]?.parts).toEqual([{ text: 'two' }]);
});

posixTest('Ctrl+Z where nobody could bring the chat back changes nothing, at a question neither', async (t) => {
  const made = call('write_file', { file_path: 'a.txt', content: 'x' });
  const gemini = await fakeGemini(t, [reply(made), reply('as you like')]);
  const chat = chatInTerminal(t, [], { gemini });
  await chat.until(/❯ /);
  chat.type('wri');
  await chat.shows(/❯ wri$/m);
  chat.type('\u001a');
  await chat.shows(/❯ wri\n❯ wri$/m);
  chat.type('te\r');
  await chat.until(/› $/);
  chat.type('\u001a');
  await chat.until(/›[\s\S]*› $/);
  chat.type('n');
  await chat.until(/as you like[\s\S]*❯ /);
  chat.type(CTRL_D);
  expect((await chat.ended).exitCode).toBe(0);
  expect(gemini.requests[0]?.parts).toEqual([{ text: 'write' }]);
});

posixTest('a paste that a question cuts off is kept as far as it had come, and the keys work after it', async (t) => {
  const made = call('write_file', { file_path: 'a.txt', content: 'x' });
  const gemini = await fakeGemini(t, [reply(made), reply('as you like'), reply('I see')]);
  const chat = chatInTerminal(t, [], { gemini });
  await chat.until(/❯ /);
  chat.type(`write\r${ESC}[200~half a`);
  await chat.until(/› $/);
  chat.type('n');
  await chat.shows(/as you like\n\n❯ half a/);
  chat.type(' paste\r');
  await chat.until(/I see[\s\S]*❯ /);
  chat.type(CTRL_D);
  expect((await chat.ended).exitCode).toBe(0);
  expect(gemini.requests[2]?.parts).toEqual([{ text: 'half a paste' }]);
});

posixTest(
  'Shift+Tab goes through the approval modes, says each below the line, and leaves nothing; Tab completes commands',
  async (t) => {
    const chat = chatInTerminal(t, ['--demo']);
    await chat.shows(/\n❯\ngemini-2\.5-flash · edits ask first · 100 % of the window left$/);
    chat.type(`下書き${ESC}[Z`);
    await chat.shows(/\/help\n❯ 下書き\nauto_edit: edits run without asking$/);
    chat.type(`${ESC}[Z`);
    await chat.shows(/\/help\n❯ 下書き\nplan: tools only read$/);
    chat.type('\u0015');
    await chat.shows(/\/help\n❯\ngemini-2\.5-flash · tools only read · 100 % of the window left$/);
    chat.type('/rew\t2\r');
    await chat.until(/there is nothing to drop[\s\S]*❯ /);
    chat.type(CTRL_D);
    const { exitCode, output } = await chat.ended;
    expect(exitCode).toBe(0);
    expect(screenOf(output)).not.toMatch(/of the window left|plan:|auto_edit:/);
  },
);

posixTest('Tab completes models, tools, sessions and paths', async (t) => {
  const { env } = sharedHome(t);
  await pipedChat(t, ['hello'], { env, args: ['--demo', '--session-name', 'holiday'] });
  const chat = chatInTerminal(t, ['--demo'], { env, files: { 'src/deep/nested.txt': 'x' } });
  await chat.until(/❯ /);
  chat.type('/model gemini-3.8\t\r');
  await chat.until(/The model is gemini-3\.8-flash now\.[\s\S]*❯ /);
  chat.type('/tools web_f\t\r');
  await chat.until(/ on {2}web_fetch[\s\S]*❯ /);
  chat.type('/load hol\t\r');
  await chat.until(/Continuing holiday[\s\S]*❯ /);
  chat.type('look at @nest\t\r');
  await chat.until(/\+ src\/deep\/nested\.txt \(1 B\)[\s\S]*❯ /);
  chat.type(CTRL_D);
  expect((await chat.ended).exitCode).toBe(0);
});

posixTest('what is typed into the list of /load is no entry, and does not come back with Up', async (t) => {
  const { path, env } = sharedHome(t);
  await pipedChat(t, ['hello'], { env, args: ['--demo', '--session-name', 'holiday'] });
  const chat = chatInTerminal(t, ['--demo', '--plain'], { env });
  await chat.until(/> /);
  chat.type('/load\r');
  await chat.until(/none\) › /);
  chat.type('1\r');
  await chat.until(/Continuing holiday[\s\S]*> /);
  chat.type(CTRL_D);
  expect((await chat.ended).exitCode).toBe(0);
  expect(readFileSync(join(path, 'history'), 'utf8')).toBe('"/load"\n');
});

posixTest('a thousand resizes leave one prompt, and the chat works on', async (t) => {
  const chat = chatInTerminal(t, ['--demo']);
  await chat.until(/❯ /);
  for (let count = 0; count < 1000; count += 1) chat.resize(40 + (count % 80), 20);
  chat.resize(80, 24);
  chat.enter('hello');
  await chat.until(/How can I help you today\?[\s\S]*❯ /);
  chat.type(CTRL_D);
  expect((await chat.ended).exitCode).toBe(0);
});

posixTest.for([40, 80, 120])('at %i columns /help and /keys break no word', async (columns, t) => {
  const chat = chatInTerminal(t, ['--demo'], { columns });
  await chat.until(/❯ /);
  chat.type('/help\r/keys\r');
  await chat.until(/fg\r\n[\s\S]*❯ /);
  chat.type(CTRL_D);
  const { output } = await chat.ended;
  const words = new Set(screenOf(output, columns).split(/\s+/));
  const texts = [...COMMANDS.map(({ help }) => help), ...KEY_TABLE.flat()];
  expect(texts.flatMap((text) => text.split(/\s+/)).filter((word) => !words.has(word))).toEqual([]);
});

/** A command that does not mind being asked to end, and asks the server as soon as that is so. */
function stubborn(url: string): string {
  return `!"${process.execPath}" -e 'process.on("SIGTERM", () => {}); require("http").get("${url}")'`;
}

posixTest('what Esc twice has left draws nothing over the prompt, and is over before the next answer', async (t) => {
  const started = gate();
  const gemini = await fakeGemini(t, [started.open, reply('now')]);
  const chat = chatInTerminal(t, [], { gemini, columns: 200 });
  await chat.until(/❯ /);
  chat.enter(stubborn(gemini.url));
  await started.opened;
  chat.type(ESC + ESC);
  await chat.until(/cancelled\r\n[\s\S]*❯ /);
  chat.enter('hello');
  await chat.shows(/\nnow\n\n❯\n/);
  chat.type(CTRL_D);
  const { output, exitCode } = await chat.ended;
  expect(exitCode).toBe(0);
  expect(screenOf(output, 200).split('\n').slice(1, -2)).toEqual([
    `❯ ${stubborn(gemini.url)}`,
    '⏹ cancelled',
    '❯ hello',
    'Waiting for the cancelled work to end. Esc: do not wait for it.',
    'now',
    '',
    '❯',
  ]);
});

posixTest('Esc ends the waiting for what was left, and the prompt is there again', async (t) => {
  const started = gate();
  const gemini = await fakeGemini(t, [started.open]);
  const chat = chatInTerminal(t, [], { gemini, columns: 200 });
  await chat.until(/❯ /);
  chat.enter(stubborn(gemini.url));
  await started.opened;
  chat.type(ESC + ESC);
  await chat.until(/cancelled\r\n[\s\S]*❯ /);
  chat.enter('hello');
  await chat.until(/Waiting for the cancelled work/);
  chat.type(ESC);
  await chat.until(/Waiting for the cancelled work[\s\S]*cancelled[\s\S]*❯ /);
  chat.type(CTRL_D);
  expect((await chat.ended).exitCode).toBe(0);
});
