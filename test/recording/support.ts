import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock, HttpRequest, HttpResponse } from '../../src/core/io.ts';
import type { JsonValue } from '../../src/core/json.ts';
import { createRecorder, type RecorderOptions } from '../../src/recording/recorder.ts';
import { openReplay, type ReplayOptions } from '../../src/recording/replay.ts';
import { temporary } from '../support/temporary.ts';

export const STREAM = '/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse';
const HOST = 'https://generativelanguage.googleapis.com';

export function ask(text: string, more: object = {}): object {
  return { contents: [{ role: 'user', parts: [{ text }] }], ...more };
}

export function toRequest(path: string, body?: object | Uint8Array, headers: Record<string, string> = {}): HttpRequest {
  const sent = body === undefined || body instanceof Uint8Array ? body : JSON.stringify(body);
  return { method: body === undefined ? 'GET' : 'POST', url: new URL(path, HOST), headers, body: sent };
}

export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Objects are events of a stream; the last `cut` is a lost connection. */
  readonly chunks: readonly (JsonValue | Uint8Array | 'cut')[];
}

export const text = (words: string, more: object = {}): JsonValue =>
  ({ candidates: [{ content: { role: 'model', parts: [{ text: words }] }, ...more }] }) as JsonValue;

/** A clock that goes on by a millisecond with each look. */
function ticking(): Clock {
  let now = Date.UTC(2026, 10, 18, 9);
  return { now: () => (now += 1), sleep: async () => {} };
}

/** A recorder in front of a service that gives these answers, and the file it writes. */
export async function recording(
  replies: readonly Reply[],
  secrets: readonly string[] = [],
  { isProxy }: Pick<RecorderOptions, 'isProxy'> = {},
) {
  const directory = temporary();
  const file = join(directory, 'calls.jsonl');
  const reports: string[] = [];
  const rest = [...replies];
  const recorder = await createRecorder({
    file,
    cwd: directory,
    clock: ticking(),
    isProxy,
    secrets: async () => new Set(secrets),
    report: (message) => void reports.push(message),
    send: async () => toResponse(rest.shift() ?? { chunks: [text('no more')] }),
  });
  return {
    directory,
    file,
    reports,
    send: (request: HttpRequest) => recorder.send(request, new AbortController().signal).then(readBody),
    lines: () =>
      (readFileSync(file, { encoding: 'utf8', flag: 'a+' }).match(/.+/g) ?? []).map((line) => JSON.parse(line)),
  };
}

export async function readBody(response: HttpResponse): Promise<HttpResponse & { readonly text: string }> {
  const pieces: Uint8Array[] = [];
  for await (const piece of response.body) pieces.push(piece);
  return { ...response, text: Buffer.concat(pieces).toString('utf8') };
}

function toResponse({ status = 200, headers = { 'content-type': 'text/event-stream' }, chunks }: Reply): HttpResponse {
  return {
    status,
    headers,
    body: (async function* () {
      for (const chunk of chunks) {
        if (chunk === 'cut') throw new Error('lost');
        yield chunk instanceof Uint8Array ? chunk : Buffer.from(`data: ${JSON.stringify(chunk)}\r\n\r\n`);
      }
    })(),
  };
}

/** The replay of a file, and its answers as text. */
export async function replaying(file: string, options: Partial<ReplayOptions> = {}) {
  const replay = await openReplay(file, { name: 'calls.jsonl', clock: ticking(), ...options });
  return {
    ...replay,
    ask: (request: HttpRequest) => replay.send(request, new AbortController().signal).then(readBody),
  };
}

export const ENCODINGS: Readonly<Record<string, (secret: string) => string>> = {
  plain: (secret) => secret,
  percent: encodeURIComponent,
  'percent, every byte': (secret) => Buffer.from(secret).toString('hex').replace(/../g, '%$&'),
  base64: (secret) => Buffer.from(secret).toString('base64'),
  'base64 in a longer text': (secret) => Buffer.from(`{"key":"${secret}"}`).toString('base64'),
  base64url: (secret) => Buffer.from(`>>>${secret}???`).toString('base64url'),
  'base64 of base64': (secret) => Buffer.from(Buffer.from(secret).toString('base64')).toString('base64'),
  'JSON in JSON': (secret) => JSON.stringify(JSON.stringify(`"${secret}"`)),
  'JSON escapes': (secret) =>
    [...secret].map((char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''),
  hex: (secret) => Buffer.from(secret).toString('hex'),
  'hex in pairs': (secret) =>
    Buffer.from(secret)
      .toString('hex')
      .replace(/..(?=.)/g, '$&:'),
  'escapes of bytes': (secret) => Buffer.from(secret).toString('hex').replace(/../g, '\\x$&'),
  'entities of HTML': (secret) => [...secret].map((char) => `&#${char.codePointAt(0)};`).join(''),
  'base64 of UTF-16': (secret) => Buffer.from(secret, 'utf16le').toString('base64'),
  'base64 in lines': (secret) =>
    Buffer.from(`${'x'.repeat(50)}${secret}${'x'.repeat(50)}`)
      .toString('base64')
      .replace(/.{76}/g, '$&\n'),
};

export function cutAt(whole: string, cuts: readonly number[]): readonly string[] {
  const borders = [0, ...cuts.map((cut) => cut % whole.length).sort((a, b) => a - b), whole.length];
  return borders.slice(1).map((end, index) => whole.slice(borders[index], end));
}

export function everythingIn(directory: string): string {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1')).join('\n');
}
