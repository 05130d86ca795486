import { expect } from 'vitest';
import { chatInTerminal, screenOf } from '../support/chat-terminal.ts';
import { emulator } from '../support/emulator.ts';
import { gate } from '../support/gate.ts';
import { call, END, fakeGemini, finish, reply, type Scripted, stream } from '../support/gemini.ts';
import { posixTest } from '../support/posix.ts';

const CTRL_D = '\u0004';
const ESC = '\u001b';
const STATUS = 'gemini-2\\.5-flash · edits ask first · 100 % of the window left';

posixTest(
  'what is typed during a turn is seen below the answer, queued with Enter, and taken back with Up',
  async (t) => {
    const [first, rest] = [gate(), gate()];
    const end = finish('STOP', [{ text: ' and the rest' }]);
    const slow = stream(first.opened, 'half of 答え', rest.opened, end, END);
    const gemini = await fakeGemini(t, [slow, reply('second'), reply('third')]);
    const chat = chatInTerminal(t, [], { gemini });
    await chat.ready(1);
    chat.enter('one');
    await chat.shows(new RegExp(`❯ one\n(?:. gemini[^\n]*\n)?\n${STATUS}$`));
    chat.type('二つ目');
    await chat.shows(new RegExp(`\n❯ 二つ目\n${STATUS}$`));
    first.open();
    await chat.shows(new RegExp(`❯ one\nhalf of 答え\n(?:. gemini[^\n]*\n)?❯ 二つ目\n${STATUS}$`));
    chat.type('\rthree');
    await chat.shows(
      new RegExp(
        `half of 答え\n(?:. gemini[^\n]*\n)?queued \\(Up takes it back\\): 二つ目\n❯ three\n${STATUS} · 1 queued$`,
      ),
    );
    chat.type(`${ESC}[A`);
    await chat.shows(new RegExp(`half of 答え\n(?:. gemini[^\n]*\n)?❯ 二つ目\n {2}three\n${STATUS}$`));
    chat.type('\u0017third\rnext');
    await chat.shows(/\nqueued[^\n]*: [^\n]*\n❯ next\n/);
    rest.open();
    await chat.shows(/❯ one\nhalf of 答え and the rest\n\n❯ 二つ目\n {2}third\nsecond\n\n❯ next\n[^\n]*$/);
    chat.type('\r');
    await chat.shows(/❯ next\nthird\n\n❯\n/);
    chat.type(CTRL_D);
    const { exitCode, output } = await chat.ended;
    expect(exitCode).toBe(0);
    expect(screenOf(output)).not.toMatch(/queued|window left/);
    expect(gemini.requests.slice(1).map(({ body }) => body.contents.at(-1).parts)).toEqual([
      [{ text: '二つ目\nthird' }],
      [{ text: 'next' }],
    ]);
  },
);

posixTest('commands that only show something answer during a turn, others wait for its end', async (t) => {
  const [first, rest] = [gate(), gate()];
  const slow = stream(first.opened, 'half of 答え', rest.opened, finish('STOP', [{ text: ' and the rest' }]), END);
  const gemini = await fakeGemini(t, [slow]);
  const chat = chatInTerminal(t, [], { gemini });
  await chat.ready(1);
  chat.enter('one');
  first.open();
  await chat.shows(/❯ one\nhalf of 答え\n/);
  chat.type('/ps\r');
  await chat.shows(/❯ \/ps\nNothing was started in the background\.\nhalf of 答え\n/);
  chat.type('/save later\r');
  await chat.shows(/queued[^\n]*: \/save later\n/);
  rest.open();
  await chat.shows(/half of 答え and the rest\n\n❯ \/save later\n[^\n]*later[^\n]*\n❯/);
  chat.type(CTRL_D);
  expect((await chat.ended).exitCode).toBe(0);
});

posixTest('what is typed while a !command runs is seen below its output, and is there when it has ended', async (t) => {
  const chat = chatInTerminal(t, [], { gemini: await fakeGemini(t, []) });
  await chat.ready(1);
  chat.enter('!echo one; printf 半分; sleep 60');
  await chat.shows(/\none\n半分\n/);
  chat.type('next');
  await chat.shows(new RegExp(`\none\n半分\n(?:. echo[^\n]*\n)?❯ next\n${STATUS}$`));
  chat.type(ESC);
  await chat.shows(/\none\n半分\n⏹ cancelled\n❯ next\n[^\n]*$/);
  chat.type('\u0015\u0004');
  expect((await chat.ended).exitCode).toBe(0);
});

posixTest('a question rings, has the window to itself, and what was typed before it is still there', async (t) => {
  const asked = gate();
  const made = call('write_file', { file_path: 'a.txt', content: 'x' });
  const slow: Scripted = async (response, request) => {
    await asked.opened;
    return reply(made)(response, request);
  };
  const gemini = await fakeGemini(t, [slow, reply('as you like')]);
  const settings = JSON.stringify({ general: { enableNotifications: true } });
  const chat = chatInTerminal(t, [], { gemini, home: { '.gemini/settings.json': settings } });
  await chat.ready(1);
  chat.enter('one');
  chat.type('下書き');
  await chat.shows(/\n❯ 下書き\n/);
  asked.open();
  await chat.shows(/❯ one\n╭ write_file a\.txt[^\n]*\n[^❯]*› *$/);
  chat.type('n');
  await chat.shows(/\nas you like\n\n❯ 下書き\n[^\n]*$/);
  chat.type('\u0015\u0004');
  const { exitCode, output } = await chat.ended;
  expect(exitCode).toBe(0);
  expect(screenOf(output)).not.toContain('window left');
  expect(output.match(/\u0007/g)).toHaveLength(2);
});

posixTest('an answer keeps to a window that became lower after the chat had begun', async (t) => {
  const rest = gate();
  const words = Array.from({ length: 200 }, (_, index) => `語-${index}.`);
  const end = finish('STOP', [{ text: ` ${words.slice(150).join(' ')}` }]);
  const slow = stream(words.slice(0, 150).join(' '), rest.opened, end, END);
  const chat = chatInTerminal(t, [], { gemini: await fakeGemini(t, [slow]) });
  await chat.ready(1);
  chat.resize(80, 9);
  chat.enter('go');
  await chat.until(/語-149/);
  rest.open();
  await chat.until(/語-199[\s\S]*❯/);
  chat.type(CTRL_D);
  const screen = emulator({ columns: 80, rows: 9 });
  await screen.write((await chat.ended).output);
  const { lines } = await screen.shown();
  expect(lines.join('').match(/語-\d+\./g)).toEqual(words);
});

posixTest('a low window shows the status until something is typed, and then that', async (t) => {
  const rest = gate();
  const slow = stream('one\n\ntwo\n\nthree', rest.opened, finish('STOP', [{ text: ' and four' }]), END);
  const chat = chatInTerminal(t, [], { gemini: await fakeGemini(t, [slow]), rows: 5 });
  await chat.ready(1);
  chat.enter('go');
  await chat.shows(new RegExp(`\nthree\n(?:. gemini[^\n]*\n)?${STATUS}$`));
  chat.type('二つ目\nlast');
  await chat.shows(/\nthree\n(?:. gemini[^\n]*\n)?(?:❯| ) [^\n]*last$/);
  chat.type('\u0015\u0015\u0015');
  await chat.shows(new RegExp(`\nthree\n(?:. gemini[^\n]*\n)?${STATUS}$`));
  chat.resize(40, 5);
  chat.type('next\r');
  await chat.shows(/\nthree\n(?:. gemini[^\n]*\n)?gemini-2\.5-flash · 1 queued$/);
  chat.type(`${ESC}[A\u0015`);
  await chat.shows(/\nthree\n(?:. gemini[^\n]*\n)?gemini-2\.5-flash · (?!1 queued)[^\n]*$/);
  rest.open();
  await chat.shows(/❯ go\none\n\ntwo\n\nthree and four\n\n❯/);
  chat.type(CTRL_D);
  expect((await chat.ended).exitCode).toBe(0);
});
