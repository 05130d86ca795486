import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { pipedChat, sharedHome } from '../support/chat.ts';
import { chatInTerminal, screenOf } from '../support/chat-terminal.ts';
import { call, chunk, events, failure, fakeGemini, finish, reply, type Scripted } from '../support/gemini.ts';
import { callGmn, callGmnIn, place, startGmn } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';
import { CAT, SYSTEM_SHELL } from '../support/shell-lines.ts';
import { listSet } from '../support/tool-sets.ts';

const DEMO = { args: ['--demo'] } as const;

test('every line of a pipe is a turn, and stdout has the answers alone', async (t) => {
  const { stdout, stderr, exitCode } = await pipedChat(t, ['hello', '', 'hi'], DEMO);
  expect(stdout).toBe('Hello! How can I help you today?\nHi! What are we building today?\n');
  expect(stderr).toMatch(/^2 turns · 9 in · 21 out · 30 tokens · [\d.]+s\n$/);
  expect(exitCode).toBe(0);
});

test('the second prompt is asked with all that was said before', async (t) => {
  const gemini = await fakeGemini(t, [reply('November.'), reply('April.')]);
  const { stdout } = await pipedChat(t, ['best month?', 'and the next?'], { gemini, args: ['--tools', 'none'] });
  expect(stdout).toBe('November.\nApril.\n');
  expect(gemini.requests[1]?.body.contents).toEqual([
    { role: 'user', parts: [{ text: 'best month?' }] },
    { role: 'model', parts: [{ text: 'November.' }] },
    { role: 'user', parts: [{ text: 'and the next?' }] },
  ]);
});

test('words on the command line are asked first, with the files of -f', async (t) => {
  const gemini = await fakeGemini(t, [reply('one'), reply('two')]);
  await pipedChat(t, ['next'], { gemini, args: ['-f', 'a.txt', '!not', 'a command'], files: { 'a.txt': 'A' } });
  expect(gemini.requests[0]?.body.contents[0].parts).toEqual([{ text: '=== a.txt ===\nA\n\n!not a command' }]);
  expect(gemini.requests[1]?.body.contents[2].parts).toEqual([{ text: 'next' }]);
});

test.for([
  [['chat', '/help'], /^ {2}\/help, \/h +List the commands\n/, 0],
  [['chat', '-p', '/nosuch'], /^Error: there is no command \/nosuch\nTo see the commands: \/help; [^\n]*\n/, 1],
  [['-i', '/keys'], /^ {2}Enter +send\n/, 0],
  [['chat', '/q'], /^0 turns/, 0],
  [['chat', '/pipe touch x'], /^Error: \/pipe must be typed in the chat\nTo send it as it is: \/\/pipe touch x\n/, 1],
  [['chat', '/trust yes'], /^Error: \/trust must be typed in the chat\n/, 1],
  [['chat', '/approvals auto_edit'], /^Error: \/approve must be typed in the chat\n/, 1],
] as const)('%j is a line of the chat, and nothing is sent', async ([args, shown, exitCode], t) => {
  const chat = await callGmn(t, args, { script: [], stdin: '' });
  expect(chat).toMatchObject({ exitCode, stdout: '', requests: [] });
  expect(chat.stderr).toMatch(shown);
});

test('-i of the root command is a chat with that first prompt, and takes only what a chat takes', async (t) => {
  const { stdout, exitCode } = await callGmn(t, ['--demo', '-i', 'hello'], { stdin: 'hi\n' });
  expect(stdout).toBe('Hello! How can I help you today?\nHi! What are we building today?\n');
  expect(exitCode).toBe(0);
  const refused = await callGmn(t, ['--demo', '-i', 'hello', '--no-stdin']);
  expect(refused).toMatchObject({ exitCode: 1, stdout: '' });
  expect(refused.stderr).toMatch(/^Error: -i cannot be combined with --no-stdin\n/);
  // The official CLI has these flags, and its chat does nothing with them either.
  const wrapped = ['--demo', '-i', 'hello', '-o', 'json', '--raw-output', '--screen-reader'];
  const idle = await callGmn(t, wrapped, { stdin: '' });
  expect(idle).toMatchObject({ exitCode: 0, stdout: 'Hello! How can I help you today?\n' });
  expect(idle.stderr).toMatch(/^gmn: --output-format has no effect with -i\ngmn: --raw-output has no effect with -i\n/);
  const exported = { GMN_OUTPUT_FORMAT: 'json', GMN_RENDER: 'never' };
  const told = await callGmn(t, ['--demo', '-i', 'hello'], { stdin: '', env: exported });
  expect([told.stdout, told.exitCode]).toEqual(['Hello! How can I help you today?\n', 0]);
});

test('--no-mcp takes no other flag about servers in silence', async (t) => {
  const { stderr, exitCode } = await pipedChat(t, [], { args: ['--demo', '--no-mcp', '--mcp-config', 'x.json'] });
  expect([stderr, exitCode]).toEqual(['Error: --mcp-config cannot be combined with --no-mcp\nUse one of them.\n', 1]);
  const args = ['--demo', '--no-mcp', '--allowed-mcp-server-names', 'files'];
  const told = await pipedChat(t, ['hello'], { args });
  expect(told).toMatchObject({ exitCode: 0, stdout: 'Hello! How can I help you today?\n' });
  expect(told.stderr).toContain('--allowed-mcp-server-names has no effect with --no-mcp\n');
});

test('/quit leaves; in a pipe the words that leave on a terminal are prompts', async (t) => {
  const { stdout, exitCode } = await pipedChat(t, ['exit', 'quit', ' :q ', '/quit', 'never'], { ...DEMO });
  expect([stdout, exitCode]).toEqual(['demo: exit\ndemo: quit\ndemo: :q\n', 0]);
});

posixTest.for(['exit', 'quit', ' :q '])('"%s" on a terminal leaves', async (word, t) => {
  const chat = chatInTerminal(t, ['--demo', '--no-session']);
  await chat.ready(1);
  chat.enter('exit strategies');
  await chat.ready(2);
  chat.enter(word);
  const { exitCode, output } = await chat.ended;
  expect([exitCode, screenOf(output).match(/^demo: .*/gm)]).toEqual([0, ['demo: exit strategies']]);
});

test('a failure is shown, the next line is asked, and the exit code is that of the first failure', async (t) => {
  const gemini = await fakeGemini(t, [reply('one'), failure(403, 'PERMISSION_DENIED'), reply('three')]);
  const { stdout, stderr, exitCode } = await pipedChat(t, ['a', 'b', '/hlep', 'c'], { gemini });
  expect(stdout).toBe('one\nthree\n');
  expect(stderr).toMatch(/^Error: .*\n.*\nError: there is no command \/hlep\nDid you mean \/help\? .*\n2 turns · /);
  expect(exitCode).toBe(2);
  // A prompt to which nothing came does not count.
  expect(gemini.requests[2]?.body.contents).toEqual([
    { role: 'user', parts: [{ text: 'a' }] },
    { role: 'model', parts: [{ text: 'one' }] },
    { role: 'user', parts: [{ text: 'c' }] },
  ]);
});

test('a slash command that is not there is never sent; two slashes send one', async (t) => {
  const gemini = await fakeGemini(t, [reply('ok')]);
  const { stderr, exitCode } = await pipedChat(t, ['/etc/passwd is what?', '//etc/passwd is what?'], { gemini });
  expect(stderr).toContain('there is no command /etc/passwd\n');
  expect(exitCode).toBe(1);
  expect(gemini.requests[0]?.body.contents[0].parts).toEqual([{ text: '/etc/passwd is what?' }]);
});

test('a mentioned file is announced and goes along', async (t) => {
  const { stderr, requests } = await pipedChat(t, ['look at @hello.js'], {
    script: [reply('ok')],
    files: { 'hello.js': 'console.log("Hello");\n' },
  });
  expect(stderr).toMatch(/^\+ hello\.js \(22 B\)\n1 turn/);
  expect(requests[0]?.body.contents[0].parts[0].text).toContain('console.log("Hello");');
});

test('tools that write are offered, and denied where nobody can be asked; each call has its line', async (t) => {
  const made = call('write_file', { file_path: 'new.txt', content: 'x\n' });
  const { stdout, stderr, requests } = await pipedChat(t, ['write it'], { script: [reply(made), reply('I may not.')] });
  const names = requests[0]?.tools;
  expect(names).toEqual(listSet('edit'));
  expect(stdout).toBe('I may not.\n');
  expect(stderr).toMatch(
    /^✗ write_file new\.txt: write_file was not run: it needs the user's approval.*…\n1 turn .*\ntools: write_file 1 \(1 failed\)\nResume: /,
  );
});

test('--shell turns the shell tool on', async (t) => {
  const { requests } = await pipedChat(t, ['hi'], { script: [reply('ok')], args: ['--shell', SYSTEM_SHELL] });
  const tools = JSON.stringify(requests[0]?.body.tools);
  expect(tools).toContain(JSON.stringify(`Runs a command with ${SYSTEM_SHELL}`).slice(1, -1));
});

posixTest('a --shell that cannot be run is refused at once', async (t) => {
  const at = place(t, { gemini: await fakeGemini(t, []), files: { mine: '#!/bin/sh\n' } });
  for (const shell of ['/nope', 'no-such-shell', 'mine', './mine']) {
    expect(await callGmnIn(t, at, ['chat', '--shell', shell], 'hi\n')).toMatchObject({
      stdout: '',
      stderr: `Error: --shell: ${shell} is not a program that can be run
Name a shell by its full path, for example: --shell /bin/sh
`,
      exitCode: 1,
    });
  }
});

test('-t ends a request that takes longer, and the chat continues', async (t) => {
  const never: Scripted = () => {};
  const { stdout, stderr, exitCode } = await pipedChat(t, ['a', '/stats'], { script: [never], args: ['-t', '1s'] });
  expect(stderr).toMatch(/^Error: timed out after 1 s\n.*\n0 turns · /);
  expect(stdout).toBe('');
  expect(exitCode).toBe(3);
});

test('the chat is saved after every step, and the command it prints resumes it', async (t) => {
  const { env, path } = sharedHome(t);
  const first = await fakeGemini(t, [reply('one')]);
  const { stderr } = await pipedChat(t, ['a'], { gemini: first, env });
  const [, id = ''] = /^Resume: gmn chat -r ([\da-f]{8})$/m.exec(stderr) ?? [];
  const [file = ''] = readdirSync(join(path, 'sessions')).filter((name) => name.endsWith('.jsonl'));
  expect(file).toContain(`-${id}`);
  const second = await fakeGemini(t, [reply('two')]);
  await pipedChat(t, ['b'], { gemini: second, env, args: ['-r', id] });
  expect(second.requests[0]?.body.contents.map(({ parts }: { parts: object[] }) => parts[0])).toEqual([
    { text: 'a' },
    { text: 'one' },
    { text: 'b' },
  ]);
  expect(readFileSync(join(path, 'sessions', file), 'utf8')).toContain('two');
});

test('the prompt is on disk before the request leaves', async (t) => {
  const { env, path } = sharedHome(t);
  let saved = '';
  const look: Scripted = (response, request) => {
    const [file = ''] = readdirSync(join(path, 'sessions')).filter((name) => name.endsWith('.jsonl'));
    saved = readFileSync(join(path, 'sessions', file), 'utf8');
    return reply('ok')(response, request);
  };
  await pipedChat(t, ['remember this'], { gemini: await fakeGemini(t, [look]), env });
  expect(saved).toContain('remember this');
});

test('--no-session keeps nothing, -r that finds nothing is an error and no new session', async (t) => {
  const { env, path } = sharedHome(t);
  const kept = await pipedChat(t, ['hello'], { env, args: ['--demo', '--no-session'] });
  expect(kept.stderr).not.toContain('Resume');
  const failed = await pipedChat(t, ['hello'], { env, args: ['--demo', '-r', 'nothing-of-that-name'] });
  expect(failed).toMatchObject({ stdout: '', exitCode: 1 });
  expect(readdirSync(path)).not.toContain('sessions');
});

test('the flags about sessions mean what they mean for a one-shot', async (t) => {
  const { env } = sharedHome(t);
  const id = '11111111-2222-4333-8444-555555555555';
  await callGmn(t, ['--demo', '--session-id', id, '-i', 'hello'], { env, stdin: '' });
  const copy = await pipedChat(t, [`/pipe ${CAT}`, 'hi'], { env, args: ['--demo', '-r', id, '--no-session'] });
  expect(copy.stderr).toMatch(/^this session was started in .*\nHello! How can I help you today\?\n1 turn · .*\n$/);
  const unsaved = await pipedChat(t, [`/pipe ${CAT}`], {
    env: { ...env, GMN_NO_SESSION: '1' },
    args: ['--demo', '-r', id],
  });
  expect(unsaved.stderr).toMatch(/^this session was started in .*\nHello! How can I help you today\?\n0 turns · .*\n$/);
  const same = await pipedChat(t, ['/load', `/pipe ${CAT}`], { env, args: ['--demo', '-c', '--session-name', 'x'] });
  expect(same.stderr).toContain('-c cannot be combined with --session-name');
  expect(same.exitCode).toBe(1);
});

test('what is no text ends a piped chat with 1 and is not sent; UTF-16 with its mark is text', async (t) => {
  const script = [reply('first'), reply('second')];
  const gemini = await fakeGemini(t, script);
  expect(await callGmn(t, ['chat', '-q'], { gemini, stdin: Buffer.from('one\nt\xffo\n', 'latin1') })).toMatchObject({
    stdout: 'first\n',
    stderr:
      'Error: line 2 of stdin is not text\nA chat reads lines of UTF-8. To send a file along: gmn chat -f <file>\n',
    exitCode: 1,
  });
  const wide = Buffer.from('\ufeff京都\r\n', 'utf16le');
  expect(await callGmn(t, ['chat', '-q'], { gemini, stdin: wide })).toMatchObject({ stdout: 'second\n', exitCode: 0 });
  expect(gemini.requests.map(({ body }) => body.contents.at(-1).parts)).toEqual([
    [{ text: 'one' }],
    [{ text: '京都' }],
  ]);
});

test('-q leaves the answers and the errors', async (t) => {
  const { stdout, stderr } = await pipedChat(t, ['hello', '/nothing'], { args: ['--demo', '-q'] });
  expect(stdout).toBe('Hello! How can I help you today?\n');
  expect(stderr).toBe(
    'Error: there is no command /nothing\nTo see the commands: /help; to send it as a prompt: //nothing\n',
  );
});

test('an answer that is cut short is kept as far as it came', async (t) => {
  const cut: Scripted = events([chunk([{ text: 'half of ' }])]);
  const { stdout, exitCode, requests } = await pipedChat(t, ['a', 'b'], { script: [cut, reply('the rest')] });
  expect(stdout).toBe('half of \nthe rest\n');
  expect(exitCode).toBe(3);
  expect(requests[1]?.body.contents.map(({ parts }: { parts: object[] }) => parts[0])).toEqual([
    { text: 'a' },
    { text: 'half of ' },
    { text: 'b' },
  ]);
});

test('where gmn makes no room by itself, a notice at four fifths of the window names /compress', async (t) => {
  const full = events([{ ...finish('STOP', [{ text: 'long' }]), usageMetadata: { promptTokenCount: 900_000 } }]);
  const talk = async (compressionThreshold: number): Promise<string> => {
    const home = { '.gemini/settings.json': JSON.stringify({ model: { compressionThreshold } }) };
    return (await pipedChat(t, ['a'], { gemini: await fakeGemini(t, [full]), home })).stderr;
  };
  const [off, never, on] = await Promise.all([talk(0), talk(1), talk(0.7)]);
  for (const stderr of [off, never]) {
    expect(stderr).toMatch(/^86 % of the model's window is full\. \/compress replaces the conversation/);
  }
  expect(on).not.toContain('full');
});

test('a prompt that is too long for the model is reported with a hint at /compress', async (t) => {
  const message = 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).';
  const { stderr, exitCode } = await pipedChat(t, ['a'], { script: [failure(400, 'INVALID_ARGUMENT', message)] });
  expect(stderr).toMatch(
    /^Error: API error: the prompt is longer than the model's window.*\n\/compress replaces the conversation/,
  );
  expect(exitCode).toBe(3);
});

test('a reader that goes away ends the chat quietly, and what was said is saved', async (t) => {
  const { env, path } = sharedHome(t);
  const words = ['chat', '--demo', '--session-name', 'cut', 'count to 1000000'];
  const { ended } = await startGmn(t, words, {
    ...{ env, stdin: 'open' },
    onStdout: (_, child) => void child.stdout?.destroy(),
  });
  const { exitCode, stderr } = await ended;
  expect(exitCode).toBe(0);
  expect(stderr).toMatch(/^1 turn · [^\n]*s\nResume: gmn chat --demo -r cut\n$/);
  const [file = ''] = readdirSync(join(path, 'sessions')).filter((name) => name.endsWith('.jsonl'));
  expect(readFileSync(join(path, 'sessions', file), 'utf8')).toContain('count to 1000000');
});

test('a session that cannot be saved is reported, and the answers still come', async (t) => {
  const { env, path } = sharedHome(t);
  writeFileSync(join(path, 'sessions'), 'not a directory');
  const { stdout, stderr, exitCode } = await pipedChat(t, ['a', 'b'], { script: [reply('one'), reply('two')], env });
  expect(stdout).toBe('one\ntwo\n');
  expect(exitCode).toBe(0);
  expect(stderr).toMatch(
    /^this session is no longer being saved: a file is where a directory should be\n2 turns · [^\n]*\n$/,
  );
});
