import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { chunk, finish, sse } from '../support/gemini.ts';
import type { WireRequest } from './wire-request.ts';
import type { Play, Step } from './wire-server.ts';

/** The first lines of an answer. Without a length or `chunked` the end of the connection is its end. */
export function head(status: number, headers: Readonly<Record<string, string>> = {}): string {
  const lines = Object.entries({ connection: 'close', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${status < 300 ? 'OK' : 'Refused'}\r\n${lines.join('')}\r\n`;
}

export const SSE_HEAD = head(200, { 'content-type': 'text/event-stream' });
export const CHUNKED_HEAD = head(200, { 'content-type': 'text/event-stream', 'transfer-encoding': 'chunked' });

/** One chunk of a chunked body; an empty one ends it. */
export function chunked(bytes: string | Uint8Array): Buffer {
  const body = Buffer.from(bytes);
  return Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n')]);
}

/** Exactly these steps. */
export function steps(...list: readonly Step[]): Play {
  return { steps: () => list };
}

/** The same on a new connection, before anything is read. */
export function atAccept(...list: readonly Step[]): Play {
  return { atAccept: true, steps: () => list };
}

/** The same as another, but only when a gate is open. */
export function gated(gate: string, play: Play): Play {
  return { steps: (request) => [{ gate }, ...play.steps(request)] };
}

/** An event as the service that was asked would put it: Code Assist has an envelope. */
export function eventFor(request: WireRequest, event: object): string {
  return sse(request.path.includes('v1internal') ? { response: event, traceId: 'trace' } : event);
}

/** These events in chunks of their own, then a proper end. */
export function events(...list: readonly object[]): Play {
  return {
    steps: (request) => [
      { send: CHUNKED_HEAD },
      ...list.map((event) => ({ send: chunked(eventFor(request, event)) })),
      { send: chunked('') },
      { end: 'fin' },
    ],
  };
}

/** A whole answer: one event for each text or part, then STOP. */
export function reply(...parts: readonly (string | object)[]): Play {
  return events(...parts.map((part) => chunk([typeof part === 'string' ? { text: part } : part])), finish());
}

/** The answer begins with these texts, and then these steps are taken. */
export function begun(texts: readonly string[], ...then: readonly Step[]): Play {
  return {
    steps: (request) => [
      { send: CHUNKED_HEAD },
      ...texts.map((text) => ({ send: chunked(eventFor(request, chunk([{ text }]))) })),
      ...then,
    ],
  };
}

/** An answer that is no stream. */
export function answer(
  status: number,
  body: string | Uint8Array,
  headers: Readonly<Record<string, string>> = {},
): Play {
  const length = String(Buffer.byteLength(body));
  return steps(
    { send: head(status, { 'content-type': 'application/json', 'content-length': length, ...headers }) },
    { send: body },
    { end: 'fin' },
  );
}

/** An error in Google's shape. */
export function refusal(code: number, status: string, message = 'No.', details: readonly object[] = []): Play {
  return answer(code, JSON.stringify({ error: { code, message, status, details } }));
}

/** A detail of such an error. */
export function detail(type: string, fields: object): object {
  return { '@type': `type.googleapis.com/google.rpc.${type}`, ...fields };
}

/** A whole answer in one SSE text. */
export function sseText(...texts: readonly string[]): string {
  return [...texts.map((text) => sse(chunk([{ text }]))), sse(finish())].join('');
}

const COMPRESSORS = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync } as const;

export type Encoding = keyof typeof COMPRESSORS;

/** Bytes in a content encoding. */
export function compressed(encoding: Encoding, bytes: string | Uint8Array): Buffer {
  return COMPRESSORS[encoding](bytes);
}

/** These bytes, whatever they are, as a body that is said to be a compressed stream. */
export function encodedStream(encoding: string, bytes: Uint8Array): Play {
  return steps(
    {
      send: head(200, {
        'content-type': 'text/event-stream',
        'content-encoding': encoding,
        'transfer-encoding': 'chunked',
      }),
    },
    { send: chunked(bytes) },
    { send: chunked('') },
    { end: 'fin' },
  );
}
