import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { call, chunk, finish } from '../../support/gemini.ts';
import { GMN, isStandalone } from '../../support/gmn.ts';
import { fifo } from '../../support/posix.ts';
import { COMMAND, type Fault, row } from '../fault.ts';
import type { Scene } from '../scene.ts';
import { events, gated, refusal, reply } from '../wire-answers.ts';

const HELLO = { code: 0, text: 'Hello.' } as const;
const calls = (...parts: readonly object[]) => events(chunk(parts), finish());

const sessionsIn = ({ gmnHome }: Scene): number =>
  readdirSync(join(gmnHome, 'sessions')).filter((name) => name.endsWith('.jsonl')).length;

function checkFile({ cwd, problem }: Scene, content: string): void {
  const there = readFileSync(join(cwd, 'a.txt'), 'utf8');
  if (there !== content) problem('lost', `a.txt is ${JSON.stringify(there)}`);
}

const CROWD = 'test/auth/crowd.test.ts';

/** The rows C1 to C12: several at once. */
export const CONCURRENCY: readonly Fault[] = [
  row(
    'C1',
    '100 processes, expired token, rotating refresh tokens',
    [],
    [CROWD, 'many processes with an expired token make one grant, and all get it'],
  ),
  row(
    'C2',
    'same + a simulated official CLI writing by truncation 900×/s',
    [],
    [CROWD, 'the same while another program empties and rewrites the file, and the server %s'],
  ),
  row(
    'C3',
    'lock holder hangs (SIGSTOP)',
    [],
    [CROWD, 'the others go on when the process that was refreshing gets a %s'],
  ),
  row(
    'C4',
    'two chats started in the same millisecond',
    [
      {
        name: 'eight at once',
        ways: COMMAND,
        stdin: 'hello\n',
        model: Array.from({ length: 8 }, () => reply('Hello.')),
        play: async (scene) => {
          const runs = await Promise.all(Array.from({ length: 8 }, () => scene.run(['chat'])));
          if (sessionsIn(scene) !== 8) scene.problem('lost', `${sessionsIn(scene)} sessions`);
          return runs.find(({ code }) => code !== 0) ?? runs[0];
        },
        expect: HELLO,
      },
    ],
    ['test/session/open-session.test.ts', '50 sessions begun at the same moment are 50 files'],
  ),
  row(
    'C5',
    'two chats resume the same session',
    [],
    ['test/cli/chat-crash.test.ts', 'a second chat on an open session continues a copy, and neither loses anything'],
  ),
  row(
    'C6',
    'chat saving while gmn sessions/-r last lists',
    [5, 25].map((times) => ({
      name: `${times} lists`,
      ways: COMMAND,
      model: [reply('Hello.')],
      isEndless: true,
      withinMs: 300_000,
      play: async (scene) => {
        const chat = scene.start(['chat'], { stdin: 'open' });
        const talk = (): void => chat.write('hello\n'.repeat(3));
        talk();
        await chat.until(/Hello\.\n/);
        for (let count = 0; count < times; count += 1) {
          talk();
          const { code, stdout, stderr } = await scene.run(['sessions', 'list', '--json']);
          const { sessions = [] }: { sessions?: unknown[] } = code === 0 ? JSON.parse(stdout) : {};
          if (sessions.length !== 1) scene.problem('other', `${code} ${stdout} ${stderr}`);
        }
        chat.endInput();
        return chat.ended;
      },
      expect: { code: 0 },
    })),
  ),
  row(
    'C7',
    '8 writers append to one file anyway',
    [],
    [
      'test/session/open-session.test.ts',
      '8 who resume one session at once write 8 files, and every word is in one of them',
    ],
    [
      'test/session/open-session.test.ts',
      'a session that somebody else writes to all the same is left to them, with its name',
    ],
  ),
  row(
    'C8',
    'two gmn update user config / trust at once',
    [
      {
        name: 'six servers and six folders',
        ways: COMMAND,
        leaves: ['gemini'],
        play: async (scene) => {
          const names = Array.from({ length: 6 }, (_, index) => `s${index}`);
          const folders = names.map((name) => join(scene.cwd, name));
          for (const folder of folders) mkdirSync(folder);
          const runs = await Promise.all([
            ...names.map((name) => scene.run(['mcp', 'add', name, 'true'])),
            ...folders.map((folder) => scene.run(['trust', folder])),
          ]);
          const settings = readFileSync(join(scene.home, '.gemini', 'settings.json'), 'utf8');
          const trusted = readFileSync(join(scene.gmnHome, 'trust.json'), 'utf8');
          for (const name of names) if (!settings.includes(`"${name}"`)) scene.problem('lost', `the server ${name}`);
          for (const folder of folders) if (!trusted.includes(folder)) scene.problem('lost', `the folder ${folder}`);
          return runs.find(({ code }) => code !== 0) ?? runs[0];
        },
        expect: { code: 0 },
      },
    ],
    ['test/cli/mcp-edit-crowd.test.ts', 'many processes add a server each, and none is lost'],
  ),
  row(
    'C9',
    'model edits a file the user is editing',
    (
      [
        ['write_file', { file_path: 'a.txt', content: 'the model’s' }],
        ['edit_file', { file_path: 'a.txt', old_string: 'first', new_string: 'the model’s' }],
      ] as const
    ).map(([name, args]) => ({
      name,
      files: { 'a.txt': 'first\n' },
      args: ['--yolo', '--tools', 'edit', 'hello'],
      model: [
        calls(call('read_file', { file_path: 'a.txt' })),
        gated('typed', calls(call(name, args))),
        reply('Hello.'),
      ],
      play: async (scene) => {
        const gmn = scene.launch();
        await scene.server.seen('model', 2);
        writeFileSync(join(scene.cwd, 'a.txt'), 'first, and what the person typed\n');
        scene.server.open('typed');
        return gmn.ended;
      },
      expect: HELLO,
      check: (scene) => checkFile(scene, 'first, and what the person typed\n'),
    })),
  ),
  row('C10', 'parallel tool calls write the same file', [
    {
      name: 'one writes, the next edits what it wrote',
      args: ['--yolo', '--tools', 'edit', 'hello'],
      model: [
        calls(
          call('write_file', { file_path: 'a.txt', content: 'one\n' }),
          call('edit_file', { file_path: 'a.txt', old_string: 'one', new_string: 'two' }),
        ),
        reply('Hello.'),
      ],
      expect: HELLO,
      check: (scene) => checkFile(scene, 'two\n'),
    },
  ]),
  row('C11', 'MCP server process used by two gmn', [
    {
      name: 'each has its own',
      ways: COMMAND,
      leaves: ['gemini'],
      play: async (scene) => {
        const program = join(scene.root, 'server.cjs');
        writeFileSync(program, OWN_PID);
        const server = { command: process.execPath, args: [program], env: Object.fromEntries([scene.marker]) };
        writeFileSync(join(scene.home, '.gemini', 'settings.json'), JSON.stringify({ mcpServers: { pid: server } }));
        const runs = await Promise.all([1, 2, 3].map(() => scene.run(['mcp', 'call', 'pid', 'pid'])));
        if (new Set(runs.map(({ stdout }) => stdout)).size !== 3) scene.problem('other', 'a server was shared');
        return runs.find(({ code }) => code !== 0) ?? runs[0];
      },
      expect: { code: 0 },
    },
  ]),
  row('C12', 'upgrade while running (binary replaced)', [
    {
      name: 'in the middle of a chat',
      ways: COMMAND,
      skip: () => (isStandalone ? 'an executable is one file' : undefined),
      model: [reply('One.'), refusal(503, 'UNAVAILABLE'), calls(call('glob', { pattern: '*' })), reply('Two.')],
      play: async (scene) => {
        const copy = join(scene.root, 'package');
        for (const part of ['bin', 'dist']) cpSync(join(GMN, '..', '..', part), join(copy, part), { recursive: true });
        const last = join(copy, 'dist', 'zzz.js');
        fifo(last);
        const chat = scene.start(['chat'], { stdin: 'open', program: join(copy, 'bin', 'gmn.js') });
        chat.write('one\n');
        // It opens when what a long run keeps has been read up to there.
        await writeFile(last, '');
        await chat.until(/One\./);
        rmSync(copy, { recursive: true });
        chat.write('two\n/stats\n/export out.md\n/sessions\n');
        chat.endInput();
        return chat.ended;
      },
      expect: { code: 0, text: 'One.\nTwo.' },
      check: ({ cwd, problem }) => {
        if (!existsSync(join(cwd, 'out.md'))) problem('lost', 'nothing was exported');
      },
    },
  ]),
];

/** A server whose one tool says which process it is. */
const OWN_PID = `
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  const results = {
    initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'pid', version: '1' } },
    'tools/list': { tools: [{ name: 'pid', inputSchema: { type: 'object' } }] },
    'tools/call': { content: [{ type: 'text', text: String(process.pid) }] },
  };
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] ?? {} }));
});`;
