import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { COMMAND, type Fault, row, type Variant } from '../fault.ts';
import { copied, needsMounts, onSmallDisk } from '../poor-disks.ts';
import type { Scene } from '../scene.ts';
import { reply } from '../wire-answers.ts';

const SERVE = { ways: COMMAND, args: ['mcp', 'serve'] } as const satisfies Partial<Variant>;

function ask(id: number, method: string, params: object = {}): string {
  return `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`;
}

const GREETING = ask(1, 'initialize');

/** Every line of stdout, each of which must be a message. */
async function messages({ started }: Scene): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const [run] = await Promise.all(started.map(({ ended }) => ended));
  return (run?.stdout ?? '')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

const GARBAGE = [
  'nonsense',
  '{"jsonrpc":"2.0","id":10,"method":"no/such"}',
  '{"jsonrpc":"2.0","id":11,"method":7}',
  '{"jsonrpc":"1.0","id":12}',
  '[]',
  '{"jsonrpc":"2.0","id":13,"method":"tools/call","params":[]}',
  '\u0000\u001b[2J',
  'x'.repeat(200_000),
].join('\n');

/** The rows V1 to V10. */
export const MCP_SERVER: readonly Fault[] = [
  row(
    'V1',
    'client sends garbage, 20 MB line, batch, unknown method, wrong types, initialize twice, requests before initialize',
    [
      {
        ...SERVE,
        name: 'all of it, and then a proper question',
        stdin: `${GARBAGE}\n${GREETING}${ask(2, 'initialize')}${ask(3, 'tools/list')}`,
        expect: { code: 0 },
        async check(scene) {
          const all = await messages(scene);
          expect(all.find(({ id }) => id === 3)).toHaveProperty('result.tools');
          const codes = all.flatMap(({ error }) => (error === undefined ? [] : [Reflect.get(Object(error), 'code')]));
          expect(codes.filter((code) => ![-32_700, -32_600, -32_601, -32_602].includes(code))).toEqual([]);
          expect(codes.length).toBeGreaterThanOrEqual(5);
        },
      },
    ],
    [
      'test/mcp/server/protocol/protocol.test.ts',
      'protocol errors have the codes of JSON-RPC, and the server keeps running',
    ],
    [
      'test/mcp/server/protocol/protocol.test.ts',
      'an invalid JSON-RPC message gets an error, and the server keeps running',
    ],
    [
      'test/mcp/server/protocol/protocol.test.ts',
      'a line longer than any message is refused, and the next one is read',
    ],
    ['test/mcp/server/protocol/protocol.test.ts', 'requests before initialize, and a second initialize, do no harm'],
  ),
  row(
    'V2',
    'client closes stdin with jobs running',
    [],
    [
      'test/mcp/server/tools/delegate.test.ts',
      'a client that leaves ends its jobs as INTERRUPTED, and closes their connections',
    ],
    ['test/mcp/server/children.test.ts', 'a client that leaves ends the commands of its calls'],
  ),
  row(
    'V3',
    'server killed -9 with 10 running jobs',
    [],
    [
      'test/mcp/server/tools/delegate.test.ts',
      'after kill -9 the ten running jobs are failed with their output so far, and the others unchanged',
    ],
  ),
  row(
    'V4',
    'result asked before done / twice / after 24 h / after restart / unknown id',
    [],
    [
      'test/mcp/server/tools/delegate.test.ts',
      'an async delegation returns at once; its output, partial while it runs, is one call away',
    ],
    ['test/mcp/server/tools/delegate.test.ts', 'every failure has its code'],
    ['test/mcp/server/jobs/runner.test.ts', 'ended jobs are removed when they are old or too many; running ones never'],
  ),
  row(
    'V5',
    'cancel queued / running / finished / twice',
    [],
    ['test/mcp/server/cancel.test.ts', 'cancelling closes the connection to the model, and can be done twice'],
    ['test/mcp/server/children.test.ts', 'cancelling a job ends the commands it runs'],
  ),
  row(
    'V6',
    'timeout_ms reached',
    [],
    ['test/mcp/server/cancel.test.ts', 'a timeout is enforced, and keeps the output so far'],
  ),
  row(
    'V7',
    'client stops reading stdout',
    [],
    [
      'test/mcp/server/protocol/protocol.test.ts',
      'a client that does not read its responses is not read from, and memory stays flat',
    ],
  ),
  row(
    'V8',
    'two jobs on the same session id',
    [],
    ['test/mcp/server/tools/delegate.test.ts', 'two jobs of one session run one after the other'],
  ),
  row(
    'V9',
    'disk full while storing output',
    [
      {
        ...SERVE,
        name: 'no room for a job',
        skip: needsMounts,
        model: [reply('Hello.')],
        async play(scene) {
          const limits = 'size=4k,nr_inodes=1';
          const run = scene.launch(undefined, {
            stdin: 'open',
            under: onSmallDisk(scene, { directory: join(scene.gmnHome, 'jobs'), limits }),
          });
          run.write(GREETING + ask(2, 'tools/call', { name: 'delegate', arguments: { prompt: 'x' } }));
          await run.until(/"id":2/);
          run.endInput();
          return run.ended;
        },
        expect: { code: 0 },
        async check(scene) {
          const answer = (await messages(scene)).find(({ id }) => id === 2);
          expect(answer).toMatchObject({ result: { structuredContent: { status: 'completed', output: 'Hello.' } } });
          expect(readdirSync(copied(scene))).toEqual([]);
        },
      },
    ],
    ['test/mcp/server/jobs/runner.test.ts', 'a full disk costs no answer'],
  ),
  row(
    'V10',
    'parent dies (reparented to 1)',
    [
      {
        ...SERVE,
        name: 'while somebody else holds the pipe',
        withinMs: 15_000,
        async play(scene) {
          const under = ['sh', '-c', 'exec 3<&0; "$@" <&3 & wait', 'sh'];
          const run = scene.launch(undefined, { stdin: 'open', under });
          run.write(GREETING);
          await run.until(/"id":1/);
          process.kill(run.pid, 'SIGKILL');
          return run.ended;
        },
        expect: { code: null },
      },
    ],
    ['test/mcp/server/protocol/protocol.test.ts', 'the end of stdin ends the process at once'],
  ),
];
