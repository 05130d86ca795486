import { existsSync, mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import { serve } from '../mcp/server/support.ts';
import { chatInTerminal } from '../support/chat-terminal.ts';
import { call, fakeGemini, reply } from '../support/gemini.ts';
import { callGmn, callGmnIn, type GmnOptions, place } from '../support/gmn.ts';
import { fixtureServer } from '../support/mcp-place.ts';
import { posixTest } from '../support/posix.ts';
import { runInTerminal } from '../support/pty.ts';

const run = (command: string) => reply(call('run_shell_command', { command }));

/** Has the model run commands where nobody can be asked; gives those that were run, by the files they made. */
async function listRun(
  t: TestContext,
  commands: readonly string[],
  { flags = [], ...options }: GmnOptions & { readonly flags?: readonly string[] } = {},
) {
  const gemini = await fakeGemini(t, [...commands.map(run), reply('Done.')]);
  const here = place(t, { ...options, gemini });
  const gmn = await callGmnIn(t, here, ['--tools', 'run_shell_command', ...flags, 'go']);
  expect(gmn).toMatchObject({ exitCode: 0 });
  return { ...gmn, here, made: ['a', 'b', 'c', 'd'].filter((name) => existsSync(join(here.cwd, name))) };
}

const MAKE = ['touch a', 'touch b && mkdir c', 'mkdir d', 'touch $(echo d)'];

posixTest.for([
  ['one-word prefix', { flags: ['--allowed-tools', 'run_shell_command(touch)'] }, ['a']],
  [
    'two prefixes, for the parts of a command',
    { flags: ['--allowed-tools', 'ShellTool(touch),ShellTool(mkdir c)'] },
    ['a', 'b', 'c'],
  ],
  ['as Claude Code writes it', { flags: ['--allowedTools', 'Bash(touch:*)'] }, ['a']],
  ['tools.allowed', { settings: { tools: { allowed: ['run_shell_command(touch a)'] } } }, ['a']],
  ['the old name of it', { settings: { allowedTools: ['ShellTool(touch:*)'] } }, ['a']],
  ['the tool itself', { settings: { tools: { allowed: ['run_shell_command'] } } }, ['a', 'b', 'c', 'd']],
  [
    'tools.exclude before all that allows',
    {
      settings: { tools: { allowed: ['run_shell_command'], exclude: ['run_shell_command(mkdir)'] } },
      flags: ['--yolo'],
    },
    ['a'],
  ],
  ['tools.core, which grants nothing', { settings: { tools: { core: ['run_shell_command(touch)'] } } }, []],
  ['tools.core', { settings: { tools: { core: ['run_shell_command(touch)'] } }, flags: ['--yolo'] }, ['a']],
] as const)('commands are allowed by their words: %s', async ([, options, made], t) => {
  expect((await listRun(t, MAKE, options)).made).toEqual(made);
});

test('what is not the beginning of a command allows nothing, and that is said', async (t) => {
  for (const rule of [
    'run_shell_command(touch *)',
    'run_shell_command()',
    'write_file(a)',
    'run_shell_command(a && b)',
  ]) {
    const gmn = await callGmn(t, ['--tools', 'all', '--allowed-tools', rule, 'go'], { script: [] });
    expect(gmn.stderr).toContain(`Error: --allowed-tools ${rule} is not the beginning of a command\n`);
    expect(gmn.exitCode).toBe(1);
  }
  const settings = { tools: { allowed: ['run_shell_command(touch *)', 'nosuch_tool'] } };
  const { stderr, made } = await listRun(t, ['touch a'], { settings });
  expect(stderr).toContain('tools.allowed: run_shell_command(touch *) allows nothing: ');
  expect(stderr).not.toContain('nosuch_tool');
  expect(made).toEqual([]);
});

const GRANTS = JSON.stringify({
  tools: { allowed: ['run_shell_command'] },
  general: { defaultApprovalMode: 'auto_edit' },
});

function keptFor(project: string, ...permissions: readonly object[]): string {
  const time = '2026-11-01T00:00:00.000Z';
  return JSON.stringify({ version: 1, projects: { [project]: permissions.map((each) => ({ ...each, time })) } });
}

const SHELL = { kind: 'tool', tool: 'run_shell_command' };

posixTest(
  'a hostile project grants itself nothing, trusted or not, by its files, links or a home inside of it',
  async (t) => {
    for (const trust of ['false', 'true']) {
      const env = { GEMINI_CLI_TRUST_WORKSPACE: trust };
      const gemini = await fakeGemini(t, [
        run('touch a'),
        reply(call('write_file', { file_path: 'b', content: 'x' })),
        reply('Done.'),
      ]);
      const here = place(t, { gemini, env, files: { '.gemini/settings.json': GRANTS } });
      const kept = keptFor(realpathSync(here.cwd), SHELL, { kind: 'edits' });
      mkdirSync(join(here.cwd, '.gmn'));
      writeFileSync(join(here.cwd, '.gmn', 'permissions.json'), kept, { mode: 0o600 });
      writeFileSync(join(here.cwd, '.gmn', 'config.json'), GRANTS);
      writeFileSync(join(here.cwd, 'permissions.json'), kept, { mode: 0o600 });
      await callGmnIn(t, here, ['--tools', 'all', 'go']);
      expect([existsSync(join(here.cwd, 'a')), existsSync(join(here.cwd, 'b'))]).toEqual([false, false]);
    }
    // The same file where gmn looks for it, but led there by a link, or with GMN_HOME in the project.
    for (const isLink of [true, false]) {
      const gemini = await fakeGemini(t, [run('touch a'), reply('Done.')]);
      const here = place(t, { gemini });
      const planted = join(here.cwd, 'permissions.json');
      writeFileSync(planted, keptFor(realpathSync(here.cwd), SHELL), { mode: 0o600 });
      mkdirSync(join(here.home, '.gmn'), { recursive: true });
      if (isLink) symlinkSync(planted, join(here.home, '.gmn', 'permissions.json'));
      const env = isLink ? here.env : { ...here.env, GMN_HOME: here.cwd };
      const { stderr } = await callGmnIn(t, { ...here, env }, ['--tools', 'run_shell_command', 'go']);
      expect(existsSync(join(here.cwd, 'a'))).toBe(false);
      expect(stderr).toContain('it is in the working directory, where a project could have put it');
    }
  },
);

posixTest('what was kept counts in its project alone, and not if the file is damaged', async (t) => {
  const gemini = await fakeGemini(t, Array.from({ length: 4 }, () => [run('touch a'), reply('Done.')]).flat());
  const here = place(t, { gemini });
  const file = join(here.home, '.gmn', 'permissions.json');
  const [here1, args] = [realpathSync(here.cwd), ['--tools', 'run_shell_command', 'go']] as const;
  mkdirSync(join(here.cwd, 'sub'));
  mkdirSync(join(here.home, '.gmn'), { recursive: true });
  writeFileSync(file, keptFor(here1, { kind: 'prefix', words: ['touch'] }), { mode: 0o600 });
  await callGmnIn(t, { ...here, cwd: join(here.cwd, 'sub') }, args);
  expect(existsSync(join(here.cwd, 'sub', 'a'))).toBe(false);
  const atHome = await callGmnIn(t, { ...here, cwd: here.home }, args);
  expect([existsSync(join(here.home, 'a')), atHome.stderr]).toEqual([
    false,
    expect.not.stringContaining('permissions.json'),
  ]);
  await callGmnIn(t, here, args);
  expect(existsSync(join(here.cwd, 'a'))).toBe(true);
  writeFileSync(file, '{"version":1');
  const { stderr } = await callGmnIn(t, here, args);
  expect(stderr).toContain(
    'permissions.json: it is not JSON. Nothing in it counts. Fix or remove that file; what it allowed is asked about again.',
  );
  expect(stderr).toContain('run_shell_command touch a was not run');
  const listed = await callGmnIn(t, here, ['permissions', 'list']);
  expect(listed).toMatchObject({ exitCode: 4, stderr: expect.stringContaining('Fix or remove that file') });
});

posixTest('gmn mcp serve does not do what its user has allowed for themselves', async (t) => {
  const gemini = await fakeGemini(t, [
    reply(call('write_file', { file_path: 'a', content: 'x' })),
    run('touch b'),
    reply('No.'),
  ]);
  const settings = { tools: { allowed: ['write_file', 'run_shell_command'] } };
  const server = await serve(t, { gemini, settings });
  const file = join(server.home, '.gmn', 'permissions.json');
  mkdirSync(join(server.home, '.gmn'), { recursive: true });
  writeFileSync(file, keptFor(realpathSync(server.cwd), SHELL, { kind: 'edits' }), { mode: 0o600 });
  await server.call('delegate', { prompt: 'Write and run' });
  expect([existsSync(join(server.cwd, 'a')), existsSync(join(server.cwd, 'b'))]).toEqual([false, false]);
});

test('gmn permissions lists by number and removes only what is listed here', async (t) => {
  const here = place(t);
  const project = realpathSync(here.cwd);
  const file = join(here.home, '.gmn', 'permissions.json');
  mkdirSync(join(here.home, '.gmn'), { recursive: true });
  const gmn = (...args: readonly string[]) => callGmnIn(t, here, ['permissions', ...args]);
  expect((await gmn('list')).stdout).toBe('Nothing is allowed in this directory without asking.\n');
  const { projects: others } = JSON.parse(keptFor(resolve('/elsewhere'), { kind: 'edits' }));
  const own = JSON.parse(
    keptFor(
      project,
      { kind: 'prefix', words: ['npm', 'test'] },
      { kind: 'command', command: 'a | b', directory: '/d' },
    ),
  );
  writeFileSync(file, JSON.stringify({ version: 1, projects: { ...others, ...own.projects } }), { mode: 0o600 });
  const listed = await gmn('list');
  expect(listed.stdout).toBe('1  npm test …              2026-11-01\n2  a | b (exactly, in /d)  2026-11-01\n');
  expect(listed.stderr).toContain('1 more of other directories; to see them all: gmn permissions list --all\n');
  expect((await gmn('list', '--all')).stdout).toContain(
    `1  all edits               2026-11-01  ${resolve('/elsewhere')}\n`,
  );
  expect(JSON.parse((await gmn('list', '--json')).stdout)).toEqual({
    permissions: [
      { number: 1, project, time: '2026-11-01T00:00:00.000Z', kind: 'prefix', words: ['npm', 'test'] },
      { number: 2, project, time: '2026-11-01T00:00:00.000Z', kind: 'command', command: 'a | b', directory: '/d' },
    ],
    file: expect.stringContaining('permissions.json'),
    policies: [],
  });
  for (const number of ['3', '0', '-1', 'npm', '1x'])
    expect(await gmn('remove', '1', ...(number === '-1' ? ['--', number] : [number]))).toMatchObject({ exitCode: 1 });
  expect(JSON.parse(readFileSync(file, 'utf8')).projects[project]).toHaveLength(2);
  expect((await gmn('remove', '1')).stdout).toBe(`Asked about again in ${project}: npm test …\n`);
  expect((await gmn('remove', '1', '2', '--all')).exitCode).toBe(0);
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ version: 1, projects: {} });
});

const CLEAR = { NO_COLOR: '1' };

posixTest('in a chat: the keys of a question, what they allow, and /permissions', async (t) => {
  const settings = { mcpServers: { memo: fixtureServer('mcp-server.mjs') } };
  const chat = chatInTerminal(t, ['--demo'], { settings, env: CLEAR, rows: 50, columns: 160 });
  await chat.ready(1);
  chat.enter('call run_shell_command {"command":"echo one"}');
  await chat.shows(
    /│ echo one\n╰ \[y\]es \[N\]o \[a\]lways this command \[p\] echo … \[e\]dit \[r\]eply \[q\]uit turn \[\?\] ›/,
  );
  chat.type('?');
  await chat.shows(
    /│ p {15}yes, and from now on every command that begins with these words\n[\s\S]*│ q, Esc, Ctrl\+C {2}stops the turn\n[\s\S]*╰ [^\n]*›/,
  );
  chat.type('P');
  await chat.shows(/│ Kept for this project: echo … \(in [^)]+\)\n✓ run_shell_command echo one/);
  chat.enter('call run_shell_command {"command":"echo one more | echo one"}');
  await chat.shows(/✓ run_shell_command echo one more \| echo one/);
  chat.enter('call run_shell_command {"command":"uname"}');
  await chat.shows(/│ uname\n╰ [^\n]*›/);
  chat.type('\r');
  await chat.shows(/✗ run_shell_command uname: The user said no/);
  // All edits: the mode, in the status line; the next change shows its diff.
  chat.enter('call write_file {"file_path":"a.txt","content":"1\\n"}');
  await chat.shows(/╰ \[y\]es \[N\]o \[a\]ll edits [^\n]*›/);
  chat.type('a');
  await chat.shows(/✓ write_file a\.txt \+1 −0\n[\s\S]*· edits run without asking ·/);
  const lines = Array.from({ length: 15 }, (_, index) => index).join('\\n');
  chat.enter(`call write_file {"file_path":"日本.txt","content":"${lines}\\n"}`);
  await chat.shows(
    /✓ write_file 日本\.txt \+15 −0\n {2}@@ -0,0 \+1,15 @@\n {2}\+0\n[\s\S]* {2}\+10\n {2}… 4 more lines\n/,
  );
  chat.enter('/permissions');
  await chat.shows(
    /❯ \/permissions\n {2}1 {2}kept for this project {2}echo … \(in [^)]+\)\nTo remove one: \/permissions remove <number>\n❯/,
  );
  chat.enter('/permissions remove 2');
  await chat.shows(/there is no permission "remove 2"/);
  chat.enter('/permissions remove 1');
  await chat.shows(/Asked about again: echo … \(in [^)]+\)\n/);
  chat.enter('call run_shell_command {"command":"echo one"}');
  await chat.shows(/Asked about again[\s\S]*│ echo one\n╰ [^\n]*›/);
  // Esc stops the turn.
  chat.type('\u001b');
  await chat.shows(/Asked about again[\s\S]*› q\n[\s\S]*stopped before run_shell_command was run/);
  chat.enter('call echo {"message":"x"}');
  await chat.shows(/╰ \[y\]es \[N\]o \[a\]lways this tool \[s\] all tools of memo [^\n]*›/);
  chat.type('s');
  await chat.shows(/demo: echo answered: x\n\n❯/);
  chat.enter('call add {"a":1,"b":2}');
  await chat.shows(/demo: add answered: 3\n\n❯/);
  chat.enter('/permissions');
  await chat.shows(/in this chat {2}memo: all its tools\n/);
  chat.enter('/tools read');
  await chat.shows(
    /❯ \/tools read\n {2}on {2}list_directory +lists a directory\n[\s\S]*off run_shell_command +runs a command\n/,
  );
  chat.enter('/exit');
  expect((await chat.ended).exitCode).toBe(0);
});

posixTest(
  'A on a change keeps all edits for the project: the next run there starts in that mode, a flag wins over it',
  async (t) => {
    const write = (name: string) => reply(call('write_file', { file_path: name, content: 'x\n' }));
    const script = ['a', 'b', 'c'].flatMap((name) => [write(name), reply('Done.')]);
    const here = place(t, { gemini: await fakeGemini(t, script), env: CLEAR });
    const terminal = runInTerminal(t, ['--tools', 'edit', 'go'], { at: here, columns: 120 });
    await terminal.until(/\[\?\] › /);
    terminal.type('A');
    expect((await terminal.ended).output).toContain('│ Kept for this project: all edits');
    const next = await callGmnIn(t, here, ['--tools', 'edit', 'go']);
    expect(next.stderr).toBe('✓ write_file b +1 −0\n  @@ -0,0 +1,1 @@\n  +x\n');
    await callGmnIn(t, here, ['--tools', 'edit', '--approval-mode', 'default', 'go']);
    expect(['a', 'b', 'c'].filter((name) => existsSync(join(here.cwd, name)))).toEqual(['a', 'b']);
  },
);

test('a chat in a pipe has no shell, and no diff is in a JSON format', async (t) => {
  const gemini = await fakeGemini(t, [reply(call('write_file', { file_path: 'a', content: 'x\n' })), reply('Done.')]);
  const piped = await callGmn(t, ['chat', '--demo'], { stdin: '/tools\n' });
  expect(piped.stderr).toMatch(/off run_shell_command +runs a command\n/);
  const { stdout, stderr } = await callGmn(t, ['--tools', 'edit', '--approval-mode', 'auto_edit', '-o', 'json', 'go'], {
    gemini,
  });
  expect(stdout + stderr).not.toContain('@@');
});
