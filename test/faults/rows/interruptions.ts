import { type Fault, IN_PIPES, ON_TERMINALS, PLAIN_PIPE, row, type Variant, type Way } from '../fault.ts';
import { blackHole } from '../injections.ts';
import type { Scene } from '../scene.ts';
import type { Ended } from '../started.ts';
import { begun, steps } from '../wire-answers.ts';

const CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
type Ending = keyof typeof CODES;

const SHOWING: readonly Way[] = [...IN_PIPES, ...ON_TERMINALS].filter(({ format }) => format !== 'json');
const HELD = steps({ end: 'hold' });

/** A signal at each stage of a one-shot that can be seen from outside. */
function stopped(signal: Ending): readonly Variant[] {
  const expect = { code: CODES[signal] };
  return [
    {
      name: `${signal} while streaming`,
      ways: SHOWING,
      model: [begun(['Once'], { end: 'hold' })],
      play: async (scene) => {
        const gmn = scene.launch();
        await gmn.until(/Once/);
        return stop(scene, gmn, signal);
      },
      expect: { ...expect, text: 'Once' },
    },
    {
      name: `${signal} before the first byte`,
      model: [HELD],
      play: async (scene) => stop(scene, scene.launch(), signal),
      expect: { ...expect, text: '' },
    },
    {
      name: `${signal} at the token server`,
      signIn: 'stale',
      token: [HELD],
      play: async (scene) => {
        const gmn = scene.launch();
        await scene.server.seen('token');
        gmn.signal(signal);
        return gmn.ended;
      },
      expect: { ...expect, text: '' },
    },
    {
      name: `${signal} while connecting`,
      ways: PLAIN_PIPE,
      play: async (scene) => {
        const url = `http://127.0.0.1:${await blackHole(scene)}`;
        const gmn = scene.launch(['--debug', 'hello'], { env: { GOOGLE_GEMINI_BASE_URL: url } });
        await gmn.until(/POST/);
        gmn.signal(signal);
        return gmn.ended;
      },
      expect: { ...expect, text: '' },
    },
    {
      name: `${signal} while waiting for stdin`,
      ways: PLAIN_PIPE,
      env: { GMN_STDIN_WAIT: '60s' },
      play: async (scene) => {
        const gmn = scene.launch(undefined, { stdin: 'open' });
        await gmn.until(/stdin/);
        gmn.signal(signal);
        return gmn.ended;
      },
      expect: { ...expect, text: '' },
    },
  ];
}

/** The server must see it leave. */
async function stop(scene: Scene, gmn: ReturnType<Scene['launch']>, signal: Ending): Promise<Ended> {
  const { closed } = await scene.server.seen('model');
  gmn.signal(signal);
  const ended = await gmn.ended;
  await closed;
  return ended;
}

/** The rows P1 and P2: a signal in the middle of a one-shot. */
export const INTERRUPTIONS: readonly Fault[] = [
  row('P1', 'SIGINT in a–g, one-shot', stopped('SIGINT')),
  row('P2', 'SIGTERM, SIGHUP in a–g', [...stopped('SIGTERM'), ...stopped('SIGHUP')]),
];
