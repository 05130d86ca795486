import { chmodSync, mkdirSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mcpPlace } from '../support/mcp-place.ts';
import { posixTest, systemMode } from '../support/posix.ts';

const COMMENTED = `// mine
{
  "model": { "name": "m" }, // the model
  "mcpServers": {
    /* the first */
    "files": { "command": "node", "args": ["files.js"] } // here
  }
}
`;

test('add keeps every word of the program, also those that are flags of a prompt', async (t) => {
  const here = mcpPlace(t, {});
  const words = ['-p', '--model', 'x', '--verbose', '-p'];
  expect(await here.run(['mcp', 'add', 'srv', 'mytool', ...words])).toMatchObject({ exitCode: 0 });
  expect(JSON.parse(here.read()).mcpServers.srv).toEqual({ command: 'mytool', args: words });
});

test('add writes a program into the user’s settings, and every comment stays', async (t) => {
  const here = mcpPlace(t, {}, { home: { '.gemini/settings.json': COMMENTED } });
  chmodSync(here.file, 0o640);
  const args = [
    'mcp',
    'add',
    '-e',
    'A=b=c',
    '--trust',
    '--timeout',
    '5000',
    'new',
    'npx',
    '-y',
    'pkg',
    '--json',
    '-e',
    'X=y',
  ];
  expect(await here.run(args)).toEqual({ stdout: `Added new in ${here.file}\n`, stderr: '', exitCode: 0 });
  expect(here.read()).toBe(
    COMMENTED.replace(
      ' // here\n  }\n',
      `, // here
    "new": {
      "command": "npx",
      "args": [
        "-y",
        "pkg",
        "--json",
        "-e",
        "X=y"
      ],
      "env": {
        "A": "b=c"
      },
      "timeout": 5000,
      "trust": true
    }
  }
`,
    ),
  );
  expect(statSync(here.file).mode & 0o777).toBe(systemMode(0o640));
  expect(await here.run(['mcp', 'remove', 'new'])).toEqual({
    stdout: `Removed new from ${here.file}\n`,
    stderr: '',
    exitCode: 0,
  });
  expect(here.read()).toBe(COMMENTED);
});

test.for([
  [['wiki', 'https://wiki.example/mcp'], { url: 'https://wiki.example/mcp' }],
  [['-t', 'sse', 'wiki', 'https://w.example/sse'], { url: 'https://w.example/sse', type: 'sse' }],
  [
    ['wiki', 'https://w.example', '-H', 'Authorization: Bearer $TOKEN', '-H', 'X-Time: 12:30', '--description', 'd'],
    {
      url: 'https://w.example',
      headers: { Authorization: 'Bearer $TOKEN', 'X-Time': '12:30' },
      description: 'd',
    },
  ],
  [['wiki', '-e', 'A=1', 'node', '-e', 'A=2'], { command: 'node', args: ['-e', 'A=2'], env: { A: '1' } }],
  [['wiki', '-e', 'A=1', '--', 'node', '--trust'], { command: 'node', args: ['--trust'], env: { A: '1' } }],
  [['wiki', 'node', '--', '--trust'], { command: 'node', args: ['--trust'] }],
  [
    ['--include-tools', 'a,b', '--include-tools', 'c', '--exclude-tools', 'd', 'wiki', 'node'],
    { command: 'node', includeTools: ['a', 'b', 'c'], excludeTools: ['d'] },
  ],
] as const)('add %j', async ([args, expected], t) => {
  const here = mcpPlace(t);
  const { stderr, exitCode } = await here.run(['mcp', 'add', ...args]);
  expect([stderr, exitCode, JSON.parse(here.read())]).toEqual(['', 0, { mcpServers: { wiki: expected } }]);
});

test.for([
  [
    ['x'],
    "missing required argument 'commandOrUrl'\nUsage: gmn mcp add <name> <commandOrUrl> [args...]\nRun: gmn mcp add --help\n",
  ],
  [['x', '--'], 'the command or address of the server is missing\nExample: gmn mcp add x npx -y some-server\n'],
  [['x', '-e', 'A=1'], 'the command or address of the server is missing\nExample: gmn mcp add x npx -y some-server\n'],
  [['x', '--nope', 'node'], "unknown option '--nope'\nRun: gmn mcp add --help\n"],
  [
    ['-e', 'sk-secretsecretsecret', 'x', 'node'],
    "--env: that is not of the form NAME=value\nExample: --env TOKEN='$MY_TOKEN'\n",
  ],
  [
    ['-H', 'nothing', 'x', 'https://x.example'],
    `--header: that is not of the form "Name: value"\nExample: --header 'X-Key: $MY_KEY'\n`,
  ],
  [['-H', 'A: b', 'x', 'node'], '--header is for an address\nA program gets variables: --env K=V\n'],
  [['-e', 'A=b', 'x', 'https://x.example'], '--env is for a program\nAn address gets headers: --header "K: V"\n'],
  [['x', 'https://x.example', 'more'], 'an address takes no arguments\nLeave out: more\n'],
  [
    ['-t', 'stdio', 'x', 'https://x.example'],
    'https://x.example is an address, not a program\nUse --transport http or sse.\n',
  ],
  [
    ['-t', 'http', 'x', 'ftp://x'],
    'that is not a server: its address must begin with https:// or http://\nRun: gmn mcp add --help\n',
  ],
  [
    ['x', 'https://me:pass@x.example'],
    'that is not a server: its address must not contain a password; use headers\nRun: gmn mcp add --help\n',
  ],
  [['__proto__', 'node'], '"__proto__" cannot be the name of a server\nUse letters, digits and hyphens, e.g. files\n'],
  [
    ['a\u001b[31m', 'node'],
    '"a\\u001b[31m" cannot be the name of a server\nUse letters, digits and hyphens, e.g. files\n',
  ],
] as const)('add %j is refused, and the file is not touched', async ([args, words], t) => {
  const here = mcpPlace(t);
  const before = here.read();
  expect(await here.run(['mcp', 'add', ...args])).toEqual({ stdout: '', stderr: `Error: ${words}`, exitCode: 1 });
  expect(here.read()).toBe(before);
});

posixTest('the settings of a project are not written where a link of the folder leads', async (t) => {
  const here = mcpPlace(t, { a: { command: 'mine' } });
  const before = here.read();
  mkdirSync(join(here.cwd, '.gemini'));
  symlinkSync(here.file, join(here.cwd, '.gemini/settings.json'));
  for (const words of [
    ['add', '-s', 'project', 'b', 'node'],
    ['remove', '-s', 'project', 'a'],
  ]) {
    const { stderr, exitCode } = await here.run(['mcp', ...words]);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/cannot write \S+: it is a link to \S+, outside of its directory\nName that place itself/);
  }
  expect(here.read()).toBe(before);
});

test('add writes where -s says, replaces what is there, and says what keeps it from counting', async (t) => {
  const here = mcpPlace(t, { a: { command: 'old' } });
  const project = join(here.cwd, '.gemini/settings.json');
  const own = join(here.home, '.gmn/config.json');
  expect(await here.run(['mcp', 'add', '-s', 'project', '--trust', 'a', 'node'])).toEqual({
    stdout: `Added a in ${project}\n`,
    stderr:
      'gmn: a server in the settings of a folder is used once you have approved it: gmn trust\n' +
      "gmn: --trust does not count in a folder's settings: its tools ask first\n",
    exitCode: 0,
  });
  expect(JSON.parse(here.read(project))).toEqual({ mcpServers: { a: { command: 'node', trust: true } } });
  const { stdout } = await here.run(['mcp', 'add', '-s', 'gmn', '--json', 'a', 'node']);
  expect(JSON.parse(stdout)).toEqual({ name: 'a', scope: 'gmn', file: own, replaced: false });
  expect(await here.run(['mcp', 'add', 'a', 'new'])).toEqual({
    stdout: `Replaced a in ${here.file}\n`,
    stderr: `gmn: ${own} defines a too, and wins\n`,
    exitCode: 0,
  });
  expect(JSON.parse(here.read())).toEqual({ mcpServers: { a: { command: 'new' } } });
  expect(await here.run(['mcp', 'remove', 'a'])).toEqual({
    stdout: '',
    stderr: `Error: a is defined in ${here.file} and ${own} and ${project}\nSay which with -s user or -s gmn or -s project\n`,
    exitCode: 1,
  });
  expect((await here.run(['mcp', 'remove', '-s', 'project', 'a'])).stdout).toBe(`Removed a from ${project}\n`);
  expect((await here.run(['mcp', 'remove', 'b'])).stderr).toBe('Error: there is no MCP server b\nDid you mean a?\n');
});

test('a broken settings file is left alone', async (t) => {
  const here = mcpPlace(t, {}, { home: { '.gemini/settings.json': '{ "mcpServers": {' } });
  const { exitCode, stderr } = await here.run(['mcp', 'add', 'a', 'node']);
  expect([exitCode, here.read()]).toEqual([4, '{ "mcpServers": {']);
  expect(stderr).toContain(`${here.file}:1:`);
});

test('disable and enable, comments kept', async (t) => {
  const here = mcpPlace(t, {}, { home: { '.gemini/settings.json': COMMENTED } });
  const own = join(here.home, '.gmn/config.json');
  here.write(own, '{"mcp":{"excluded":["files","files","x"]}}');
  expect(await here.run(['mcp', 'disable', 'files'])).toEqual({
    stdout: `Disabled files in ${here.file}\n`,
    stderr: '',
    exitCode: 0,
  });
  expect(here.read()).toContain('"excluded": [\n      "files"\n    ]');
  expect((await here.run(['mcp', 'disable', 'files'])).stdout).toBe('files was disabled already\n');
  expect((await here.run(['mcp', 'list'])).stdout).toBe('– files  stdio  node files.js  user  disabled\n');
  expect(await here.run(['mcp', 'enable', 'files'])).toEqual({
    stdout: `Enabled files in ${here.file} and ${own}\n`,
    stderr: '',
    exitCode: 0,
  });
  expect(here.read(own)).toBe('{"mcp":{"excluded":["x"]}}');
  expect(here.read()).toBe(COMMENTED.replace('  }\n}\n', '  },\n  "mcp": {\n    "excluded": []\n  }\n}\n'));
  expect((await here.run(['mcp', 'enable', 'files'])).stdout).toBe('files was not disabled\n');
  expect((await here.run(['mcp', 'disable', 'fils'])).stderr).toBe(
    'Error: there is no MCP server fils\nDid you mean files?\n',
  );
});

test('a server that is added under a disabled name is reported as disabled', async (t) => {
  const here = mcpPlace(t, { w: { command: 'node' } });
  await here.run(['mcp', 'disable', 'w']);
  await here.run(['mcp', 'remove', 'w']);
  expect(await here.run(['mcp', 'add', 'w', 'node', 'w.js'])).toEqual({
    stdout: `Added w in ${here.file}\n`,
    stderr: `gmn: w is disabled in ${here.file}. To use it: gmn mcp enable w\n`,
    exitCode: 0,
  });
});

test('what the machine excludes, the user cannot enable', async (t) => {
  const here = mcpPlace(t, { a: { command: 'node' } }, { env: { GEMINI_CLI_SYSTEM_SETTINGS_PATH: '' } });
  const system = join(here.root, 'system.json');
  here.write(system, '{"mcp":{"excluded":["a"]}}');
  Object.assign(here.env, { GEMINI_CLI_SYSTEM_SETTINGS_PATH: system });
  expect(await here.run(['mcp', 'enable', 'a'])).toEqual({
    stdout: '',
    stderr: `Error: a stays disabled: ${system} excludes it\nRemove it from mcp.excluded there.\n`,
    exitCode: 4,
  });
});

test('what mcp.allowed leaves out is not said to be enabled', async (t) => {
  const mcp = { allowed: ['b'], excluded: ['a'] };
  const settings = JSON.stringify({ mcpServers: { a: { command: 'node' } }, mcp });
  const here = mcpPlace(t, {}, { home: { '.gemini/settings.json': settings } });
  expect(await here.run(['mcp', 'enable', 'a'])).toEqual({
    stdout: '',
    stderr: `Error: a stays disabled: ${here.file} does not allow it\nAdd it to mcp.allowed there.\n`,
    exitCode: 4,
  });
});

test('an address of a kind that gmn cannot reach is no program', async (t) => {
  expect(await mcpPlace(t).run(['mcp', 'add', 'x', 'ftp://h/x'])).toEqual({
    stdout: '',
    stderr: 'Error: ftp://h/x is not an address that gmn can reach\nUse http:// or https://\n',
    exitCode: 1,
  });
});

test('add says that a secret variable does not go into a command line', async (t) => {
  expect((await mcpPlace(t).run(['mcp', 'add', 'x', 'node', '$HOME/x.js', '--key', '$API_KEY'])).stderr).toBe(
    "gmn: $API_KEY is not put into a command line, which others can read. Give it to the program: -e API_KEY='$API_KEY'\n",
  );
});
