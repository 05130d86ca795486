import { writeFileSync } from 'node:fs';
import { createEntryHistory } from '../../src/chat/line/entry-history.ts';
import type { Completion } from '../../src/chat/line/source.ts';
import { terminalLines } from '../../src/chat/line/terminal-source.ts';
import { systemClock } from '../../src/platform/runtime/clock.ts';
import { createInterruptSignal } from '../../src/platform/runtime/signals.ts';
import { createTerminalInput } from '../../src/platform/terminal/input.ts';
import { processIo } from '../../src/platform/terminal/io.ts';
import { openTty } from '../../src/platform/terminal/tty.ts';

/**
 * A program that only reads entries and prints them. `turn` runs until it is cancelled, `ask` asks for a key on the terminal itself, `boom`
 * fails with an unhandled rejection.
 */
writeFileSync('pid', String(process.pid));
const { err } = processIo('never', process.env);
const signal = createInterruptSignal();
const clock = systemClock;
const WORDS = ['/help', '/hello', '/history'];

async function complete(before: string): Promise<Completion | undefined> {
  const candidates = WORDS.filter((word) => word.startsWith(before)).map((insert) => ({ insert, hint: 'a word' }));
  return before === '' ? undefined : { start: 0, candidates };
}

const history = createEntryHistory('history', { clock, signal });
const lines = terminalLines({
  terminal: createTerminalInput(),
  err,
  clock,
  env: process.env,
  signal,
  history,
  complete,
});

async function say(what: unknown): Promise<void> {
  await err.write(`SAID ${JSON.stringify(what)}\n`);
}

async function ask(): Promise<void> {
  const key = await lines.withTerminal(async () => {
    const tty = openTty();
    const pressed = await tty?.key(new Set(['y']), () => err.write('ASK '), signal);
    tty?.close();
    return pressed;
  });
  await say(key);
}

async function turn(): Promise<void> {
  let stop = (): void => {};
  await new Promise<void>((resolve) => {
    stop = lines.watch(
      () => resolve(),
      () => false,
    );
    say('turn').catch(resolve);
  });
  stop();
}

try {
  for (;;) {
    const entry = await lines.read({ prompt: '› ' });
    await say(entry);
    if (entry.kind === 'end' || entry.kind === 'leave') break;
    if (entry.kind !== 'text') continue;
    if (entry.text === 'turn') await turn();
    if (entry.text === 'ask') await ask();
    if (entry.text === 'boom') setImmediate(() => Promise.reject(new Error('boom')));
  }
} catch (thrown) {
  await say(String(thrown));
  process.exitCode = 9;
} finally {
  await lines.close();
}
