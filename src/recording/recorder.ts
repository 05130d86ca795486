import { dirname } from 'node:path';
import { createSerial } from '../core/async.ts';
import { AppError } from '../core/error.ts';
import type { Clock, HttpBody, HttpRequest, HttpResponse, SendHttp } from '../core/io.ts';
import { isTooDeep, type JsonValue, MAX_DEPTH, tryParseJson } from '../core/json.ts';
import { appendDurably } from '../platform/files/append.ts';
import { pathExists } from '../platform/files/path.ts';
import { isWritable } from '../platform/files/read.ts';
import { resolveWritingTarget } from '../platform/files/writing-target.ts';
import { tryDecompress } from '../platform/runtime/zlib.ts';
import { type Piece, readOnlyData, toChunks } from './chunks.ts';
import {
  type Exchange,
  formatTarget,
  pickHeaders,
  RESPONSE_HEADERS,
  type RecordedChunk,
  readRecording,
} from './exchange.ts';
import { detachMedia, type Media, openMedia } from './media.ts';
import { findNamedSecrets } from './named-secrets.ts';
import { hashRequest, normaliseRequest } from './normalise.ts';
import { NO_PLACES, type Places } from './places.ts';
import { hasSecretInside, isSecretParameter, joinFields, listCredentials, scrub } from './scrub.ts';
import { replaceAcross } from './spans.ts';
import { findModel, maskIds, maskIdsInText, type RawRequest, toStoredRequest } from './stored-request.ts';
import { isEventStream } from './wire.ts';

export interface RecorderOptions {
  readonly file: string;
  readonly cwd: string;
  readonly send: SendHttp;
  /** All that is sent is meant for the service, but for tokens. Absent: only what is known to be. */
  readonly isProxy?: boolean;
  readonly clock: Pick<Clock, 'now'>;
  /** The credentials that are known now; those that a request carries come on top. */
  readonly secrets: () => Promise<ReadonlySet<string>>;
  /** Directories of this machine that are not to be named. */
  readonly places?: Places;
  /** Gets what was not recorded, and why. */
  readonly report: (message: string) => void;
}

export interface Recorder {
  /** As the given one. When a response has been read to its end, its exchange is on disk. */
  readonly send: SendHttp;
}

/** Longer bodies are passed on, and not recorded. */
const MAX_BYTES = 128_000_000;

/** Adds to the recording that is there. Throws AppError `usage` if the file is something else, or cannot be written. */
export async function createRecorder(options: RecorderOptions): Promise<Recorder> {
  const { clock, report } = options;
  const path = resolveWritingTarget(options.file, options.cwd);
  const before = pathExists(path) ? (await readRecording(path, options.file)).exchanges : [];
  if (!isWritable(pathExists(path) ? path : dirname(path)) && pathExists(dirname(path))) {
    throw new AppError('usage', `cannot write ${options.file}`, { hint: 'Name a file in a directory of your own.' });
  }
  let lastId = before.reduce((last, { id }) => Math.max(last, id), 0);
  const media = openMedia(path);
  const inOrder = createSerial();
  const secrets = new Set<string>();
  const write = async (observed: Observed): Promise<void> => {
    for (const secret of await options.secrets()) secrets.add(secret);
    const built = await buildExchange(observed, secrets, options.places);
    if (typeof built === 'string') return report(`exchange ${observed.id} is not recorded: ${built}`);
    await inOrder(async () => {
      for (const bytes of built.media.values()) await media.put(bytes);
      await appendDurably(path, JSON.stringify(built.exchange));
    });
  };
  return {
    async send(request, signal) {
      if (!isRecorded(request.url, options)) return options.send(request, signal);
      lastId += 1;
      const id = lastId;
      const startMs = clock.now();
      for (const secret of listCredentials(request.headers, request.url.searchParams)) secrets.add(secret);
      const response = await options.send(request, signal);
      const pieces: Piece[] = [];
      const observe = async (ending: Ending): Promise<void> => {
        const ms = clock.now() - startMs;
        try {
          await write({ id, startMs, request, response, pieces, ending, ms });
        } catch (thrown) {
          report(`exchange ${id} is not recorded: ${AppError.from(thrown).message}`);
        }
      };
      let size = 0;
      const onChunk = (bytes: Uint8Array): void => {
        size += bytes.length;
        // The piece that is too much tells that it was.
        if (size - bytes.length <= MAX_BYTES) pieces.push({ ms: clock.now() - startMs, bytes: Buffer.from(bytes) });
      };
      return { ...response, body: observeBody(response.body, onChunk, observe) };
    },
  };
}

/** Resources of the Gemini API, Vertex and Code Assist. Other addresses, as those that issue tokens, are not recorded. */
const RESOURCES =
  /\/v\d\w{0,20}(?::\w|\/(?:models|tunedModels|files|batches|cachedContents|fileSearchStores|decisions|interactions|operations|publishers|projects\/[^/]+\/locations)(?:[/:]|$))/;

/** Where tokens are issued, and said whose they are; not `:countTokens`. */
const TOKENS = /token\/?$|\/oauth2?\/|\/auth_?tokens\b/i;

function isRecorded({ pathname }: URL, { isProxy = false }: Pick<RecorderOptions, 'isProxy'>): boolean {
  const path = pathname.replace(/\/{2,}/g, '/');
  return isProxy ? !TOKENS.test(path) : RESOURCES.test(path);
}

/** `cut`: the connection was lost; `left`: the reader did not want more. */
type Ending = 'whole' | 'cut' | 'left';

interface Observed {
  readonly id: number;
  readonly startMs: number;
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  readonly pieces: readonly Piece[];
  readonly ending: Ending;
  readonly ms: number;
}

/** An iterator by hand: a generator that was never started does nothing when it is closed. */
function observeBody(
  body: HttpBody,
  onChunk: (bytes: Uint8Array) => void,
  onEnd: (ending: Ending) => Promise<void>,
): HttpBody {
  const inner = body[Symbol.asyncIterator]();
  let isOver = false;
  const end = async (ending: Ending): Promise<void> => {
    if (isOver) return;
    isOver = true;
    await onEnd(ending);
  };
  const iterator: AsyncIterator<Uint8Array> & HttpBody = {
    async next() {
      try {
        const result = await inner.next();
        if (result.done) await end('whole');
        else onChunk(result.value);
        return result;
      } catch (thrown) {
        await end('cut');
        throw thrown;
      }
    },
    async return() {
      await inner.return?.();
      await end('left');
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]: () => iterator,
  };
  return iterator;
}

type Built = { readonly exchange: Exchange; readonly media: Media };

/** A text says why it must not be written. */
async function buildExchange(
  observed: Observed,
  secrets: ReadonlySet<string>,
  places = NO_PLACES,
): Promise<Built | string> {
  const { id, startMs, response, pieces, ending, ms } = observed;
  const total = pieces.reduce((sum, { bytes }) => sum + bytes.length, 0);
  const { request, media } = await toStoredRequest(toRawRequest(observed.request), secrets, places);
  const target = formatTarget(request);
  if (total > MAX_BYTES) return `the response to ${target} is larger than 128 MB`;
  const headers = await scrub(storeHeaders(response.headers), secrets);
  const raw = redactStream(toChunks(pieces, isEventStream({ headers }), media), places);
  const chunks: RecordedChunk[] = [];
  for (const chunk of raw) chunks.push(await storeChunk(chunk, { secrets, places, id, media }));
  if (ending !== 'whole') chunks.push({ ms, cut: true });
  const hash = hashRequest(normaliseRequest(request, []));
  const exchange: Exchange = {
    ...{ v: 1, id, at: new Date(startMs).toISOString() },
    request: { ...request, hash },
    response: { status: response.status, headers, chunks },
    ...{ model: findModel(request), ms },
  };
  if (isTooDeep(exchange)) return `${target} is nested deeper than ${MAX_DEPTH} levels`;
  const texts = [JSON.stringify(exchange), ...listJoined(chunks), ...[...media.values()].flatMap(listReadings)];
  if (hasSecretInside(texts, secrets)) return `${target}: it holds a credential of this run`;
  if (chunks.some((chunk) => 'text' in chunk) && listJoined(chunks).some((text) => findNamedSecrets(text).length > 0)) {
    return `${target}: a password or token is split over its events`;
  }
  return { exchange, media };
}

/** Without paths, and what stands beside words such as `password`: both may be said in pieces. */
function redactStream(chunks: readonly RecordedChunk[], { findSpans }: Places): readonly RecordedChunk[] {
  const data = chunks.map((chunk) => ('data' in chunk ? chunk.data : null));
  const redacted = replaceAcross(replaceAcross(data, findSpans), findNamedSecrets);
  return chunks.map((chunk, index) => ('data' in chunk ? { ms: chunk.ms, data: redacted[index] ?? null } : chunk));
}

/** The bytes as text, and what they hold if they are compressed. */
function listReadings(bytes: Uint8Array): readonly string[] {
  const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b;
  const inside = isGzip ? tryDecompress(bytes, 'gzip') : undefined;
  return [Buffer.from(bytes), ...(inside === undefined ? [] : [inside])].map((reading) => reading.toString('latin1'));
}

/** Its halves may be events of which one is kept as text. */
function listJoined(chunks: readonly RecordedChunk[]): readonly string[] {
  const data = chunks.flatMap((chunk): JsonValue[] => {
    if ('data' in chunk) return [chunk.data];
    const value = 'text' in chunk ? tryParseJson(readOnlyData(chunk.text) ?? '') : undefined;
    return value === undefined ? [] : [value as JsonValue];
  });
  return [...joinFields(data), chunks.map((chunk) => ('text' in chunk ? chunk.text : '')).join('')];
}

function toRawRequest({ method, url, headers, body }: HttpRequest): RawRequest {
  return { method, path: url.pathname, query: url.searchParams, headers, body };
}

/** Of the address of an upload only what follows the host: a replay has another. */
function storeHeaders(headers: HttpResponse['headers']): Readonly<Record<string, string>> {
  const { 'x-goog-upload-url': url, ...kept } = pickHeaders(headers, RESPONSE_HEADERS);
  if (url === undefined || !URL.canParse(url)) return kept;
  const { pathname, searchParams } = new URL(url);
  for (const name of [...searchParams.keys()].filter(isSecretParameter)) searchParams.delete(name);
  if (searchParams.has('upload_id')) searchParams.set('upload_id', 'upload');
  return { ...kept, 'x-goog-upload-url': `${pathname}?${searchParams}` };
}

interface Storing {
  readonly secrets: ReadonlySet<string>;
  readonly places: Places;
  readonly id: number;
  readonly media: Media;
}

async function storeChunk(chunk: RecordedChunk, { secrets, places, id, media }: Storing): Promise<RecordedChunk> {
  if ('data' in chunk) {
    return {
      ms: chunk.ms,
      data: detachMedia(maskIds(await scrub(chunk.data, secrets, places), 'response', id), media),
    };
  }
  return 'text' in chunk ? { ms: chunk.ms, text: maskIdsInText(await scrub(chunk.text, secrets, places), id) } : chunk;
}
