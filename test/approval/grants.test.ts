import { expect, test } from 'vitest';
import {
  checkLimits,
  findPrefix,
  type Grant,
  isGranted,
  matchPart,
  type ResolvedCall,
} from '../../src/approval/grants.ts';
import { approvalPolicy } from '../../src/approval/policy.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { formatPermission, type Permission, tryParsePermission } from '../../src/core/permission.ts';
import { createBackgroundCommands } from '../../src/platform/process/background.ts';
import { runShellCommand } from '../../src/tools/run-shell-command.ts';
import { findParts } from '../support/command-parts.ts';

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

async function callOf(command: string, args: object = {}, tool = SHELL): Promise<ResolvedCall> {
  const all = { command, ...args };
  return { tool, args: all, directory: '/w/app', parts: await findParts(tool, all, '/w/app') };
}

const WORDS: readonly Grant[] = [
  { kind: 'prefix', words: ['npm', 'test'] },
  { kind: 'prefix', words: ['git', 'status'] },
  { kind: 'prefix', words: ['cat'] },
];

test.each([
  'npm test',
  'npm test -- src/a.test.ts',
  'npm test && git status -s',
  'git status | cat',
  'cat /w/app/src/a.ts',
  'cat a=b',
])('words cover %j', async (command) => {
  expect(isGranted(WORDS, await callOf(command))).toBe(true);
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
    'cat AGENTS.md > a',
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
])('words do not cover %j', async (command) => {
  expect(isGranted(WORDS, await callOf(command))).toBe(false);
});

test('words never cover the background, another tool, or a shell that is not known to be POSIX', async () => {
  expect(isGranted(WORDS, await callOf('npm test', { is_background: true }))).toBe(false);
  expect(isGranted(WORDS, await callOf('npm test', { is_background: false }))).toBe(true);
  expect(isGranted(WORDS, await callOf('npm test', { is_background: 'no' }))).toBe(false);
  const { findCommand: _, ...other } = SHELL;
  expect(isGranted(WORDS, await callOf('npm test', {}, other))).toBe(false);
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
    expect([
      path,
      isGranted(WORDS, await callOf('npm test', {}, tool)),
      findPrefix(await callOf('npm test', {}, tool)),
    ]).toEqual([path, false, undefined]);
    // The very command can still be allowed.
    const exact: Grant = { kind: 'command', command: 'npm test', directory: '/w/app' };
    expect(isGranted([exact], await callOf('npm test', {}, tool))).toBe(true);
  }
  expect(isGranted(WORDS, await callOf('npm test', {}, createShellTool('C:\\Git\\bin\\bash.exe')))).toBe(true);
});

test('words that were allowed at a question hold in the directory of the command alone', async () => {
  const policy = approvalPolicy({ mode: 'default', allowed: [], isTrusted: () => false });
  const kept = policy.remember(await callOf('./run all'), 'prefix');
  expect(kept).toEqual({ kind: 'prefix', words: ['./run', 'all'], directory: '/w/app' });
  expect(formatPermission(kept as Permission)).toBe('./run all … (in /w/app)');
  expect(tryParsePermission(kept as unknown as JsonObject)).toEqual(kept);
  expect(tryParsePermission({ kind: 'prefix', words: ['./run'], directory: '' })).toBeUndefined();
  expect(policy.rule(await callOf('./run all x')).kind).toBe('run');
  expect(policy.rule({ ...(await callOf('./run all x')), directory: '/w/app/sub' }).kind).toBe('ask');
  // One of the settings has no directory.
  expect(isGranted([{ kind: 'prefix', words: ['./run'] }], await callOf('./run'))).toBe(true);
});

test('words are offered only if they would cover the command itself', async () => {
  expect(findPrefix(await callOf('cat a.txt'))).toEqual(['cat']);
  expect(findPrefix(await callOf('cat .env'))).toBeUndefined();
  expect(findPrefix(await callOf('cat a.txt', { is_background: true }))).toBeUndefined();
});

test('words cover nothing that nobody resolved', async () => {
  const { parts: _, ...call } = await callOf('cat a');
  expect(isGranted(WORDS, call)).toBe(false);
});

test('an answer that has nothing to cover is remembered as nothing', async () => {
  const policy = approvalPolicy({ mode: 'default', allowed: [], isTrusted: () => false });
  expect(policy.remember(await callOf('a | b'), 'prefix')).toBeUndefined();
  expect(policy.remember(await callOf('a'), 'server')).toBeUndefined();
  expect(policy.remember(await callOf('a'), 'file')).toBeUndefined();
  expect(policy.remember(await callOf('npm test x'), 'prefix')).toEqual({
    kind: 'prefix',
    words: ['npm', 'test'],
    directory: '/w/app',
  });
  expect(policy.rule(await callOf('npm test y'))).toEqual({ kind: 'run' });
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
  ['npm run rm', undefined],
  // The table does not know what else they do.
  ['unlink x', 'unclear'],
  ['git -c a=b push', 'unclear'],
  ['git -C sub push', 'unclear'],
  ['git rebase main', 'unclear'],
  ['timeout 5 rm x', 'unclear'],
  ['npx rm', 'unclear'],
  ['find . -exec rm', 'unclear'],
  ['./ls', 'unclear'],
  // It cannot be told.
  ['ls > x', 'unclear'],
  ['$x', 'unclear'],
  ['sh -c "rm x"', 'unclear'],
  ['sudo rm x', 'unclear'],
  ['/usr/bin/env rm', 'unclear'],
])('of tools.exclude with rm and git push, %j is %s', async (command, limit) => {
  expect(checkLimits(EXCLUDE, await callOf(command))).toBe(limit);
});

test('what is excluded has other names, and options between its words', async () => {
  const exclude = [['npm', 'test'], ['eslint'], ['git', 'commit', '--amend'], ['npm', 'run', 'deploy']];
  const check = async (command: string) => checkLimits({ exclude }, await callOf(command));
  for (const command of [
    'npm t',
    'npm tst -s',
    'npx --no-install eslint src',
    'npm run --silent deploy',
    'git commit --amend',
  ])
    expect([command, await check(command)]).toEqual([command, 'exclude']);
  expect(await check('git commit -m x --amend')).toBe('unclear');
  expect(await check('npm run build')).toBeUndefined();
});

test.each([
  ['python3', 'python tool.py', 'exclude'],
  ['python3', 'python3.12 -m pytest', 'exclude'],
  ['python -m pytest', 'python3 -m pytest', 'exclude'],
  ['python -m pytest', 'pytest -q', 'exclude'],
  ['npm t', 'npm test', 'exclude'],
  ['npm run-script deploy', 'npm run deploy', 'exclude'],
  ['node', 'nodejs tool.js', 'exclude'],
  ['npm start', 'npm run start', 'unclear'],
  ['pnpm run build', 'pnpm build', 'unclear'],
  ['docker ps', 'docker container ps', 'unclear'],
  ['npm test --silent', 'npm t -s', 'unclear'],
  ['npm test', 'npm run build', undefined],
  ['npm test x', 'npm t y', undefined],
  ['npm test x', 'npm t x', 'exclude'],
  ['mytool -x', 'git status', undefined],
  ['python', 'pip list', undefined],
])('of tools.exclude with %j, %j is %s', async (rule, command, limit) => {
  expect(checkLimits({ exclude: [rule.split(' ')] }, await callOf(command))).toBe(limit);
});

test('whether a program runs with some words is yes, no, or unclear', async () => {
  const match = async (command: string) =>
    (await callOf(command)).parts?.map((part) => matchPart(part, ['git', 'push']));
  expect(await match('git push origin | git log | git pushx | npm ls')).toEqual(['yes', 'no', 'unclear', 'no']);
  expect(await match('gitx push')).toEqual(['unclear']);
});

test('tools.core allows only commands of which each part begins with its words', async () => {
  const limits = { core: [['git'], ['npm', 'test']], exclude: [] };
  const check = async (command: string) => checkLimits(limits, await callOf(command));
  expect([await check('git log'), await check('npm test | git x')]).toEqual([undefined, undefined]);
  for (const command of ['ls', 'git log | ls', 'npm run', 'git $(ls)', 'git log > x'])
    expect([command, await check(command)]).toEqual([command, 'core']);
  expect(checkLimits(limits, await callOf('git log', {}, createShellTool('/usr/bin/fish')))).toBe('core');
  const { findCommand: _, ...other } = SHELL;
  expect(checkLimits(limits, await callOf('ls', {}, other))).toBeUndefined();
});

test('what is excluded is denied in every mode, and what is unclear asks, unless that very command was allowed', async () => {
  const exact: Grant = { kind: 'command', command: 'ls > x', directory: '/w/app' };
  const allowed: Grant[] = [{ kind: 'tool', tool: 'run_shell_command' }, exact];
  for (const mode of ['default', 'auto_edit', 'yolo'] as const) {
    const { rule } = approvalPolicy({ mode, allowed, isTrusted: () => true, limits: EXCLUDE });
    expect(rule(await callOf('rm x'))).toEqual({
      kind: 'deny',
      reason:
        'run_shell_command was not run: tools.exclude in the settings excludes this command. Tell the user what you would run.',
      advice: 'tools.exclude in the settings excludes this command. Where: gmn config explain tools.exclude',
    });
    expect(rule(await callOf('ls > y')).kind).toBe('ask');
    expect(rule(await callOf('ls > x')).kind).toBe('run');
    expect(rule(await callOf('ls')).kind).toBe('run');
  }
});
