import type { Clock, Env, Out } from '../core/io.ts';

export interface Notifier {
  start(): void;
  notify(event: 'asks' | 'ended'): Promise<void>;
}

interface NotifierOptions {
  readonly err: Out;
  readonly env: Env;
  readonly clock: Pick<Clock, 'now'>;
  readonly isPlain: boolean;
  /** `general.enableNotifications`: true for every event, false for none, undefined for what took long. */
  readonly isEnabled: boolean | undefined;
}

/** During a shorter turn, the user is likely still watching. */
const LONG_MS = 20_000;
const BELL = '\u0007';
const MESSAGES = { asks: 'gmn asks a question', ended: 'gmn has answered' } as const;

export function createNotifier({ err, env, clock, isPlain, isEnabled }: NotifierOptions): Notifier {
  let sinceMs = clock.now();
  const signal = isEnabled === true && !isPlain && hasNotifications(env) ? toNotification : () => BELL;
  return {
    start() {
      sinceMs = clock.now();
    },
    async notify(event) {
      const isLong = clock.now() - sinceMs >= LONG_MS;
      sinceMs = clock.now();
      if (err.isTerminal && isEnabled !== false && (isEnabled || isLong)) await err.write(signal(MESSAGES[event]));
    },
  };
}

/** OSC 9, as iTerm2 defined it. */
function toNotification(message: string): string {
  return `\u001b]9;${message}${BELL}`;
}

/** Terminals that are known to show OSC 9; others get the bell. */
function hasNotifications({ TERM = '', TERM_PROGRAM = '' }: Env): boolean {
  return /^(?:iTerm\.app|WezTerm|ghostty)$/.test(TERM_PROGRAM) || /kitty|ghostty/.test(TERM);
}
