import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { call, chunk, finish } from '../../support/gemini.ts';
import { COMMAND_ON_TERMINAL, type Fault, IN_PIPES, ON_TERMINALS, PLAIN_PIPE, row, type Variant } from '../fault.ts';
import type { Scene } from '../scene.ts';
import { begun, events, gated, reply } from '../wire-answers.ts';

const HELLO = { code: 0, text: 'Hello.' } as const;
const LONG = `${'0123456789abcdef'.repeat(4096)}\n`.repeat(48);

/** A module that throws what nobody catches when SIGUSR2 comes, for NODE_OPTIONS. */
function crashing({ root }: Scene, how: string): string {
  const path = join(root, 'crash.cjs');
  writeFileSync(path, `process.on('SIGUSR2', () => { ${how} });\n`);
  return `--require=${path}`;
}

function crashed(name: string, how: string): Variant {
  return {
    name,
    ways: [...IN_PIPES, ...ON_TERMINALS].filter(({ format }) => format !== 'json'),
    model: [begun(['Once'], { end: 'hold' })],
    play: async (scene) => {
      const gmn = scene.launch(undefined, { env: { NODE_OPTIONS: crashing(scene, how) } });
      await gmn.until(/Once/);
      gmn.signal('SIGUSR2');
      return gmn.ended;
    },
    expect: { code: 1, says: /boom[\s\S]*report/, text: 'Once' },
  };
}

const hasStrace = spawnSync('strace', ['-o', '/dev/null', 'true']).status === 0;
const needsStrace = (): string | undefined => (hasStrace ? undefined : 'strace is not installed, or may not trace');
const NO_FORK = ['strace', '-f', '-qq', '-o', '/dev/null', '-e', 'trace=clone,fork,vfork', '-e'];

const jump = ({ root }: Scene): string => {
  const path = join(root, 'jump.cjs');
  const source =
    'const now = Date.now; let by = 0; Date.now = () => now() + by; process.on("SIGUSR2", () => { by = 8 * 3600e3; });';
  writeFileSync(path, source);
  return `--require=${path}`;
};

/** The rows P12 to P24: what a run finds around it. */
export const SURROUNDINGS: readonly Fault[] = [
  row(
    'P12',
    'stdout pipe full for 10 min (reader sleeps)',
    [],
    ['test/cli/stubborn.test.ts', 'does not keep gmn from ending on one $signal'],
  ),
  row('P13', '> 64 KiB json on a pipe', [
    { name: '3 MB', ways: IN_PIPES, model: [reply(LONG)], expect: { code: 0, text: LONG } },
  ]),
  row(
    'P14',
    'SIGTSTP / SIGCONT at g and l',
    [],
    ['test/chat/terminal.test.ts', 'Ctrl+Z gives the terminal back, and fg takes it again with the line as it was'],
    [
      'test/cli/chat-keys.test.ts',
      'Ctrl+Z where nobody could bring the chat back changes nothing, at a question neither',
    ],
    ['test/cli/suspend.test.ts', 'Ctrl+Z in the answer of $what leaves each text once, and the terminal as it was'],
  ),
  row(
    'P15',
    'SIGWINCH storm',
    [],
    ['test/cli/chat-keys.test.ts', 'a thousand resizes leave one prompt, and the chat works on'],
  ),
  row(
    'P16',
    'terminal disappears (SSH drop)',
    [
      { name: 'at the prompt', words: '', seen: /❯/ },
      { name: 'in an answer', words: 'go\r', seen: /Once/ },
    ].map(({ name, words, seen }) => ({
      name,
      isAlone: true,
      ways: COMMAND_ON_TERMINAL,
      model: [begun(['Once'], { end: 'hold' })],
      isEndless: true,
      play: async (scene) => {
        const run = scene.start(['chat']);
        await run.until(/❯/);
        run.write(words);
        await run.until(seen);
        run.hangUp();
        return run.ended;
      },
      expect: { code: null },
    })),
  ),
  row(
    'P17',
    'TTY left usable after every exit path',
    (
      [
        ['/exit', 0, '/exit\r'],
        ['Ctrl+D', 0, '\x04'],
        ['Ctrl+C', 130, '\x03'],
        ['SIGTERM', 143, 'SIGTERM'],
        ['SIGHUP', 129, 'SIGHUP'],
        ['SIGINT twice', 130, 'SIGINT'],
      ] as const
    ).map(([name, code, how]) => ({
      name,
      ways: COMMAND_ON_TERMINAL,
      play: async (scene) => {
        const run = scene.start(['chat']);
        await run.until(/❯/);
        if (how === 'SIGTERM' || how === 'SIGHUP' || how === 'SIGINT') run.signal(how);
        else run.write(how);
        return run.ended;
      },
      expect: { code },
    })),
  ),
  row('P18', 'uncaught exception / unhandled rejection', [
    crashed('an exception', "throw new Error('boom')"),
    crashed('a rejection', "Promise.reject(new Error('boom'))"),
  ]),
  row('P19', 'out of memory', [
    {
      name: 'a file of 25 MB in a heap of 64 MB',
      files: { 'big.txt': 'word '.repeat(5_000_000) },
      args: ['-f', 'big.txt', 'hello'],
      // With an API key it would be uploaded.
      signIn: 'fresh',
      play: (scene) => scene.run(undefined, { env: { NODE_OPTIONS: '--max-old-space-size=64' } }),
      expect: { code: 1, says: /20 MB/, text: '' },
    },
    {
      name: 'a file of 100 MB read by a tool in a heap of 64 MB',
      files: { 'big.txt': 'word '.repeat(20_000_000) },
      args: ['--tools', 'read', 'hello'],
      model: [
        events(chunk([call('read_file', { file_path: 'big.txt' })]), finish()),
        events(chunk([call('search_file_content', { pattern: 'nothing' })]), finish()),
        reply('Hello.'),
      ],
      ways: PLAIN_PIPE,
      memoryMb: 300,
      play: (scene) => scene.run(undefined, { env: { NODE_OPTIONS: '--max-old-space-size=64' } }),
      expect: HELLO,
    },
  ]),
  row(
    'P20',
    'fork failure (EAGAIN)',
    [
      {
        name: 'a command of the model',
        ways: PLAIN_PIPE,
        skip: needsStrace,
        args: ['--yolo', '--tools', 'run_shell_command', 'hello'],
        model: [events(chunk([call('run_shell_command', { command: 'echo hi' })]), finish()), reply('Hello.')],
        play: (scene) => scene.run(undefined, { under: [...NO_FORK, 'inject=clone,fork,vfork:error=EAGAIN'] }),
        expect: HELLO,
        check: ({ server, problem }) => {
          const body = server.asked('model')[1]?.body ?? '';
          if (!/"error":"[^"]*(?:EAGAIN|again|start)/i.test(body)) problem('other', `the model is not told: ${body}`);
        },
      },
    ],
    ['test/tools/shell.test.ts', 'a command that cannot be started is an error for the model'],
  ),
  row(
    'P21',
    'shell child: ignores SIGTERM, daemonises (setsid), forks 200, writes 1 GB, waits on stdin, changes tty modes',
    [],
    ['test/tools/shell.test.ts', 'a command that ignores TERM is killed when its time is up'],
    ['test/tools/shell.test.ts', 'two hundred forks end with their command, and are reported'],
    ['test/tools/shell.test.ts', 'a process that left the session is found by its marker, stopped and reported'],
    ['test/tools/shell.test.ts', 'of a hundred megabytes the model gets the beginning and the end'],
    ['test/tools/shell.test.ts', 'a silent command that timed out is reported as waiting for input'],
  ),
  row('P22', 'cwd deleted while running', [
    {
      name: 'before a call of the model',
      args: ['--yolo', '--tools', 'edit', 'hello'],
      model: [
        gated(
          'gone',
          events(
            chunk([
              call('list_directory', { path: '.' }),
              call('write_file', { file_path: 'a.txt', content: 'x' }),
              call('glob', { pattern: '*' }),
            ]),
            finish(),
          ),
        ),
        reply('Hello.'),
      ],
      play: async (scene) => {
        const cwd = join(scene.cwd, 'below');
        mkdirSync(cwd);
        const gmn = scene.launch(undefined, { cwd });
        await scene.server.seen('model');
        rmSync(cwd, { recursive: true });
        scene.server.open('gone');
        return gmn.ended;
      },
      expect: HELLO,
    },
  ]),
  row('P23', 'TERM=dumb, no TERM, 1-column window, NO_COLOR, CI=1', [
    ...Object.entries<Record<string, string>>({
      'TERM=dumb': { TERM: 'dumb' },
      NO_COLOR: { NO_COLOR: '1' },
      'CI=1': { CI: '1' },
      'no TERM': { TERM: '' },
    }).map(
      ([name, env]): Variant => ({
        name,
        env,
        ways: [{ format: 'text', surface: 'terminal' }],
        model: [reply('**Hello.**')],
        expect: { code: 0, text: 'Hello.' },
        check: ({ started, problem }) => {
          const isPlain = name === 'TERM=dumb' || name === 'NO_COLOR';
          const colour = name === 'NO_COLOR' ? /\u001b\[[\d;]*m/ : /\u001b/;
          for (const run of started) if (isPlain && colour.test(run.output())) problem('terminal', run.output());
        },
      }),
    ),
    {
      name: 'one column',
      ways: [{ format: 'text', surface: 'terminal' }],
      model: [reply('Hello.')],
      play: (scene) => scene.run(undefined, { columns: 1 }),
      expect: { code: 0, text: 'Hello.' },
    },
    {
      name: 'no escape in a pipe',
      ways: PLAIN_PIPE,
      model: [reply('# Hello\n\n`code`')],
      expect: { code: 0, text: '# Hello\n\n`code`' },
    },
  ]),
  row(
    'P24',
    'suspended laptop (clock jump +8 h mid-stream)',
    [
      { name: 'and then silence', open: false },
      { name: 'and then the rest', open: true },
    ].map(({ name, open }) => ({
      name,
      ways: PLAIN_PIPE,
      env: { GMN_IDLE_TIMEOUT: open ? '1m' : '1s' },
      model: [
        {
          steps: (request) => [
            ...begun(['Hel'], { gate: 'awake' }).steps(request),
            ...[...events(finish('STOP', [{ text: 'lo.' }])).steps(request)].slice(1),
          ],
        },
      ],
      play: async (scene) => {
        const gmn = scene.launch(undefined, { env: { NODE_OPTIONS: jump(scene) } });
        await gmn.until(/Hel/);
        gmn.signal('SIGUSR2');
        if (open) scene.server.open('awake');
        return gmn.ended;
      },
      expect: open ? HELLO : { code: 3, says: /sent nothing for 1 s/, text: 'Hel' },
    })),
  ),
];
