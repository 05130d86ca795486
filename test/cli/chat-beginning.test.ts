import { expect, test } from 'vitest';
import { pipedChat, sharedHome } from '../support/chat.ts';
import { chatInTerminal } from '../support/chat-terminal.ts';
import { failure, fakeGemini, reply } from '../support/fake-gemini.ts';
import { posixTest } from '../support/posix.ts';

test('a session that is not there is told before credentials are looked for', async (t) => {
  const { stderr, exitCode } = await pipedChat(t, [], { args: ['-r', 'nope'] });
  expect(stderr).toMatch(/^Error: there is no saved session yet\n/);
  expect(exitCode).toBe(1);
});

test('a file that is not there is refused at the start, and nothing is asked', async (t) => {
  const gemini = await fakeGemini(t, []);
  const { stderr, exitCode } = await pipedChat(t, ['hello'], { gemini, args: ['-f', 'missing.txt'] });
  expect(stderr).toMatch(/^Error: no such file: missing\.txt\nPaths start at .*\n$/);
  expect(exitCode).toBe(1);
});

test('a file that cannot be sent fails one prompt, and those beside it stay attached', async (t) => {
  const gemini = await fakeGemini(t, [reply('a')]);
  const files = { 'a.txt': 'A', 'b.txt': 'B' };
  const lines = ['/file a.txt b.txt', '!rm a.txt', '/file', 'x', 'y'];
  const { stderr, stdout } = await pipedChat(t, lines, { gemini, files });
  expect(stderr).toMatch(/\nNo longer attached: a\.txt\nError: .*a\.txt.*\n/);
  expect(stdout).toBe('a\n');
  expect(gemini.requests[0]?.body.contents[0].parts.at(-1)).toEqual({ text: '=== b.txt ===\nB\n\ny' });
});

test('/retry asks a prompt again that failed before the session was resumed', async (t) => {
  const { env } = sharedHome(t);
  const gemini = await fakeGemini(t, [reply('a'), failure(400, 'INVALID_ARGUMENT'), reply('b')]);
  await pipedChat(t, ['one', 'two'], { gemini, env, args: ['--session-name', 'kept'] });
  const { stdout } = await pipedChat(t, ['/retry'], { gemini, env, args: ['-r', 'kept'] });
  expect(stdout).toBe('b\n');
  expect(gemini.requests[2]?.body.contents.map(({ parts }: { parts: object[] }) => parts[0])).toEqual([
    { text: 'one' },
    { text: 'a' },
    { text: 'two' },
  ]);
});

posixTest('/retry asks a prompt again that was stopped before the first byte, after /load too', async (t) => {
  const { env } = sharedHome(t);
  let arrived: () => void = () => {};
  const isThere = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const gemini = await fakeGemini(t, [() => arrived(), reply('b')]);
  const chat = chatInTerminal(t, ['--session-name', 'kept'], { gemini, env });
  await chat.until(/❯ /);
  chat.enter('one');
  await isThere;
  chat.type('\u001b');
  await chat.until(/nothing had come[\s\S]*❯ /);
  chat.enter('/q');
  await chat.ended;
  const { stdout } = await pipedChat(t, ['/load kept', '/retry'], { gemini, env });
  expect(stdout).toBe('b\n');
});
