import type { ChoiceInput } from '../../../src/auth/choice.ts';
import type { Settings } from '../../../src/core/app.ts';
import type { Clock, Env } from '../../../src/core/io.ts';
import type { Machine } from '../../../src/platform/host.ts';
import type { Home } from './home.ts';

/** A Linux machine without a keyring. */
export const PLAIN_MACHINE: Machine = {
  platform: 'linux',
  hostname: 'test-host',
  username: 'test-user',
  isInteractive: false,
  uid: process.getuid?.(),
  securityProgram: '/nonexistent/security',
  keyringModule: () => undefined,
};

/** The time of the system, in which every wait passes at once. */
export function quickClock(): Clock {
  let waitedMs = 0;
  return {
    now: () => Date.now() + waitedMs,
    sleep: async (ms, signal) => {
      signal.throwIfAborted();
      waitedMs += ms;
    },
  };
}

/** What a choice is made from; nothing is ever sent. */
export function choiceInput(
  place: Home,
  env: Env = {},
  changes: Partial<Omit<ChoiceInput, 'settings'>> & { readonly settings?: Partial<Settings> } = {},
): ChoiceInput {
  const { settings, ...rest } = changes;
  return {
    version: '0.0.0',
    env,
    cwd: place.root,
    homes: () => ({ gemini: place.gemini, gmn: place.gmn }),
    clock: quickClock(),
    send: async () => {
      throw new Error('nothing may be sent');
    },
    trace: () => {},
    signal: new AbortController().signal,
    machine: PLAIN_MACHINE,
    ...rest,
    settings: { env, notices: [], ...settings } as Settings,
  };
}
