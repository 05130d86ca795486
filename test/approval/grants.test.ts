import { expect, test } from 'vitest';
import { checkLimits, findPrefix, type Grant, isGranted, type ResolvedCall } from '../../src/approval/grants.ts';
import { approvalPolicy } from '../../src/approval/policy.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { formatPermission, type Permission, tryParsePermission } from '../../src/core/permission.ts';
import { createBackgroundCommands } from '../../src/platform/process/background.ts';
import { runShellCommand } from '../../src/tools/run-shell-command.ts';

function createShellTool(path = '/bin/bash', args: readonly string[] = ['-c']) {
  return runShellCommand.create({
    shell: { path, args, isVerbatim: false },
    env: {},
    resolveDirectory: async (directory) => directory,
    storeOutput: async () => undefined,
    background: createBackgroundCommands(),
  });
}

const SHELL = createShellTool();

function callOf(command: string, args: object = {}, tool = SHELL): ResolvedCall {
  return { tool, args: { command, ...args }, directory: '/w/app' };
}

const WORDS: readonly Grant[] = [
  { kind: 'prefix', words: ['npm', 'test'] },
  { kind: 'prefix', words: ['git', 'status'] },
  { kind: 'prefix', words: ['cat'] },
];

test.each([
  'npm test',
  'npm test -- -t "a b"',
  'npm test && git status -s',
  'git status | cat',
  'cat /w/app/src/a.ts',
  'cat a=b',
])('words cover %j', (command) => {
  expect(isGranted(WORDS, callOf(command))).toBe(true);
});

test.each([
  ...['npm', 'npm tests', 'npm run test', 'npx npm test', 'Npm test', 'npm  "test "', 'git -c a=b status', 'git stash'],
  ...[
    'npm test && npm publish',
    'npm test; rm -rf /',
    'evil || npm test',
    'npm test | tee a',
    'npm test &',
    'npm test > a',
  ],
  ...[
    'npm test $(evil)',
    'npm test `evil`',
    'A=b npm test',
    'npm test\nevil',
    'npm test # x',
    'cat *',
    'cat ~/.bashrc',
  ],
  // Secrets, protected paths and the fence hold whatever is allowed.
  ...[
    'cat .env',
    'cat id_rsa',
    'cat sub/.npmrc',
    'cat .git/config',
    'cat AGENTS.md',
    'cat ../b',
    'cat a/../../b',
    'cat /etc/passwd',
  ],
  ...[
    'cat /w/app2/a',
    'cat -f/etc/passwd',
    'cat a:/etc/passwd',
    'cat -f.env',
    'cat @.env',
    "npm test 'X=$(evil)'",
    'git status --output=a',
    'cat /proc/self/environ',
    'npm test --env=.env',
    'npm test --out=/etc/x',
    'cat a && cat .ssh/id_ed25519',
  ],
])('words do not cover %j', (command) => {
  expect(isGranted(WORDS, callOf(command))).toBe(false);
});

test('words never cover the background, another tool, or a shell that is not known to be POSIX', () => {
  expect(isGranted(WORDS, callOf('npm test', { is_background: true }))).toBe(false);
  expect(isGranted(WORDS, callOf('npm test', { is_background: false }))).toBe(true);
  expect(isGranted(WORDS, callOf('npm test', { is_background: 'no' }))).toBe(false);
  const { findCommand: _, ...other } = SHELL;
  expect(isGranted(WORDS, callOf('npm test', {}, other))).toBe(false);
  const cmd = ['/d', '/s', '/c'];
  for (const [path, args] of [
    ['/usr/bin/fish', ['-c']],
    ['C:\\Windows\\System32\\cmd.exe', cmd],
    ['C:\\pwsh.exe', ['-NoLogo', '-Command']],
    ['/opt/sh.exe.fish', ['-c']],
    ['/bin/bash', cmd],
    ['/bin/bash', ['-i']],
  ] as const) {
    const tool = createShellTool(path, args);
    expect([path, isGranted(WORDS, callOf('npm test', {}, tool)), findPrefix(callOf('npm test', {}, tool))]).toEqual([
      path,
      false,
      undefined,
    ]);
    // The very command can still be allowed.
    const exact: Grant = { kind: 'command', command: 'npm test', directory: '/w/app' };
    expect(isGranted([exact], callOf('npm test', {}, tool))).toBe(true);
  }
  expect(isGranted(WORDS, callOf('npm test', {}, createShellTool('C:\\Git\\bin\\bash.exe')))).toBe(true);
});

test('a program that is named by a path from a directory is allowed in that directory alone', () => {
  const policy = approvalPolicy({ mode: 'default', allowed: [], isTrusted: () => false });
  const kept = policy.remember(callOf('./run all'), 'prefix');
  expect(kept).toEqual({ kind: 'prefix', words: ['./run', 'all'], directory: '/w/app' });
  expect(formatPermission(kept as Permission)).toBe('./run all … (in /w/app)');
  expect(tryParsePermission(kept as unknown as JsonObject)).toEqual(kept);
  expect(tryParsePermission({ kind: 'prefix', words: ['./run'], directory: '' })).toBeUndefined();
  expect(policy.rule(callOf('./run all -x')).kind).toBe('run');
  expect(policy.rule({ ...callOf('./run all -x'), directory: '/w/app/sub' }).kind).toBe('ask');
  // One of the settings has no directory.
  expect(isGranted([{ kind: 'prefix', words: ['./run'] }], callOf('./run'))).toBe(true);
});

test('words are offered only if they would cover the command itself', () => {
  expect(findPrefix(callOf('cat a.txt'))).toEqual(['cat']);
  expect(findPrefix(callOf('cat .env'))).toBeUndefined();
  expect(findPrefix(callOf('cat a.txt', { is_background: true }))).toBeUndefined();
});

test('without a known directory, an absolute path is outside of it', () => {
  const { directory: _, ...call } = callOf('cat /w/app/a');
  expect(isGranted(WORDS, call)).toBe(false);
  expect(isGranted(WORDS, { ...call, args: { command: 'cat /w/app/a', dir_path: '/w/app' } })).toBe(true);
});

test('an answer that has nothing to cover is remembered as nothing', () => {
  const policy = approvalPolicy({ mode: 'default', allowed: [], isTrusted: () => false });
  expect(policy.remember(callOf('a | b'), 'prefix')).toBeUndefined();
  expect(policy.remember(callOf('a'), 'server')).toBeUndefined();
  expect(policy.remember(callOf('a'), 'file')).toBeUndefined();
  expect(policy.remember(callOf('npm test -x'), 'prefix')).toEqual({ kind: 'prefix', words: ['npm', 'test'] });
  expect(policy.rule(callOf('npm test -y'))).toEqual({ kind: 'run' });
});

const EXCLUDE = { exclude: [['rm'], ['git', 'push']] };

test.each([
  ['rm -rf x', 'exclude'],
  ['/bin/rm x', 'exclude'],
  ['RM x', 'exclude'],
  ['rm.exe x', 'exclude'],
  ['ls && rm x', 'exclude'],
  ['git push', 'exclude'],
  ['git status', undefined],
  ['rmdir x', undefined],
  // It cannot be told.
  ['ls > x', 'unclear'],
  ['$x', 'unclear'],
  ['sh -c "rm x"', 'unclear'],
  ['sudo rm x', 'unclear'],
  ['/usr/bin/env rm', 'unclear'],
])('of tools.exclude with rm and git push, %j is %s', (command, limit) => {
  expect(checkLimits(EXCLUDE, callOf(command))).toBe(limit);
});

test('tools.core allows only commands of which each part begins with its words', () => {
  const limits = { core: [['git'], ['npm', 'test']], exclude: [] };
  const check = (command: string) => checkLimits(limits, callOf(command));
  expect([check('git log'), check('npm test | git x')]).toEqual([undefined, undefined]);
  for (const command of ['ls', 'git log | ls', 'npm run', 'git $(ls)', 'git log > x'])
    expect([command, check(command)]).toEqual([command, 'core']);
  expect(checkLimits(limits, callOf('git log', {}, createShellTool('/usr/bin/fish')))).toBe('core');
  const { findCommand: _, ...other } = SHELL;
  expect(checkLimits(limits, callOf('ls', {}, other))).toBeUndefined();
});

test('what is excluded is denied in every mode, and what is unclear asks, unless that very command was allowed', () => {
  const exact: Grant = { kind: 'command', command: 'ls > x', directory: '/w/app' };
  const allowed: Grant[] = [{ kind: 'tool', tool: 'run_shell_command' }, exact];
  for (const mode of ['default', 'auto_edit', 'yolo'] as const) {
    const { rule } = approvalPolicy({ mode, allowed, isTrusted: () => true, limits: EXCLUDE });
    expect(rule(callOf('rm x'))).toEqual({
      kind: 'deny',
      reason:
        'run_shell_command was not run: tools.exclude in the settings excludes this command. Tell the user what you would run.',
      advice: 'tools.exclude in the settings excludes this command. Where: gmn config explain tools.exclude',
    });
    expect(rule(callOf('ls > y')).kind).toBe('ask');
    expect(rule(callOf('ls > x')).kind).toBe('run');
    expect(rule(callOf('ls')).kind).toBe('run');
  }
});
