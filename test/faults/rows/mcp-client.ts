import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { fixtureServer } from '../../support/mcp-place.ts';
import { COMMAND, COMMAND_ON_TERMINAL, type Expected, type Fault, row, type Variant } from '../fault.ts';

const SPOKEN: Expected = { code: 0, text: 'spoken ' };

/** What the user's settings have to say. */
function settings(entry: object): Pick<Variant, 'home'> {
  return { home: { '.gemini/settings.json': JSON.stringify({ mcpServers: { it: entry } }) } };
}

/** A server that misbehaves; its children can be found by the rig's marker, which it is handed. */
function hostile(manner: string, timeout: number): object {
  return { ...fixtureServer('hostile-mcp-server.mjs', manner), env: { GMN_RIG: '$GMN_RIG' }, timeout };
}

/** Those that never answer are not waited for long. */
const MUTE = ['silent', 'deaf', 'bad-json'];

/** One call of its tool. */
function called(name: string, manner: string, expected: Expected): Variant {
  const timeout = MUTE.includes(manner) ? 2000 : 25_000;
  return {
    name,
    ways: COMMAND,
    args: ['mcp', 'call', 'it', 'speak'],
    ...settings(hostile(manner, timeout)),
    expect: expected,
  };
}

/** Its tools, listed. */
function listed(name: string, manner: string, expected: Expected): Variant {
  return { ...called(name, manner, expected), args: ['mcp', 'tools', 'it', '--json'] };
}

/** A program that is none. */
function unstartable(name: string, entry: object, says: RegExp): Variant {
  return { name, ways: COMMAND, args: ['mcp', 'call', 'it', 'speak'], ...settings(entry), expect: { code: 5, says } };
}

/** The rows M1 to M15. */
export const MCP_CLIENT: readonly Fault[] = [
  row(
    'M1',
    'server never answers initialize',
    [called('silent', 'silent', { code: 5, says: /no answer to initialize within 2 s/ })],
    [
      'test/cli/mcp-list.test.ts',
      '--check gives a silent server its time, says that it is still starting, and leaves nothing running',
    ],
    ['test/mcp/client/tools/toolset.test.ts', 'a server that is not ready in time is skipped'],
  ),
  row(
    'M2',
    'never answers tools/call',
    [
      {
        name: 'until its time is over',
        ways: COMMAND,
        args: ['mcp', 'call', 'it', 'wait'],
        ...settings({ ...fixtureServer('mcp-server.mjs'), env: { GMN_RIG: '$GMN_RIG' }, timeout: 6000 }),
        expect: { code: 5, says: /no answer to tools\/call within 6 s/ },
      },
    ],
    ['test/mcp/client/transport/stdio.test.ts', 'a call that is not answered in time fails, and is cancelled'],
    ['test/cli/mcp-terminal.test.ts', 'Ctrl+C cancels the call at the server, exit 130'],
  ),
  row(
    'M3',
    'dies before / during / after the answer, exit 0 / 1 / SIGSEGV',
    [
      called('during, by SIGSEGV', 'die', { code: 5, says: /ended by SIGSEGV/ }),
      called('before, with its last words', 'complain', { code: 5, says: /ended with exit code 2/ }),
    ],
    [
      'test/mcp/client/transport/stdio.test.ts',
      'a server that dies in the middle of a call fails it with its last words',
    ],
    [
      'test/mcp/client/tools/toolset.test.ts',
      'a server that dies is started again for the next call, three times in all',
    ],
  ),
  row('M4', 'floods stderr 1 GB; floods stdout with non-JSON; ANSI on stderr', [
    called('stderr, 64 MB of it', 'stderr-flood', SPOKEN),
    called('stdout', 'stdout-flood', { code: 5, says: /lines of its output were not messages/ }),
    called('a little on stdout', 'noise', SPOKEN),
    {
      ...called('escapes, on a terminal', 'complain', { code: 5, says: /ended with exit code 2/ }),
      ways: COMMAND_ON_TERMINAL,
      check: ({ started }) =>
        Promise.all(started.map(({ ended }) => ended)).then((all) =>
          expect(all.map(({ stdout }) => stdout).join('')).not.toMatch(/\u001b\]|\u001b\[2J/),
        ),
    },
  ]),
  row('M5', 'writes JSON split at any byte, CRLF, several per chunk, 16 MB line, blank lines, BOM', [
    called('byte by byte, CRLF, blank lines, a BOM', 'bytes', SPOKEN),
    called('a line of 17 MB', 'huge', { code: 5, says: /a line of more than 16\.0 MB/ }),
    called('half of a message', 'bad-json', { code: 5, says: /no answer to initialize/ }),
  ]),
  row('M6', 'stops reading stdin', [
    called('reads nothing', 'deaf', { code: 5, says: /no answer to initialize within 2 s/ }),
  ]),
  row(
    'M7',
    '10,000 tools; 64+ pages; cursor loops for ever; page of 50 MB',
    [
      listed('10,000 tools', 'many', { code: 0 }),
      listed('pages without end', 'endless', { code: 0 }),
      listed('pages in a circle', 'circle', { code: 0 }),
    ],
    ['test/mcp/client/hostile.test.ts', 'a list that is %s is cut, and says so'],
    ['test/mcp/client/tools/toolset.test.ts', 'more tools than the API takes are skipped, and that is reported'],
  ),
  row(
    'M8',
    'invalid schema: not object, cyclic $ref, depth 1,000, pattern bomb, enum of 1e6, boolean schema, no properties',
    [listed('odd items', 'odd', { code: 0 })],
    ['test/mcp/client/tools/schema.test.ts', 'a schema that %s cannot be used'],
    ['test/mcp/client/hostile.test.ts', 'odd items of a list cost only themselves'],
  ),
  row('M9', 'duplicate ids, unknown ids, id as string "1" vs 1, null id, answer twice, answer to a notification', [
    called('wrong ids, then the right one, twice', 'ids', SPOKEN),
    called('two hundred answers to nothing', 'id-storm', {
      code: 5,
      says: /nobody asked for|answers to nothing|left it/,
    }),
  ]),
  row(
    'M10',
    'huge result (100 MB text, 50 MB base64 image, 10,000 content items), wrong types, isError with no content',
    [
      called('17 MB', 'huge', { code: 5, says: /a line of more than 16\.0 MB/ }),
      called('no result at all', 'no-result', { code: 5 }),
    ],
    ['test/mcp/client/tools/calls.test.ts', 'long output is stored where the model can read it'],
    ['test/mcp/client/tools/calls.test.ts', 'ten thousand pieces are cut'],
    ['test/mcp/client/tools/calls.test.ts', 'a tool without output says so, also when it failed'],
  ),
  row(
    'M11',
    'HTTP/SSE: 401, 404 session, 405, 202 without body, redirect, stream cut, retry: 0 and 1e9, event with no id, gzip',
    [],
    ['test/mcp/client/transport/http.test.ts', 'a server that wants a sign-in says so, and how'],
    ['test/mcp/client/transport/http.test.ts', 'an address alone is tried as Streamable HTTP, then as SSE'],
    ['test/mcp/client/transport/http.test.ts', 'a call whose stream of events %s fails at once'],
    ['test/mcp/client/transport/http.test.ts', 'no header goes with a redirect to another origin'],
    ['test/mcp/client/tools/toolset.test.ts', 'a session that the server has dropped is started again'],
  ),
  row(
    'M12',
    'protocol version unknown / older / missing; server says 2026-07-28 only',
    [
      called('a version nobody speaks', 'old-version', {
        code: 5,
        says: /protocol version is not supported: 1999-01-01/,
      }),
      called('the newest alone', 'modern', SPOKEN),
    ],
    ['test/mcp/client/transport/http.test.ts', 'a server without a handshake is spoken to without one'],
  ),
  row('M13', 'list_changed storm (1,000/s), progress storm, log storm', [
    called('all three, before the answer', 'storm', SPOKEN),
  ]),
  row(
    'M14',
    'server exits when gmn exits? ignores stdin EOF and SIGTERM; launched through npx/sh',
    [
      called('ignores everything, and so does its child', 'stubborn', SPOKEN),
      {
        ...called('behind a shell', 'stubborn', SPOKEN),
        ...settings({
          command: '/bin/sh',
          args: [
            '-c',
            `"$0" "$@"; exit 0`,
            ...Object.values(fixtureServer('hostile-mcp-server.mjs', 'stubborn')).flat(),
          ],
          env: { GMN_RIG: '$GMN_RIG' },
        }),
      },
    ],
    ['test/mcp/client/hostile.test.ts', 'a server that ignores every request to end is killed with its children'],
  ),
  row(
    'M15',
    'command not found / not executable / is a directory / cwd missing',
    [
      unstartable('not found', { command: 'no-such-program' }, /There is no program no-such-program/),
      unstartable('a directory', { command: '/' }, /\/ may not be run/),
      unstartable(
        'no such directory to start in',
        { command: process.execPath, cwd: '/no/such' },
        /no directory \/no\/such/,
      ),
      {
        ...unstartable('not executable', { command: './plain' }, /may not be run/),
        play(scene) {
          mkdirSync(join(scene.cwd, 'plain'));
          return scene.run();
        },
      },
    ],
    ['test/mcp/client/transport/stdio.test.ts', 'what cannot be started says why: %j'],
  ),
];
