import { loadOnce } from '../core/async.ts';
import { AppError } from '../core/error.ts';
import type { Clock, HttpResponse, SendHttp } from '../core/io.ts';
import { type Exchange, type RecordedChunk, type Recording, readRecording } from './exchange.ts';
import { openMedia } from './media.ts';
import { parseIgnored } from './normalise.ts';
import { NO_PLACES, type Places } from './places.ts';
import { createPlayer, type FoundExchange, type Match, type Player } from './player.ts';
import { listCredentials } from './scrub.ts';
import { type RawRequest, toStoredRequest } from './stored-request.ts';
import { CutError, type PlaybackOptions, playBody } from './wire.ts';

export interface ReplayOptions extends PlaybackOptions {
  /** What messages call the recording. */
  readonly name: string;
  readonly match?: Match;
  /** See `parseIgnored`. */
  readonly ignore?: readonly string[];
  readonly clock: Clock;
  /** The directories of this machine. */
  readonly places?: Places;
  /** Credentials that a recording would not hold. */
  readonly secrets?: () => Promise<ReadonlySet<string>>;
}

export interface Replay {
  readonly recording: Recording;
  /** The exchange that answers a request; a text says why none does, which is a problem if that is final (default). */
  find(request: RawRequest, options?: { readonly isFinal?: boolean }): Promise<FoundExchange | string>;
  /** The bytes of its body. Throws CutError where the connection was lost, AppError `usage` for missing media. */
  play(exchange: Exchange, signal: AbortSignal): AsyncGenerator<Uint8Array>;
  readonly listProblems: Player['listProblems'];
  /**
   * The time of the recording, so that two replays print the same: it stands still but for what is waited for, and for the
   * times of what is played.
   */
  readonly clock: Clock;
  /** Answers in place of a client. */
  readonly send: SendHttp;
}

/** Throws AppError `usage`. */
export async function openReplay(path: string, options: ReplayOptions): Promise<Replay> {
  const recording = await readRecording(path, options.name);
  const { places = NO_PLACES } = options;
  const player = createPlayer(hideInRequests(recording, places), {
    match: options.match,
    ignored: (options.ignore ?? []).map(parseIgnored),
  });
  const media = openMedia(path);
  const { chunks, speed, seed, clock } = options;
  const known = loadOnce(options.secrets ?? (async () => new Set<string>()));
  const time = createReplayClock(recording, clock);
  const find: Replay['find'] = async (request, { isFinal = true } = {}) => {
    const own = listCredentials(request.headers, request.query);
    const { request: stored } = await toStoredRequest(request, new Set([...(await known()), ...own]), places);
    return player.find(stored, isFinal);
  };
  const play: Replay['play'] = ({ id, at, response }, signal) => {
    const onChunk = (ms: number): void => time.reach(Date.parse(at) + ms);
    const restored = { ...response, chunks: response.chunks.map((chunk) => restoreChunk(chunk, places)) };
    return playBody(restored, { id, chunks, speed, seed, media, clock, signal, onChunk });
  };
  return {
    recording,
    find,
    play,
    listProblems: player.listProblems,
    clock: time,
    async send({ method, url, headers, body }, signal) {
      signal.throwIfAborted();
      const found = await find({ method, path: url.pathname, query: url.searchParams, headers, body });
      if (typeof found === 'string') throw unrecordedError(found, options.name);
      const { exchange } = found;
      return toHttpResponse(exchange, url, withLostConnection(play(exchange, signal)));
    },
  };
}

/** One that an earlier gmn made names the directories. */
function hideInRequests(recording: Recording, { hide }: Places): Recording {
  const exchanges = recording.exchanges.map((exchange) => {
    const { body } = exchange.request;
    return body === undefined ? exchange : { ...exchange, request: { ...exchange.request, body: hide(body) } };
  });
  return { ...recording, exchanges };
}

function restoreChunk(chunk: RecordedChunk, { restore, restoreInJson }: Places): RecordedChunk {
  if ('data' in chunk) return { ms: chunk.ms, data: restore(chunk.data) };
  return 'text' in chunk ? { ms: chunk.ms, text: restoreInJson(chunk.text) } : chunk;
}

function unrecordedError(why: string, name: string): AppError {
  return new AppError('api', `the request is not in ${name}: ${why}`, {
    hint: 'If the change is meant, record again, or let it not count: --ignore <field> (gmn help demo).',
  });
}

function toHttpResponse(
  { response: { status, headers } }: Exchange,
  url: URL,
  body: HttpResponse['body'],
): HttpResponse {
  const upload = headers['x-goog-upload-url'];
  const address = upload === undefined ? {} : { 'x-goog-upload-url': new URL(upload, url).href };
  return { status, headers: { ...headers, ...address }, body };
}

async function* withLostConnection(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (thrown) {
    if (!(thrown instanceof CutError)) throw thrown;
    throw new AppError('api', 'the answer was cut short: the connection was lost, as recorded', { retry: {} });
  }
}

function createReplayClock({ exchanges: [first] }: Recording, real: Clock): Clock & { reach(time: number): void } {
  let now = first === undefined ? real.now() : Date.parse(first.at);
  const reach = (time: number): void => {
    now = Math.max(now, time);
  };
  return {
    reach,
    now: () => now,
    async sleep(ms, signal) {
      const end = now + ms;
      await real.sleep(ms, signal);
      reach(end);
    },
  };
}
