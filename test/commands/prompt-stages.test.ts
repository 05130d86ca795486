import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { run } from '../../src/commands/prompt/prompt.ts';
import type { App } from '../../src/core/app.ts';
import { type HttpResponse, NO_STDIN } from '../../src/core/io.ts';
import { createHttpClient } from '../../src/platform/http/send.ts';
import { systemClock } from '../../src/platform/runtime/clock.ts';
import { KEY } from '../api/conversation.ts';
import { event, loopback, reply, stream } from '../api/loopback.ts';

const SRC = fileURLToPath(new URL('../../src', import.meta.url));

/** The stages below the body, as docs/architecture.md lists them. */
function documentedStages(): readonly string[] {
  const page = readFileSync(new URL('../../docs/architecture.md', import.meta.url), 'utf8');
  return [...page.matchAll(/^\| \d \| `([^`]+)` \| `(\w+)` \|/gm)].map(([, file, name]) => `${file} ${name}`);
}

/** Who waits for the next bytes of `body`, the nearest first: V8 follows async generators to their readers. */
function noteReaders(response: HttpResponse, readers: string[]): HttpResponse {
  const chunks = response.body[Symbol.asyncIterator]();
  async function next() {
    const step = await chunks.next();
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 100;
    const frames =
      new Error('here').stack?.matchAll(/at (?:async )?(?:\w+\.)?(\w+) .*?\(?([^ (]+):\d+:\d+\)?$/gm) ?? [];
    Error.stackTraceLimit = stackTraceLimit;
    const sources = [...frames].map(([, name = '', path = '']) => `${relative(SRC, path)} ${name}`);
    readers.splice(0, readers.length, ...sources.filter((source) => !source.startsWith('..')));
    return step;
  }
  return { ...response, body: { [Symbol.asyncIterator]: () => ({ ...chunks, next }) } };
}

test('a piece of text passes the stages that docs/architecture.md lists, and no other', async (t) => {
  const texts = ['one ', 'two'].map((text) => event(reply([{ text }])));
  const server = await loopback(t, [stream([...texts, event(reply([{ text: '.' }], { finishReason: 'STOP' }))])]);
  const readers: string[] = [];
  const written: string[] = [];
  const out = {
    write: async (text: string) => void written.push(text),
    isTerminal: false,
    columns: 80,
    isStyled: false,
  };
  const env = { GEMINI_API_KEY: KEY, GOOGLE_GEMINI_BASE_URL: server.url.href };
  const trace = (): void => {};
  const httpTimers = { connectMs: 10_000, headersMs: 10_000, idleMs: 10_000 };
  const { send } = createHttpClient({ timers: httpTimers, env, trace, clock: systemClock });
  const app: App = {
    version: '0.0.0',
    ...{ env, trace, httpTimers },
    io: { out, err: out },
    cwd: SRC,
    clock: systemClock,
    random: () => 0.5,
    signal: new AbortController().signal,
    expireWrites: () => {},
    stdin: NO_STDIN,
    claimStdout: () => Promise.reject(new Error('no protocol is spoken here')),
    onExit: () => () => {},
    preconnect: () => {},
    send: async (request, signal) => noteReaders(await send(request, signal), readers),
    homes: () => ({ gemini: `${SRC}/none`, gmn: `${SRC}/none`, isMissing: true }),
    settings: async () => ({ env, notices: [] }),
  };
  expect(await run({ args: ['hi'], noStdin: true }, app)).toBe(0);
  expect(written.join('')).toBe('one two.\n');
  const stages = documentedStages();
  expect(stages).toHaveLength(8);
  expect(readers).toEqual([...stages, 'commands/prompt/prompt.ts runPrompt']);
});
