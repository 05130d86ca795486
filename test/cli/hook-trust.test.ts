import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { call, fakeGemini, reply } from '../support/gemini.ts';
import { callGmn, callGmnIn, place } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';

const json = JSON.stringify;

/** Settings with one hook. */
const hook = (event: string, command: string, more: { unconfined?: true } = {}) => ({
  hooks: { [event]: [{ hooks: [{ type: 'command', command, ...more }] }] },
});

const KEY = 'test-key-0123456789';
const READ = reply(call('read_file', { file_path: 'a.txt' }));

const HOSTILE_NAMES = [
  'x$(touch MARK)',
  "x';touch MARK;'",
  'x"; touch MARK; "',
  'x`touch MARK`',
  'x & touch MARK',
  'x -c touch MARK',
];

posixTest.for(HOSTILE_NAMES)(
  'the name of a folder never runs as a part of an extension’s hook: %s',
  async (name, t) => {
    const line = `printf '%s|' \${workspacePath} "\${workspacePath}" '\${workspacePath}' \${extensionPath}\${/}x \${CLAUDE_PLUGIN_ROOT} >> "$HOME/seen"`;
    const at = place(t, {
      home: {
        '.gemini/extensions/one/gemini-extension.json': json({ name: 'one' }),
        '.gemini/extensions/one/hooks/hooks.json': json(hook('BeforeAgent', line)),
      },
    });
    const gemini = await fakeGemini(t, [reply('ok')]);
    const cwd = join(at.cwd, name);
    mkdirSync(cwd, { recursive: true });
    const env = { ...at.env, GEMINI_API_KEY: KEY, GOOGLE_GEMINI_BASE_URL: gemini.url };
    expect(await callGmnIn(t, { ...at, cwd, env }, ['x'])).toMatchObject({ stdout: 'ok\n', stderr: '' });
    const extension = realpathSync(join(at.home, '.gemini/extensions/one'));
    expect(readFileSync(join(at.home, 'seen'), 'utf8')).toBe(
      [cwd, cwd, cwd, `${extension}/x`, extension, ''].join('|'),
    );
    expect(
      readdirSync(at.root, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('/MARK')),
    ).toEqual([]);
  },
);

const WRITE = reply(call('write_file', { file_path: 'new.txt', content: 'x' }));
const AUTO = ['--tools', 'edit', '--approval-mode', 'auto_edit', 'x'];
const REFUSED = 'it may run what was changed here without a question, and there is nobody to ask';

/** A script outside of the folder, which leaves a mark there. */
const OWN = { '.gemini/own.sh': 'touch "$HOME/own"' };

posixTest.for([
  ['a script of the folder', 'sh ./check.sh', true],
  ['a runner', 'npx --no-install check', true],
  ['a program of the system that reads the folder', '/usr/bin/make -s', true],
  ['an absolute script that is given one of the folder', 'sh ~/.gemini/own.sh ./check.sh', true],
  ['a substitution', 'echo "$(cat check.sh)"', true],
  ['an absolute script', 'sh ~/.gemini/own.sh', false],
  ['words that run nothing', 'grep -q nothing-such || exit 0; echo done >&2', false],
] as const)(
  'after a change that nobody was asked about, a hook with %s runs unasked only if it is outside',
  async ([, command, isRefused], t) => {
    const gmn = await callGmn(t, AUTO, {
      files: { 'check.sh': 'exit 0', 'a.txt': 'A' },
      home: OWN,
      env: { GEMINI_CLI_TRUST_WORKSPACE: 'true' },
      settings: hook('AfterTool', command),
      script: [READ, WRITE, reply('ok')],
    });
    expect(gmn.stdout).toBe('ok\n');
    expect(gmn.stderr.split(REFUSED).length - 1).toBe(isRefused ? 1 : 0);
  },
);

posixTest(
  '"unconfined": true beside the command of a user’s hook lets it run; in a folder’s it means nothing',
  async (t) => {
    const mine = hook('AfterTool', 'sh ./check.sh', { unconfined: true });
    const files = { 'check.sh': 'cat > /dev/null; touch "$HOME/ran"' };
    const env = { GEMINI_CLI_TRUST_WORKSPACE: 'true' };
    const own = await callGmn(t, AUTO, { files, env, settings: mine, script: [WRITE, reply('ok')] });
    expect(own.stderr).not.toContain(REFUSED);
    const at = place(t, { files: { ...files, '.gemini/settings.json': json(mine) } });
    await callGmnIn(t, at, ['trust']);
    const gemini = await fakeGemini(t, [WRITE, reply('ok')]);
    const keys = { ...at.env, GEMINI_API_KEY: KEY, GOOGLE_GEMINI_BASE_URL: gemini.url };
    const theirs = await callGmnIn(t, { ...at, env: keys }, AUTO);
    expect(theirs.stderr).toContain(REFUSED);
    expect(existsSync(join(at.home, 'ran'))).toBe(false);
  },
);

posixTest(
  'a folder’s hook does not run beside a command of the model, which could replace what was compared',
  async (t) => {
    const at = place(t, {
      files: { 'a.txt': 'A', 'check.sh': 'exit 0', '.gemini/settings.json': json(hook('BeforeTool', 'sh ./check.sh')) },
    });
    await callGmnIn(t, at, ['trust']);
    const run = call('run_shell_command', { command: 'sleep 30', is_background: true });
    const gemini = await fakeGemini(t, [READ, reply(run), READ, reply('ok')]);
    const env = { ...at.env, GEMINI_API_KEY: KEY, GOOGLE_GEMINI_BASE_URL: gemini.url };
    const args = ['--tools', 'all', '--allowed-tools', 'run_shell_command', 'x'];
    expect((await callGmnIn(t, { ...at, env }, args)).stdout).toBe('ok\n');
    expect(gemini.requests[1]?.results[0]).toEqual({ output: 'A' });
    expect(gemini.requests[3]?.results[0].error).toContain(REFUSED);
  },
);

posixTest(
  'a user’s hook with a script of the folder does not run where the folder is not trusted, which is said once',
  async (t) => {
    const files = { 'check.sh': 'cat > /dev/null; touch MARK', 'a.txt': 'A', 'secret.txt': 's' };
    const at = place(t, { files, settings: hook('AfterTool', 'sh ./check.sh') });
    const gemini = await fakeGemini(t, [
      READ,
      reply(call('read_file', { file_path: 'secret.txt' })),
      reply('ok'),
      READ,
      reply('ok'),
    ]);
    const env = { ...at.env, GEMINI_API_KEY: KEY, GOOGLE_GEMINI_BASE_URL: gemini.url };
    const gmn = await callGmnIn(t, { ...at, env }, ['--tools', 'read', 'x']);
    expect(gmn.stdout).toBe('ok\n');
    expect(gmn.stderr.match(/it would run .*check\.sh, and this folder is not trusted/g)).toHaveLength(1);
    expect(existsSync(join(at.cwd, 'MARK'))).toBe(false);
    await callGmnIn(t, at, ['trust']);
    await callGmnIn(t, { ...at, env }, ['--tools', 'read', 'x']);
    expect(existsSync(join(at.cwd, 'MARK'))).toBe(true);
  },
);
