import { expect, test } from 'vitest';
import { pipedChat } from '../support/chat.ts';
import { chatInTerminal } from '../support/chat-terminal.ts';
import { gate } from '../support/gate.ts';
import { END, fakeGemini, reply, stream } from '../support/gemini.ts';
import { posixTest } from '../support/posix.ts';

const [CTRL_D, ESC] = ['\u0004', '\u001b'];

posixTest(
  'help words, menus, lists, pages, the status line and what was stopped say what they are about',
  async (t) => {
    const [first, second] = [gate(), gate()];
    const stopped = [stream('one', first.opened, END), stream('two', second.opened, END)];
    const gemini = await fakeGemini(t, [reply('It parses.'), ...stopped]);
    const files = { 'src/parser.js': 'x', 'note.txt': 'x' };
    // What does not fit the window is shown by the pager that PAGER names.
    const chat = chatInTerminal(t, [], { gemini, files, rows: 24, env: { PAGER: 'head -n 1' } });
    await chat.ready(1);
    chat.enter('?');
    await chat.shows(/❯ \?\n {2}Enter +send\n/);
    chat.enter('help');
    await chat.shows(/❯ help\n {2}\/help, \/h +List the commands\n❯\n/);
    chat.type('/approva');
    await chat.shows(/❯ \/approva\n› \/approvals {2}\/approve: [A-Z][^\n]*$/);
    chat.type('\u0015/model\r');
    await chat.shows(/model ›\n/);
    chat.type('nosuchmodel');
    await chat.shows(/model › nosuchmodel\n {2}nothing matches; Esc closes$/);
    chat.type(`\r${ESC}`);
    await chat.shows(/❯ \/model\n❯\n[^\n]*$/);
    chat.enter('!echo hi');
    await chat.shows(/hi\n[^\n]*\n❯\n[^\n]* · 1 note$/);
    chat.enter('/file note.txt');
    await chat.shows(/❯\n[^\n]* · 1 attached · 1 note$/);
    chat.enter('/file -');
    await chat.shows(/Nothing goes with the next prompt\.\n❯\n[^\n]* left$/);
    chat.type('@pars');
    await chat.shows(/❯ @pars\n› @src\/parser\.js$/);
    chat.type('\rwhat is it?\r');
    await chat.shows(/❯ @src\/parser\.js what is it\?\n\+ src\/parser\.js \(1 B\)\nIt parses\.\n\n❯\n/);
    // Esc does not speak of Ctrl+C.
    chat.enter('a');
    await chat.shows(/❯ a\none\n/);
    chat.type(ESC);
    await chat.shows(/\n⏹ cancelled; partial answer kept\.\n\n❯\n/);
    chat.enter('b');
    await chat.shows(/❯ b\ntwo\n/);
    chat.type('\u0003');
    await chat.shows(/\n⏹ cancelled; partial answer kept\. Press Ctrl\+C again on an empty line to leave\.\n\n❯\n/);
    chat.type(CTRL_D);
    expect((await chat.ended).exitCode).toBe(0);
  },
);

test('/plan off leaves plan mode for the one before it, and asks nothing', async (t) => {
  const { stderr, requests, exitCode } = await pipedChat(
    t,
    ['/plan off', '/approve auto_edit', '/plan', '/plan', '/plan off', '/plan off'],
    { script: [], args: [] },
  );
  expect(stderr.split('\n').slice(0, 6)).toEqual([
    'default: edits ask first',
    'auto_edit: edits run without asking',
    'plan: tools only read',
    'plan: tools only read',
    'auto_edit: edits run without asking',
    'auto_edit: edits run without asking',
  ]);
  expect([requests, exitCode]).toEqual([[], 0]);
  const planned = await pipedChat(t, ['/plan off'], { script: [], args: ['--approval-mode', 'plan'] });
  expect(planned.stderr).toMatch(/^default: edits ask first\n/);
});

test('a template that needs input is refused in a chat without any, and not after an answer or a file', async (t) => {
  const lines = ['/review', 'hello', '/review', '/new', '/file a.txt', '/review'];
  const { stderr, requests, exitCode } = await pipedChat(t, lines, {
    script: [reply('a'), reply('b'), reply('c')],
    files: { 'a.txt': 'x' },
  });
  expect(stderr).toMatch(
    /^Error: the template review needs input, and there is none\n[^\n]*\/review[^\n]*\n(?!.*Error)[\s\S]*3 turns · /,
  );
  expect([requests.length, exitCode]).toEqual([3, 1]);
});
