import { waitForAbort } from '../core/async.ts';
import { AppError } from '../core/error.ts';
import type { Clock } from '../core/io.ts';
import { isList, isObject, type JsonObject, type JsonValue, toJsonObject, tryParseJson } from '../core/json.ts';
import { estimateTokens } from '../core/usage.ts';
import type { RequestHead, ServedReply, StreamHandler } from '../platform/http/server.ts';
import type { Exchange } from '../recording/exchange.ts';
import type { Replay } from '../recording/replay.ts';
import { findModel } from '../recording/stored-request.ts';
import { CutError } from '../recording/wire.ts';
import { createFaultBook, type DemoFault, type FaultBook, type FaultName } from './fault.ts';
import { ApiError, type Backend, errorResponse } from './google-error.ts';
import { type DemoServer, type ServiceOptions, startService } from './listen.ts';
import { checkFaults, REFUSALS, VERBS } from './model-call.ts';
import { createQuotaBook, type QuotaBook } from './quota.ts';
import { cleanPath } from './request.ts';
import { applyFaults, sendError, sendReply, takeStreamFaults, toStreamFormat } from './send.ts';
import { createTokenEndpoint } from './token.ts';

export interface ReplayServerOptions extends ServiceOptions {
  readonly replay: Replay;
  readonly faults?: readonly DemoFault[];
  readonly clock: Clock;
  /** Answers what is not in the recording. Absent: it is refused. */
  readonly missing?: (request: WholeRequest, reply: ServedReply) => Promise<void>;
}

export interface WholeRequest extends RequestHead {
  readonly body: Uint8Array;
}

/** Serves a recording on 127.0.0.1. Throws AppError `usage` for a port, or a fault that a recording cannot have. */
export async function startReplay(options: ReplayServerOptions): Promise<DemoServer> {
  const { faults: given = [], clock } = options;
  const stray = given.find(({ name }) => !APPLICABLE.has(name));
  if (stray !== undefined) {
    throw new AppError('usage', `fault "${stray.name}" does not apply to a recording`, {
      hint: `These do: ${[...APPLICABLE].join(', ')}`,
    });
  }
  const faults = createFaultBook(given);
  const state: State = { ...options, faults, quotas: createQuotaBook(faults, clock) };
  const sendToken = createTokenEndpoint(faults);
  const answerWhole = async (request: WholeRequest, reply: ServedReply): Promise<void> => {
    const location = faults.take(['redirect'])?.text;
    if (location !== undefined) return reply.send(307, { location }, '');
    if (/^\/(?:oauth2\/)?token$/.test(cleanPath(request))) {
      return sendToken(Buffer.from(request.body).toString('utf8'), reply);
    }
    try {
      await answerRecorded(request, reply, state);
    } catch (thrown) {
      if (!(thrown instanceof ApiError)) throw thrown;
      sendError(reply, thrown.response, toStreamFormat(request));
    }
  };
  return startService(receiveWhole(answerWhole), options);
}

/** Bodies as bytes: an upload is no text. */
export function receiveWhole(handle: (request: WholeRequest, reply: ServedReply) => Promise<void>) {
  const stream =
    (head: RequestHead): StreamHandler =>
    async (body, reply) => {
      const pieces: Uint8Array[] = [];
      let size = 0;
      for await (const piece of body) {
        size += piece.length;
        if (size <= MAX_BYTES) pieces.push(piece);
      }
      if (size > MAX_BYTES)
        return reply.send(413, { 'content-type': 'text/plain' }, 'The body is larger than 128 MB.\n');
      await handle({ ...head, body: Buffer.concat(pieces) }, reply);
    };
  return { stream, handler: async () => {} };
}

const MAX_BYTES = 128_000_000;

const STREAM_FAULTS: readonly FaultName[] = [
  ...(['empty', 'safety', 'blocked', 'malformed-call', 'image-safety', 'no-image', 'max-tokens', 'no-finish'] as const),
  ...(['slow', 'garbage', 'cut-after', 'hang-after'] as const),
];

const APPLICABLE: ReadonlySet<FaultName> = new Set([
  ...REFUSALS,
  ...STREAM_FAULTS,
  ...(['rpm', 'tpm', 'daily', '503-burst', 'redirect', 'hang'] as const),
  ...(['token-400', 'token-500', 'token-html', 'token-empty', 'rotate'] as const),
]);

interface State extends Omit<ReplayServerOptions, 'faults'> {
  readonly faults: FaultBook;
  readonly quotas: QuotaBook;
}

async function answerRecorded(request: WholeRequest, reply: ServedReply, state: State): Promise<void> {
  const { replay, faults, quotas, clock } = state;
  const call = findCall(request);
  if (call !== undefined) {
    checkFaults(call, faults);
    if (faults.take(['hang']) !== undefined) return waitForAbort(reply.signal);
    const promptTokens = (): number => estimateTokens(Buffer.from(request.body).toString('utf8'));
    const refused = quotas.admit({ ...call, promptTokens });
    if (refused !== undefined) throw new ApiError(refused);
  }
  const found = await replay.find(request, { isFinal: state.missing === undefined });
  if (typeof found === 'string') {
    if (state.missing !== undefined) return state.missing(request, reply);
    state.log?.(`not in ${replay.recording.name}: ${found}`);
    throw new ApiError(errorResponse(REFUSED, 'FAILED_PRECONDITION', `Not in ${replay.recording.name}: ${found}.`));
  }
  const { exchange } = found;
  const isReply = call !== undefined && /generateContent$/i.test(call.verb) && exchange.response.status === 200;
  const taken = isReply ? takeStreamFaults(faults) : [];
  if (taken.length === 0) return sendRecorded(exchange, request, reply, replay);
  // The client is about to ask once more.
  found.putBack();
  const isWrapped = call?.backend === 'code-assist';
  const wrap = (response: JsonObject): JsonObject => (isWrapped ? { response } : response);
  const frames = applyFaults(listEvents(exchange, isWrapped), taken, { clock, signal: reply.signal });
  await sendReply(reply, { frames, wrap, format: toStreamFormat(request) });
}

/** Not one that clients try again. */
const REFUSED = 422;

interface Call {
  readonly backend: Backend;
  readonly model: string;
  readonly verb: string;
}

function findCall(request: WholeRequest): Call | undefined {
  const path = cleanPath(request);
  const verb = VERBS.find((name) => path.endsWith(`:${name}`)) ?? /\/(decisions)$/.exec(path)?.[1];
  if (verb === undefined) return undefined;
  const isAssist = path.includes('/v1internal:');
  const body = tryParseJson(Buffer.from(request.body).toString('utf8')) as JsonValue | undefined;
  const backend = isAssist ? 'code-assist' : path.includes('/publishers/') ? 'vertex' : 'gemini';
  return { backend, verb, model: findModel({ path, body }) ?? '' };
}

async function sendRecorded(
  exchange: Exchange,
  request: RequestHead,
  reply: ServedReply,
  replay: Replay,
): Promise<void> {
  const { status, headers } = exchange.response;
  const body = replay.play(exchange, reply.signal);
  // Before the headers: media may be missing.
  let piece = await body.next().catch(toMissing);
  reply.begin(status, withOwnAddress(headers, request));
  try {
    for (; !piece.done; piece = await body.next()) await reply.write(piece.value);
    reply.end();
  } catch (thrown) {
    if (!(thrown instanceof CutError)) throw thrown;
    reply.cut();
  }
}

function toMissing(thrown: unknown): never {
  if (!(thrown instanceof AppError)) throw thrown;
  throw new ApiError(errorResponse(REFUSED, 'FAILED_PRECONDITION', thrown.message));
}

/** An upload goes on where the client is already. */
export function withOwnAddress(
  headers: Readonly<Record<string, string>>,
  { headers: { host } }: RequestHead,
): Readonly<Record<string, string>> {
  const upload = headers['x-goog-upload-url'];
  if (upload === undefined || host === undefined || !URL.canParse(upload, 'http://x')) return headers;
  const { pathname, search } = new URL(upload, 'http://x');
  return { ...headers, 'x-goog-upload-url': `http://${host}${pathname}${search}` };
}

async function* listEvents({ response }: Exchange, isWrapped: boolean): AsyncGenerator<JsonObject> {
  for (const chunk of response.chunks) {
    const data = 'data' in chunk ? chunk.data : 'text' in chunk ? tryParseText(chunk.text) : undefined;
    for (const event of isList(data) ? data : [data]) {
      if (isObject(event)) yield isWrapped ? unwrapResponse(event as JsonObject) : (event as JsonObject);
    }
  }
}

function tryParseText(text: string): JsonValue | undefined {
  return tryParseJson(text.replace(/^data: ?/, '')) as JsonValue | undefined;
}

function unwrapResponse(event: JsonObject): JsonObject {
  return isObject(event.response) ? toJsonObject(event.response) : event;
}
