import { expect, test } from 'vitest';
import { AppError } from '../../src/core/error.ts';
import type { TurnEvent } from '../../src/core/event.ts';
import type { StdinKind } from '../../src/core/io.ts';
import { readStdin, type StdinRequest } from '../../src/input/stdin.ts';
import { gate } from '../support/gate.ts';
import { fakeClock, fakeStdin, listen, silence } from './support.ts';

const WAIT: TurnEvent = { type: 'wait', what: 'stdin' };
const WAITING = { type: 'notice', message: 'waiting for stdin… (--no-stdin to skip)' } as const;
const goingOn = (why: string): TurnEvent => ({
  type: 'notice',
  message: `${why}: continuing without it (--stdin waits for its end)`,
});

function request(over: Partial<StdinRequest>): StdinRequest {
  return {
    stdin: fakeStdin('none').stdin,
    mode: 'auto',
    hasPrompt: true,
    env: {},
    clock: fakeClock(0),
    signal: new AbortController().signal,
    notify: () => {},
    ...over,
  };
}

const read = (over: Partial<StdinRequest>) => listen((notify) => readStdin(request({ notify, ...over })));

const chunks = (...texts: string[]): Uint8Array[] => texts.map((text) => Buffer.from(text));

test.each([
  ['pipe', undefined, [1000, 9000, 0], '10 s'],
  ['socket', undefined, [1000, 1000, 0], '2 s'],
  ['pipe', '90s', [1000, 89_000, 0], '1 min 30 s'],
  ['socket', '1500ms', [1000, 500, 0], '1.5 s'],
] as const)(
  'a silent %s with GMN_STDIN_WAIT=%s is announced, then given up loudly',
  async (kind, wait, slept, span) => {
    const { stdin, state } = fakeStdin(kind, silence());
    const clock = fakeClock(Number.POSITIVE_INFINITY);
    const { events, value } = await read({ stdin, clock, env: { GMN_STDIN_WAIT: wait } });
    expect(events).toEqual([WAIT, WAITING, WAIT, goingOn(`no stdin within ${span}`)]);
    expect(value).toBeUndefined();
    expect(clock.slept).toEqual(slept);
    expect(state).toEqual({ opened: 1, closed: 1 });
  },
);

test('a wait of less than a second is given up without an announcement', async () => {
  const { stdin } = fakeStdin('pipe', silence());
  const clock = fakeClock(Number.POSITIVE_INFINITY);
  const { events } = await read({ stdin, clock, env: { GMN_STDIN_WAIT: '300ms' } });
  expect(events).toEqual([WAIT, goingOn('no stdin within 300 ms')]);
  expect(clock.slept).toEqual([300, 0]);
});

test('a wait of 0 takes what is there and never waits for more', async () => {
  const silent = await read({
    stdin: fakeStdin('pipe', silence()).stdin,
    clock: fakeClock(9),
    env: { GMN_STDIN_WAIT: '0' },
  });
  expect(silent.events).toEqual([WAIT, goingOn('stdin had nothing to read')]);
  const ready = await read({ stdin: fakeStdin('pipe', chunks('a', 'b')).stdin, env: { GMN_STDIN_WAIT: '0' } });
  expect(Buffer.from((ready.value as Uint8Array | undefined) ?? []).toString()).toBe('ab');
});

test('a first byte after the announcement is enough to wait for the end', async () => {
  const { open: deliver, opened: late } = gate();
  const source = (async function* () {
    await late;
    yield* chunks('x', 'y');
  })();
  const { stdin, state } = fakeStdin('pipe', source);
  const said: unknown[] = [];
  const notify = (notice: unknown): void => {
    said.push(notice);
    if (said.length === 3) deliver();
  };
  const value = await readStdin(request({ stdin, clock: fakeClock(1), notify }));
  expect(said).toEqual([WAIT, WAITING.message, WAIT]);
  expect(Buffer.from((value as Uint8Array | undefined) ?? []).toString()).toBe('xy');
  expect(state.closed).toBe(1);
});

test.each(['pipe', 'socket'] as const)('a %s that ends at once is empty, not missing', async (kind) => {
  const { value } = await read({ stdin: fakeStdin(kind).stdin });
  expect(value).toHaveLength(0);
});

test.each([
  ['pipe', { hasPrompt: false }],
  ['socket', { hasPrompt: false }],
  ['pipe', { mode: 'always' }],
  ['file', {}],
  ['none', { mode: 'always' }],
] as const)('a %s with %o is read to its end without a timer', async (kind, over) => {
  const clock = fakeClock(9);
  const { value } = await read({ stdin: fakeStdin(kind, chunks('a', 'b')).stdin, clock, ...over });
  expect(Buffer.from((value as Uint8Array | undefined) ?? []).toString()).toBe('ab');
  expect(clock.slept).toEqual([]);
});

test.each([
  ['none', 'auto'],
  ['pipe', 'never'],
  ['file', 'never'],
  ['directory', 'never'],
] as const)('a %s in mode %s is not opened', async (kind: StdinKind, mode) => {
  const { stdin, state } = fakeStdin(kind, chunks('a'));
  expect(await read({ stdin, mode })).toEqual({ events: [], value: undefined });
  expect(state.opened).toBe(0);
});

test('reading from a terminal is announced', async () => {
  const stdin = { ...fakeStdin('none', chunks('a')).stdin, isTerminal: async () => true };
  const { events } = await read({ stdin, mode: 'always' });
  expect(events).toEqual([{ type: 'notice', message: 'reading stdin from the terminal; end it with Ctrl-D' }, WAIT]);
});

test('20 MB are read, one byte more is an error that names the limit, and reading stops there', async () => {
  const block = Buffer.alloc(1_000_000, 'a');
  let given = 0;
  const source = function* (blocks: number): Generator<Uint8Array, void> {
    for (given = 0; given < blocks; given += 1) yield block;
  };
  const whole = await read({ stdin: fakeStdin('file', source(20)).stdin });
  expect(whole.value).toHaveLength(20_000_000);
  const { stdin, state } = fakeStdin('pipe', source(1000));
  await expect(read({ stdin })).rejects.toMatchObject({
    fault: 'usage',
    message: 'stdin is longer than 20 MB, the most that can be sent',
  });
  expect(given).toBe(20);
  expect(state.closed).toBe(1);
});

test('an abort ends the wait with its reason and lets go of stdin', async () => {
  const controller = new AbortController();
  const { stdin, state } = fakeStdin('pipe', silence());
  const pending = readStdin(request({ stdin, signal: controller.signal }));
  const reason = new AppError('interrupted', 'Interrupted.');
  controller.abort(reason);
  await expect(pending).rejects.toBe(reason);
  expect(state).toEqual({ opened: 1, closed: 1 });
});

test('a GMN_STDIN_WAIT that is no duration is a config error with an example', async () => {
  await expect(read({ stdin: fakeStdin('pipe').stdin, env: { GMN_STDIN_WAIT: 'soon' } })).rejects.toMatchObject({
    fault: 'config',
    message: 'GMN_STDIN_WAIT: "soon" is not a duration',
    hint: 'Example: GMN_STDIN_WAIT=30s',
  });
});
