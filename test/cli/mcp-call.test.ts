import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { httpPeer, streamable } from '../mcp/client/http-peer.ts';
import { gmnCommand } from '../support/gmn.ts';
import { fixtureServer, mcpPlace } from '../support/mcp-place.ts';
import { posixTest } from '../support/posix.ts';
import { runInTerminal } from '../support/pty.ts';

const GOOD = { files: fixtureServer('mcp-server.mjs') };

test.for([
  [['add', 'a=1', 'b=2'], '3\n'],
  [['echo', 'message=a=b=c'], 'a=b=c\n'],
  [['echo', 'message=12'], '12\n'],
  [['echo', '{"message":"a = b"}'], 'a = b\n'],
  [['echo', 'message="quoted"'], 'quoted\n'],
  [['echo', 'message=@words.txt'], 'from a file\n'],
  [['echo', 'message=@@words.txt'], '@words.txt\n'],
  [['echo', 'message=-'], 'from stdin\n'],
  [['echo', '--json', '{"message":"as JSON"}'], 'as JSON\n'],
  [['add', '--json', '@sum.json'], '42\n'],
  [['echo', '--json', '-', '-o', 'text'], 'from stdin, as JSON\n'],
] as const)('call %j', async ([args, expected], t) => {
  const here = mcpPlace(t, GOOD, { files: { 'words.txt': 'from a file', 'sum.json': '{"a": 40, "b": 2}' } });
  const stdin = args.includes('-' as never) ? '{"message":"from stdin, as JSON"}' : 'from stdin';
  expect(await here.run(['mcp', 'call', 'files', ...args], stdin)).toEqual({
    stdout: expected,
    stderr: '',
    exitCode: 0,
  });
});

test('what is no text is named with its type and size, and saved where --output-file says', async (t) => {
  const here = mcpPlace(t, GOOD);
  expect(await here.run(['mcp', 'call', 'files', 'mixed'])).toEqual({
    stdout:
      'words\n' +
      '[image/png, 70 B; to keep it: --output-file <path>]\n' +
      '[audio/wav, 4 B; to keep it: --output-file <path>]\n' +
      'first: memo://1\n' +
      'kept text\n' +
      '[application/pdf, 5 B; to keep it: --output-file <path>]\n',
    stderr: 'gmn: a part of the type hologram was skipped: gmn does not support it\n',
    exitCode: 0,
  });
  expect(await here.run(['mcp', 'call', 'files', 'mixed', '--output-file', 'out.png'])).toEqual({
    stdout: 'words\nfirst: memo://1\nkept text\n',
    stderr:
      'gmn: a part of the type hologram was skipped: gmn does not support it\n' +
      'gmn: wrote out.png (image/png, 70 B)\n' +
      'gmn: wrote out-2.png (audio/wav, 4 B)\n' +
      'gmn: wrote out-3.png (application/pdf, 5 B)\n',
    exitCode: 0,
  });
  expect(readFileSync(join(here.cwd, 'out-3.png'), 'latin1')).toBe('%PDF-');
  const nothing = await here.run(['mcp', 'call', 'files', 'echo', 'message=x', '--output-file', 'none']);
  expect(nothing).toEqual({
    stdout: 'x\n',
    stderr: 'gmn: there is nothing to save: none was not written\n',
    exitCode: 0,
  });
  expect(existsSync(join(here.cwd, 'none'))).toBe(false);
});

test('further pieces take no place but a free one: how many there are, the server decides', async (t) => {
  const here = mcpPlace(t, GOOD, { files: { 'out.png': 'old', 'out-2.png': 'mine' } });
  symlinkSync('../home/kept', join(here.cwd, 'out-4.png'));
  const { stderr, exitCode } = await here.run(['mcp', 'call', 'files', 'mixed', '--output-file', 'out.png']);
  expect([stderr.split('\n').slice(1), exitCode]).toEqual([
    [
      'gmn: wrote out.png (image/png, 70 B)',
      'gmn: wrote out-3.png (audio/wav, 4 B)',
      'gmn: wrote out-5.png (application/pdf, 5 B)',
      '',
    ],
    0,
  ]);
  expect(readFileSync(join(here.cwd, 'out-2.png'), 'latin1')).toBe('mine');
  expect(readdirSync(here.cwd).sort()).toEqual(['out-2.png', 'out-3.png', 'out-4.png', 'out-5.png', 'out.png']);
  expect(existsSync(join(here.home, 'kept'))).toBe(false);
});

posixTest.for([
  ['call', ['files', 'mixed']],
  ['read', ['files', 'fixture://image']],
] as const)('%s writes through no directory that leads out of the working directory', async ([verb, words], t) => {
  const here = mcpPlace(t, GOOD);
  symlinkSync('../home', join(here.cwd, 'outd'));
  const { stderr, exitCode } = await here.run(['mcp', verb, ...words, '--output-file', 'outd/out.png']);
  expect([exitCode, stderr]).toEqual([
    1,
    expect.stringMatching(/cannot write outd\/out\.png: \S+\/outd is a link to /),
  ]);
  expect(existsSync(join(here.home, 'out.png'))).toBe(false);
});

posixTest('a disk without room for it keeps the file that was there, and half of none', async (t) => {
  const here = mcpPlace(t, GOOD, { files: { 'out.png': 'old' } });
  const [program, args] = gmnCommand(['mcp', 'call', 'files', 'mixed', '--output-file', 'out.png']);
  const { status, stderr } = spawnSync('sh', ['-c', 'ulimit -f 0; exec "$@"', 'sh', program, ...args], {
    cwd: here.cwd,
    env: here.env,
    encoding: 'utf8',
  });
  expect([stderr, status]).toEqual([expect.stringMatching(/^Error: cannot write out\.png: EFBIG\n/), 1]);
  expect(readFileSync(join(here.cwd, 'out.png'), 'latin1')).toBe('old');
  expect(readdirSync(here.cwd)).toEqual(['out.png']);
});

posixTest('a link out of its directory is refused before the tool is run', async (t) => {
  const here = mcpPlace(t, GOOD, { home: { '.bashrc': 'mine\n' } });
  symlinkSync(join(here.home, '.bashrc'), join(here.cwd, 'out.png'));
  const { stderr, exitCode } = await here.run(['mcp', 'call', 'files', 'mixed', '--output-file', 'out.png']);
  expect([stderr, exitCode]).toEqual([expect.stringMatching(/^Error: cannot write out\.png: it is a link to /), 1]);
  expect(readFileSync(join(here.home, '.bashrc'), 'utf8')).toBe('mine\n');
});

test('-o json is the whole result, and a failure is the documented object on stdout', async (t) => {
  const here = mcpPlace(t, GOOD);
  const { stdout, stderr, exitCode } = await here.run(['mcp', 'call', 'files', 'echo', '-o', 'json', 'message=hi']);
  expect([JSON.parse(stdout), stderr, exitCode]).toEqual([
    { content: [{ type: 'text', text: 'hi' }], isError: false },
    '',
    0,
  ]);
  const failed = await here.run(['mcp', 'call', 'files', 'fail', '-o', 'json']);
  expect([JSON.parse(failed.stdout), failed.stderr, failed.exitCode]).toEqual([
    {
      error: {
        code: 5,
        type: 'McpError',
        message: 'MCP server files: fail failed: it did not work',
        suggestion: 'To see what it takes, run: gmn mcp tools files',
      },
    },
    '',
    5,
  ]);
});

test('--json with its arguments does not make the failure JSON', async (t) => {
  const here = mcpPlace(t, GOOD);
  expect(await here.run(['mcp', 'call', 'files', 'fail', '--json', '{}'])).toEqual({
    stdout: '',
    stderr: 'Error: MCP server files: fail failed: it did not work\nTo see what it takes, run: gmn mcp tools files\n',
    exitCode: 5,
  });
});

test.for([
  [['files', 'refuse'], 5, 'MCP server files: tools/call was refused: no such thing\n'],
  [
    ['files', 'die'],
    5,
    'MCP server files: the connection was lost during tools/call. It ended with exit code 3. It said: fatal: the disk is gone\nSee its definition: gmn mcp get files\n',
  ],
  [['files', 'ecko', 'message=x'], 5, 'MCP server files has no tool ecko\nDid you mean echo?\n'],
  [['files', 'zzzzzzzz'], 5, 'MCP server files has no tool zzzzzzzz\nTo see its tools, run: gmn mcp tools files\n'],
  [['fils', 'echo'], 5, 'there is no MCP server fils\nDid you mean files?\n'],
  [['none', 'echo'], 5, 'there is no MCP server none\nTo see which there are, run: gmn mcp list\n'],
  [
    ['files', 'echo', '--message', 'x'],
    1,
    "unknown option '--message'\nIf it is an argument: message=<value>. Run: gmn mcp call --help\n",
  ],
  [
    ['files', 'echo', 'word'],
    1,
    'word is not of the form name=value\nExample: path=README.md; for text with odd characters: name=@file\n',
  ],
  [
    ['files', 'echo', '--json', '[1]'],
    1,
    `--json: that is not a JSON object\nExample: --json '{"path":"README.md"}'\n`,
  ],
  [['files', 'echo', '{"message":'], 1, `--json: that is not a JSON object\nExample: --json '{"path":"README.md"}'\n`],
  [['files', 'echo', '--json', '{}', 'a=1'], 1, '--json cannot be combined with name=value words\nUse one of them.\n'],
  [
    ['files', 'echo', 'message=@gone.txt'],
    1,
    'no such file: gone.txt\nCheck the path; it is relative to the working directory. ' +
      'For the text @gone.txt itself write @@gone.txt, or use --json.\n',
  ],
  [
    ['files', 'wait', '-t', '3s'],
    5,
    'MCP server files: no answer to tools/call within 3 s\nIts "timeout" in the settings sets how long gmn waits, in milliseconds.\n',
  ],
  [
    ['less', 'echo'],
    4,
    'the settings of MCP server less exclude its tool echo\nTo use it, change its includeTools or excludeTools. To see them, run: gmn mcp get less\n',
  ],
  [['off', 'echo'], 4, 'MCP server off is not used: disabled\nTo use it again, run: gmn mcp enable off\n'],
] as const)('call %j says what is wrong', async ([args, exitCode, words], t) => {
  const less = { ...GOOD.files, includeTools: ['echo', 'add'], excludeTools: ['echo'] };
  const settings = { mcpServers: { ...GOOD, less, off: GOOD.files }, mcp: { excluded: ['off'] } };
  const here = mcpPlace(t, {}, { settings });
  expect(await here.run(['mcp', 'call', ...args])).toEqual({ stdout: '', stderr: `Error: ${words}`, exitCode });
});

test('a faulty entry is exit 4 for whoever calls it, and nobody else minds', async (t) => {
  const here = mcpPlace(t, { ...GOOD, both: { command: 'x', url: 'http://127.0.0.1:1' } });
  expect(await here.run(['mcp', 'call', 'both', 'echo'])).toEqual({
    stdout: '',
    stderr: `Error: ${here.file}: mcpServers.both: it has command and url, but can be of one kind only\nTo see it, run: gmn mcp get both\n`,
    exitCode: 4,
  });
  expect((await here.run(['mcp', 'call', 'files', 'add', 'a=1', 'b=1'])).stdout).toBe('2\n');
});

test('--mcp-config brings servers, --allowed-mcp-server-names takes them away', async (t) => {
  const other = { x: GOOD.files, y: GOOD.files };
  const here = mcpPlace(t, other, { files: { 'more.json': JSON.stringify({ mcpServers: GOOD }) } });
  const call = ['mcp', 'call', 'files', 'add', 'a=1', 'b=1', '--mcp-config', 'more.json'];
  expect(await here.run(call)).toEqual({ stdout: '2\n', stderr: '', exitCode: 0 });
  expect(await here.run([...call, '--allowed-mcp-server-names', 'x,y'])).toEqual({
    stdout: '',
    stderr:
      'Error: MCP server files is not used: not in --allowed-mcp-server-names\n' +
      'Add its name to that flag, or leave the flag out.\n',
    exitCode: 4,
  });
  expect(await here.run(['mcp', 'list', '--mcp-config', 'gone.json'])).toEqual({
    stdout: '',
    stderr: `Error: no such file: ${join(here.cwd, 'gone.json')}\nCheck the path after --mcp-config.\n`,
    exitCode: 1,
  });
});

test('--mcp-config reads the files of VS Code and Zed, and says what it cannot use of them', async (t) => {
  const secret = { ...GOOD.files, env: { KEY: `${'$'}{input:api-key}` } };
  const here = mcpPlace(
    t,
    {},
    {
      files: {
        '.vscode/mcp.json': JSON.stringify({
          inputs: [],
          servers: { files: { type: 'stdio', ...GOOD.files }, secret },
        }),
        'zed.json': JSON.stringify({ context_servers: GOOD }),
      },
    },
  );
  const call = ['mcp', 'call', 'files', 'add', 'a=1', 'b=1', '--mcp-config'];
  expect(await here.run([...call, '.vscode/mcp.json'])).toEqual({ stdout: '2\n', stderr: '', exitCode: 0 });
  expect(await here.run([...call, 'zed.json'])).toEqual({ stdout: '2\n', stderr: '', exitCode: 0 });
  const refused = await here.run(['mcp', 'call', 'secret', 'add', '--mcp-config', '.vscode/mcp.json']);
  expect([refused.exitCode, refused.stderr]).toEqual([
    4,
    expect.stringContaining(
      `it contains ${'$'}{input:api-key}, which only VS Code can fill in; name a variable instead`,
    ),
  ]);
});

test('mcp.serverCommand is a server named mcp', async (t) => {
  const { command, args } = GOOD.files;
  const settings = { mcp: { serverCommand: `"${command}" '${args[0]}' 'two words'` } };
  const here = mcpPlace(t, {}, { settings });
  const { stdout } = await here.run(['mcp', 'call', 'mcp', 'arguments']);
  expect(JSON.parse(stdout)).toMatchObject({ args: ['two words'] });
  expect((await here.run(['mcp', 'list'])).stdout).toContain("'two words'");
});

test('prompts and resources are listed, filled in and read', async (t) => {
  const here = mcpPlace(t, GOOD);
  const ok = (stdout: string) => ({ stdout, stderr: '', exitCode: 0 });
  expect(await here.run(['mcp', 'prompts', 'files'])).toEqual(ok('greet  Greets.\n    who*\n'));
  expect(await here.run(['mcp', 'prompt', 'files', 'greet', 'who=12'])).toEqual(ok('Hello 12\n'));
  expect(await here.run(['mcp', 'resources', 'files'])).toEqual(
    ok('memo://1  first  (text/plain)\nmemo://{id}  memo\n'),
  );
  expect(await here.run(['mcp', 'read', 'files', 'memo://1'])).toEqual(ok('kept text'));
});

test('each list of resources that is cut is reported', async (t) => {
  const here = mcpPlace(t, { odd: fixtureServer('hostile-mcp-server.mjs', 'circles') });
  expect(await here.run(['mcp', 'resources', 'odd'])).toMatchObject({
    stderr:
      'gmn: odd: the list of resources repeats without end\n' +
      'gmn: odd: the list of resourceTemplates repeats without end\n',
    exitCode: 0,
  });
});

test('prompts and resources are data with --json', async (t) => {
  const here = mcpPlace(t, GOOD);
  const json = async (args: readonly string[]) => JSON.parse((await here.run([...args, '--json'])).stdout);
  expect(await json(['mcp', 'prompts'])).toEqual({
    servers: [
      {
        name: 'files',
        prompts: [
          { name: 'greet', description: 'Greets.', arguments: [{ name: 'who', description: '', required: true }] },
        ],
      },
    ],
  });
  expect(await json(['mcp', 'prompt', 'files', 'greet', 'who=you'])).toEqual({
    description: '',
    messages: [{ role: 'user', content: { type: 'text', text: 'Hello you' } }],
  });
  expect(await json(['mcp', 'resources'])).toEqual({
    servers: [
      {
        name: 'files',
        resources: [{ uri: 'memo://1', name: 'first', description: '', mimeType: 'text/plain' }],
        resourceTemplates: [{ uriTemplate: 'memo://{id}', name: 'memo', description: '' }],
      },
    ],
  });
  expect(await json(['mcp', 'read', 'files', 'memo://1'])).toEqual({
    contents: [{ uri: 'memo://1', mimeType: 'text/plain', text: 'kept text' }],
  });
});

test('a prompt that does not exist, or lacks an argument, is an error with the next step', async (t) => {
  const here = mcpPlace(t, GOOD);
  expect(await here.run(['mcp', 'prompt', 'files', 'greet'])).toEqual({
    stdout: '',
    stderr: 'Error: the prompt greet needs who\nAdd: who=…\n',
    exitCode: 1,
  });
  expect(await here.run(['mcp', 'prompt', 'files', 'gret', 'who=x'])).toEqual({
    stdout: '',
    stderr: 'Error: MCP server files has no prompt gret\nDid you mean greet?\n',
    exitCode: 5,
  });
});

test('a tool that says something else about itself is shown in full, and allowed by looking at it on a terminal', async (t) => {
  const here = mcpPlace(t, { files: { ...GOOD.files, description: 'one' } });
  const plain = (await here.run(['mcp', 'tools', 'files'])).stdout;
  expect(plain.split('\n').slice(0, 2)).toEqual(['echo  Says the same.', '    message* string']);
  const { command, args } = GOOD.files;
  const script = readFileSync(args[0] ?? '', 'utf8').replace('Says the same.', 'Says the same.\\nAnd tells me.');
  here.write(join(here.root, 'changed.mjs'), script);
  here.write(here.file, JSON.stringify({ mcpServers: { files: { command, args: [join(here.root, 'changed.mjs')] } } }));
  const json = JSON.parse((await here.run(['mcp', 'tools', 'files', '--json'])).stdout);
  expect(json.servers[0].tools[0]).toMatchObject({ name: 'echo', changed: true });
  const changed = plain.replace(
    'echo  Says the same.\n    message* string\n',
    'echo  (changed)\n    Says the same.\n    And tells me.\n    message* string\n' +
      '    {"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}\n',
  );
  const way =
    'a changed tool is not offered to the model; to review and allow it, run in a terminal: gmn mcp tools files';
  // A pipe has no eyes.
  for (let round = 0; round < 2; round += 1) {
    const { stdout, stderr } = await here.run(['mcp', 'tools', 'files']);
    expect([stdout, stderr]).toEqual([changed, `gmn: files: ${way}\n`]);
  }
  const checked = await here.run(['mcp', 'list', '--check']);
  expect(checked.stdout).toContain('13 tools: add, environment, arguments, fail, ');
  expect(checked.stdout).toContain(', … (not offered: echo)');
  expect([checked.stderr, checked.exitCode]).toEqual([`gmn: files: ${way}\n`, 0]);
  const { output } = await runInTerminal(t, ['mcp', 'tools', 'files'], { env: here.env }).ended;
  expect(output).toContain('And tells me.');
  expect((await here.run(['mcp', 'tools', 'files'])).stdout).toBe(plain);
});

test('tools that the settings leave out are marked', async (t) => {
  const here = mcpPlace(t, { files: { ...GOOD.files, excludeTools: ['echo'] } });
  const { stdout } = await here.run(['mcp', 'tools', 'files']);
  expect(stdout.match(/^.*\(not offered.*$/gm)).toEqual(['echo  (not offered to the model)  Says the same.']);
});

test('the message of a failed tool is shown without secrets, and cut if it is long', async (t) => {
  const loud = { ...fixtureServer('hostile-mcp-server.mjs', 'loud'), env: { TOKEN: 'hunter2hunter2' } };
  const { stdout, stderr, exitCode } = await mcpPlace(t, { loud }).run(['mcp', 'call', 'loud', 'speak']);
  const head = 'MCP server loud: speak failed: the key ‹redacted› is wrong\n';
  expect([stdout, exitCode]).toEqual(['', 5]);
  expect(stderr).toMatch(
    new RegExp(`^Error: ${head}x{9000,10000}… \\(\\d+ more characters\\)\nTo see what it takes, run: .*\n$`),
  );
});

test('a session that the server has dropped is started again, once', async (t) => {
  const forgetful = async (times: number) => {
    const serve = streamable('json');
    let left = times;
    return httpPeer(t, (request, response) => {
      if (!request.body.includes('tools/call') || left === 0) return serve(request, response);
      left -= 1;
      return void response.writeHead(404).end();
    });
  };
  const [once, always] = [await forgetful(1), await forgetful(9)];
  const here = mcpPlace(t, { once: { httpUrl: `${once.url}/mcp` }, always: { httpUrl: `${always.url}/mcp` } });
  expect(await here.run(['mcp', 'call', 'once', 'echo', 'message=hi'])).toEqual({
    stdout: 'remote hi\n',
    stderr: '',
    exitCode: 0,
  });
  expect((await here.run(['mcp', 'call', 'always', 'echo', 'message=hi'])).exitCode).toBe(5);
  expect(always.received.filter(({ body }) => body.includes('tools/call'))).toHaveLength(2);
});

test.for([
  [['add', 'a=1'], 'add does not take these arguments: it needs b\n'],
  [['add', 'a=1', 'b=two'], 'add does not take these arguments: b must be of type number, and is of type string\n'],
  [['echo', '--json', '{"message":[1]}'], 'message must be of type string, and is of type array\n'],
] as const)('what is surely wrong is told before the server is asked: %j', async ([args, message], t) => {
  const here = mcpPlace(t);
  const log = join(here.root, 'messages');
  here.write(here.file, JSON.stringify({ mcpServers: { files: { ...GOOD.files, env: { GMN_TEST_LOG: log } } } }));
  const { stdout, stderr, exitCode } = await here.run(['mcp', 'call', 'files', ...args]);
  expect([stdout, exitCode, stderr]).toEqual(['', 1, expect.stringContaining(message)]);
  expect(stderr).toContain('gmn mcp tools files');
  expect(here.read(log)).not.toContain('tools/call');
});

test('a tool is found by its official name, too, and what the settings exclude stays excluded', async (t) => {
  const here = mcpPlace(t, { 'my files': { ...GOOD.files, excludeTools: ['add'] } });
  const run = (...words: string[]) => here.run(['mcp', 'call', 'my files', ...words]);
  expect(await run('mcp_my_files_echo', 'message=hi')).toEqual({ stdout: 'hi\n', stderr: '', exitCode: 0 });
  expect(await run('mcp_my_files_add', 'a=1', 'b=2')).toMatchObject({
    exitCode: 4,
    stderr: expect.stringContaining('exclude its tool add'),
  });
  expect((await run('mcp_my_files_none')).exitCode).toBe(5);
});

test('a server that has no templates of resources has its resources', async (t) => {
  const env = { GMN_TEST_WITHOUT: 'resources/templates/list' };
  const here = mcpPlace(t, { files: { ...GOOD.files, env } });
  const resources = await here.run(['mcp', 'resources', 'files']);
  expect(resources).toEqual({ stdout: 'memo://1  first  (text/plain)\n', stderr: '', exitCode: 0 });
  const other = mcpPlace(t, { files: { ...GOOD.files, env: { GMN_TEST_WITHOUT: 'resources/list' } } });
  expect((await other.run(['mcp', 'resources', 'files'])).exitCode).toBe(5);
});
