import type { App } from '../../../src/core/app.ts';
import { type Env, NO_STDIN, type Out } from '../../../src/core/io.ts';
import type { Home } from './home.ts';
import { choiceInput } from './input.ts';

/** What the clock of `testApp` says. */
export const NOW = Date.UTC(2026, 10, 16);

/** An App in this home that sends nothing, and what it wrote. */
export function testApp(place: Home, env: Env): { readonly app: App; readonly written: { out: string; err: string } } {
  const written = { out: '', err: '' };
  const sink = (name: 'out' | 'err'): Out => ({
    isTerminal: false,
    isStyled: false,
    columns: 80,
    write: async (chunk) => {
      written[name] += chunk;
    },
  });
  const { settings, ...input } = choiceInput(place, env);
  const app = {
    ...input,
    version: '0.0.0',
    io: { out: sink('out'), err: sink('err') },
    clock: { ...input.clock, now: () => NOW },
    onExit: () => () => {},
    expireWrites: () => {},
    stdin: NO_STDIN,
    claimStdout: () => Promise.reject(new Error('no protocol is spoken here')),
    preconnect: () => {},
    httpTimers: { connectMs: 0, headersMs: 0, idleMs: 0 },
    random: () => 0,
    settings: async () => settings,
  };
  return { app, written };
}
