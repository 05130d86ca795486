import { expect, test } from 'vitest';
import { pipedChat, readChat, sharedHome } from '../support/chat.ts';
import { chatInTerminal, screenOf } from '../support/chat-terminal.ts';
import { call, failure, fakeGemini, reply } from '../support/gemini.ts';
import { callGmn } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';
import { CAT, sayIfGone, showFile } from '../support/shell-lines.ts';

const CTRL_D = '\u0004';
const CTRL_G = '\u0007';
const WRITE = call('write_file', { file_path: 'a.txt', content: 'one\n' });

test('/undo says that the last turn changed nothing, and again it puts back what one before it changed', async (t) => {
  const { stderr } = await pipedChat(
    t,
    ['x', 'y', '/undo', `!${showFile('a.txt')}`, '/undo', `!${sayIfGone('a.txt')}`],
    {
      script: [reply(WRITE), reply('a'), reply('b')],
      args: ['--approval-mode', 'auto_edit'],
    },
  );
  expect(
    stderr
      .replace(/ · [\d.]+s$/m, '')
      .split('\n')
      .slice(0, 9),
  ).toEqual([
    ...['✓ write_file a.txt +1 −0', '  @@ -0,0 +1,1 @@', '  +one'],
    'Error: the last turn changed no files',
    'To put back what an earlier one changed: /undo again',
    'one',
    'This goes with your next prompt; /file - drops it.',
    'removed a.txt',
    'gone',
  ]);
});

posixTest('a person who says no does not see the text for the model', async (t) => {
  const gemini = await fakeGemini(t, [reply(WRITE), reply('As you like.')]);
  const chat = chatInTerminal(t, [], { gemini });
  await chat.until(/❯ /);
  chat.enter('x');
  await chat.until(/› $/);
  chat.type('n');
  await chat.until(/As you like\.[\s\S]*❯ /);
  chat.type(CTRL_D);
  const { output } = await chat.ended;
  expect(screenOf(output)).toContain('✗ write_file a.txt: The user said no to this call.\n\nAs you like.');
});

test('/compress keeps a conversation that its summary would make longer', async (t) => {
  const gemini = await fakeGemini(t, [reply('a'), reply('a very long summary '.repeat(100)), reply('b')]);
  const { stderr } = await pipedChat(t, ['x', '/compress', 'y'], { gemini });
  expect(stderr).toMatch(
    /^The conversation stays as it is: about \d+ tokens, and its summary would have \d+\.\n2 turns/,
  );
  expect(gemini.requests[2]?.body.contents.map(({ parts }: { parts: object[] }) => parts[0])).toEqual([
    { text: 'x' },
    { text: 'a' },
    { text: 'y' },
  ]);
});

test('/rewind tells when there were fewer exchanges than it should drop', async (t) => {
  expect(await readChat(t, ['hello', '/rewind 3'])).toBe(
    'Hello! How can I help you today?\nDropped the last exchange; there were no more.\n',
  );
});

posixTest('a missing editor is reported without a message of the shell, and the line stays', async (t) => {
  const chat = chatInTerminal(t, ['--demo'], { env: { VISUAL: 'no-such-editor -w' } });
  await chat.until(/❯ /);
  chat.type(`hello${CTRL_G}`);
  await chat.until(/The editor failed\. VISUAL or EDITOR names the one to use\./);
  chat.type('\r');
  await chat.until(/help you today[\s\S]*❯ /);
  chat.enter('/edit');
  await chat.until(/Error: the editor failed[\s\S]*❯ /);
  chat.type(CTRL_D);
  expect((await chat.ended).output).not.toContain('not found');
});

test.for([
  ['/ help', 'a command must follow the slash directly', 'To see the commands: /help'],
  ['/xyzzy', 'there is no command /xyzzy', 'To see the commands: /help; to send it as a prompt: //xyzzy'],
  ['/hlep', 'there is no command /hlep', 'Did you mean /help? To send it as a prompt: //hlep'],
] as const)('%s is no command, and the hint is a sentence', async ([line, message, hint], t) => {
  expect(await readChat(t, [line])).toBe(`Error: ${message}\n${hint}\n`);
});

test('a wrong flag of a command leads to the help of that command', async (t) => {
  const { stderr, exitCode } = await callGmn(t, ['sessions', 'list', '--xyzzy']);
  expect(stderr).toBe("Error: unknown option '--xyzzy'\nRun: gmn sessions list --help\n");
  expect(exitCode).toBe(1);
});

posixTest('SIGTERM during a command of the person promises no answer', async (t) => {
  const chat = chatInTerminal(t, ['--demo']);
  await chat.until(/❯ /);
  chat.enter('!sleep 60');
  await chat.until(/⠋/);
  chat.kill('SIGTERM');
  const { output, exitCode } = await chat.ended;
  expect(exitCode).toBe(143);
  expect(output).toContain('Interrupted (SIGTERM).');
  expect(output).not.toContain('whole answer');
});

posixTest('/resume alone lets one choose, also by number, and Tab does not offer the session one is in', async (t) => {
  const { env } = sharedHome(t);
  await pipedChat(t, ['hello'], { env, args: ['--demo', '--session-name', 'first'] });
  const chat = chatInTerminal(t, ['--demo', '--session-name', 'second'], { env });
  await chat.until(/❯ /);
  chat.enter('hello');
  await chat.until(/help you today[\s\S]*❯ /);
  chat.enter('/resume');
  await chat.shows(/\n {2}2 {2}[\da-f]{8} {2}first/);
  chat.enter('2');
  await chat.until(/Continuing first: 1 turn\.[\s\S]*❯ /);
  chat.type('/load \t');
  await chat.shows(/❯ \/load second$/m);
  chat.type('\r');
  await chat.until(/Continuing second: 1 turn\.[\s\S]*❯ /);
  chat.enter('/resume');
  await chat.shows(/session ›\n› 1 [^\n]*\n[^\n]*$/);
  chat.type(CTRL_D);
  chat.enter('/q');
  const { output } = await chat.ended;
  expect(screenOf(output)).toMatch(/Resume: gmn chat --demo -r second$/);
});

test('an error that may pass names /retry, and what to do is said in the words of a chat', async (t) => {
  const script = [failure(500, 'INTERNAL'), failure(429, 'RESOURCE_EXHAUSTED'), reply('there')];
  const { stdout, stderr } = await pipedChat(t, ['x', '/retry', '/retry'], { script, args: ['--retries', '0'] });
  expect(stderr).toContain('\nWait a little, or choose another model with /model. Then: /retry\n');
  expect(stderr).toMatch(/^Error: API error: .*\nTry again later\. Then: \/retry\n/m);
  expect(stdout).toBe('there\n');
});

test('what follows /pipe begins on a line of its own', async (t) => {
  const { stderr } = await pipedChat(t, ['x', `/pipe ${CAT}`, '/nope'], { script: [reply('no newline')] });
  expect(stderr).toMatch(/^no newline\nError: there is no command \/nope\n/);
});
