import { expect, type TestContext } from 'vitest';
import { sharedHome } from '../support/chat.ts';
import { type ChatTerminal, chatInTerminal } from '../support/chat-terminal.ts';
import { call, type FakeGemini, fakeGemini, reply, stream } from '../support/gemini.ts';
import type { WirePart } from '../support/gemini-rules.ts';
import { posixTest } from '../support/posix.ts';

const CTRL_C = '\u0003';

function editingChat(t: TestContext, gemini: FakeGemini, args: readonly string[], env = {}): ChatTerminal {
  return chatInTerminal(t, ['--approval-mode', 'auto_edit', ...args], { gemini, env, files: { 'a.txt': 'a\n' } });
}

/** Leaves, and expects that all went well. */
async function left(chat: ChatTerminal): Promise<void> {
  chat.enter('/q');
  expect((await chat.ended).exitCode).toBe(0);
}

posixTest('after a turn that was cancelled in its text the history is one the API takes', async (t) => {
  const gemini = await fakeGemini(t, [stream('Half.\n\nAnd'), reply('two')]);
  const chat = editingChat(t, gemini, []);
  await chat.until(/❯ /);
  chat.enter('x');
  await chat.until(/Half\./);
  chat.type(CTRL_C);
  await chat.until(/kept[\s\S]*❯ /);
  chat.enter('y');
  await chat.until(/two[\s\S]*❯ /);
  await left(chat);
});

posixTest('after a turn that was cancelled in a tool the call has its answer', async (t) => {
  const slow = call(
    'run_shell_command',
    { command: 'echo begun > started; sleep 60' },
    { id: 'c2xvdw==', thoughtSignature: 'c2xvdw==' },
  );
  const gemini = await fakeGemini(t, [reply('I look.\n\n', slow), reply('two')]);
  const chat = editingChat(t, gemini, ['--yolo', '--shell', '/bin/sh'].concat(['--approval-mode', 'yolo']));
  await chat.until(/❯ /);
  chat.enter('x');
  await chat.until(/run_shell_command/);
  chat.type(CTRL_C);
  await chat.until(/kept[\s\S]*❯ /);
  chat.enter('y');
  await chat.until(/two[\s\S]*❯ /);
  await left(chat);
  expect(gemini.requests[1]?.parts).toMatchObject([
    { functionResponse: { name: 'run_shell_command', response: { error: '[cancelled]' } } },
    { text: 'y' },
  ]);
});

posixTest('signatures come back after /retry, /rewind, /compress and a resume by another process', async (t) => {
  const { env } = sharedHome(t);
  const read = (sign: string) => reply(call('read_file', { file_path: 'a.txt' }, { id: sign, thoughtSignature: sign }));
  const gemini = await fakeGemini(t, [
    read('c2lnMQ=='),
    reply({ text: 'one', thoughtSignature: 'c2lnMg==' }),
    read('c2lnMw=='),
    ...['again', 'two', 'three', 'four', 'All of it.', 'five'].map((text) => reply(text)),
  ]);
  const chat = editingChat(t, gemini, ['--session-name', 'kept'], env);
  await chat.until(/❯ /);
  chat.enter('x');
  await chat.until(/one\r\n[\s\S]*❯ /);
  chat.enter('/retry');
  await chat.until(/again\r\n[\s\S]*❯ /);
  chat.enter('y');
  await chat.until(/two\r\n[\s\S]*❯ /);
  chat.enter('/rewind 1');
  await chat.until(/Dropped[\s\S]*❯ /);
  chat.enter('z');
  await chat.until(/three\r\n[\s\S]*❯ /);
  await left(chat);

  const resumed = editingChat(t, gemini, ['-r', 'kept'], env);
  await resumed.until(/❯ /);
  resumed.enter('u');
  await resumed.until(/four\r\n[\s\S]*❯ /);
  resumed.enter('/compress');
  await resumed.until(/summary now[\s\S]*❯ /);
  resumed.enter('v');
  await resumed.until(/five\r\n[\s\S]*❯ /);
  await left(resumed);
  const asked = gemini.requests[6]?.body.contents.map(({ parts }: { parts: WirePart[] }) => parts[0]);
  expect(asked).toMatchObject([
    { text: 'x' },
    { functionCall: { name: 'read_file' }, thoughtSignature: 'c2lnMw==' },
    { functionResponse: { name: 'read_file' } },
    { text: 'again' },
    { text: 'z' },
    { text: 'three' },
    { text: 'u' },
  ]);
});
