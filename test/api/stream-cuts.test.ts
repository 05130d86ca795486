import { constants, gunzipSync, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { corpus, FUZZ_TIMEOUT, fuzz, isLong } from '../support/fuzz.ts';
import { converseWith } from './conversation.ts';
import { type Answer, event, head, httpChunk, loopback, reply } from './loopback.ts';

/** How many ways to cut the stream into pieces are tried, and every how many bytes it is broken off before its last event. */
const CHUNKINGS = fuzz(30, 10_000).numRuns;
const STEP = isLong ? 1 : 101;
const LONG = { timeout: FUZZ_TIMEOUT };

/** 12 KB of an answer in eleven scripts. */
const COUNT = 85;
const TEXTS = Array.from({ length: 8 }, (_, n) => corpus<string>('languages').map((words) => `${n} ${words}\n`)).flat();
const EVENTS = TEXTS.slice(0, COUNT).map((text, n, all) =>
  event(reply([{ text }], n === all.length - 1 ? { finishReason: 'STOP' } : {})),
);
const SPOKEN = TEXTS.slice(0, COUNT);
const STREAM = Buffer.from(EVENTS.join(''));

const encodings = {
  identity: { wire: STREAM, decoded: (bytes: Buffer) => bytes },
  gzip: {
    wire: gzipSync(STREAM),
    // What there is, although the end is missing.
    decoded: (bytes: Buffer) => (bytes.length < 18 ? Buffer.alloc(0) : gunzipSync(bytes, SOFT)),
  },
} as const;
const SOFT = { finishFlush: constants.Z_SYNC_FLUSH };

/** The stream in these pieces, then an end: the proper one of HTTP, or the connection lost. */
function pieces(encoding: keyof typeof encodings, chunks: readonly Uint8Array[], end: 'clean' | 'close'): Answer {
  const coding: Record<string, string> = encoding === 'gzip' ? { 'content-encoding': 'gzip' } : {};
  return (socket) => {
    socket.setNoDelay(true);
    socket.write(
      head(200, {
        'content-type': 'text/event-stream',
        'transfer-encoding': 'chunked',
        connection: 'close',
        ...coding,
      }),
    );
    for (const chunk of chunks) if (chunk.length > 0) socket.write(httpChunk(chunk));
    socket.end(end === 'clean' ? '0\r\n\r\n' : '');
  };
}

/** The same numbers for the same seed. */
function random(seed: number): (below: number) => number {
  let state = (seed + 1) * 2_654_435_761;
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 374_761_393) >>> 0;
    return (state >>> 3) % below;
  };
}

function chopped(bytes: Buffer, seed: number): readonly Buffer[] {
  const next = random(seed);
  // From single bytes to everything at once.
  const longest = 1 + next([2, 5, 40, 400, 4_000, 20_000][seed % 6] ?? 1);
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    // The very small ones only at the start: ten thousand of them are all alike.
    const length = chunks.length > 500 ? bytes.length : 1 + next(longest);
    chunks.push(bytes.subarray(at, at + length));
    at += length;
  }
  return chunks;
}

test('the stream is the one the figures speak of', () => {
  expect(STREAM.length).toBeGreaterThan(12_000);
  expect(SPOKEN.at(-1)).not.toMatch(/^[ -~\n]*$/);
});

test.for(['identity', 'gzip'] as const)(
  `${CHUNKINGS} ways to cut a stream make no difference: %s`,
  LONG,
  async (encoding, t) => {
    let answer: Answer = () => {};
    const server = await loopback(t, [(socket, request) => answer(socket, request)]);
    for (let seed = 0; seed < CHUNKINGS; seed += 1) {
      answer = pieces(encoding, chopped(encodings[encoding].wire, seed), 'clean');
      const outcome = await converseWith(server.url, {});
      expect({ seed, text: outcome.text, error: outcome.error }).toEqual({
        seed,
        text: SPOKEN.join(''),
        error: undefined,
      });
    }
  },
);

/** What of the stream counts when it stops here: the whole events, and whether the last of them is among them. */
function expectedOf(bytes: Buffer, end: 'clean' | 'close'): { readonly text: string; readonly isGood: boolean } {
  let at = 0;
  let count = 0;
  for (const one of EVENTS) {
    const length = Buffer.byteLength(one);
    // Two line ends end an event, and a CR is one. Where the stream ends properly, an event needs none, only to be whole.
    if (at + length - (end === 'clean' ? 4 : 1) > bytes.length) break;
    at += length;
    count += 1;
  }
  return { text: SPOKEN.slice(0, count).join(''), isGood: count === EVENTS.length };
}

test.for([
  ['identity', 'clean'],
  ['identity', 'close'],
  ['gzip', 'clean'],
  ['gzip', 'close'],
] as const)(
  `a stream broken off after any byte keeps its whole events, and is an error unless the last is one (S2 to S6): %s, %s end`,
  LONG,
  async ([encoding, end], t) => {
    const { wire, decoded } = encodings[encoding];
    let answer: Answer = () => {};
    const server = await loopback(t, [(socket, request) => answer(socket, request)]);
    // Inside the last event every byte counts: half a character, half a line end, all but the blank line.
    const last = encoding === 'identity' ? wire.length - Buffer.byteLength(EVENTS.at(-1) ?? '') : wire.length;
    for (let offset = 0; offset <= wire.length; offset += offset < last ? Math.min(STEP, last - offset) : 1) {
      const part = wire.subarray(0, offset);
      answer = pieces(encoding, [part], end);
      const { text, error } = await converseWith(server.url, {});
      // Compressed data that stops is no proper end, whatever the transfer says.
      const isCut = end === 'close' || (encoding === 'gzip' && offset < wire.length);
      const expected = { offset, ...expectedOf(decoded(part), isCut ? 'close' : 'clean') };
      expect({ offset, text, isGood: error === undefined }, error?.message).toEqual(expected);
      if (error !== undefined) expect(error.fault).toBe('api');
    }
  },
);
