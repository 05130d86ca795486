import { afterEach, beforeEach, expect, type TestContext } from 'vitest';
import { sharedHome } from '../support/chat.ts';
import { type ChatTerminal, chatInTerminal } from '../support/chat-terminal.ts';
import { posixTest } from '../support/posix.ts';
import { type StrictGemini, strictGemini, type WirePart } from '../support/strict-gemini.ts';

const CTRL_C = '\u0003';

let server: StrictGemini;

beforeEach(async () => {
  server = await strictGemini();
});

afterEach(async () => {
  expect(server.refusals).toEqual([]);
  await server.close();
});

const text = (words: string): WirePart => ({ text: words });
const call = (name: string, args: object, sign: string): WirePart => ({
  functionCall: { id: sign, name, args },
  thoughtSignature: sign,
});

/** A chat with a server that refuses every history the API would refuse. */
function strictChat(t: TestContext, args: readonly string[], env: Readonly<Record<string, string>> = {}): ChatTerminal {
  return chatInTerminal(t, ['--approval-mode', 'auto_edit', ...args], {
    gemini: { url: server.url.href.replace(/\/$/, '') },
    env,
    files: { 'a.txt': 'a\n' },
  });
}

/** Leaves, and expects that all went well. */
async function left(chat: ChatTerminal): Promise<void> {
  chat.enter('/q');
  expect((await chat.ended).exitCode).toBe(0);
}

posixTest('after a turn that was cancelled in its text the history is one the API takes', async (t) => {
  server.play([{ chunks: [[text('Half.\n\nAnd')]], isHeld: true }, { chunks: [[text('two')]] }]);
  const chat = strictChat(t, []);
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
  const slow = call('run_shell_command', { command: 'echo begun > started; sleep 60' }, 'c2xvdw==');
  server.play([{ chunks: [[text('I look.\n\n'), slow]] }, { chunks: [[text('two')]] }]);
  const chat = strictChat(t, ['--yolo', '--shell', '/bin/sh'].concat(['--approval-mode', 'yolo']));
  await chat.until(/❯ /);
  chat.enter('x');
  await chat.until(/run_shell_command/);
  chat.type(CTRL_C);
  await chat.until(/kept[\s\S]*❯ /);
  chat.enter('y');
  await chat.until(/two[\s\S]*❯ /);
  await left(chat);
  expect(server.requests[1]?.at(-1)?.parts).toMatchObject([
    { functionResponse: { name: 'run_shell_command', response: { error: '[cancelled]' } } },
    { text: 'y' },
  ]);
});

posixTest('signatures come back after /retry, /rewind, /compress and a resume by another process', async (t) => {
  const { env } = sharedHome(t);
  const read = (sign: string): readonly WirePart[] => [call('read_file', { file_path: 'a.txt' }, sign)];
  server.play([
    { chunks: [read('c2lnMQ==')] },
    { chunks: [[{ text: 'one', thoughtSignature: 'c2lnMg==' }]] },
    { chunks: [read('c2lnMw==')] },
    { chunks: [[text('again')]] },
    { chunks: [[text('two')]] },
    { chunks: [[text('three')]] },
  ]);
  const chat = strictChat(t, ['--session-name', 'kept'], env);
  await chat.until(/❯ /);
  chat.enter('x');
  await chat.until(/one\r\n[\s\S]*❯ /);
  chat.enter('/retry');
  await chat.until(/again\r\n[\s\S]*❯ /);
  chat.enter('y');
  await chat.until(/two\r\n[\s\S]*❯ /);
  chat.enter('/rewind');
  await chat.until(/Dropped[\s\S]*❯ /);
  chat.enter('z');
  await chat.until(/three\r\n[\s\S]*❯ /);
  await left(chat);

  server.play([{ chunks: [[text('four')]] }, { chunks: [[text('All of it.')]] }, { chunks: [[text('five')]] }]);
  const resumed = strictChat(t, ['-r', 'kept'], env);
  await resumed.until(/❯ /);
  resumed.enter('u');
  await resumed.until(/four\r\n[\s\S]*❯ /);
  resumed.enter('/compress');
  await resumed.until(/summary now[\s\S]*❯ /);
  resumed.enter('v');
  await resumed.until(/five\r\n[\s\S]*❯ /);
  await left(resumed);
  const asked = server.requests[6]?.map(({ parts }) => parts?.[0]);
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
