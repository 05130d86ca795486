import { AppError } from '../core/error.ts';
import type { Clock, HttpResponse, SendHttp, Trace } from '../core/io.ts';
import type { Model, ModelRequest, Reply, ReplyEvent } from '../core/model.ts';
import type { Backend } from './backend.ts';
import type { FailedCall } from './failure.ts';
import { closeBody, readPayloads, readPrefix } from './payload.ts';
import { collectContent, parseChunk, type ReplyOptions, replyMeter, replyReader } from './reply.ts';
import type { CallIds } from './reply-calls.ts';
import type { Retry } from './retry.ts';

const MAX_ERROR_BYTES = 64 * 1024;

export interface ModelOptions {
  readonly backend: Backend;
  readonly send: SendHttp;
  readonly clock: Clock;
  readonly random: () => number;
  readonly trace: Trace;
  /** The delay before the first retry. */
  readonly retryBaseMs: number;
  /** The maximum number of retries; three by default. */
  readonly retries?: number | undefined;
  /** Whether thoughts are shown: a call is not retried once something was shown. */
  readonly showsThoughts: boolean;
  /** When the run must end, in milliseconds since the epoch; undefined if there is no deadline. */
  readonly deadline?: () => number | undefined;
  /** Whether a fallback model will handle the failure: then the requested model is not announced with `begin`. */
  readonly isMadeGood?: (failure: AppError, model: string) => Promise<boolean>;
}

interface Call {
  readonly request: ModelRequest;
  readonly signal: AbortSignal;
  isSent: boolean;
  hasBegun: boolean;
  hasShown: boolean;
  isRenewed: boolean;
  isMended: boolean;
}

/**
 * A model behind a backend. A call is retried as `nextRetry` decides, as long as nothing of its reply was shown.
 * `begin` comes once: with the first 2xx response, or before the failure if a request was sent. Throws AppError.
 */
export function geminiModel(options: ModelOptions): Model {
  const { clock, random, retryBaseMs: baseMs, retries: atMost, deadline, trace } = options;
  const readers = createReaderOptions(clock);
  const retries = { baseMs, random, atMost, now: clock.now, ...(deadline === undefined ? {} : { deadline }) };

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ReplyEvent, Reply> {
    const call = newCall(request, signal);
    let retry: Retry | undefined;
    for (let done = 0; ; done += 1) {
      let response: HttpResponse | undefined;
      try {
        if (retry) await clock.sleep(retry.delayMs, signal);
        yield { type: 'wait', what: retry ? `${request.model} (attempt ${done + 1})` : request.model };
        response = await sendAttempt(call, options);
        if (!call.hasBegun) yield { type: 'begin', model: request.model };
        call.hasBegun = true;
        return yield* receiveReply(call, response, { ...options, reading: await readers(request) });
      } catch (thrown) {
        const failure = AppError.from(signal.aborted ? signal.reason : thrown);
        const { toFinalFailure, nextRetry, formatRetry } = await import('./retry.ts');
        retry = signal.aborted || call.hasShown ? undefined : nextRetry(failure, done, retries);
        if (retry === undefined) {
          const isUnannounced = call.isSent && !call.hasBegun;
          if (isUnannounced && !(await options.isMadeGood?.(failure, request.model))) {
            yield { type: 'begin', model: request.model };
          }
          throw toFinalFailure(failure, retries);
        }
        const words = formatRetry(retry);
        trace(`${request.model}: ${failure.message}; ${words}`);
        yield { type: 'notice', message: `${failure.message}; ${words}` };
        yield { type: 'wait', what: `${request.model}: ${words}` };
      } finally {
        // The consumer may stop before reading the body, and an open connection would keep the process alive.
        if (response) await closeBody(response.body);
      }
    }
  }
  return { stream };
}

function newCall(request: ModelRequest, signal: AbortSignal): Call {
  return { request, signal, isSent: false, hasBegun: false, hasShown: false, isRenewed: false, isMended: false };
}

/**
 * The 2xx response to one attempt. Throws the classified error for any other, unless the backend can repair its
 * request.
 */
async function sendAttempt(call: Call, options: ModelOptions): Promise<HttpResponse> {
  const { backend } = options;
  const response = await sendAuthorized(call, options);
  if (response.status >= 200 && response.status <= 299) return response;
  const body = await readPrefix(response.body, MAX_ERROR_BYTES);
  if (!call.isMended && backend.mend !== undefined) {
    call.isMended = true;
    if (await backend.mend({ status: response.status, body }, call.signal)) return sendAttempt(call, options);
  }
  const { classifyResponse } = await import('./failure.ts');
  throw classifyResponse({ ...describeCall(call, backend), status: response.status, headers: response.headers, body });
}

async function* receiveReply(
  call: Call,
  response: HttpResponse,
  { backend, clock, trace, showsThoughts, reading }: ModelOptions & { readonly reading: ReplyOptions },
): AsyncGenerator<ReplyEvent, Reply> {
  const { model } = call.request;
  const reader = replyReader(model, { ...reading, secrets: backend.secrets });
  const body = readUntilFinished(response, reader.isFinished, trace);
  for await (const batch of readPayloads({ ...response, body }, { now: clock.now })) {
    const batchEvents = joinTexts();
    try {
      for (const value of batch) {
        const chunk = parseChunk(backend.unwrap(value));
        if (chunk.error !== undefined) throw await streamError(call, backend, chunk.error);
        if (chunk.blockReason)
          throw (await import('./reply-failure.ts')).blockedPromptError(chunk.blockReason, backend.secrets);
        if (chunk.otherCandidates > 0) trace(`${model}: ${chunk.otherCandidates} more candidates left out`);
        for (const event of reader.take(chunk)) batchEvents.add(event);
        reader.throwIfOver();
      }
    } finally {
      // Yield the events that arrived before an error first.
      for (const event of batchEvents.events()) {
        if (event.type === 'text' || showsThoughts) call.hasShown = true;
        yield event;
      }
    }
  }
  const { events, reply } = await reader.finish();
  yield* events;
  return reply;
}

/** Most requests need no tool-call ids, so the module for them is loaded only on demand. */
function createReaderOptions({ now }: Clock): (request: ModelRequest) => Promise<ReplyOptions> | ReplyOptions {
  let ids: CallIds | undefined;
  return (request) => {
    const hasFunctions = request.tools?.some((tool) => tool.functionDeclarations !== undefined) ?? false;
    const keeper = request.keepLimit ? collectContent(request.keepLimit) : undefined;
    if (!hasFunctions) return { keeper };
    return import('./reply-calls.ts').then(({ createCallIds }) => {
      ids ??= createCallIds(now);
      return { ids, keeper };
    });
  };
}

/** How long the server may keep the connection open after the finish reason. */
const GRACE_MS = 1000;

/**
 * Once the finish reason has arrived the answer is complete: a lost connection is no longer an error, and an idle one
 * is closed after `GRACE_MS`.
 */
async function* readUntilFinished(
  { body, setIdleTimeout }: HttpResponse,
  isFinished: () => boolean,
  trace: Trace,
): AsyncGenerator<Uint8Array, void> {
  try {
    for await (const chunk of body) {
      yield chunk;
      if (isFinished()) setIdleTimeout?.(GRACE_MS);
    }
  } catch (thrown) {
    if (!(thrown instanceof AppError) || thrown.fault !== 'api' || !isFinished()) throw thrown;
    trace(`after the finish reason: ${thrown.message}`);
  }
}

/** Sends the request; on a 401 it refreshes the credential and sends again, once per call. */
async function sendAuthorized(call: Call, { backend, send }: ModelOptions): Promise<HttpResponse> {
  const { request, signal } = call;
  const onSent = (): void => {
    call.isSent = true;
  };
  const response = await send({ ...(await backend.prepare(request, { signal, renew: false })), onSent }, signal);
  if (response.status !== 401 || !backend.canRenew || call.isRenewed) return response;
  call.isRenewed = true;
  await closeBody(response.body);
  return send({ ...(await backend.prepare(request, { signal, renew: true })), onSent }, signal);
}

function describeCall({ request: { model } }: Call, backend: Backend): CallDetails {
  const { credential, authHint, notFoundHint, secrets } = backend;
  return { model, credential, authHint, notFoundHint: notFoundHint?.(model), secrets };
}

type CallDetails = Pick<FailedCall, 'model' | 'credential' | 'authHint' | 'notFoundHint' | 'secrets'>;

async function streamError(call: Call, backend: Backend, error: unknown): Promise<AppError> {
  const excess = replyMeter().value(error);
  if (excess !== undefined) return excess;
  const { classifyStreamError } = await import('./failure.ts');
  return classifyStreamError({ ...describeCall(call, backend), body: JSON.stringify(error) });
}

interface BatchEvents {
  add(event: ReplyEvent): void;
  events(): readonly ReplyEvent[];
}

/** Joins neighbouring texts of one batch into one event: passing on many small events costs more than their text. */
export function joinTexts(): BatchEvents {
  const events: ReplyEvent[] = [];
  let pieces: string[] = [];
  const closeText = (): void => {
    const [first] = pieces;
    if (first === undefined) return;
    events.push(
      pieces.length === 1 ? { type: 'text', delta: first } : { type: 'text', delta: pieces.join(''), pieces },
    );
    pieces = [];
  };
  return {
    add(event) {
      if (event.type === 'text') return void pieces.push(event.delta);
      closeText();
      events.push(event);
    },
    events() {
      closeText();
      return events;
    },
  };
}
