import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { gmnCommand, isStandalone, place } from '../support/gmn.ts';
import { type TalkativeGemini, talkativeGemini } from './talk.ts';

/** How many deaths to try: a few in every test run, all of them with `npm run test:faults`. */
const DEATHS = Number(process.env.GMN_DEATHS ?? 7);
const TURNS = 12;
/** How far into what follows an event a death may fall, in rounds of the event loop of this process. */
const ROUNDS = 60;

interface Life {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** The numbers of the turns whose answer was on stdout, newline and all, when the process ended. */
  readonly acknowledged: readonly number[];
  readonly signal: NodeJS.Signals | null;
}

/** A chat of many turns, each with a call, through a pipe: the next prompt is typed when the last is answered. */
async function live(
  setting: ReturnType<typeof place>,
  program: readonly string[],
  onLine: (kill: () => void) => void = () => {},
): Promise<Life> {
  const { cwd, env } = setting;
  const [file = '', ...args] = program;
  const child = spawn(file, args, { cwd, env, stdio: ['pipe', 'pipe', 'ignore'], detached: true });
  const kill = (): void => void (child.exitCode === null && child.signalCode === null && child.kill('SIGKILL'));
  child.stdin.on('error', () => {});
  const acknowledged: number[] = [];
  child.stdin.write('prompt 0\n');
  onLine(kill);
  let rest = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    // What has no newline yet may be half an answer.
    const lines = `${rest}${text}`.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      acknowledged.push(Number(/^answer (\d+)\.$/.exec(line)?.[1]));
      onLine(kill);
      if (acknowledged.length < TURNS) child.stdin.write(`prompt ${acknowledged.length}\n`);
      else child.stdin.end();
    }
  });
  const [, signal] = await once(child, 'close');
  return { cwd, env, acknowledged, signal };
}

/** What the next process makes of what is left: every acknowledged turn is sent, and the API takes it. */
async function expectNothingLost({ cwd, env, acknowledged }: Life, gemini: TalkativeGemini): Promise<void> {
  const child = spawn(...gmnCommand(['-r', 'last', '-o', 'json', '--tools', 'read', 'prompt 39']), {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => output.push(data));
  const [exitCode] = await once(child, 'close');
  const text = Buffer.concat(output).toString('utf8');
  if (acknowledged.length === 0 && exitCode === 1) {
    expect(text).toContain('there is no saved session yet');
    return;
  }
  expect(`${exitCode} ${gemini.refusals}`, text).toBe('0 ');
  const missing = acknowledged.filter(
    (number) => !gemini.heard().includes(`prompt ${number}`) || !gemini.heard().join('|').includes(`answer ${number}`),
  );
  expect(missing).toEqual([]);
}

interface Remains {
  /** Every session's file, by its name. */
  readonly sessions: ReadonlyMap<string, string>;
  /** What was set aside. */
  readonly fragments: readonly string[];
}

function remainsOf({ env }: Life): Remains {
  const directory = join(env.HOME ?? '', '.gmn', 'sessions');
  const names = existsSync(directory) ? readdirSync(directory) : [];
  const read = (name: string): string => readFileSync(join(directory, name), 'utf8');
  return {
    sessions: new Map(names.filter((name) => name.endsWith('.jsonl')).map((name) => [name, read(name)])),
    fragments: names.filter((name) => name.includes('.jsonl.torn-')).map(read),
  };
}

/** Only the last line may be half a record, and only of that is a fragment set aside by the next process. */
async function expectWholeLines(life: Life, gemini: TalkativeGemini): Promise<void> {
  const before = remainsOf(life);
  const torn: string[] = [];
  for (const text of before.sessions.values()) {
    const lines = text.split('\n');
    const last = lines.pop() ?? '';
    if (last !== '') torn.push(last);
    for (const line of lines) JSON.parse(line);
  }
  expect(before.fragments).toEqual([]);
  await expectNothingLost(life, gemini);
  const after = remainsOf(life);
  expect(after.fragments).toEqual(torn);
  for (const [name, text] of after.sessions) {
    const whole = before.sessions.get(name)?.replace(/[^\n]*$/, '') ?? '';
    expect([text.startsWith(whole), text.endsWith('\n')]).toEqual([true, true]);
  }
}

test(`kill -9 at ${DEATHS} moments of a chat with tools loses no acknowledged turn`, {
  timeout: 600_000,
}, async (t) => {
  let onEvent = (): void => {};
  const gemini = await talkativeGemini(t, () => onEvent());
  let died = 0;
  for (let death = 0; death < DEATHS; death += 1) {
    // Spread over the events of a whole chat, and over what happens between two of them.
    let left = Math.floor(((death + 0.5) * TURNS * 6) / DEATHS);
    const rounds = (death * 37) % ROUNDS;
    const life = await live(place(t, { gemini }), gmnCommand(['chat', '--tools', 'read']).flat(), (kill) => {
      onEvent = () => {
        left -= 1;
        if (left === 0) afterRounds(rounds, kill);
      };
      onEvent();
    });
    onEvent = () => {};
    if (life.signal === 'SIGKILL') died += 1;
    await expectWholeLines(life, gemini);
  }
  expect(died).toBeGreaterThan(DEATHS / 2);
});

function afterRounds(rounds: number, action: () => void): void {
  if (rounds === 0) action();
  else setImmediate(() => afterRounds(rounds - 1, action));
}

const CALLS = 'write,pwrite64,fdatasync,fsync,ftruncate,rename,unlink,link,mkdir';
const hasStrace = spawnSync('strace', ['-o', '/dev/null', 'true']).status === 0;

test.runIf(hasStrace)(
  'kill -9 at a storage call of a chat with tools loses no acknowledged turn',
  { timeout: 900_000 },
  async (t) => {
    const gemini = await talkativeGemini(t);
    // The executable makes half as many of these calls.
    const step = process.env.GMN_DEATHS !== undefined ? 1 : isStandalone ? 20 : 41;
    let died = 0;
    for (let at = 1; ; at += step) {
      const life = await live(place(t, { gemini }), [
        ...(['strace', '-f', '-qq', '-o', '/dev/null', '-e', `trace=${CALLS}`] as const),
        ...['-e', `inject=${CALLS}:signal=SIGKILL:when=${at}`, ...gmnCommand(['chat', '--tools', 'read']).flat()],
      ]);
      await expectWholeLines(life, gemini);
      // It was over before its call came.
      if (life.acknowledged.length === TURNS) break;
      died += 1;
    }
    expect(died).toBeGreaterThan(2);
  },
);
