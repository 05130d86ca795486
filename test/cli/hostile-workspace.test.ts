import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { expect } from 'vitest';
import { serve } from '../mcp/server/support.ts';
import { chatInTerminal } from '../support/chat-terminal.ts';
import { call, fakeGemini, reply } from '../support/gemini.ts';
import { callGmnIn, place } from '../support/gmn.ts';
import { LAYOUTS, layTraps, plantTraps, recordingProxy } from '../support/hostile-workspace.ts';
import { posixTest } from '../support/posix.ts';
import { runInTerminal } from '../support/pty.ts';

/** Every way into the program; some need the network, and are told that there is none. */
const ENTRIES: readonly (readonly [args: readonly string[], stdin?: string])[] = [
  [['--help']],
  [['hello']],
  [['--tools', 'all', '--yolo', 'hello']],
  [['-f', 'a.txt', 'hello']],
  [['chat', '--no-session'], 'hello\n/mcp\n/exit\n'],
  [['chat', '-r', 'last'], 'hello\n'],
  [['mcp', 'list', '--check']],
  [['mcp', 'call', 'theirs', 'x']],
  [
    ['mcp', 'serve'],
    '{"jsonrpc":"2.0","id":1,"method":"initialize"}\n{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"chat","arguments":{"prompt":"x"}}}\n',
  ],
  [['auth', 'status']],
  [['auth', 'status', '--online']],
  [['doctor']],
  [['--template', 'review', 'x']],
];

posixTest.for(LAYOUTS)(
  'no way into the program runs anything of a cloned folder or is led elsewhere by it: traps in %s',
  { timeout: 60_000 },
  async (layout, t) => {
    const proxy = await recordingProxy(t);
    const elsewhere = await recordingProxy(t);
    const here = place(t, {
      files: { 'a.txt': 'x' },
      env: { GEMINI_API_KEY: 'test-key-0123456789', HTTPS_PROXY: proxy.url, NODE_TLS_REJECT_UNAUTHORIZED: '1' },
    });
    const mark = join(here.root, 'mark');
    layTraps(layout, here.cwd, { mark, elsewhere: elsewhere.url });
    const before = readdirSync(here.cwd, { recursive: true }).sort();
    // What a trap elsewhere could change is which file is found: a few ways in are enough for that.
    const entries = layout === 'the folder' ? ENTRIES : ENTRIES.filter((_, index) => index % 3 === 1);
    for (const [args, stdin] of entries) {
      const { stderr } = await callGmnIn(t, here, args, stdin);
      expect(existsSync(mark), `${args.join(' ')}: ${stderr}`).toBe(false);
    }
    expect(elsewhere.asked).toEqual([]);
    expect(new Set(proxy.asked)).toEqual(new Set(['CONNECT generativelanguage.googleapis.com:443']));
    expect(readdirSync(here.cwd, { recursive: true }).sort()).toEqual(before);
  },
);

posixTest('on a terminal a cloned folder runs nothing either: whether it is trusted is asked first', async (t) => {
  const elsewhere = await recordingProxy(t);
  const gemini = await fakeGemini(t, [reply('fine')]);
  const { root } = place(t);
  const mark = join(root, 'mark');
  plantTraps(join(root, 'work'), mark, elsewhere.url);
  const chat = chatInTerminal(t, ['-C', join(root, 'work'), '--no-color'], { gemini });
  await chat.until(/\[y\]es .*\[n\]o.* › /i);
  expect(existsSync(mark)).toBe(false);
  chat.type('n');
  await chat.ready(1);
  chat.enter('hello');
  await chat.until(/fine\r\n[\s\S]*❯ /);
  chat.type('\u0004');
  const { output, exitCode } = await chat.ended;
  expect(exitCode).toBe(0);
  expect(output).toContain('not trusted. To change that: gmn trust');
  expect(existsSync(mark)).toBe(false);
  expect(elsewhere.asked).toEqual([]);
});

posixTest('no program of the folder is run in place of one of the system, though it is first on PATH', async (t) => {
  const gemini = await fakeGemini(t, [
    reply(
      call('search_file_content', { pattern: 'needle' }),
      call('glob', { pattern: '**/*.txt' }),
      call('list_directory', { dir_path: '.' }),
      call('run_shell_command', { command: 'echo own shell' }),
    ),
    reply('done'),
  ]);
  const { root, cwd, env } = place(t, { gemini });
  const mark = join(root, 'mark');
  plantTraps(cwd, mark, 'http://127.0.0.1:9');
  const PATH = ['.', '', 'node_modules/.bin', cwd, join(cwd, 'node_modules/.bin'), env.PATH].join(delimiter);
  const gmn = await callGmnIn(t, { cwd, env: { ...env, PATH } }, ['--tools', 'all', '--yolo', '-o', 'json', 'x']);
  const { toolCalls } = JSON.parse(gmn.stdout);
  expect(toolCalls[0].result).toEqual({ output: { matches: [{ file: 'a.txt', lines: ['1: needle'] }] } });
  expect(toolCalls[3].result).toMatchObject({ output: expect.stringContaining('own shell') });
  expect(existsSync(mark)).toBe(false);
});

/** Says what it was given, and answers as a clipboard or an editor would. */
const HELPER = `#!/bin/sh
env > "$HOME/seen"
for last; do :; done
if [ -f "$last" ]; then echo Hello > "$last"; else echo pasted; fi
`;

posixTest.for([
  ['wl-copy', ['--copy', 'Hello'], { WAYLAND_DISPLAY: 'w' }],
  ['wl-paste', ['--paste', 'Hello'], { WAYLAND_DISPLAY: 'w' }],
  ['xclip', ['--paste', 'Hello'], { DISPLAY: ':0' }],
  ['less', ['--pager', 'Hello'], {}],
  ['vi', ['--editor'], {}],
  ['code', ['--editor'], { EDITOR: 'code --wait' }],
  ['code', ['--editor'], { EDITOR: '"code" --wait' }],
  ['own', ['--pager', 'Hello'], { PAGER: 'own' }],
] as const)(
  'of a helper such as %s only the one outside the folder is run, and it gets neither a key nor the folder’s PATH',
  async ([name, args, display], t) => {
    const { root, cwd, home, env } = place(t, { env: { GEMINI_API_KEY: 'test-key-0123456789', NO_COLOR: '1' } });
    const mark = join(root, 'mark');
    const bin = join(root, 'bin');
    const link = join(root, 'link');
    for (const directory of [cwd, join(cwd, 'bin'), bin]) {
      mkdirSync(directory, { recursive: true });
      const text = directory === bin ? HELPER : `#!/bin/sh\n: > '${mark}'\n`;
      writeFileSync(join(directory, name), text, { mode: 0o755 });
    }
    symlinkSync(join(cwd, 'bin'), link);
    const outside = [bin, '/usr/bin', '/bin'].join(delimiter);
    const PATH = ['', '.', 'bin', cwd, join(cwd, 'bin'), link, outside].join(delimiter);
    const at = { cwd, env: { ...env, PATH, ...display } };
    const { exitCode } = await runInTerminal(t, ['--demo', ...args], { at }).ended;
    expect([existsSync(mark), exitCode]).toEqual([false, 0]);
    const seen = readFileSync(join(home, 'seen'), 'utf8').split('\n');
    expect(seen).toContain(`PATH=${outside}`);
    expect(seen.filter((line) => /KEY|NO_COLOR/.test(line))).toEqual([]);
    for (const [variable, value] of Object.entries(display)) {
      if (variable !== 'EDITOR' && variable !== 'PAGER') expect(seen).toContain(`${variable}=${value}`);
    }
  },
);

const SAID = 'canary-of-the-folder';

/** Everything in a folder that a model could be told, if the folder were trusted. */
const INSTRUCTIONS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['', 'sub/', '.gemini/', '.gmn/', '.agents/'].flatMap((folder) =>
      ['AGENTS.md', 'GEMINI.md', 'AGENTS.override.md', 'CLAUDE.md'].map((name) => [`${folder}${name}`, SAID]),
    ),
  ),
  '.gemini/system.md': SAID,
  'evil.md': SAID,
  '.gemini/settings.json': JSON.stringify({
    context: { fileName: ['evil.md', '.env'], includeDirectories: ['..'] },
    model: { name: SAID },
    tools: { allowed: ['run_shell_command'] },
  }),
  '.gmn/config.json': JSON.stringify({ system: SAID, context: { fileName: ['evil.md'] } }),
  '.env': `GEMINI_SYSTEM_MD=1\nGMN_SYSTEM=${SAID}\nGEMINI_MODEL=${SAID}\n`,
  '.gemini/.env': 'GEMINI_SYSTEM_MD=evil.md\n',
  '.gemini/commands/own.toml': `description = "${SAID}"\nprompt = "${SAID} !{git status} @{evil.md}"\n`,
  '.gmn/templates/own2.md': `---\ndescription: ${SAID}\n---\n${SAID} {{prompt}}`,
  '.git/HEAD': 'ref: refs/heads/main\n',
  '.git/config': '[core]\n\tfsmonitor = git\n',
  'sub/a.txt': 'needle\n',
};

posixTest(
  'nothing that an untrusted folder says is sent, and no program is started for it, git above all',
  async (t) => {
    const work = [
      reply(
        call('list_directory', { dir_path: 'sub' }),
        call('read_file', { file_path: 'sub/a.txt' }),
        call('glob', { pattern: '**/*.txt' }),
        call('search_file_content', { pattern: 'needle' }),
        call('edit_file', { file_path: 'sub/a.txt', old_string: 'needle', new_string: 'thread' }),
      ),
      reply('done'),
    ];
    const gemini = await fakeGemini(t, [...work, ...work, reply('hello'), ...work]);
    const { root, ...here } = place(t, { gemini, files: INSTRUCTIONS });
    const mark = join(root, 'mark');
    const bin = join(root, 'bin');
    mkdirSync(bin);
    for (const name of ['git', 'sh', 'bash', 'node', 'npm', 'env', 'hg']) {
      writeFileSync(join(bin, name), `#!/bin/sh\necho ${name} >> '${mark}'\n`, { mode: 0o755 });
    }
    const at = { ...here, root, env: { ...here.env, PATH: bin } };
    const flags = ['--tools', 'edit', '--approval-mode', 'auto_edit'];
    expect(await callGmnIn(t, at, [...flags, '-p', '/own it'])).toMatchObject({ stdout: '', exitCode: 1 });
    expect(await callGmnIn(t, at, [...flags, '-p', 'own it'])).toMatchObject({ stdout: 'done\n', exitCode: 0 });
    const lines = ['look', '/own it', '/own2 it', '/diff', '/context', '/undo', '/help', '/stats', 'hello'];
    const chat = await callGmnIn(t, at, ['chat', ...flags], `${lines.join('\n')}\n`);
    expect(chat.stdout).toMatch(/^done\n[\s\S]*hello\n$/);
    const server = await serve(t, { at, flags: ['--allow-write'] });
    const { structuredContent } = await server.call('delegate', { prompt: '/own it' });
    expect(structuredContent.output).toBe('done');
    await server.end();
    expect(existsSync(mark) ? readFileSync(mark, 'utf8') : '').toBe('');
    expect(gemini.requests.map(({ path, body }) => path + JSON.stringify(body)).join('\n')).not.toContain(SAID);
    expect(gemini.requests[0]?.body.systemInstruction.parts[0].text).toContain('- Git branch: main');
  },
);

posixTest('a trusted folder says nothing about files, sessions and money outside of it', async (t) => {
  const gemini = await fakeGemini(t, [reply('fine')]);
  const here = place(t, {
    gemini,
    env: { GEMINI_CLI_TRUST_WORKSPACE: 'true', NAMED: '../above.md' },
    home: {
      'above.md': 'CANARY above',
      '.gemini/TEAM.md': 'CANARY by name',
      '.gemini/OWN.md': 'mine',
      '.gemini/settings.json': '{"context":{"fileName":"OWN.md"}}',
    },
    files: {
      'TEAM.md': 'theirs',
      '.gemini/settings.json': JSON.stringify({
        context: { fileName: ['../above.md', '$NAMED', '..', 'sub/x.md', 'TEAM.md'] },
        sessions: { retention: '1ms' },
        prices: { 'gemini-free': { input: 0, output: 0 } },
        tools: { allowed: ['x'], exclude: ['glob'] },
      }),
    },
  });
  const { stderr } = await callGmnIn(t, here, ['hello']);
  const [request] = gemini.requests;
  const text: string = request?.body.systemInstruction?.parts[0].text;
  expect(text).toContain('mine');
  expect(text).toContain('theirs');
  expect(text).not.toContain('CANARY');
  const sessions = () => readdirSync(join(here.home, '.gmn/sessions')).filter((name) => name.endsWith('.jsonl'));
  expect(sessions()).toHaveLength(1);
  await callGmnIn(t, here, ['sessions', 'prune']);
  expect(sessions()).toHaveLength(1);
  expect(stderr).toContain("not taken from a folder's settings: sessions.retention, tools.allowed, prices\n");
  expect(stderr).toContain('context.fileName takes 100 names of files; paths and more names are not used.');
  const capped = await callGmnIn(t, here, ['--tools', 'read', '--max-cost', '0.01', '-m', 'gemini-free', 'hello']);
  expect(capped).toMatchObject({ exitCode: 1, stdout: '' });
  expect(gemini.requests).toHaveLength(1);
  writeFileSync(join(here.home, '.gmn/config.json'), '{"sessions":{"retention":"1ms"}}');
  await callGmnIn(t, here, ['sessions', 'prune']);
  expect(sessions()).toHaveLength(0);
  writeFileSync(join(here.home, '.gmn/config.json'), '{"sessions":{"retention":"2w"}}');
  const explained = await callGmnIn(t, here, ['config', 'explain', 'sessions.retention']);
  expect(explained.stdout).toMatch(
    /^sessions\.retention = "2w"\n\n→ {2}gmn .*\n✗ {2}workspace {2}\S+settings\.json {2}"1ms"\n.*delete/,
  );
});
