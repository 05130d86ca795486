import { expect } from 'vitest';
import { pipedChat, sharedHome } from '../support/chat.ts';
import { chatInTerminal, screenOf } from '../support/chat-terminal.ts';
import { gate } from '../support/gate.ts';
import { END, fakeGemini, finish, reply, stream } from '../support/gemini.ts';
import { posixTest } from '../support/posix.ts';

const CTRL_D = '\u0004';
const ESC = '\u001b';
const [UP, DOWN] = [`${ESC}[A`, `${ESC}[B`];
const STATUS = 'gemini-2\\.5-\\w+ · edits ask first · 100 % of the window left';

posixTest('menus open as commands and paths are typed, Enter takes the marked row, and nothing remains', async (t) => {
  const files = { 'notes.md': 'x', 'profile.ts': 'x', '日本語.txt': 'x', 'src/deep.ts': 'x' };
  const chat = chatInTerminal(t, ['--demo'], { files });
  await chat.ready(1);
  chat.type('/');
  await chat.shows(/❯ \/\n› \/help +List the commands\n {2}[\s\S]*… \d+ more$/);
  chat.type('mo');
  await chat.shows(/❯ \/mo\n› \/model {2}Choose the model[^\n]*$/);
  chat.type(ESC);
  await chat.shows(new RegExp(`❯ /mo\n${STATUS}$`));
  chat.type('\u0015/sta');
  await chat.shows(/❯ \/sta\n› \/status[^\n]*\n {2}\/stats[^\n]*$/);
  chat.type(DOWN);
  await chat.shows(/\n› \/stats[^\n]*$/);
  chat.type('\r');
  await chat.shows(new RegExp(`❯ /stats\n0 turns[^\n]*\n❯\n${STATUS}$`));
  chat.type('/pi');
  await chat.shows(/❯ \/pi\n› \/pipe {2}[^\n]*$/);
  chat.type('\r');
  await chat.shows(new RegExp(`❯ /pipe\n${STATUS}$`));
  chat.type('\u0015/thoughts o');
  await chat.shows(/❯ \/thoughts o\n› on\n {2}off$/);
  chat.type(`${DOWN}${DOWN}${UP}`);
  await chat.shows(/❯ \/thoughts o\n {2}on\n› off$/);
  chat.type('\r');
  await chat.shows(new RegExp(`❯ /thoughts off\nThoughts are not shown\\.\n❯\n${STATUS}$`));
  chat.type('look at @');
  await chat.shows(/❯ look at @\n› @src\/\n {2}@日本語\.txt\n {2}@notes\.md\n {2}@profile\.ts\n {2}@src\/deep\.ts$/);
  chat.type('日');
  await chat.shows(/❯ look at @日\n› @日本語\.txt$/);
  chat.type('\t');
  await chat.shows(new RegExp(`❯ look at @日本語\\.txt\n${STATUS}$`));
  chat.type('and @prof');
  await chat.shows(/and @prof\n› @profile\.ts$/);
  chat.type('\r');
  await chat.shows(new RegExp(`❯ look at @日本語\\.txt and @profile\\.ts\n${STATUS}$`));
  chat.type('\r');
  await chat.shows(/@profile\.ts\n\+ 日本語\.txt \(1 B\)\n\+ profile\.ts \(1 B\)\n[\s\S]*\n❯\n/);
  // Typed in full, it is sent.
  chat.type('what is in @src/');
  await chat.shows(/❯ what is in @src\/\n› @src\/\n {2}@src\/deep\.ts$/);
  chat.type('\r');
  await chat.shows(/❯ what is in @src\/\n\+ src\/ \(1 file, 1 B\)\n[\s\S]*\n❯\n/);
  chat.type(CTRL_D);
  const { exitCode, output } = await chat.ended;
  expect(exitCode).toBe(0);
  expect(screenOf(output)).not.toMatch(/List the commands|notes\.md|more$|^›/m);
});

posixTest('a menu longer than a narrow window scrolls with the mark, and its rows are cut', async (t) => {
  const chat = chatInTerminal(t, ['--demo'], { columns: 40, rows: 8 });
  await chat.ready(1);
  chat.type('/');
  await chat.shows(/❯ \/\n› \/help +List the commands\n(?: {2}\/[^\n]*\n){5} {2}… \d+ more$/);
  chat.type(UP);
  await chat.shows(/❯ \/\n(?: {2}\/[^\n]*\n)+› \/\w+[^\n]*$/);
  chat.type(`${DOWN}${DOWN}\r`);
  await chat.shows(/❯ \/keys\n {2}Enter/);
  chat.type(CTRL_D);
  expect((await chat.ended).exitCode).toBe(0);
});

posixTest(
  'a menu during a turn takes its keys: Enter queues what is marked, and Esc does not stop the turn',
  async (t) => {
    const [first, rest] = [gate(), gate()];
    const slow = stream(first.opened, 'half', rest.opened, finish('STOP', [{ text: ' whole' }]), END);
    const gemini = await fakeGemini(t, [slow, reply('second')]);
    const chat = chatInTerminal(t, [], { gemini, files: { 'profile.ts': 'x', 'project.md': 'x' } });
    await chat.ready(1);
    chat.enter('one');
    first.open();
    await chat.shows(/❯ one\nhalf\n/);
    chat.type('see @pro');
    await chat.shows(/❯ see @pro\n› @profile\.ts\n {2}@project\.md$/);
    chat.type(ESC);
    await chat.shows(new RegExp(`❯ see @pro\n${STATUS}$`));
    chat.type('\u0017@pro');
    await chat.shows(/❯ see @pro\n› @profile\.ts\n {2}@project\.md$/);
    chat.type(DOWN);
    await chat.shows(/❯ see @pro\n {2}@profile\.ts\n› @project\.md$/);
    chat.type('\r');
    await chat.shows(new RegExp(`❯ see @project\\.md\n${STATUS}$`));
    chat.type('\r/sta');
    await chat.shows(/queued \(Up takes it back\): see @project\.md\n❯ \/sta\n› \/status[^\n]*\n {2}\/stats[^\n]*$/);
    chat.type(DOWN);
    await chat.shows(/\n› \/stats[^\n]*$/);
    chat.type('\r');
    await chat.shows(/queued: see @project\.md\nqueued \(Up takes it back\): \/stats\n/);
    rest.open();
    await chat.shows(/half whole\n\n❯ see @project\.md\n\+ project\.md \(1 B\)\nsecond\n\n❯ \/stats\n2 turns/);
    chat.type(CTRL_D);
    const { exitCode, output } = await chat.ended;
    expect(exitCode).toBe(0);
    expect(screenOf(output)).not.toMatch(/cancelled|^›/m);
  },
);

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
  await chat.shows(/tools, Enter turns one on or off ›\n› on {2}list_directory +lists a directory\n/);
  chat.type('web_f\r');
  await chat.shows(/on or off ›\n[\s\S]*› on {2}web_fetch +reads up to ten/);
  chat.type(ESC);
  await chat.shows(/❯ \/tools\n[\s\S]* on {2}web_fetch +reads[\s\S]*❯\n/);
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
