import { expect } from 'vitest';
import { pipedChat, sharedHome } from '../support/chat.ts';
import { chatInTerminal, screenOf } from '../support/chat-terminal.ts';
import { posixTest } from '../support/posix.ts';

const CTRL_D = '\u0004';
const ESC = '\u001b';
const [UP, DOWN] = [`${ESC}[A`, `${ESC}[B`];
const STATUS = 'gemini-2\\.5-\\w+ · edits ask first · 100 % of the window left';

posixTest('menus open as commands and paths are typed, and nothing of them remains', async (t) => {
  const chat = chatInTerminal(t, ['--demo'], { files: { 'notes.md': 'x', '日本語.txt': 'x', 'src/deep.ts': 'x' } });
  await chat.ready(1);
  chat.type('/');
  await chat.shows(/❯ \/\n {2}\/help +List the commands\n[\s\S]*… \d+ more$/);
  chat.type('mo');
  await chat.shows(/❯ \/mo\n {2}\/model {2}Choose the model[^\n]*$/);
  chat.type(ESC);
  await chat.shows(new RegExp(`❯ /mo\n${STATUS}$`));
  chat.type('\u0015/thoughts o');
  await chat.shows(/❯ \/thoughts o\n {2}on\n {2}off$/);
  chat.type(`${DOWN}\r`);
  await chat.shows(new RegExp(`❯ /thoughts on\nThoughts are shown\\.\n❯\n${STATUS}$`));
  chat.type('look at @');
  await chat.shows(/❯ look at @\n {2}@src\/\n {2}@日本語\.txt\n {2}@notes\.md\n {2}@src\/deep\.ts$/);
  chat.type('日');
  await chat.shows(/❯ look at @日\n {2}@日本語\.txt$/);
  chat.type(`${DOWN}\r`);
  await chat.shows(new RegExp(`❯ look at @日本語\\.txt\n${STATUS}$`));
  chat.type('\r');
  await chat.shows(/❯ look at @日本語\.txt\n\+ 日本語\.txt \(1 B\)\n[\s\S]*\n❯\n/);
  chat.type(CTRL_D);
  const { exitCode, output } = await chat.ended;
  expect(exitCode).toBe(0);
  expect(screenOf(output)).not.toMatch(/List the commands|notes\.md|more$/m);
});

posixTest('/model, /tools, /load and /sessions let the user choose, and nothing of the lists remains', async (t) => {
  const { env } = sharedHome(t);
  for (const name of ['holiday', '旅行'])
    await pipedChat(t, ['hello'], { env, args: ['--demo', '--session-name', name] });
  const chat = chatInTerminal(t, ['--demo'], { env });
  await chat.ready(1);
  chat.enter('/model');
  await chat.shows(/❯ \/model\nmodel ›\n[\s\S]*› gemini-2\.5-flash {2}/);
  chat.type('2.5-pro');
  await chat.shows(/model › 2\.5-pro\n› gemini-2\.5-pro {2}[^\n]*$/);
  chat.type('\r');
  await chat.shows(/❯ \/model\nThe model is gemini-2\.5-pro now\.\n❯\ngemini-2\.5-pro · [^\n]*$/);
  chat.enter('/tools');
  await chat.shows(/tools ›\n› on {2}\w+ +Enter turns it off\n/);
  chat.type('web_f\r');
  await chat.shows(/tools ›\n[\s\S]*› on {2}web_fetch/);
  chat.type(ESC);
  await chat.shows(/❯ \/tools\n[\s\S]* on {3}web_fetch\n[\s\S]*❯\n/);
  chat.enter('/load');
  await chat.shows(/session ›\n› 1 {2}\w+ {2}旅行 {2}[^\n]*\n {2}2 {2}\w+ {2}holiday/);
  chat.type(`${UP}\r`);
  await chat.shows(/❯ \/load\nContinuing holiday: 1 turn\.\n/);
  chat.enter('/sessions');
  await chat.shows(/❯ \/sessions\nsession ›\n/);
  chat.type(ESC);
  await chat.shows(/❯ \/sessions\n❯\n[^\n]*$/);
  chat.type(CTRL_D);
  const { exitCode, output } = await chat.ended;
  expect(exitCode).toBe(0);
  expect(screenOf(output)).not.toMatch(/model ›|tools ›|session ›|旅行/);
});
