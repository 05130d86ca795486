import { createSerial } from '../core/async.ts';
import { AppError } from '../core/error.ts';
import type { Clock, HttpBody, HttpRequest, HttpResponse, SendHttp } from '../core/io.ts';
import { isTooDeep, type JsonValue, MAX_DEPTH, tryParseJson } from '../core/json.ts';
import { appendDurably } from '../platform/files/append.ts';
import { pathExists } from '../platform/files/path.ts';
import { resolveWritingTarget } from '../platform/files/writing-target.ts';
import { type Exchange, formatTarget, type RecordedChunk, readRecording } from './exchange.ts';
import { addMedia, detachMedia, type Media, openMedia } from './media.ts';
import { hashRequest, normaliseRequest } from './normalise.ts';
import { hasSecretInside, joinFields, listCredentials, scrub } from './scrub.ts';
import {
  findModel,
  maskIds,
  maskIdsInText,
  pickHeaders,
  type RawRequest,
  toStoredRequest,
  tryDecode,
} from './stored-request.ts';
import { isEventStream } from './wire.ts';

export interface RecorderOptions {
  readonly file: string;
  readonly cwd: string;
  readonly send: SendHttp;
  readonly clock: Pick<Clock, 'now'>;
  /** The credentials that are known now; those that a request carries come on top. */
  readonly secrets: () => Promise<ReadonlySet<string>>;
  /** Gets what was not recorded, and why. */
  readonly report: (message: string) => void;
}

export interface Recorder {
  /** As the given one. When a response has been read to its end, its exchange is on disk. */
  readonly send: SendHttp;
}

const RESPONSE_HEADERS =
  /^(?:content-type|retry-after|x-gemini-service-tier|x-goog-upload-(?:url|status|size-received|chunk-granularity))$/;

/** Longer bodies are passed on, and not recorded. */
const MAX_BYTES = 128_000_000;

/** Adds to the recording that is there. Throws AppError `usage` if the file is something else, or cannot be written. */
export async function createRecorder(options: RecorderOptions): Promise<Recorder> {
  const { clock, report } = options;
  const path = resolveWritingTarget(options.file, options.cwd);
  const before = pathExists(path) ? (await readRecording(path, options.file)).exchanges : [];
  let lastId = before.reduce((last, { id }) => Math.max(last, id), 0);
  const media = openMedia(path);
  const inOrder = createSerial();
  const secrets = new Set<string>();
  const write = async (observed: Observed): Promise<void> => {
    for (const secret of await options.secrets()) secrets.add(secret);
    const built = await buildExchange(observed, secrets);
    if (typeof built === 'string') return report(`exchange ${observed.id} is not recorded: ${built}`);
    await inOrder(async () => {
      for (const bytes of built.media.values()) await media.put(bytes);
      await appendDurably(path, JSON.stringify(built.exchange));
    });
  };
  return {
    async send(request, signal) {
      if (!isRecorded(request.url)) return options.send(request, signal);
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
      const onChunk = (bytes: Uint8Array): void =>
        void pieces.push({ ms: clock.now() - startMs, bytes: Buffer.from(bytes) });
      return { ...response, body: observeBody(response.body, onChunk, observe) };
    },
  };
}

/** Resources of the Gemini API, Vertex and Code Assist. Other addresses, as those that issue tokens, are not recorded. */
const RESOURCES =
  /\/v\d\w{0,20}(?::\w|\/(?:models|tunedModels|files|batches|cachedContents|fileSearchStores|decisions|interactions|operations|publishers|projects\/[^/]+\/locations)(?:[/:]|$))/;

function isRecorded({ pathname }: URL): boolean {
  return RESOURCES.test(pathname.replace(/\/{2,}/g, '/'));
}

interface Piece {
  readonly ms: number;
  readonly bytes: Buffer;
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
async function buildExchange(observed: Observed, secrets: ReadonlySet<string>): Promise<Built | string> {
  const { id, startMs, response, pieces, ending, ms } = observed;
  const total = pieces.reduce((sum, { bytes }) => sum + bytes.length, 0);
  const { request, media } = await toStoredRequest(toRawRequest(observed.request), secrets);
  const target = formatTarget(request);
  if (total > MAX_BYTES) return `the response to ${target} is larger than 128 MB`;
  const headers = await scrub(storeHeaders(response.headers), secrets);
  const raw = toChunks(pieces, isEventStream({ headers }), media);
  const chunks: RecordedChunk[] = [];
  for (const chunk of raw) chunks.push(await storeChunk(chunk, { secrets, id, media }));
  if (ending !== 'whole') chunks.push({ ms, cut: true });
  const hash = hashRequest(normaliseRequest(request, []));
  const exchange: Exchange = {
    ...{ v: 1, id, at: new Date(startMs).toISOString() },
    request: { ...request, hash },
    response: { status: response.status, headers, chunks },
    ...{ model: findModel(request), ms },
  };
  if (isTooDeep(exchange)) return `${target} is nested deeper than ${MAX_DEPTH} levels`;
  const texts = [JSON.stringify(exchange), ...listJoined(chunks), ...[...media.values()].map(toLatin1)];
  if (hasSecretInside(texts, secrets)) return `${target}: it holds a credential of this run`;
  return { exchange, media };
}

function toLatin1(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1');
}

function listJoined(chunks: readonly RecordedChunk[]): readonly string[] {
  const data = chunks.flatMap((chunk) => ('data' in chunk ? [chunk.data] : []));
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
  for (const name of ['key', 'access_token']) searchParams.delete(name);
  if (searchParams.has('upload_id')) searchParams.set('upload_id', 'upload');
  return { ...kept, 'x-goog-upload-url': `${pathname}?${searchParams}` };
}

/** Each with the time at which its last byte came. */
function toChunks(pieces: readonly Piece[], isSse: boolean, media: Media): readonly RecordedChunk[] {
  const bytes = Buffer.concat(pieces.map((piece) => piece.bytes));
  if (bytes.length === 0) return [];
  const lastMs = pieces.at(-1)?.ms ?? 0;
  const text = tryDecode(bytes);
  if (text === undefined) return [{ ms: lastMs, media: addMedia(bytes, media) }];
  if (!isSse) return [{ ms: lastMs, ...toData(text, text) }];
  const ends = listEnds(pieces);
  let end = 0;
  return text.split(/(?<=\r\n\r\n|\n\n|\r\r)/).map((event) => {
    end += Buffer.byteLength(event);
    const at = end;
    const ms = ends.find((piece) => piece.end >= at)?.ms ?? lastMs;
    const json = /^data: ?(.*)\s*$/.exec(event)?.[1];
    // The end of a stream that was cut has no blank line.
    return { ms, ...(json === undefined || !/[\r\n]$/.test(event) ? { text: event } : toData(json, event)) };
  });
}

function listEnds(pieces: readonly Piece[]): readonly { readonly ms: number; readonly end: number }[] {
  let end = 0;
  return pieces.map(({ ms, bytes }) => {
    end += bytes.length;
    return { ms, end };
  });
}

/** As JSON if it can be written again without a change of its values. */
function toData(json: string, text: string): { readonly data: JsonValue } | { readonly text: string } {
  const value = tryParseJson(json) as JsonValue | undefined;
  if (value === undefined || typeof value !== 'object' || value === null || isTooDeep(value)) return { text };
  return hasPlainNumbers(json) ? { data: value } : { text };
}

/** Not `1.0`, nor a number with more digits than JavaScript keeps. */
function hasPlainNumbers(json: string): boolean {
  const number = /-?\d[\d.eE+-]*/y;
  for (let at = 0; at < json.length; at += 1) {
    if (json[at] === '"') at = findStringEnd(json, at);
    number.lastIndex = at;
    const [found] = number.exec(json) ?? [];
    if (found === undefined) continue;
    if (String(Number(found)) !== found) return false;
    at += found.length - 1;
  }
  return true;
}

function findStringEnd(json: string, start: number): number {
  for (let at = start + 1; at < json.length; at += 1) {
    if (json[at] === '\\') at += 1;
    else if (json[at] === '"') return at;
  }
  return json.length;
}

async function storeChunk(
  chunk: RecordedChunk,
  { secrets, id, media }: { readonly secrets: ReadonlySet<string>; readonly id: number; readonly media: Media },
): Promise<RecordedChunk> {
  if ('data' in chunk) {
    return { ms: chunk.ms, data: detachMedia(maskIds(await scrub(chunk.data, secrets), 'response', id), media) };
  }
  return 'text' in chunk ? { ms: chunk.ms, text: maskIdsInText(await scrub(chunk.text, secrets), id) } : chunk;
}
