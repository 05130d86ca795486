import { AppError } from '../core/error.ts';
import type { Clock, HttpBody } from '../core/io.ts';
import { createRandom } from '../core/random.ts';
import type { BlobStore } from '../platform/files/blobs.ts';
import { nextTurn } from '../platform/runtime/clock.ts';
import type { RecordedChunk, RecordedResponse } from './exchange.ts';
import { insertMedia, listReferences } from './media.ts';

/** How a body is divided: as it was, not at all, or at random bytes. */
export type Chunking = 'as-recorded' | '1' | 'split';

export interface PlaybackOptions {
  readonly chunks?: Chunking;
  /** 0: without pauses; 1: with those of the recording; 2: twice as fast. */
  readonly speed?: number;
  readonly seed?: number;
}

interface Playback extends PlaybackOptions {
  readonly id: number;
  readonly media: Pick<BlobStore, 'get'>;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly signal: AbortSignal;
  readonly onChunk?: (ms: number) => void;
}

/** Thrown where the recorded connection was lost. */
export class CutError extends Error {}

/** The bytes of a recorded body. Throws CutError, and AppError `usage` for media that are missing. */
export async function* playBody(response: RecordedResponse, playback: Playback): HttpBody & AsyncGenerator<Uint8Array> {
  const { chunks = 'as-recorded', speed = 0, clock, signal, onChunk } = playback;
  const isSse = isEventStream(response);
  const pieces: Uint8Array[] = [];
  let hasCut = false;
  let atMs = 0;
  for (const chunk of response.chunks) {
    if (speed > 0 && chunk.ms > atMs) await clock.sleep((chunk.ms - atMs) / speed, signal);
    atMs = Math.max(atMs, chunk.ms);
    onChunk?.(atMs);
    if ('cut' in chunk) {
      hasCut = true;
      break;
    }
    const bytes = await encodeChunk(chunk, isSse, playback.media);
    if (chunks === 'as-recorded') yield bytes;
    else pieces.push(bytes);
  }
  const whole = Buffer.concat(pieces);
  if (chunks === '1' && whole.length > 0) yield whole;
  if (chunks === 'split') {
    for (const piece of splitAtRandom(whole, createRandom((playback.seed ?? 1) * 65_537 + playback.id || 1))) {
      yield piece;
      // Written alone, it is mostly read alone.
      await nextTurn();
    }
  }
  if (hasCut) throw new CutError('the recorded connection was lost here');
}

export function isEventStream({ headers }: Pick<RecordedResponse, 'headers'>): boolean {
  return /^text\/event-stream\b/i.test(headers['content-type'] ?? '');
}

async function encodeChunk(
  chunk: Exclude<RecordedChunk, { readonly cut: true }>,
  isSse: boolean,
  store: Pick<BlobStore, 'get'>,
): Promise<Uint8Array> {
  if ('text' in chunk) return Buffer.from(chunk.text);
  if ('media' in chunk) return requireMedia(chunk.media, store);
  const media = new Map<string, Uint8Array>();
  for (const print of listReferences(chunk.data)) media.set(print, await requireMedia(print, store));
  const data = media.size === 0 ? chunk.data : insertMedia(chunk.data, media);
  return Buffer.from(isSse ? `data: ${JSON.stringify(data)}\r\n\r\n` : `${JSON.stringify(data, undefined, 2)}\n`);
}

async function requireMedia(print: string, store: Pick<BlobStore, 'get'>): Promise<Uint8Array> {
  const bytes = await store.get(print);
  if (bytes !== undefined) return bytes;
  throw new AppError('usage', `the recording's media ${print.slice(0, 64)} are missing, or were changed`, {
    hint: 'They lie beside the recording, in the directory that ends in .media.',
  });
}

const MAX_PIECES = 64;

/** Many short pieces, so that characters, events and lines are cut anywhere. */
function splitAtRandom(bytes: Buffer, random: () => number): readonly Buffer[] {
  const count = Math.min(MAX_PIECES, bytes.length) - 1;
  const borders = Array.from({ length: Math.max(0, count) }, () => Math.floor(random() * bytes.length)).sort(
    (a, b) => a - b,
  );
  return [0, ...borders]
    .map((from, index) => bytes.subarray(from, borders[index] ?? bytes.length))
    .filter(({ length }) => length > 0);
}
