import { chmodSync, existsSync, mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, type TestContext } from 'vitest';
import { call, fakeGemini, reply } from '../support/gemini.ts';
import { callGmnIn, type GmnOptions, place } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';

interface Asked {
  readonly command: string;
  readonly dir_path?: string;
}

/** Has the model run commands where nobody can be asked, with programs that only write down how they were called. */
async function listCalls(
  t: TestContext,
  commands: readonly (string | Asked)[],
  {
    flags = [],
    kept,
    ...options
  }: GmnOptions & { readonly flags?: readonly string[]; readonly kept?: readonly object[] } = {},
) {
  const calls = commands.map((one) => (typeof one === 'string' ? { command: one } : one));
  const script = [...calls.map((args) => reply(call('run_shell_command', { ...args }))), reply('Done.')];
  const gemini = await fakeGemini(t, script);
  const here = place(t, { ...options, gemini, files: { 'a.txt': 'a', 'sub/a.txt': 'a', ...options.files } });
  const bin = join(here.root, 'bin');
  const log = join(here.root, 'log');
  mkdirSync(bin);
  for (const name of ['git', 'npm', 'gcc', 'cat', 'make', 'tool', 'sh-like']) {
    writeFileSync(join(bin, name), `#!/bin/sh\necho ${name} "$@" >> '${log}'\n`);
    chmodSync(join(bin, name), 0o755);
  }
  writeFileSync(join(here.root, 'id_rsa'), 'key');
  symlinkSync(join(here.root, 'id_rsa'), join(here.cwd, 'README.md'));
  if (kept !== undefined) {
    const project = realpathSync(here.cwd);
    const entries = kept.map((each) => ({ ...each, time: '2026-11-01T00:00:00.000Z' }));
    mkdirSync(join(here.home, '.gmn'), { recursive: true });
    const file = join(here.home, '.gmn', 'permissions.json');
    writeFileSync(file, JSON.stringify({ version: 1, projects: { [project]: entries } }), { mode: 0o600 });
  }
  const env = { ...here.env, PATH: `${bin}:${here.env.PATH}` };
  const gmn = await callGmnIn(t, { ...here, env }, ['--tools', 'run_shell_command', ...flags, 'go']);
  expect(gmn).toMatchObject({ exitCode: 0 });
  return { ...gmn, calls: existsSync(log) ? readFileSync(log, 'utf8').trimEnd().split('\n') : [] };
}

const RUN = [
  'git log --oneline -3 -- a.txt',
  'npm run build',
  'gcc -O2 a.c b.c',
  'cat -n a.txt sub/a.txt',
  'make -k lint',
  'tool one two',
];
const ASKED = [
  'git log --output=a.txt',
  'git -c alias.log=!id log',
  'git push',
  'git -C sub log',
  'npm run deploy',
  'npm run build --script-shell=x',
  'npm run build --prefix sub',
  'gcc -O2 a.c -wrapper sh,-c,id',
  'gcc -wrapper sh,-c,id -O2 a.c',
  'cat README.md',
  'cat ../id_rsa',
  'make SHELL=x lint',
  'tool -x',
  'tool git',
];
const RULES = ['git log', 'npm run build', 'gcc -O2 a.c', 'cat', 'make', 'tool'].map(
  (words) => `run_shell_command(${words})`,
);

posixTest.for([
  ['--allowed-tools', { flags: ['--allowed-tools', RULES.join(',')] }],
  ['tools.allowed', { settings: { tools: { allowed: RULES } } }],
  [
    'what was kept before it had a directory',
    { kept: RULES.map((rule) => ({ kind: 'prefix', words: rule.slice(18, -1).split(' ') })) },
  ],
] as const)('of commands that begin with allowed words only those run that are known: %s', async ([, options], t) => {
  const { calls, stderr } = await listCalls(t, [...RUN, ...ASKED], options);
  expect(calls).toEqual(RUN);
  expect(stderr.match(/was not run/g)).toHaveLength(ASKED.length);
});

posixTest('what was kept holds in its directory, a rule in the whole workspace', async (t) => {
  const commands = ['git status', { command: 'git status -s', dir_path: 'sub' }] as const;
  const words = { kind: 'prefix', words: ['git', 'status'] };
  expect((await listCalls(t, commands, { kept: [words] })).calls).toEqual(['git status']);
  const rule = await listCalls(t, commands, { flags: ['--allowed-tools', 'run_shell_command(git)'] });
  expect(rule.calls).toEqual(['git status', 'git status -s']);
  // A program that is named by a path is another one elsewhere.
  const files = { run: '#!/bin/sh\ntouch ran', 'sub/run': '#!/bin/sh\ntouch ran' };
  const flags = ['--allowed-tools', 'run_shell_command(./run)'];
  const relative = await listCalls(t, [{ command: './run', dir_path: 'sub' }], { flags, files });
  expect(relative.stderr).toContain('run_shell_command ./run was not run');
});

posixTest('words cover nothing in a repository that came with the folder', async (t) => {
  const files = { 'bare/HEAD': 'ref: refs/heads/main', 'bare/config': '', 'bare/objects/x': '', 'bare/refs/x': '' };
  const commands = [
    { command: 'git status', dir_path: 'bare' },
    { command: 'git log', dir_path: 'bare/refs' },
    'git log',
  ];
  const { calls } = await listCalls(t, commands, { files, flags: ['--allowed-tools', 'run_shell_command(git)'] });
  expect(calls).toEqual(['git log']);
});

posixTest('a rule that can allow nothing is named, and what wraps an excluded program asks', async (t) => {
  const flags = ['--allowed-tools', 'run_shell_command(npm publish),run_shell_command(npm test)'];
  const { stderr, calls } = await listCalls(t, ['npm publish', 'npm test'], { flags });
  expect(stderr).toContain('run_shell_command(npm publish) lets nothing run without a question');
  expect(stderr).not.toContain('run_shell_command(npm test) lets');
  expect(calls).toEqual(['npm test']);
  const settings = { tools: { exclude: ['run_shell_command(git push)'] } };
  const excluded = await listCalls(t, ['git push', 'git -c a=b push', 'sh-like git push', 'git status'], {
    settings,
    flags: ['--yolo'],
  });
  expect(excluded.calls).toEqual(['git status']);
});
