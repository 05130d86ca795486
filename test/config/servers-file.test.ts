import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readServersFile } from '../../src/config/servers.ts';
import { place } from '../support/gmn.ts';

test('a file of servers is read with comments and variables, in its order, and trusts nothing', async (t) => {
  const { root } = place(t);
  const file = join(root, 'servers.json');
  writeFileSync(
    file,
    '{ // mine\n "mcpServers": { "b": { "command": "$TOOL", "trust": true }, "a": { "url": "https://h/" } } }',
  );
  expect(await readServersFile(file, { env: { TOOL: 'node' }, cwd: root })).toEqual([
    { name: 'b', definition: { command: 'node', trust: true }, scope: 'flag', file },
    { name: 'a', definition: { url: 'https://h/' }, scope: 'flag', file },
  ]);
});

test('a missing or broken file gives an error', async (t) => {
  const { root } = place(t);
  const file = join(root, 'servers.json');
  await expect(readServersFile(file, { env: {}, cwd: root })).rejects.toMatchObject({
    fault: 'usage',
    message: `no such file: ${file}`,
  });
  writeFileSync(file, '{ "mcpServers": [] }');
  await expect(readServersFile(file, { env: {}, cwd: root })).rejects.toMatchObject({ fault: 'config' });
});

test('a secret variable goes into env, headers and address, and not into the command line', async (t) => {
  const { root } = place(t);
  const file = join(root, 'servers.json');
  const server = { command: '$TOOL', args: ['--root', '$ROOT', '$API_KEY'], env: { KEY: '$API_KEY' }, cwd: '$ROOT' };
  const remote = { url: 'https://h/$API_KEY', headers: { X: '$API_KEY' } };
  writeFileSync(file, JSON.stringify({ mcpServers: { server, remote } }));
  const env = { TOOL: 'node', ROOT: '/r', API_KEY: 'hunter2' };
  expect((await readServersFile(file, { env, cwd: root })).map(({ definition }) => definition)).toEqual([
    { command: 'node', args: ['--root', '/r', '$API_KEY'], env: { KEY: 'hunter2' }, cwd: '/r' },
    { url: 'https://h/hunter2', headers: { X: 'hunter2' } },
  ]);
});

test('an extension of the official CLI is such a file, with its variables', async (t) => {
  const { root } = place(t);
  const file = join(root, 'gemini-extension.json');
  const braced = (name: string): string => `${'$'}{${name}}`;
  const server = {
    command: 'node',
    args: [`${braced('extensionPath')}${braced('/')}server.js`],
    cwd: braced('workspacePath'),
  };
  const extension = { name: 'mine', version: '1.0.0', contextFileName: 'GEMINI.md', excludeTools: ['x'] };
  writeFileSync(file, JSON.stringify({ ...extension, mcpServers: { server } }));
  const [read] = await readServersFile(file, { env: {}, cwd: '/work' });
  expect(read?.definition).toEqual({ command: 'node', args: [join(root, 'server.js')], cwd: '/work' });
});

const braced = (name: string): string => `${'$'}{${name}}`;

test.for<readonly [string, object, object]>([
  [
    'VS Code',
    {
      inputs: [],
      servers: { a: { type: 'stdio', command: 'node', args: [braced('workspaceFolder'), braced('env:DIR')] } },
    },
    { a: { type: 'stdio', command: 'node', args: ['/work', '/dir'] } },
  ],
  ['VS Code’s settings', { mcp: { servers: { a: { url: 'https://h/' } } } }, { a: { url: 'https://h/' } }],
  [
    'Zed',
    { theme: 'x', context_servers: { a: { source: 'custom', command: 'node', args: ['x'], env: { A: '$DIR' } } } },
    { a: { source: 'custom', command: 'node', args: ['x'], env: { A: '/dir' } } },
  ],
  [
    'an older Zed',
    { context_servers: { a: { command: { path: 'node', args: ['x'], env: { A: '1' } }, settings: {} } } },
    { a: { command: 'node', args: ['x'], env: { A: '1' }, settings: {} } },
  ],
  [
    'a program that has both',
    { mcpServers: { a: { command: braced('env:DIR') } }, servers: { b: { command: 'b' } } },
    { a: { command: braced('env:DIR') } },
  ],
])('a file of %s is one', async ([, document, servers], t) => {
  const { root } = place(t);
  const file = join(root, 'mcp.json');
  writeFileSync(file, JSON.stringify(document));
  const read = await readServersFile(file, { env: { DIR: '/dir' }, cwd: '/work' });
  expect(Object.fromEntries(read.map(({ name, definition }) => [name, definition]))).toEqual(servers);
});

test.for(['{}', '{"servers":[]}', '{"model":{"name":"x"}}'])('a file without servers says so: %s', async (text, t) => {
  const { root } = place(t);
  const file = join(root, 'servers.json');
  writeFileSync(file, text);
  await expect(readServersFile(file, { env: {}, cwd: root })).rejects.toMatchObject({
    fault: 'config',
    message: `${file}: there is no mcpServers in it`,
  });
});
