import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import type { TestContext } from 'vitest';
import { events, fakeGemini, finish } from '../support/gemini.ts';
import type { Recording } from './recording.ts';

export interface Player {
  readonly url: string;
  /** The parsed bodies of the requests, in their order. */
  requests(): readonly Readonly<Record<string, unknown>>[];
}

/** What follows when the model's calls have been answered. */
export const LAST_WORDS = 'That is all.';

const LAST = events([{ ...finish('STOP', [{ text: LAST_WORDS }]), usageMetadata: undefined }]);

/**
 * A server on 127.0.0.1 that answers every request as it was recorded, in pieces cut at borders that `random` chooses;
 * a request that has results of the model's calls, with a last word.
 */
export async function playRecording(t: TestContext, recording: Recording, random: () => number): Promise<Player> {
  const gemini = await fakeGemini(
    t,
    (response, request) => (request.results.length > 0 ? LAST(response, request) : send(response, recording, random)),
    { allows: /./ },
  );
  return { url: gemini.url, requests: () => gemini.requests.map(({ body }) => body) };
}

async function send(response: ServerResponse, recording: Recording, random: () => number): Promise<void> {
  const { status, headers } = recording;
  const { type, body } = toWire(recording);
  response.writeHead(status, { ...headers, ...(type === '' ? {} : { 'content-type': type }) });
  for (const piece of cut(Buffer.from(body), random)) {
    response.write(piece);
    // A piece that is written alone is mostly read alone.
    await setImmediate();
  }
  response.end();
}

/** gmn asks for a stream, so a whole answer is sent as the one event of a stream. */
function toWire({ status, url, headers, body }: Recording): { readonly type: string; readonly body: string } {
  const type = headers['content-type'] ?? '';
  const isWhole = status === 200 && /:generateContent(?:\?|$)/.test(url) && !body.startsWith('data:');
  if (isWhole) return { type: 'text/event-stream', body: `data: ${flatten(body)}\r\n\r\n` };
  const isStream = type === '' && (/alt=sse/.test(url) || body.startsWith('data:'));
  return { type: isStream && status === 200 ? 'text/event-stream' : type || 'application/json', body };
}

function flatten(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body));
  } catch {
    return body.replace(/[\r\n]+/g, ' ');
  }
}

const MAX_PIECES = 12;

function cut(bytes: Buffer, random: () => number): readonly Buffer[] {
  const count = Math.floor(random() * MAX_PIECES);
  const borders = Array.from({ length: count }, () => Math.floor(random() * bytes.length)).sort((a, b) => a - b);
  return [0, ...borders].map((from, index) => bytes.subarray(from, borders[index] ?? bytes.length));
}
