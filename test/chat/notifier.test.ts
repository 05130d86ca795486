import { expect, test } from 'vitest';
import { createNotifier } from '../../src/chat/notifier.ts';

const KITTY = { TERM: 'xterm-kitty' };
const BELL = '\u0007';

async function written(isEnabled: boolean | undefined, env: Record<string, string>, seconds: number): Promise<string> {
  let output = '';
  let now = 0;
  const err = {
    ...{ isTerminal: true, columns: 80, isStyled: true },
    write: async (chunk: string) => {
      output += chunk;
    },
  };
  const notifier = createNotifier({ err, env, clock: { now: () => now }, isPlain: false, isEnabled });
  notifier.start();
  now += seconds * 1000;
  await notifier.notify('asks');
  now += 1000;
  await notifier.notify('ended');
  return output;
}

test.each([
  ['the bell rings once a turn took long', undefined, {}, 20, BELL],
  ['a short turn is silent', undefined, KITTY, 19, ''],
  [
    'every event is notified if the setting says so',
    true,
    KITTY,
    0,
    '\u001b]9;gmn asks a question\u0007\u001b]9;gmn has answered\u0007',
  ],
  ['with the bell where the terminal is not known to have notifications', true, {}, 0, BELL + BELL],
  ['and none if it says no', false, KITTY, 60, ''],
] as const)('%s', async (_, isEnabled, env, seconds, output) => {
  expect(await written(isEnabled, env, seconds)).toBe(output);
});
