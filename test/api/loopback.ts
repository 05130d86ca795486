import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import type { TestContext } from 'vitest';
import type { HttpResponse, HttpTimers } from '../../src/core/io.ts';

export interface Received {
  readonly head: string;
  readonly body: string;
}

/** Answers one request in raw bytes. */
export type Answer = (socket: Socket, request: Received) => void;

export interface Loopback {
  readonly url: URL;
  readonly requests: readonly Received[];
  /** Connections that have closed so far. */
  readonly closed: () => number;
  /** Acts on every later connection at once, before any request. */
  readonly onConnection: (act: (socket: Socket) => void) => void;
}

/** No test waits as long as that. */
export const TIMERS: HttpTimers = { connectMs: 10_000, headersMs: 10_000, idleMs: 10_000 };

export async function readText({ body }: HttpResponse): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

/** A TCP server that gives its nth request the nth answer, the last one for all after it. */
export async function loopback(t: TestContext, answers: readonly Answer[]): Promise<Loopback> {
  const requests: Received[] = [];
  const sockets = new Set<Socket>();
  let closed = 0;
  let greet: ((socket: Socket) => void) | undefined;
  const server = createServer((socket) => {
    sockets.add(socket);
    greet?.(socket);
    socket.on('error', () => {});
    socket.on('close', () => {
      closed += 1;
    });
    let bytes = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      bytes = Buffer.concat([bytes, chunk]);
      const end = bytes.indexOf('\r\n\r\n');
      if (end === -1) return;
      const head = bytes.toString('latin1', 0, end);
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (bytes.length < end + 4 + length) return;
      const request = { head, body: bytes.toString('utf8', end + 4, end + 4 + length) };
      bytes = bytes.subarray(end + 4 + length);
      requests.push(request);
      answers[Math.min(requests.length, answers.length) - 1]?.(socket, request);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: new URL(`http://127.0.0.1:${address.port}`),
    requests,
    closed: () => closed,
    onConnection: (act) => (greet = act),
  };
}

/** A whole answer with a length. */
export function answer(
  status: number,
  body: string | Uint8Array = '',
  headers: Readonly<Record<string, string>> = {},
): Answer {
  const bytes = Buffer.from(body);
  return (socket) => {
    socket.write(head(status, { 'content-length': String(bytes.length), connection: 'close', ...headers }));
    socket.end(bytes);
  };
}

/** The head of an answer. */
export function head(status: number, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} X\r\n${lines.join('')}\r\n`;
}

const STREAM = { 'content-type': 'text/event-stream', 'transfer-encoding': 'chunked' };

export function httpChunk(bytes: string | Uint8Array): Buffer {
  const body = Buffer.from(bytes);
  return Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n')]);
}

/** Server-sent bytes, each piece a chunk of its own; then the end given: a clean one, a reset, or silence. */
export function stream(
  pieces: readonly (string | Uint8Array)[],
  end: 'clean' | 'close' | 'reset' | 'stall' = 'clean',
): Answer {
  return (socket) => {
    socket.write(head(200, { ...STREAM, connection: 'close' }));
    for (const piece of pieces) if (piece.length > 0) socket.write(httpChunk(piece));
    if (end === 'clean') socket.end('0\r\n\r\n');
    if (end === 'close') socket.end();
    // After what was written has left, or the reset would overtake it.
    if (end === 'reset') socket.write('', () => setImmediate(() => socket.resetAndDestroy()));
  };
}

/** One event as the API sends it. */
export function event(value: unknown): string {
  return `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\r\n\r\n`;
}

/** A GenerateContentResponse with these parts. */
export function reply(parts: readonly unknown[], rest: Readonly<Record<string, unknown>> = {}): unknown {
  return { candidates: [{ content: { role: 'model', parts }, index: 0, ...rest }] };
}

/** `text` and the proper end. */
export function whole(text: string): Answer {
  return stream([event(reply([{ text }], { finishReason: 'STOP' }))]);
}
