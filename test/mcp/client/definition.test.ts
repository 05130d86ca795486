import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../../../src/core/json.ts';
import { parseDefinition } from '../../../src/mcp/client/definition.ts';
import { toStartTimeout } from '../../../src/mcp/client/limits.ts';
import { splitCommand } from '../../../src/mcp/client/servers.ts';

const common = { timeoutMs: 600_000, isTrusted: false, excludeTools: [] };

test.for<readonly [JsonValue, object]>([
  [{ command: 'x' }, { kind: 'stdio', command: 'x', args: [], env: {}, ...common }],
  [
    {
      type: 'stdio',
      command: 'x',
      args: ['-y', 'a b'],
      env: { A: '1', B: 2, C: true },
      cwd: 'd',
      timeout: 5,
      trust: true,
      description: 'D',
    },
    {
      kind: 'stdio',
      command: 'x',
      args: ['-y', 'a b'],
      env: { A: '1', B: '2', C: 'true' },
      cwd: 'd',
      ...common,
      timeoutMs: 5,
      isTrusted: true,
      description: 'D',
    },
  ],
  [{ url: 'https://h/x' }, { kind: 'url', url: 'https://h/x', headers: {}, ...common }],
  [
    { url: 'http://h', type: 'sse' },
    { kind: 'sse', url: 'http://h/', headers: {}, ...common },
  ],
  [
    { url: 'https://h', type: 'http', headers: { 'X-A': 'b' } },
    { kind: 'http', url: 'https://h/', headers: { 'X-A': 'b' }, ...common },
  ],
  [
    { httpUrl: 'https://h', unknown: 1 },
    { kind: 'http', url: 'https://h/', headers: {}, ...common },
  ],
  [
    { command: 'x', includeTools: ['a(b)', 'c'], excludeTools: ['c'] },
    { kind: 'stdio', command: 'x', args: [], env: {}, ...common, includeTools: ['a', 'c'], excludeTools: ['c'] },
  ],
  [
    { url: 'https://h', oauth: { clientId: 'i', scopes: ['s'] } },
    {
      kind: 'url',
      url: 'https://h/',
      headers: {},
      oauth: { isEnabled: true, clientId: 'i', scopes: ['s'] },
      ...common,
    },
  ],
])('%j is understood', ([entry, definition]) => {
  expect(parseDefinition(entry)).toEqual(definition);
});

test.for<readonly [JsonValue, string]>([
  ['x', 'it must be an object'],
  [{}, 'it has none of command, url, httpUrl'],
  [{ command: 'x', url: 'https://h' }, 'it has command and url, but can be of one kind only'],
  [{ url: 'https://h', httpUrl: 'https://h' }, 'it has url and httpUrl, but can be of one kind only'],
  [{ command: ' ' }, 'command is empty'],
  [{ command: 'x', args: ['a\nb'] }, 'command or args contain a line break'],
  [{ command: 'x\0' }, 'command or args contain a line break'],
  [{ command: 'x', type: 'http' }, 'its type must be "stdio", since it has command'],
  [{ command: 'x', args: 'y' }, 'args must be a list of strings'],
  [{ command: 'x', args: [1] }, 'args must be a list of strings'],
  [{ command: 'x', env: { A: null } }, 'env must be an object of strings'],
  [{ command: 'x', env: { 'A=B': 'c' } }, 'env must be an object of strings'],
  [{ command: 'x', timeout: -1 }, 'timeout must be a number of milliseconds'],
  [{ command: 'x', trust: 'yes' }, 'trust must be true or false'],
  [{ url: 'file:///etc' }, 'its address must begin with https:// or http://'],
  [{ url: 'https://u:p@h' }, 'its address must not contain a password; use headers'],
  [{ url: 'https://h', type: 'ws' }, 'its type must be "http" or "sse", since it has url'],
  [{ url: 'https://h', headers: { 'a b': 'c' } }, 'headers: "a b" is not a valid header'],
  [{ url: 'https://h', headers: { a: 'b\r\nc: d' } }, 'headers: "a" is not a valid header'],
  [{ url: 'https://h', oauth: true }, 'oauth must be an object'],
])('%j is faulty, and says why', ([entry, why]) => {
  expect(parseDefinition(entry)).toEqual({ kind: 'fault', why });
});

test('whatever stands in a file is a definition or a fault, never an exception', () => {
  const value = fc.record(
    {
      command: fc.jsonValue(),
      url: fc.jsonValue(),
      args: fc.jsonValue(),
      env: fc.jsonValue(),
      headers: fc.jsonValue(),
      timeout: fc.jsonValue(),
      oauth: fc.jsonValue(),
    },
    { requiredKeys: [] },
  );
  fc.assert(fc.property(fc.oneof(value, fc.jsonValue()), (entry) => void parseDefinition(entry as JsonValue)));
});

test.for<readonly [string, readonly string[]]>([
  ['node server.js --port 1', ['node', 'server.js', '--port', '1']],
  [`npx 'a b' "c \\"d\\"" e\\ f ''`, ['npx', 'a b', 'c "d"', 'e f', '']],
  ['x; touch y | z $(w) && "unfinished q', ['x;', 'touch', 'y', '|', 'z', '$(w)', '&&', 'unfinished q']],
  ['  ', []],
])('%j is cut into words', ([line, words]) => {
  expect(splitCommand(line, 'linux')).toEqual(words);
});

test.for<readonly [string, readonly string[]]>([
  ['C:\\node\\node.exe C:\\a\\b.js', ['C:\\node\\node.exe', 'C:\\a\\b.js']],
  ['"C:\\Program Files\\node.exe" \'a b\\c\' ""', ['C:\\Program Files\\node.exe', 'a b\\c', '']],
  ['npx "c \\"d\\"" \\\\server\\share', ['npx', 'c "d"', '\\\\server\\share']],
])('on Windows %j is cut into words', ([line, words]) => {
  expect(splitCommand(line, 'win32')).toEqual(words);
});

test.for<readonly [string, number, object]>([
  ['a program', 30_000, { command: 'node' }],
  ['an address', 30_000, { url: 'https://h.example/' }],
  ['a program with a shorter timeout', 2000, { command: 'npx', timeout: 2000 }],
  ['npx', 180_000, { command: '/usr/bin/npx', args: ['-y', 'some-server'] }],
  ['npx on Windows', 180_000, { command: 'cmd', args: ['/c', 'npx', '-y', 'some-server'] }],
  ['a batch file', 180_000, { command: 'C:\\node\\npx.cmd', args: ['some-server'] }],
  ['uvx', 180_000, { command: 'uvx', args: ['some-server'] }],
  ['docker run', 180_000, { command: 'docker', args: ['run', '-i', 'mcp/fetch'] }],
  ['docker exec', 30_000, { command: 'docker', args: ['exec', '-i', 'box', 'server'] }],
  ['a word that an object has', 30_000, { command: 'constructor' }],
])('the time to start of %s, which may have to be installed first', ([, ms, entry]) => {
  const definition = parseDefinition(entry as JsonObject);
  if (definition.kind === 'fault') throw new Error(definition.why);
  expect(toStartTimeout({ name: 'x', definition })).toBe(ms);
  expect(toStartTimeout({ name: 'x', definition, limitMs: 5 })).toBe(5);
});
