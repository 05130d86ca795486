import type { Part } from '../core/content.ts';
import { AppError, findStatus } from '../core/error.ts';
import { toNotices } from '../core/event.ts';
import { type Clock, closeBody, type HttpRequest, type HttpResponse, type SendHttp, type Trace } from '../core/io.ts';
import type {
  CountedCall,
  Model,
  ModelRequest,
  Reply,
  ReplyEvent,
  RequestWatch,
  SpendingLimit,
} from '../core/model.ts';
import { createDeadline } from '../platform/runtime/clock.ts';
import { type Attempt, addTier, beginAttempt, endAttempt, limitNotices, tierNotices } from './attempt.ts';
import type { Backend } from './backend.ts';
import { type Chunk, parseChunk } from './chunk.ts';
import type { FailedCall } from './failure-case.ts';
import type { Fallback, Substitute } from './fallback.ts';
import { type Payload, parsePayload, readPayloads, readPrefix } from './payload.ts';
import { createContentCollector, type ReplyOptions, type ReplyReader, replyMeter, replyReader } from './reply.ts';
import type { CallIds } from './reply-calls.ts';
import type { nextRetry as NextRetry, Retry } from './retry.ts';

const MAX_ERROR_BYTES = 64 * 1024;

/** How long an overloaded model is skipped in the same run. */
const SUBSTITUTE_MS = 300_000;

export interface ModelOptions {
  readonly backend: Backend;
  readonly send: SendHttp;
  readonly clock: Clock;
  readonly random: () => number;
  readonly trace: Trace;
  readonly retryBaseMs: number;
  /** The maximum number of retries; three by default. */
  readonly retries?: number;
  /** Whether thoughts are shown: a call is not retried once something was shown. */
  readonly showsThoughts: boolean;
  /** Ids that gmn makes up for calls are the same in each such run, as when it is recorded and when it is replayed. */
  readonly hasSteadyIds?: boolean;
  /** Thoughts come for the moment only: they are no part of the reply's content. */
  readonly dropsThoughts?: boolean;
  /** When the run must end, in milliseconds since the epoch; undefined if there is no deadline. */
  readonly deadline?: () => number | undefined;
  /** A deadline for each request, its retries included; 0 means none. */
  readonly requestTimeout?: { readonly ms: number; readonly error: () => AppError } | undefined;
  /** How long a stream may send only comments; see `SseOptions`. */
  readonly contentIdleMs?: number;
  readonly fallback?: Fallback;
  /** Tried in order, each with a notice, when the model before is overloaded and nothing was shown. */
  readonly alternatives?: readonly Substitute[] | undefined;
  /** Asked before every request: the first one, retries, resumptions, continuations, and those to other models. */
  readonly spending?: SpendingLimit;
}

interface Call {
  readonly asked: ModelRequest;
  readonly request: ModelRequest;
  readonly signal: AbortSignal;
  readonly retry?: Retry;
  isSent: boolean;
  hasBegun: boolean;
  hasShown: boolean;
  isRefreshed: boolean;
  isRepaired: boolean;
  readonly substitute?: Substitute;
  /** The last point of the reply that the server gave a token for. */
  checkpoint?: Checkpoint;
  /** How often the reply was continued because the server asked for it. */
  hops: number;
  /** How often the reply was resumed at a token after a failure, with or without progress. */
  readonly resumptions: number;
  /** How often it was requested from the start. Resumptions in between do not reset this. */
  readonly restarts: number;
}

interface Checkpoint {
  readonly token: string;
  readonly reader: ReplyReader;
  /** Whether its connection also brought content: the count of retries starts again then. */
  readonly isProgress: boolean;
  /** Whether content came after it: the service might repeat that, so it cannot be used any more. */
  readonly isPassed: boolean;
  /** How often the reply was resumed there after a lost connection, which does not count as a retry. */
  readonly losses: number;
}

/** More continuations or resumptions than this mean a reply that never ends. */
const MAX_HOPS = 64;
const MAX_RESUMPTIONS = 20;

/**
 * A model behind a backend. Around the sending of a request there are, from the outside in: its deadline, other models
 * in its place (`recover`), retries as `nextRetry` decides while nothing of the reply was shown, or nothing after a token to
 * resume it with (`recover`), a repaired request (`sendAttempt`) and a refreshed credential (`sendCall`). `begin`
 * comes once per model: with the first 2xx response, or before the failure if a request was sent. Throws AppError.
 */
export function geminiModel(options: ModelOptions): Model {
  const { clock, requestTimeout } = options;
  const readers = createReaderOptions(options);
  const substitutes = new Map<string, { readonly substitute: Substitute; readonly since: number }>();
  const findSubstitute = (model: string): Substitute | undefined => {
    const { substitute, since = 0 } = substitutes.get(model) ?? {};
    return substitute?.remember || clock.now() - since < SUBSTITUTE_MS ? substitute : undefined;
  };

  const rememberSubstitute = async ({ asked, substitute }: Call): Promise<void> => {
    if (substitute && substitute !== findSubstitute(asked.model)) {
      substitutes.set(asked.model, { substitute, since: clock.now() });
    }
    await substitute?.remember?.();
  };

  async function* stream(
    asked: ModelRequest,
    runSignal: AbortSignal,
    watch?: RequestWatch,
  ): AsyncGenerator<ReplyEvent, Reply> {
    const deadline = requestTimeout && createDeadline(runSignal, requestTimeout.ms, requestTimeout.error);
    const signal = deadline?.signal ?? runSignal;
    const recovery = { ...options, deadline: deadline?.endsAt ?? options.deadline };
    let call = createCall(asked, signal, findSubstitute(asked.model));
    let response: HttpResponse | undefined;
    let attempt: Attempt | undefined;
    const countCall = (counted: CountedCall): void => watch?.onCall?.(counted);
    try {
      for (;;) {
        try {
          for (const event of await waitEvents(call, clock)) yield event;
          attempt = await beginAttempt(call, { ...options, onRequest: watch?.onRequest }, deadline);
          response = await sendAttempt(call, attempt, options);
          for (const event of beginEvents(call)) yield event;
          const reader = resumeReader(call) ?? replyReader(call.request.model, await readers(call.request));
          attempt.reader = reader;
          const reply = yield* receiveReply(call, response, { ...options, reader });
          if (reply !== undefined) {
            await rememberSubstitute(call);
            for (const event of limitNotices(attempt, reply)) yield event;
            const served = addTier(reply, attempt.request, response);
            for (const event of toNotices(tierNotices(served, attempt.request))) yield event;
            return served;
          }
          call = { ...call, retry: undefined };
        } catch (thrown) {
          const failure = AppError.from(signal.aborted ? signal.reason : thrown);
          if (attempt !== undefined) attempt.isRefused = findStatus(failure) !== undefined;
          const { events, next } = await recover(call, failure, recovery);
          for (const event of events) yield event;
          call = next();
        } finally {
          if (attempt !== undefined) endAttempt(attempt, response, countCall);
          attempt = undefined;
          // The consumer may stop before reading the body, and an open connection would keep the process alive.
          if (response) await closeBody(response.body);
          response = undefined;
        }
      }
    } finally {
      deadline?.clear();
    }
  }
  return { stream };
}

/** The reader of a reply that has begun on another connection. */
function resumeReader({ checkpoint }: Call): ReplyReader | undefined {
  checkpoint?.reader.resume();
  return checkpoint?.reader;
}

async function waitEvents({ request, retry, checkpoint, signal }: Call, clock: Clock): Promise<readonly ReplyEvent[]> {
  if (retry) await clock.sleep(retry.delayMs, signal);
  const what = retry ? `${request.model} (attempt ${retry.number + 1})` : request.model;
  return checkpoint ? [] : [{ type: 'wait', what }];
}

function beginEvents(call: Call): readonly ReplyEvent[] {
  const isFirst = !call.hasBegun;
  call.hasBegun = true;
  return isFirst ? [{ type: 'begin', model: call.request.model }] : [];
}

function createCall(asked: ModelRequest, signal: AbortSignal, substitute?: Substitute): Call {
  const fresh = {
    asked,
    signal,
    hops: 0,
    resumptions: 0,
    restarts: 0,
    isSent: false,
    hasBegun: false,
    hasShown: false,
    isRefreshed: false,
    isRepaired: false,
  };
  if (substitute === undefined) return { ...fresh, request: asked };
  const { to, generationConfig } = substitute;
  const request = { ...asked, model: to, generationConfig: generationConfig(asked.generationConfig) };
  return { ...fresh, request, substitute };
}

interface Recovery {
  readonly events: readonly ReplyEvent[];
  next(): Call;
}

/** Another model, the last token, or the start. What was shown is never requested a second time. */
async function recover(call: Call, failure: AppError, options: ModelOptions): Promise<Recovery> {
  const { request, signal } = call;
  const { model } = request;
  const { fallback, alternatives = [], trace, clock, random, deadline } = options;
  const events: ReplyEvent[] = [];
  const { toFinalFailure, nextRetry, formatRetry, formatRetryNotice, joinClauses } = await import('./retry.ts');
  const limits = { baseMs: options.retryBaseMs, random, atMost: options.retries, now: clock.now, deadline };
  const canRestart = !signal.aborted && !call.hasShown;
  const other = canRestart ? await nextAlternative(call, failure, alternatives) : undefined;
  if (other !== undefined) {
    events.push({ type: 'notice', message: joinClauses(`${model}: ${failure.message}`, `asking ${other.to}`) });
    return { events, next: () => createCall(call.asked, signal, other) };
  }
  const resumed = signal.aborted ? undefined : nextResumption(call, failure, { ...limits, nextRetry });
  if (resumed?.retry !== undefined) {
    const text = formatRetry(resumed.retry);
    trace(`${model}: ${failure.message}; resumed from its last token, ${text}`);
    if (resumed.retry.delayMs > 0) events.push({ type: 'notice', message: formatRetryNotice(failure, resumed.retry) });
    return { events, next: () => resumed };
  }
  // Only the token was refused; the prompt itself may still be accepted.
  const isRefused = findStatus(failure) !== undefined;
  const isTokenRefused = call.checkpoint !== undefined && isRefused && failure.retry === undefined;
  const restart = isTokenRefused ? failure.with({ retry: {} }) : failure;
  const done = Math.max(call.restarts, call.retry?.number ?? 0);
  const retry = canRestart ? nextRetry(restart, done, limits) : undefined;
  if (retry !== undefined) {
    const text = formatRetry(retry);
    trace(`${model}: ${failure.message}; ${text}`);
    events.push({ type: 'notice', message: formatRetryNotice(failure, retry) });
    events.push({ type: 'wait', what: `${model}: ${text}` });
    const { checkpoint: _, ...fromStart } = call;
    return { events, next: () => ({ ...fromStart, retry, restarts: retry.number }) };
  }
  const isGone = failure.fault === 'api' && failure.details.objection === 'model';
  const gone = isGone && canRestart ? fallback : undefined;
  if (gone?.from === model) {
    events.push((await import('./fallback.ts')).fallbackNotice(failure, gone));
    return { events, next: () => createCall(call.asked, signal, gone) };
  }
  if (call.isSent && !call.hasBegun) events.push({ type: 'begin', model });
  const isUnresumed = isRefused || (failure.fault === 'api' && call.resumptions >= MAX_RESUMPTIONS);
  const isCutShort = call.checkpoint !== undefined && call.hasShown && isUnresumed;
  const last = gone
    ? (await import('./fallback.ts')).noModelError(failure, gone)
    : toFinalFailure(isCutShort ? (await import('./reply-failure.ts')).cutShortError(failure) : failure, limits);
  return {
    events,
    next: () => {
      throw last;
    },
  };
}

/** How often a reply is resumed at the same token. */
const MAX_LOSSES = 3;

function nextResumption(
  call: Call,
  failure: AppError,
  { nextRetry, ...limits }: Parameters<typeof NextRetry>[2] & { readonly nextRetry: typeof NextRetry },
): Call | undefined {
  const { checkpoint } = call;
  if (checkpoint === undefined || checkpoint.isPassed || call.resumptions >= MAX_RESUMPTIONS) return undefined;
  const { reader } = checkpoint;
  if (reader.isFinished() && !reader.isToBeContinued()) return undefined;
  const done = checkpoint.isProgress ? 0 : (call.retry?.number ?? 0);
  const losses = checkpoint.isProgress ? 0 : checkpoint.losses;
  const isLost = findStatus(failure) === undefined;
  // A lost connection is no reason to wait, unless it is lost again.
  const baseMs = done === 0 && isLost ? 0 : limits.baseMs;
  const { atMost = MAX_LOSSES } = limits;
  // Resuming after a lost connection requests nothing twice, so it does not count as a retry. A refused request does.
  const of = isLost ? MAX_LOSSES : Math.min(MAX_LOSSES, atMost + losses);
  const retry = nextRetry(failure, done, { ...limits, baseMs, atMost: of });
  if (retry === undefined) return undefined;
  const next = { ...checkpoint, isProgress: false, losses: isLost ? losses + 1 : losses };
  return { ...call, retry, checkpoint: next, resumptions: call.resumptions + 1 };
}

async function nextAlternative(
  { substitute }: Call,
  failure: AppError,
  alternatives: readonly Substitute[],
): Promise<Substitute | undefined> {
  const at = substitute === undefined ? -1 : alternatives.indexOf(substitute);
  const next = alternatives[at + 1];
  return next && (await import('./fallback.ts')).isOverloaded(failure) ? next : undefined;
}

/** Throws the classified error for any other response, unless the backend can repair its request. */
async function sendAttempt(call: Call, attempt: Attempt, options: ModelOptions): Promise<HttpResponse> {
  const { backend } = options;
  const response = await sendCall(call, attempt, options);
  if (response.status >= 200 && response.status <= 299) return response;
  const body = await readPrefix(response.body, MAX_ERROR_BYTES);
  if (!call.isRepaired && backend.repair !== undefined) {
    call.isRepaired = true;
    if (await backend.repair({ status: response.status, body }, call.signal))
      return sendAttempt(call, attempt, options);
  }
  const { classifyResponse } = await import('./failure.ts');
  throw classifyResponse({ ...describeCall(call, backend), status: response.status, headers: response.headers, body });
}

/** Undefined if the rest of the reply must be requested, from `call.checkpoint` on. */
async function* receiveReply(
  call: Call,
  response: HttpResponse,
  options: ModelOptions & { readonly reader: ReplyReader },
): AsyncGenerator<ReplyEvent, Reply | undefined> {
  const { clock, trace, reader, contentIdleMs } = options;
  const received = createReceiver(call, options);
  const { isFinished } = reader;
  for await (const batch of readPayloads(response, { now: clock.now, isFinished, contentIdleMs, trace })) {
    const { events, failure } = received.take(batch);
    for (const event of events) yield event;
    if (failure !== undefined) throw await failure();
  }
  const { events, reply } = await received.finish();
  for (const event of events) yield event;
  return reply;
}

interface Receiver {
  /** The events of a batch, up to a failure. */
  take(batch: readonly Payload[]): {
    readonly events: readonly ReplyEvent[];
    readonly failure?: () => unknown;
  };
  /** The remaining events. There is no reply if more must be requested. Throws AppError. */
  finish(): Promise<{ readonly events: readonly ReplyEvent[]; readonly reply?: Reply }>;
}

function createReceiver(
  call: Call,
  { backend, trace, showsThoughts, reader }: ModelOptions & { readonly reader: ReplyReader },
): Receiver {
  const { model } = call.request;
  const askedWith = call.checkpoint?.token;
  let hasContent = false;

  function takeChunk(chunk: Chunk, events: ReplyEvent[]): (() => unknown) | undefined {
    const { error, block, otherCandidates, continuationToken: token } = chunk;
    if (error !== undefined) return () => streamError(call, backend, error);
    if (block) {
      reader.take({ ...chunk, parts: [] });
      return async () => (await import('./reply-failure.ts')).blockedPromptError(block, backend.secrets);
    }
    if (otherCandidates > 0) trace(`${model}: ${otherCandidates} more candidates left out`);
    reader.take(chunk, events);
    reader.throwIfOver();
    const isContent = chunk.parts.some(hasSubstance);
    hasContent ||= isContent;
    if (token !== undefined && token !== call.checkpoint?.token) {
      const isProgress = hasContent && token !== askedWith;
      call.checkpoint = { token, reader, isPassed: false, isProgress, losses: call.checkpoint?.losses ?? 0 };
    } else if (call.checkpoint !== undefined && isContent) {
      call.checkpoint = { ...call.checkpoint, isPassed: true };
    }
    return undefined;
  }

  return {
    take(batch) {
      const events: ReplyEvent[] = [];
      let failure: (() => unknown) | undefined;
      try {
        for (const payload of batch) {
          for (const value of parsePayload(payload)) {
            failure ??= takeChunk(parseChunk(backend.unwrap(value)), events);
          }
          if (failure !== undefined) break;
        }
      } catch (thrown) {
        failure = () => thrown;
      }
      call.hasShown ||= events.some(({ type }) => type !== 'thought' || showsThoughts);
      return failure === undefined ? { events } : { events, failure };
    },
    async finish() {
      if (!reader.isToBeContinued() || call.checkpoint?.isPassed !== false) return reader.finish();
      const { stalledError } = await import('./reply-failure.ts');
      if (!hasContent) throw stalledError({ retry: {} });
      call.hops += 1;
      if (call.hops > MAX_HOPS) throw stalledError();
      return { events: [] };
    },
  };
}

/** Some servers keep a connection busy with empty parts. */
function hasSubstance(part: Part): boolean {
  if ('text' in part && part.text === '') return part.thoughtSignature !== undefined;
  for (const _key in part) return true;
  return false;
}

/** Most requests need no tool-call ids, so the module for them is loaded only on demand. */
function createReaderOptions({
  clock: { now },
  backend: { secrets },
  dropsThoughts,
  hasSteadyIds,
}: ModelOptions): (request: ModelRequest) => Promise<ReplyOptions> | ReplyOptions {
  let ids: CallIds | undefined;
  return (request) => {
    const hasFunctions = request.tools?.some((tool) => tool.functionDeclarations !== undefined) ?? false;
    const keeper = request.keepLimit ? createContentCollector(request.keepLimit, { dropsThoughts }) : undefined;
    if (!hasFunctions) return { keeper, secrets };
    return import('./reply-calls.ts').then(({ createCallIds }) => {
      ids ??= createCallIds(hasSteadyIds ? () => 0 : now);
      return { ids, keeper, secrets };
    });
  };
}

/** Sends the request; on a 401 it refreshes the credential and sends again, once per call. */
async function sendCall(call: Call, attempt: Attempt, { backend, send }: ModelOptions): Promise<HttpResponse> {
  const { signal, checkpoint } = call;
  const request = checkpoint ? { ...attempt.request, continuationToken: checkpoint.token } : attempt.request;
  const onSent = (): void => {
    call.isSent = true;
    attempt.isSent = true;
  };
  const prepare = async (refresh: boolean): Promise<HttpRequest> => {
    const prepared = await backend.prepare(request, { signal, refresh });
    attempt.onRequest?.();
    return { ...prepared, isRepeatable: true, onSent };
  };
  const response = await send(await prepare(false), signal);
  if (response.status !== 401 || !backend.canRefresh || call.isRefreshed) return response;
  call.isRefreshed = true;
  await closeBody(response.body);
  return send(await prepare(true), signal);
}

function describeCall({ request: { model, tools = [] } }: Call, backend: Backend): CallDetails {
  const { credential, authHint, notFoundHint, secrets } = backend;
  const usesSearch = tools.some((tool) => 'googleSearch' in tool);
  return { model, usesSearch, credential, authHint, notFoundHint: notFoundHint?.(model), secrets };
}

type CallDetails = Omit<FailedCall, 'status' | 'headers' | 'body' | 'asks'>;

async function streamError(call: Call, backend: Backend, error: unknown): Promise<AppError> {
  const excess = replyMeter().value(error);
  if (excess !== undefined) return excess;
  const { classifyStreamError } = await import('./failure.ts');
  return classifyStreamError({ ...describeCall(call, backend), body: JSON.stringify(error) });
}
