import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import { parseCommandLine } from '../../src/cli/parse.ts';
import { ROOT } from '../../src/cli/table/root.ts';
import { serve } from '../mcp/server/support.ts';
import { call, fakeGemini, reply } from '../support/gemini.ts';
import { callGmn, callGmnIn, place, runGmnIn } from '../support/gmn.ts';

/**
 * What gmn does with a sandbox, with a program in place of bubblewrap that confines nothing and keeps what it was told. What a real one
 * holds is test/sandbox/. The first program inside looks whether it is confined, so that is taken out.
 */
const linuxTest = process.platform === 'linux' ? test : test.skip;

const STAND_IN = `#!/bin/sh
options=$(tr '\\0' '\\n' <&3)
echo "$options" >> "\${0%/*}/options"
cd "$(echo "$options" | sed -n '/^--chdir$/{n;p;}')"
echo start >> "\${0%/*}/starts"
script=$(echo "$6" | sed 's/^\\[ ! -w .* \\]/:/')
shift 6
exec /bin/sh -c "$script" "$@"
`;

async function placeWithEngine(t: TestContext, script: Parameters<typeof fakeGemini>[1], settings?: object) {
  const gemini = await fakeGemini(t, script);
  const at = place(t, { gemini, files: { 'a.txt': 'a' }, settings });
  const bin = join(at.root, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'bwrap'), STAND_IN);
  chmodSync(join(bin, 'bwrap'), 0o755);
  const read = (name: string): string => {
    const path = join(bin, name);
    return existsSync(path) ? readFileSync(path, 'utf8') : '';
  };
  return { ...at, gemini, env: { ...at.env, PATH: `${bin}:${at.env.PATH}` }, read };
}

const runs = (command: string) => reply(call('run_shell_command', { command }));

linuxTest(
  'auto_edit runs a confined command without asking, the model knows the rules, and what it plants is told',
  async (t) => {
    const at = await placeWithEngine(t, [runs('touch made .npmrc'), reply('done')]);
    const gmn = await callGmnIn(t, at, ['--sandbox', 'bwrap', '--tools', 'all', '--approval-mode', 'auto_edit', 'go']);
    expect(gmn).toMatchObject({ stdout: 'done\n', exitCode: 0 });
    expect(gmn.stderr).toContain('what instructs models or other programs run is not as before: .npmrc (new).');
    expect(existsSync(join(at.cwd, 'made'))).toBe(true);
    const [{ functionDeclarations }] = at.gemini.requests[0]?.body.tools ?? [];
    const { description } = functionDeclarations.find(({ name }: { name: string }) => name === 'run_shell_command');
    expect(description).toContain(`they may write below ${at.cwd} only`);
    expect(at.read('options').split('\n')).toEqual(
      expect.arrayContaining(['--unshare-all', '--die-with-parent', at.cwd]),
    );
  },
);

linuxTest('with --sandbox-ask it asks, and so does every other mode', async (t) => {
  for (const flags of [['--sandbox-ask', '--approval-mode', 'auto_edit'], []]) {
    const at = await placeWithEngine(t, [runs('touch made'), reply('done')]);
    const gmn = await callGmnIn(t, at, ['--sandbox', 'bwrap', '--tools', 'all', ...flags, 'go']);
    expect(gmn.stderr).toContain('was not run');
    expect(existsSync(join(at.cwd, 'made'))).toBe(false);
  }
});

linuxTest('a refusal is explained to the model in one line; other failures and successes are not', async (t) => {
  const refused = 'echo "touch: /usr/x: Read-only file system" >&2; exit 1';
  const calls = [runs(refused), runs('exit 1'), runs('echo permission denied'), reply('ok')];
  const at = await placeWithEngine(t, calls);
  await callGmnIn(t, at, ['--sandbox', 'bwrap', '--tools', 'all', '-y', 'go']);
  const results = at.gemini.requests
    .slice(1)
    .map(({ body }) => body.contents.at(-1).parts[0].functionResponse.response);
  expect(results[0].sandbox).toMatch(
    /^This may be the sandbox\. Commands run in a sandbox: [^\n]*they have no network\.$/,
  );
  expect(results.slice(1).map(({ sandbox }) => sandbox)).toEqual([undefined, undefined]);
});

/** Of Node, psql, curl, git, Go, Java, musl, Rust, macOS, pip, and of the shell. */
const UNREACHED = [
  'Error: connect ECONNREFUSED 127.0.0.1:5432',
  'psql: error: connection to server at "localhost" (::1), port 5432 failed: Connection refused',
  "curl: (7) Failed to connect to localhost port 3000 after 0 ms: Couldn't connect to server: Connection refused",
  "fatal: unable to access 'https://github.com/x/': Could not resolve host: github.com",
  'dial tcp: lookup proxy.golang.org: no such host',
  'java.net.UnknownHostException: repo.maven.apache.org',
  "wget: bad address 'example.org': Name does not resolve",
  'error: failed to lookup address information: Temporary failure in name resolution',
  'npm error code EAI_AGAIN',
  'connect: No route to host',
];

linuxTest('what cannot be reached from the sandbox is not taken for a server that is down', async (t) => {
  const commands = UNREACHED.map((line) => `cat >&2 <<'END'\n${line}\nEND\nexit 1`);
  const at = await placeWithEngine(t, [...commands.map(runs), reply('ok'), runs(commands[0] ?? ''), reply('ok')]);
  const words = ['--sandbox', 'bwrap', '--tools', 'all', '-y', 'go'];
  await callGmnIn(t, at, words);
  const explain = ({ body }: (typeof at.gemini.requests)[number]) =>
    body.contents.at(-1).parts[0].functionResponse?.response.sandbox;
  const told = at.gemini.requests.slice(1).map(explain);
  expect(told).toEqual(
    UNREACHED.map(() =>
      expect.stringMatching(/not the server: from inside, localhost [^\n]*there is no network\. Do not/),
    ),
  );
  // With the network of the machine, a server that refuses is down.
  await callGmnIn(t, at, ['--sandbox-net', 'all', ...words]);
  expect(at.gemini.requests.slice(-1).map(explain)).toEqual([undefined]);
});

linuxTest.for([
  ['text', []],
  ['json', ['-o', 'json']],
] as const)('what a command in the background writes when it is ended is told: %s', async ([format, flags], t) => {
  const command = `trap 'echo planted > AGENTS.md; touch .npmrc; exit' TERM; echo ready; while :; do sleep 0.05; done`;
  const script = [
    reply(call('run_shell_command', { command, is_background: true })),
    reply(call('read_output', { id: 1, wait_ms: 20000 })),
    reply('done'),
  ];
  const at = await placeWithEngine(t, script);
  writeFileSync(join(at.cwd, 'AGENTS.md'), 'old\n');
  const gmn = await callGmnIn(t, at, ['--sandbox', 'bwrap', '--tools', 'all', '-y', ...flags, 'go']);
  const told = format === 'text' ? gmn.stderr : JSON.parse(gmn.stdout).warnings.join('\n');
  expect(told).toContain('is not as before: .npmrc (new), AGENTS.md. Look at it');
  expect(readFileSync(join(at.cwd, 'AGENTS.md'), 'utf8')).toBe('planted\n');
});

linuxTest('a process of many turns tells it on stderr when it ends', async (t) => {
  const command = `trap 'touch .npmrc; exit' TERM; echo ready; while :; do sleep 0.05; done`;
  const script = [
    reply(call('run_shell_command', { command, is_background: true })),
    reply(call('read_output', { id: 1, wait_ms: 20000 })),
    reply('done'),
  ];
  const at = await placeWithEngine(t, script);
  const words = ['--input-format', 'stream-json', '-o', 'stream-json', '--sandbox', 'bwrap', '--tools', 'all', '-y'];
  const { stderr, exitCode } = await runGmnIn(t, at, words, '{"type":"prompt","id":"1","text":"go"}\n');
  expect([exitCode, stderr]).toEqual([0, expect.stringContaining('.npmrc (new)')]);
});

linuxTest('what it writes in a chat that has turned the sandbox off since is told at the end', async (t) => {
  const command = `trap 'touch .npmrc; exit' TERM; echo ready; while :; do sleep 0.05; done`;
  const script = [
    reply(call('run_shell_command', { command, is_background: true })),
    reply(call('read_output', { id: 1, wait_ms: 20000 })),
    reply('done'),
  ];
  const at = await placeWithEngine(t, script);
  const words = ['chat', '--sandbox', 'bwrap', '--tools', 'all', '--approval-mode', 'auto_edit', '--plain'];
  const { stderr } = await runGmnIn(t, at, words, 'go\n/sandbox off\n');
  expect(stderr.replaceAll(/\s+/g, ' ')).toContain('.npmrc (new)');
});

linuxTest('--verify runs confined, and so does what tools.sandbox asks for', async (t) => {
  const settings = { tools: { sandbox: 'bwrap' } };
  const at = await placeWithEngine(t, [reply('done')], settings);
  const gmn = await callGmnIn(t, at, ['--tools', 'edit', '--verify', 'test -f a.txt', 'go']);
  expect(gmn).toMatchObject({ stdout: 'done\n', exitCode: 0 });
  // Once to find out whether it works, once for the command.
  expect(at.read('starts')).toBe('start\nstart\n');
});

linuxTest('a run that can run no command needs no engine of the settings', async (t) => {
  const at = await placeWithEngine(t, [reply('done'), reply('done')], { tools: { sandbox: 'podman' } });
  expect(await callGmnIn(t, at, ['--tools', 'edit', 'go'])).toMatchObject({ stdout: 'done\n', exitCode: 0 });
  expect(await callGmnIn(t, at, ['--tools', 'all', 'go'])).toMatchObject({ exitCode: 4 });
  expect(await callGmnIn(t, at, ['--tools', 'all', '--no-sandbox', 'go'])).toMatchObject({ exitCode: 0 });
});

linuxTest('whether an engine works is found out once; gmn sandbox gives the exit code of its command', async (t) => {
  const at = await placeWithEngine(t, reply('unused'));
  const words = ['sandbox', '--engine', 'bwrap', '--', 'sh', '-c', 'mkdir -p sub/.git; exit 7'];
  const first = await callGmnIn(t, at, words);
  expect(first).toMatchObject({ exitCode: 7, stderr: expect.stringContaining('sub/.git (new)') });
  rmSync(join(at.cwd, 'sub'), { recursive: true });
  expect((await callGmnIn(t, at, words)).exitCode).toBe(7);
  expect(at.read('starts')).toBe('start\nstart\nstart\n');
});

test.for([
  [['--tools', 'all', '-y', '--sandbox', 'docker', 'go'], 4, 'GMN_SANDBOX_IMAGE'],
  [['--tools', 'all', '-y', '--sandbox', 'bwrap', 'go'], 4, 'bwrap'],
  [['sandbox', '--engine', 'podman', '--', 'true'], 4, 'GMN_SANDBOX_IMAGE'],
  [['sandbox'], 1, 'command'],
  [['--tools', 'all', '--sandbox=workspace-write', 'go'], 1, 'is not one of auto'],
  [['mcp', 'serve', '--sandbox'], 1, '--allow-shell'],
] as const)('%j ends with %i, and nothing is sent', async ([words, exitCode, said], t) => {
  const gmn = await callGmn(t, words, { script: reply('unused'), env: { PATH: '/nowhere' } });
  expect(gmn).toMatchObject({ exitCode, stdout: '', stderr: expect.stringContaining(said) });
  expect(gmn.requests).toEqual([]);
});

linuxTest('hosts that are none are refused before anything runs; a workspace that is too broad, too', async (t) => {
  const at = await placeWithEngine(t, reply('unused'));
  const flags = ['--sandbox', 'bwrap', '--tools', 'all', '-y'];
  expect(await callGmnIn(t, at, [...flags, '--sandbox-net', '*', 'go'])).toMatchObject({ exitCode: 1 });
  const above = { ...at, cwd: at.root };
  const gmn = await callGmnIn(t, above, [...flags, 'go']);
  expect(gmn).toMatchObject({ exitCode: 4, stderr: expect.stringContaining('commands could write too much there') });
  expect(at.gemini.requests).toEqual([]);
});

test.each([
  [['--sandbox', 'fix it'], 'auto', ['fix it']],
  [['-s', 'fix it'], 'auto', ['fix it']],
  [['-ys', 'fix', 'it'], 'auto', ['fix', 'it']],
  [['--sandbox', 'bwrap', 'fix it'], 'bwrap', ['fix it']],
  [['--sandbox=unshare', 'x'], 'unshare', ['x']],
  [['-sbwrap', 'x'], 'bwrap', ['x']],
  [['x', '--sandbox'], 'auto', ['x']],
  [['--sandbox=true', 'x'], 'auto', ['x']],
  [['--sandbox=false', 'x'], 'off', ['x']],
  [['--no-sandbox', 'x'], 'off', ['x']],
  [['chat', '-s', 'hello'], 'auto', ['hello']],
  [['--', '--sandbox'], undefined, ['--sandbox']],
] as const)('%j is the engine %s', (line, sandbox, args) => {
  const invocation = parseCommandLine(ROOT, line, {});
  expect(invocation).toMatchObject({ kind: 'run', options: { args } });
  expect('options' in invocation && (invocation.options as { sandbox?: string }).sandbox).toBe(sandbox);
});

linuxTest(
  'a chat shows how commands are confined, turns that on and off, and says so where it describes itself',
  async (t) => {
    const at = await placeWithEngine(t, reply('unused'));
    const lines = [
      '/sandbox',
      '/status',
      '/approve auto_edit',
      '/sandbox off',
      '/approve',
      '/sandbox nothing',
      '/sandbox a.example',
    ];
    const words = ['chat', '--sandbox', 'bwrap', '--tools', 'all'];
    const { stderr } = await runGmnIn(t, at, words, lines.map((line) => `${line}\n`).join(''));
    const said = stderr.replaceAll(/\s+/g, ' ');
    expect(said).toContain('bwrap, no network. Commands run in a sandbox: they may write below');
    expect(said).toContain('edits ask first, sandbox bwrap');
    expect(said).toContain('auto_edit: edits and confined commands run without asking');
    expect(said).toContain('Commands are not confined');
    expect(said).toContain('auto_edit: edits run without asking');
    expect(said).toContain('nothing is neither on, off nor a host');
    expect(said).toContain('bwrap, only these hosts: a.example.');
  },
);

linuxTest('a server of the trusted folder is confined from the moment at which a chat turns that on', async (t) => {
  const at = await placeWithEngine(t, reply('unused'));
  const theirs = { command: '/bin/sh', args: ['-c', 'echo x >> theirs'] };
  mkdirSync(join(at.cwd, '.gemini'));
  writeFileSync(join(at.cwd, '.gemini/settings.json'), JSON.stringify({ mcpServers: { theirs } }));
  expect((await callGmnIn(t, at, ['trust'])).exitCode).toBe(0);
  await runGmnIn(t, at, ['chat', '--tools', 'all'], '/mcp\n/sandbox on\n/mcp\n');
  expect(existsSync(join(at.cwd, 'theirs'))).toBe(true);
  // One to find out whether it works, and those of the server; no command was run.
  expect(at.read('starts')).toMatch(/^(?:start\n){2,}$/);
});

linuxTest('a server that the trusted folder brings is confined, one of the user is not', async (t) => {
  const at = await placeWithEngine(t, reply('unused'));
  const server = (name: string) => ({ command: '/bin/sh', args: ['-c', `echo "$TMPDIR" > ${name}`] });
  mkdirSync(join(at.cwd, '.gemini'));
  mkdirSync(join(at.home, '.gemini'));
  writeFileSync(join(at.cwd, '.gemini/settings.json'), JSON.stringify({ mcpServers: { theirs: server('theirs') } }));
  const own = { mcpServers: { mine: server('mine') }, tools: { sandbox: 'bwrap' } };
  writeFileSync(join(at.home, '.gemini/settings.json'), JSON.stringify(own));
  expect((await callGmnIn(t, at, ['trust'])).exitCode).toBe(0);
  await callGmnIn(t, at, ['mcp', 'tools', 'theirs']);
  expect(at.read('options')).toContain(`--ro-bind\n${join(at.cwd, '.gemini')}\n`);
  expect(readFileSync(join(at.cwd, 'theirs'), 'utf8')).toBe('/tmp\n');
  const before = at.read('starts');
  await callGmnIn(t, at, ['mcp', 'tools', 'mine']);
  expect(at.read('starts')).toBe(before);
  expect(existsSync(join(at.cwd, 'mine'))).toBe(true);
});

linuxTest('mcp serve --allow-shell --sandbox confines what a delegated task runs, and its verify', async (t) => {
  const at = await placeWithEngine(t, [runs('echo x > made'), reply('done')]);
  const server = await serve(t, { at, flags: ['--allow-shell', '--sandbox', 'bwrap'] });
  const { structuredContent } = await server.call('delegate', { prompt: 'go', verify: 'test -f made' });
  expect(structuredContent.output).toBe('done');
  // One to find out whether it works, one for the command, one for verify.
  expect(at.read('starts')).toBe('start\nstart\nstart\n');
});
