import { expect, test } from 'vitest';
import { bothEras, httpPeer } from '../mcp/client/http-peer.ts';
import { fixtureServer, mcpPlace } from '../support/mcp-place.ts';

const { command, args } = fixtureServer('mcp-server.mjs');

test('probe shows what a program offers, whatever the settings say', async (t) => {
  const here = mcpPlace(t);
  const { stdout, stderr, exitCode } = await here.run(['mcp', 'probe', command, ...args]);
  expect(stdout.replace(/( {2}add [\s\S]*)( {2}sample)/, '$2')).toBe(
    'server    fixture 1.2.3\n' +
      'protocol  2025-11-25\n' +
      'offers    tools, prompts, resources\n' +
      'instructions\n  Use echo.\n' +
      'tools\n  echo         Says the same.\n  sample       Asks for a completion.\n' +
      'prompts\n  greet  Greets.\n' +
      'resources\n  memo://1     first\n  memo://{id}  memo\n',
  );
  expect([stderr, exitCode]).toEqual(['', 0]);
});

test('probe of an address, with a header, as JSON; flags may stand behind the address', async (t) => {
  const here = mcpPlace(t);
  const peer = await httpPeer(t, bothEras());
  const { stdout, exitCode } = await here.run([
    'mcp',
    'probe',
    `${peer.url}/mcp`,
    '-H',
    'X-Key: abc',
    '--json',
    '--call-tools',
  ]);
  expect(JSON.parse(stdout)).toMatchObject({
    serverInfo: { name: 'modern', version: '2' },
    protocolVersion: '2026-07-28',
    capabilities: { tools: true, prompts: false, resources: false },
    instructions: 'Modern.',
    tools: [{ name: 'echo' }],
    prompts: [],
    trials: [{ what: 'tool echo' }],
  });
  expect(exitCode).toBe(0);
  expect(peer.received.every(({ headers }) => headers['x-key'] === 'abc')).toBe(true);
});

const ASKING = `
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
const schema = {
  type: 'object',
  properties: {
    name: { type: 'string', default: 'Ada' },
    age: { type: 'integer', default: 36 },
    score: { type: 'number', default: 9.5 },
    status: { type: 'string', enum: ['on', 'off'], default: 'off' },
    verified: { type: 'boolean', default: true },
    none: { type: 'string' },
  },
};
let call;
require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params, result } = JSON.parse(line);
  if (method === 'initialize') {
    send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'a', version: '1' } } });
  } else if (method === 'tools/list') {
    const tool = (name, properties) => ({ name, inputSchema: { type: 'object', properties } });
    send({ id, result: { tools: [tool('ask', {}), tool('fail', { n: { type: 'integer', minimum: 3 }, kind: { enum: ['a', 'b'] } })] } });
  } else if (method === 'tools/call' && params.name === 'ask') {
    call = id;
    send({ id: 'q', method: 'elicitation/create', params: { message: 'Who?', requestedSchema: schema } });
  } else if (method === 'tools/call') {
    send({ id, result: { isError: true, content: [{ type: 'text', text: 'with ' + JSON.stringify(params.arguments) }] } });
  } else if (id === 'q') {
    send({ id: call, result: { isError: true, content: [{ type: 'text', text: JSON.stringify(result) }] } });
  }
});
`;

test('--accept-defaults answers a form with its own defaults; --call-tools calls with sample arguments', async (t) => {
  const here = mcpPlace(t, {}, { files: { 'asking.cjs': ASKING } });
  const flags = ['--accept-defaults', '--call-tools'];
  const { stdout, exitCode } = await here.run(['mcp', 'probe', ...flags, command, 'asking.cjs']);
  const content = '{"name":"Ada","age":36,"score":9.5,"status":"off","verified":true}';
  expect(stdout).toBe(
    'server    a 1\nprotocol  2025-11-25\noffers    tools\ntools\n  ask\n  fail\ntried\n' +
      `  ✗ tool ask   {"action":"accept","content":${content}}\n` +
      '  ✗ tool fail  with {"n":3,"kind":"a"}\n',
  );
  expect(exitCode).toBe(0);
  const calls = JSON.stringify([{ name: 'fail', arguments: { n: 7 } }]);
  const chosen = await here.run(['mcp', 'probe', '--calls', calls, '--json', command, 'asking.cjs']);
  expect(JSON.parse(chosen.stdout).trials).toEqual([{ what: 'tool fail', error: 'with {"n":7}' }]);
  expect(await here.run(['mcp', 'probe', '--calls', '{}', command, 'asking.cjs'])).toEqual({
    stdout: '',
    stderr:
      'Error: --calls: that is not a list of calls\n' +
      `Example: --calls '[{"name":"echo","arguments":{"message":"hi"}}]'\n`,
    exitCode: 1,
  });
});

test.for([
  [
    ['no-such-program'],
    5,
    'MCP server no-such-program: the connection was lost during initialize. There is no program no-such-program\nCheck the command: run it by hand once to see what it says.\n',
  ],
  [
    ['node x.js'],
    5,
    'MCP server node x.js: the connection was lost during initialize. There is no program node x.js\n' +
      'Give the program and its arguments as separate words, without quotes: gmn mcp probe node x.js\n',
  ],
  [['http://127.0.0.1:1/mcp'], 5, 'MCP server http://127.0.0.1:1/mcp:'],
  [['-e', 'A=b', 'http://127.0.0.1:1'], 1, '--env is for a program\nAn address gets headers: --header "K: V"\n'],
  [
    [],
    1,
    "missing required argument 'urlOrCommand'\nUsage: gmn mcp probe <urlOrCommand> [args...]\nRun: gmn mcp probe --help\n",
  ],
] as const)('probe %j says what is wrong', async ([words, exitCode, expected], t) => {
  const here = mcpPlace(t);
  const ran = await here.run(['mcp', 'probe', ...words]);
  expect([ran.stdout, ran.exitCode]).toEqual(['', exitCode]);
  expect(ran.stderr.startsWith(`Error: ${expected}`), ran.stderr).toBe(true);
});
