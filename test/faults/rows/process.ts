import { call, chunk, sse } from '../../support/gemini.ts';
import {
  COMMAND,
  COMMAND_ON_TERMINAL,
  type Fault,
  IN_PIPES,
  ON_TERMINALS,
  PLAIN_PIPE,
  row,
  type Variant,
  type Way,
} from '../fault.ts';
import type { Scene } from '../scene.ts';
import type { Ended } from '../started.ts';
import { answer, begun, CHUNKED_HEAD, chunked, reply, steps } from '../wire-answers.ts';
import type { Step } from '../wire-server.ts';

const SHOWING: readonly Way[] = [...IN_PIPES, ...ON_TERMINALS].filter(({ format }) => format !== 'json');
const HELD = steps({ end: 'hold' });
const CODES = { SIGINT: 130, SIGTERM: 143 } as const;

/** A chat on a terminal, up to its first prompt. */
async function chat(scene: Scene, args: readonly string[] = []): Promise<ReturnType<Scene['start']>> {
  const run = scene.start(['chat', ...args]);
  await run.until(/❯/);
  return run;
}

const CALL = (command: string): object => call('run_shell_command', { command });

/** Ctrl+C in the middle of something; then the chat goes on. */
function cancelled(name: string, variant: Pick<Variant, 'model'>, args: readonly string[], seen: RegExp): Variant {
  return {
    ...variant,
    name,
    ways: COMMAND_ON_TERMINAL,
    play: async (scene) => {
      const run = await chat(scene, args);
      run.write('go\r');
      await run.until(seen);
      run.write('\x03');
      await run.until(/(?:⏹|stopped before)[\s\S]*❯/);
      run.write('again\r');
      await run.until(/Still here\.[\s\S]*❯/);
      run.write('/exit\r');
      return run.ended;
    },
    expect: { code: 0 },
  };
}

/** A way to leave a chat that waits for an entry. */
function left(name: string, code: number, leave: (run: ReturnType<Scene['start']>) => void): Variant {
  return {
    name,
    ways: COMMAND_ON_TERMINAL,
    play: async (scene) => {
      const run = await chat(scene);
      leave(run);
      return run.ended;
    },
    expect: { code },
  };
}

const endless = function* (): Generator<Step> {
  const event = chunked(sse(chunk([{ text: 'line\n'.repeat(200) }])));
  yield { send: CHUNKED_HEAD };
  for (;;) yield { send: event };
};

const closed = (redirection: string): readonly string[] => ['sh', '-c', `exec "$@" ${redirection}`, 'sh'];

/** The rows P3 to P11: signals in a chat, and streams that go away. */
export const PROCESS: readonly Fault[] = [
  row(
    'P3',
    'SIGINT in chat, g/h/i/j',
    [
      cancelled('in an answer', { model: [begun(['Once'], { end: 'hold' }), reply('Still here.')] }, [], /Once/),
      cancelled(
        'in a command',
        { model: [reply(CALL('echo under way; sleep 1000')), reply('Still here.')] },
        ['--yolo', '--tools', 'run_shell_command'],
        /run_shell_command echo under way; sleep 1000 · \d/,
      ),
      cancelled(
        'at a question',
        { model: [reply(CALL('true')), reply('Still here.')] },
        ['--tools', 'run_shell_command'],
        /\[y\]|yes/,
      ),
    ],
    ['test/cli/chat-history.test.ts', 'after a turn that was cancelled in a tool the call has its answer'],
  ),
  row(
    'P4',
    'SIGINT at l',
    [left('Ctrl+C at the prompt', 130, (run) => run.write('\x03'))],
    [
      'test/cli/chat-terminal.test.ts',
      'Ctrl+C clears a line that has text, and leaves with 130 and statistics where it has none',
    ],
  ),
  row('P5', 'two SIGINT within 1 s in any phase', [
    {
      name: 'in an answer of a chat',
      ways: COMMAND_ON_TERMINAL,
      model: [begun(['Once'], { end: 'hold' })],
      play: async (scene) => {
        const run = await chat(scene);
        run.write('go\r');
        await run.until(/Once/);
        run.write('\x03\x03');
        return run.ended;
      },
      expect: { code: 130 },
    },
    {
      name: 'in an answer of a one-shot',
      ways: SHOWING,
      model: [begun(['Once'], { end: 'hold' })],
      play: async (scene) => {
        const gmn = scene.launch();
        await gmn.until(/Once/);
        gmn.signal('SIGINT');
        gmn.signal('SIGINT');
        return gmn.ended;
      },
      expect: { code: 130 },
    },
  ]),
  row(
    'P6',
    'SIGINT/SIGTERM at k, m',
    (['SIGTERM', 'SIGINT'] as const).map((signal) => ({
      name: `${signal} after each answer of a chat`,
      ways: COMMAND,
      model: ['1', '2', '3', '4'].map((text) => reply(text)),
      isEndless: true,
      play: async (scene) => {
        let last: Ended | undefined;
        for (const answers of [1, 2, 3]) {
          const run = scene.start(['chat'], { stdin: 'open' });
          run.write('go\n'.repeat(answers));
          await run.until(new RegExp(`(?:\\d\\n){${answers}}`));
          run.signal(signal);
          last = await run.ended;
        }
        return last;
      },
      expect: { code: CODES[signal] },
    })),
  ),
  row(
    'P7',
    'kill -9 at 200 random instants of a 20-turn chat',
    [], // biome-ignore lint/suspicious/noTemplateCurlyInString: it stands so in its source
    ['test/faults/kill.test.ts', 'kill -9 at ${DEATHS} moments of a chat with tools loses no acknowledged turn'],
  ),
  row(
    'P8',
    'kill -9 at each storage system call',
    [],
    ['test/faults/kill.test.ts', 'kill -9 at a storage call of a chat with tools loses no acknowledged turn'],
  ),
  row(
    'P9',
    'kill -9 while holding the refresh lock',
    [
      {
        name: 'the next one takes over',
        signIn: 'stale',
        token: [HELD, answer(200, JSON.stringify({ access_token: 'ya29.not-a-canary', expires_in: 3599 }))],
        model: [reply('Hello.')],
        play: async (scene) => {
          const first = scene.launch();
          await scene.server.seen('token');
          first.signal('SIGKILL');
          await first.ended;
          return scene.run();
        },
        expect: { code: 0, text: 'Hello.' },
      },
    ],
    ['test/auth/crowd.test.ts', 'the others go on when the process that was refreshing gets a %s'],
  ),
  row(
    'P10',
    'stdout reader goes away (| head -1)',
    [
      {
        name: 'in the middle of an endless answer',
        ways: IN_PIPES.filter(({ format }) => format === 'text'),
        model: [{ steps: endless }],
        play: async (scene) => {
          const gmn = scene.launch();
          await gmn.until(/line/);
          gmn.stopReading();
          return gmn.ended;
        },
        expect: { code: 0 },
        check: async ({ started, problem }) => {
          for (const run of started) if ((await run.ended).stderr !== '') problem('noise', (await run.ended).stderr);
        },
      },
    ],
    ['test/cli/chat.test.ts', 'a reader that goes away ends the chat quietly, and what was said is saved'],
  ),
  row(
    'P11',
    'stderr closed, stdin closed (<&-, 2>&-, >&-)',
    (
      [
        ['2>&-', 0, [reply('Hello.')]],
        ['<&-', 0, [reply('Hello.')]],
        // Node itself puts /dev/null there, so that nobody can tell.
        ['>&-', 0, undefined],
        ['<&- 2>&-', 0, [reply('Hello.')]],
      ] as const
    ).map(([redirection, code, model = [reply('Hello.')]]) => ({
      name: redirection,
      ways: PLAIN_PIPE,
      model,
      isEndless: true,
      play: (scene) => scene.run(undefined, { under: closed(redirection) }),
      expect: { code },
    })),
  ),
];
