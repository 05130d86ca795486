import { join } from 'node:path';
import { expect, test } from 'vitest';
import { pipedChat } from '../support/chat.ts';
import { chatInTerminal } from '../support/chat-terminal.ts';
import { fakeGemini, reply } from '../support/gemini.ts';
import { callGmn, callGmnIn, place } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';

const sentText = (request: { readonly body: { contents: { parts: { text: string }[] }[] } } | undefined): unknown =>
  request?.body.contents.at(-1)?.parts.map(({ text }) => text);

const HOME = {
  '.gemini/commands/git/fix.toml': 'description = "Fix it"\nprompt = "Fix {{args}} now."',
  '.gemini/commands/plain.toml': 'prompt = "Be plain."',
  '.gemini/commands/help.toml': 'prompt = "never"',
  '.gemini/commands/my cmd.toml': 'prompt = "spaced"',
  '.gmn/templates/note.md': '---\ndescription: A note\n---\nNote in {{language}}: {{prompt}}',
};

test('a one-shot that names a command sends what it stands for; any other text stays as it is', async (t) => {
  const cases: readonly (readonly [prompt: string, sent: string])[] = [
    ['/git:fix the @a.txt', 'Fix the @a.txt now.'],
    ['/plain and short', 'Be plain.\n\n/plain and short'],
    ['/plain', 'Be plain.'],
    ['/my_cmd', 'spaced'],
    ['/note language="old Greek" buy milk', 'Note in old Greek: buy milk'],
    ['/nothing? here', '/nothing? here'],
    ['/etc/plain is a path', '/etc/plain is a path'],
    ['//plain', '//plain'],
    [' /plain', ' /plain'],
  ];
  const gemini = await fakeGemini(
    t,
    cases.map(() => reply('ok')),
  );
  const at = place(t, { gemini, home: HOME, files: { 'a.txt': 'secret' } });
  for (const [prompt] of cases) {
    expect(await callGmnIn(t, at, ['-p', prompt])).toMatchObject({ stdout: 'ok\n', stderr: '', exitCode: 0 });
  }
  expect(gemini.requests.map((request) => sentText(request))).toEqual(cases.map(([, sent]) => [sent]));
});

test('a one-shot that names no command asks nothing, and says what there is', async (t) => {
  const at = place(t, { gemini: await fakeGemini(t, []), home: HOME });
  const rows = [
    ['/nosuch', 'there is no command /nosuch outside of a chat', 'To see what there is: gmn templates list'],
    ['/plian and short', 'there is no command /plian outside of a chat', 'Did you mean /plain?'],
    ['/compact', '/compact is for chats', 'Type it in one: gmn chat, or gmn chat -c for your last'],
    ['/cost now', '/cost is for chats', 'Type it in one: gmn chat, or gmn chat -c for your last'],
  ] as const;
  for (const [prompt, error, advice] of rows) {
    const [name] = prompt.split(' ');
    expect(await callGmnIn(t, at, [prompt])).toMatchObject({
      stdout: '',
      stderr: `Error: ${error}\n${advice}\nTo send it as text, put a space before it: gmn -p " ${name} …"\n`,
      exitCode: 1,
    });
  }
});

posixTest('files are read before commands run, and what is inserted is not expanded', async (t) => {
  const home = { '.gemini/commands/c.toml': "prompt = '!{echo new > a.txt; echo {{args}}} @{a.txt}'" };
  const args = ['-p', '/c !{date} @{b}', '--allowed-tools', 'run_shell_command'];
  const gmn = await callGmn(t, args, { script: [reply('ok')], home, files: { 'a.txt': 'old {{args}}' } });
  expect(gmn).toMatchObject({ stderr: '', exitCode: 0 });
  expect(sentText(gmn.requests[0])).toEqual(['!{date} @{b} old {{args}}']);
});

test('a directory stands for its files, without what is ignored, secret or no text; notices name what is left out', async (t) => {
  const home = { '.gemini/commands/c.toml': "prompt = 'Look: @{src} and @{empty}'" };
  const files = {
    ...{
      '.gitignore': 'out/\n',
      'src/b/c.txt': 'C {{args}}\n',
      'src/a.txt': 'A',
      'src/out/x.txt': 'no',
      'src/.env': 'K=1',
    },
    ...{
      'src/x.bin': new Uint8Array([0, 1, 2]),
      'src/shot.png': Buffer.from('iVBORw0KGgo=', 'base64'),
      'empty/out/x': '',
    },
  };
  const gemini = await fakeGemini(t, [reply('ok'), reply('ok')]);
  const at = place(t, { gemini, home, files });
  const notices = [
    'left out 1 file (neither text nor media that can be sent): src/x.bin',
    'left out 1 file (may hold secrets',
  ];
  const sent = ['Look: === src/a.txt ===\nA\n\n=== src/b/c.txt ===\nC {{args}}\n and [empty has no files to send]'];
  const gmn = await callGmnIn(t, at, ['-p', '/c', '-o', 'json']);
  expect(JSON.parse(gmn.stdout).warnings).toEqual(
    [...notices, 'left out 1 file (no text'].map((text) => expect.stringContaining(text)),
  );
  expect(sentText(gemini.requests[0])).toEqual(sent);
  const chat = await callGmnIn(t, at, ['chat'], '/c\n');
  for (const notice of notices) expect(chat.stderr).toContain(notice);
  expect(sentText(gemini.requests[1])).toEqual(sent);
});

test('a folder that is not trusted has no commands, in a one-shot, a chat and its lists', async (t) => {
  const files = { '.gemini/commands/own.toml': "description = 'canary'\nprompt = 'Own !{echo x>hacked}'" };
  const gemini = await fakeGemini(t, [reply('trusted')]);
  const at = place(t, { gemini, files });
  const file = join(at.cwd, '.gemini', 'commands', 'own.toml');
  const advice = `${file} is not used: this folder is not trusted\nTo trust the folder, run: gmn trust`;
  expect(await callGmnIn(t, at, ['-p', '/own it', '-y'])).toMatchObject({ stderr: `Error: ${advice}\n`, exitCode: 1 });
  const chat = await callGmnIn(t, at, ['chat', '--yolo'], '/own\n/help\n');
  expect(chat.stderr).toContain(`Error: ${file} is not used: this folder is not trusted\n`);
  expect(chat.stderr).not.toContain('canary');
  await callGmnIn(t, at, ['trust']);
  expect(await callGmnIn(t, at, ['-p', '/own'])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('which nobody approved: echo x>hacked'),
  });
  expect((await callGmnIn(t, at, ['chat', '--yolo'], '/own\n')).stdout).toBe('trusted\n');
  expect(sentText(gemini.requests[0])).toEqual(['Own ']);
});

test('in a chat they are listed and sent, built-in commands win, and unknown ones are not sent', async (t) => {
  const gemini = await fakeGemini(t, [reply('fixed'), reply('fixed')]);
  const home = { ...HOME, '.gemini/commands/bad.toml': 'prompt = "open' };
  const lines = ['/git:fix the @a.txt', '/help', '/git:fxi it', '/note', '/bad'];
  const chat = await pipedChat(t, lines, { gemini, home, files: { 'a.txt': 'secret' }, args: ['-p', '/git:fix it'] });
  expect(chat.stdout).toBe('fixed\nfixed\n');
  expect(gemini.requests.map(sentText)).toEqual([['Fix it now.'], ['Fix the @a.txt now.']]);
  expect(chat.stderr).toMatch(/\n {2}\/git:fix +Fix it\n/);
  expect(chat.stderr).toMatch(/\n {2}\/note +A note\n/);
  expect(chat.stderr).toMatch(/\n {2}\/bad +\(\S+bad\.toml:1: unfinished string\)\n/);
  expect(chat.stderr.match(/^ {2}\/help/gm)).toHaveLength(1);
  expect(chat.stderr).toContain('Error: there is no command /git:fxi\nDid you mean /git:fix?');
  expect(chat.stderr).toContain('Error: the template note needs "language"\nAdd it: /note language=…\n');
  expect(chat.stderr).toMatch(/Error: \S+bad\.toml:1: unfinished string\n/);
});

posixTest('on a terminal the menu has them, and their commands ask', async (t) => {
  const gemini = await fakeGemini(t, [reply('fine')]);
  const home = { '.gemini/commands/zed/who.toml': 'description = "Who"\nprompt = "I am !{echo zed}"' };
  const chat = chatInTerminal(t, [], { gemini, home });
  await chat.ready(1);
  chat.type('/ze');
  await chat.shows(/❯ \/ze\n› \/zed:who {2}Who$/);
  chat.type('\t\r');
  await chat.shows(/╭ The template wants to run this in [^╰]+\n│ echo zed\n╰ \[y\]es \[N\]o ›$/);
  chat.type('y');
  await chat.shows(/fine\n/);
  chat.type('\u0004');
  expect((await chat.ended).exitCode).toBe(0);
  expect(sentText(gemini.requests[0])).toEqual(['I am zed']);
});
