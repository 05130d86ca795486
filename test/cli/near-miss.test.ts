import { expect, test } from 'vitest';
import { toOutline } from '../../src/cli/invocation.ts';
import { guardNearMiss } from '../../src/cli/near-miss.ts';
import { ROOT } from '../../src/cli/table/root.ts';
import { runGmn } from '../support/gmn.ts';
import { runInTerminal } from '../support/pty.ts';

const OUTLINE = { commands: { mcp: ['list'], sessions: [], doctor: [], trust: [] }, groups: ['sessions'] };

test.each([
  [['mpc', 'list'], false],
  [['mpc', 'list'], true],
  [['session'], true],
  [['sesions'], true],
])('%j is stopped (a person there: %s)', (words, isInteractive) => {
  expect(() => guardNearMiss(OUTLINE, words, () => isInteractive)).toThrow(/looks like the command/);
});

test.each([
  [['session'], false],
  [['mpc', 'players', 'compared'], true],
  [['hello'], true],
  [['mcp explained'], true],
  [[], true],
  [['trash'], true],
])('%j goes to the model (a person there: %s)', (words, isInteractive) => {
  expect(() => guardNearMiss(OUTLINE, words, () => isInteractive)).not.toThrow();
});

test.each([
  ['sesions', 'gmn sessions --help'],
  ['docter', 'gmn doctor'],
])('%s alone names a command that does something', (word, command) => {
  expect(() => guardNearMiss(OUTLINE, [word], () => true)).toThrow(`Run: ${command}`);
});

test.each([
  ['version', 'Run: gmn --version'],
  ['login', 'To sign in: gmn auth set-key, or: gmn help auth'],
  ['update', 'gmn does not update itself; how to do it, as it is installed here: gmn doctor'],
  ['history', 'Run: gmn sessions list'],
  ['setup-token', 'To sign in: gmn auth set-key, or: gmn help auth'],
  ['review', 'Run: git diff | gmn --template review'],
])('%s is answered where a person sits, and is a prompt elsewhere', (word, advice) => {
  expect(() => guardNearMiss(OUTLINE, [word], () => true)).toThrow(
    expect.objectContaining({
      message: `there is no command "${word}"`,
      hint: `${advice}\nTo send it as a prompt: gmn -p "${word}"`,
    }),
  );
  expect(() => guardNearMiss(OUTLINE, [word], () => false)).not.toThrow();
  expect(() => guardNearMiss(OUTLINE, [word, 'x'], () => true)).not.toThrow();
});

test.each([
  ['logni', 'To sign in: gmn auth set-key'],
  ['upgarde', 'gmn does not update itself'],
  ['verison', 'Run: gmn --version'],
])('%s gets the advice for the command of other programs that it resembles', (word, advice) => {
  expect(() => guardNearMiss(OUTLINE, [word], () => true)).toThrow(
    expect.objectContaining({
      message: `there is no command "${word}"`,
      hint: expect.stringContaining(advice),
    }),
  );
  expect(() => guardNearMiss(OUTLINE, [word], () => false)).not.toThrow();
});

test.each([
  [
    ['exec', 'fix the tests'],
    [true, true],
  ],
  [
    ['exec', 'x'],
    [true, false],
  ],
  [
    ['e', 'fix the tests'],
    [true, false],
  ],
  [
    ['run', 'fix the tests'],
    [true, false],
  ],
  [
    ['run', 'tests'],
    [false, false],
  ],
  [
    ['run', 'the', 'tests'],
    [false, false],
  ],
])('%j is stopped where a person sits and elsewhere: %j', (words, stopped) => {
  for (const [index, isThere] of [true, false].entries()) {
    const guard = (): void => guardNearMiss(OUTLINE, words, () => isThere);
    if (stopped[index]) expect(guard).toThrow(`gmn needs no "${words[0]}": the words after it are the prompt`);
    else expect(guard).not.toThrow();
  }
});

test.each([['chta'], ['hlep'], ['session'], ['model'], ['template'], ['configs'], ['doc']])(
  '%s resembles a command of the real table',
  (word) => {
    const guard = (): void => guardNearMiss(toOutline(ROOT), [word], () => true);
    if (word === 'doc') expect(guard).not.toThrow();
    else expect(guard).toThrow(/looks like the command/);
  },
);

test('a word typed on a terminal gets the hint, and no model is asked', async (t) => {
  const { ended } = runInTerminal(t, ['login'], { env: { GMN_DEMO: '1', NO_COLOR: '1' } });
  expect(await ended).toEqual({
    exitCode: 1,
    output:
      'Error: there is no command "login"\r\nTo sign in: gmn auth set-key, or: gmn help auth\r\n' +
      'To send it as a prompt: gmn -p "login"\r\n',
  });
});

test.for(['login', 'chta', 'update', 'uninstall', 'memory', 'hlep'])(
  'a script does not send %s either when there is nothing else to send',
  async (word, t) => {
    const nobody = await runGmn(t, ['--demo', word]);
    const emptyPipe = await runGmn(t, ['--demo', word], { stdin: '' });
    for (const { stdout, stderr, exitCode } of [nobody, emptyPipe]) {
      expect([stdout, exitCode]).toEqual(['', 1]);
      expect(stderr).toContain(`To send it as a prompt: gmn -p "${word}"`);
    }
  },
);

test.for<readonly [args: readonly string[], stdin?: string]>([
  [['-p', 'login']],
  [['login'], 'a text\n'],
  [['-f', 'a.txt', 'update']],
  [['--tools', 'read', 'update']],
  [['hello']],
])('%j is sent by a script', async ([args, stdin], t) => {
  const sent = await runGmn(t, ['--demo', ...args], { stdin, files: { 'a.txt': 'text' } });
  expect([sent.exitCode, sent.stdout === '']).toEqual([0, false]);
});

test('the refusal names the command that was meant, and the way to send it all the same', () => {
  expect(() => guardNearMiss(OUTLINE, ['mpc', 'list'], () => false)).toThrow(
    expect.objectContaining({
      message: '"mpc" looks like the command "mcp". Run: gmn mcp list',
      hint: 'To send it as a prompt: gmn -p "mpc list"',
      exitCode: 1,
    }),
  );
});

test.each([
  [['extensions', 'list'], /^gmn installs no extensions/],
  [['extensions', 'install', 'https://github.com/a/b'], /gmn installs no extensions/],
  [['extensions', 'uninstall', 'a', 'b', 'c'], /gmn installs no extensions/],
  [['extensions', 'new', 'dir', 'mcp-server'], /gmn installs no extensions/],
  [['agents', 'list'], /gmn doctor, which lists the sub-agents/],
  [['memory', 'show'], /in a chat: \/memory/],
  [['gemma', 'status'], /gmn starts no local models/],
])('%j of the official CLI is refused, with or without a person', (words, why) => {
  for (const isThere of [true, false])
    expect(() => guardNearMiss(OUTLINE, words, () => isThere)).toThrow(
      expect.objectContaining({ hint: expect.stringMatching(why) }),
    );
});

test.each([['extensions'], ['gemma']])('%s alone is refused where a person sits only', (word) => {
  expect(() => guardNearMiss(OUTLINE, [word], () => true)).toThrow(/official CLI/);
  expect(() => guardNearMiss(OUTLINE, [word], () => false)).not.toThrow();
});

test.each([
  [['extensions', 'of', 'python', 'files?']],
  [['extensions', 'list', 'for', 'rust', 'developers']],
  [['agents', 'in', 'films']],
  [['memory', 'list', 'of', 'what?']],
  [['extensions list']],
  [['gemma', 'or', 'llama?']],
])('%j is a prompt', (words) => {
  expect(() => guardNearMiss(OUTLINE, words, () => true)).not.toThrow();
});
