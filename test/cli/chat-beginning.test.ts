import { expect, test } from 'vitest';
import { pipedChat, sharedHome } from '../support/chat.ts';
import { chatInTerminal } from '../support/chat-terminal.ts';
import { gate } from '../support/gate.ts';
import { failure, fakeGemini, reply } from '../support/gemini.ts';
import { callGmnIn, place, startGmn } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';
import { removeFile } from '../support/shell-lines.ts';

test('a missing session is reported before credentials are read', async (t) => {
  const { stderr, exitCode } = await pipedChat(t, [], { args: ['-r', 'nope'] });
  expect(stderr).toMatch(/^Error: there is no saved session yet\n/);
  expect(exitCode).toBe(1);
});

test('a file that is not there is refused at the start, and nothing is asked', async (t) => {
  const { stderr, exitCode } = await pipedChat(t, ['hello'], { script: [], args: ['-f', 'missing.txt'] });
  expect(stderr).toMatch(/^Error: no such file: missing\.txt\nPaths start at .*\n$/);
  expect(exitCode).toBe(1);
});

test('a file that cannot be sent fails one prompt, and those beside it stay attached', async (t) => {
  const files = { 'a.txt': 'A', 'b.txt': 'B' };
  const lines = ['/file a.txt b.txt', `!${removeFile('a.txt')}`, '/file', 'x', 'y'];
  const { stderr, stdout, requests } = await pipedChat(t, lines, { script: [reply('a')], files });
  expect(stderr).toMatch(/\nNo longer attached: a\.txt\nError: .*a\.txt.*\n/);
  expect(stdout).toBe('a\n');
  expect(requests[0]?.body.contents[0].parts.at(-1)).toEqual({ text: '=== b.txt ===\nB\n\ny' });
});

posixTest('a prompt of the command line is shown as if it had been typed', async (t) => {
  const prompt = '# 天気は？\nand tomorrow, in as many words as a narrow window wraps';
  const chat = chatInTerminal(t, ['--demo', prompt], { columns: 40 });
  await chat.shows(
    /\n❯ # 天気は？\n {2}and tomorrow, in as many words as a na\n {2}rrow window wraps\ndemo: # 天気は？\n\n❯\n/,
  );
  chat.type('\u0004');
  expect((await chat.ended).exitCode).toBe(0);
});

posixTest('an entry typed before the chat has the terminal is sent', async (t) => {
  const gemini = await fakeGemini(t, [reply('early'), reply('late')]);
  const chat = chatInTerminal(t, [], { gemini });
  // The terminal still turns Enter into a line feed, which is Ctrl+J afterwards.
  chat.enter('one');
  await chat.shows(/early\n\n❯\n/);
  chat.enter('two');
  await chat.shows(/late\n\n❯\n/);
  chat.enter('/q');
  expect((await chat.ended).exitCode).toBe(0);
  expect(gemini.requests[0]?.parts).toEqual([{ text: 'one' }]);
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
  const { open: arrived, opened: isThere } = gate();
  const gemini = await fakeGemini(t, [() => arrived(), reply('b')]);
  const chat = chatInTerminal(t, ['--session-name', 'kept'], { gemini, env });
  await chat.until(/❯ /);
  chat.enter('one');
  await isThere;
  chat.type('\u001b');
  await chat.until(/nothing had arrived[\s\S]*❯ /);
  chat.enter('/q');
  await chat.ended;
  const { stdout } = await pipedChat(t, ['/load kept', '/retry'], { gemini, env });
  expect(stdout).toBe('b\n');
});

const ENDINGS = [
  ['503', undefined, 3],
  ['SIGHUP', 'SIGHUP', 129],
  ['SIGTERM', 'SIGTERM', 143],
] as const;

posixTest.for(ENDINGS)(
  'a chat whose first turn got no answer (%s) is found again, and /retry asks it',
  async (ending, t) => {
    const [, signal, exitCode] = ending;
    let end = (): void => {};
    const refused = failure(503, 'UNAVAILABLE', 'busy', [
      { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '3600s' },
    ]);
    const gemini = await fakeGemini(t, [signal === undefined ? refused : () => end(), reply('at last')]);
    const here = place(t, { gemini });
    const { child, ended } = await startGmn(t, ['chat', '-t', '30s', 'one'], { at: here, stdin: '' });
    end = () => void child.kill(signal);
    const { stderr, ...first } = await ended;
    expect(first.exitCode).toBe(exitCode);
    const [, id] = /^Resume: gmn chat -r ([\da-f]{8})$/m.exec(stderr) ?? [];
    expect(id).toBeDefined();
    const { stdout: list } = await callGmnIn(t, here, ['sessions', 'list']);
    expect(list).toMatch(`${id}  "one"  chat  0  `);
    for (const flags of [['-r', 'last'], ['-c'], ['-r', id ?? '']]) {
      const shown = await callGmnIn(t, here, ['chat', ...flags], '/sessions\n');
      expect([shown.stderr, shown.exitCode]).toEqual([
        expect.stringContaining('one  just now  no answer yet  chat'),
        0,
      ]);
    }
    expect(await callGmnIn(t, here, ['chat', '-c'], '/retry\n')).toMatchObject({ stdout: 'at last\n', exitCode: 0 });
    expect(gemini.requests[1]?.body.contents).toEqual([{ role: 'user', parts: [{ text: 'one' }] }]);
  },
);
