import { waitForAbort } from '../core/async.ts';
import type { Clock } from '../core/io.ts';
import { isObject, type JsonObject, toJsonObject } from '../core/json.ts';
import type { ServedReply, ServedRequest } from '../platform/http/server.ts';
import { createAnswer } from './answers.ts';
import { findInputLimit, isEmbedding, isServed, toModelVersion } from './catalog.ts';
import { continueEvents, parseContinuation } from './continuation.ts';
import { embedResponse, hasSomethingToEmbed, toEmbedResponse } from './embed.ts';
import type { FaultBook, FaultName } from './fault.ts';
import { findOwner } from './file-store.ts';
import type { DemoFiles } from './files.ts';
import {
  type ErrorResponse,
  errorResponse,
  faultResponse,
  invalidArgumentResponse,
  notFoundResponse,
  type Outcome,
} from './google-error.ts';
import { checkPictureRequest } from './picture.ts';
import type { QuotaBook } from './quota.ts';
import { checkLength, countPromptTokens, streamResponses } from './reply.ts';
import { type DemoRequest, type Parsed, parseBody, parseRequest, toCamelKeys } from './request.ts';
import type { Backend, Route, Verb } from './route.ts';
import { checkRequest } from './rules.ts';
import { createScriptReader, type ScriptLine, type ScriptMethod } from './script.ts';
import {
  applyFaults,
  joinEvents,
  type StreamFormat,
  sendError,
  sendOutcome,
  sendReply,
  takeStreamFaults,
} from './send.ts';
import { createSignatureBook, type SignatureBook } from './signature.ts';

const ERROR_FAULTS: readonly FaultName[] = [
  '401',
  '403',
  '404-retired',
  '429',
  '429-daily',
  '500',
  '503',
  'UNSUPPORTED_CLIENT',
  'TOS_VIOLATION',
  'VALIDATION_REQUIRED',
];
const RETIRED_PREFIX = 'gemini-2.5-';
const ENVELOPE_KEYS = new Set(['model', 'project', 'user_prompt_id', 'enabled_credit_types', 'request']);

type ModelRoute = Extract<Route, { kind: 'model' }>;

interface ModelCallOptions {
  readonly faults: FaultBook;
  readonly files: DemoFiles;
  readonly clock: Clock;
  readonly script: readonly ScriptLine[] | undefined;
  readonly quotas: QuotaBook;
}

interface Call {
  readonly backend: Backend;
  readonly verb: Verb;
  readonly owner: string;
  readonly model: string;
  readonly body: JsonObject;
  readonly format: StreamFormat;
  readonly reply: ServedReply;
}

interface State extends ModelCallOptions {
  readonly book: SignatureBook;
  readonly next: ((method: ScriptMethod) => readonly JsonObject[] | undefined) | undefined;
  readonly nextId: () => string;
}

interface BatchedCall {
  readonly model: string;
  readonly owner: string;
  readonly body: JsonObject;
  readonly signal: AbortSignal;
}

export interface ModelHandler {
  call(route: ModelRoute, request: ServedRequest, reply: ServedReply): Promise<void>;
  /** The whole response to a request that is part of a batch. Quotas and refusals do not apply. */
  answer(given: BatchedCall): Promise<Outcome>;
}

export function createModelHandler(options: ModelCallOptions): ModelHandler {
  let count = 0;
  const state: State = {
    ...options,
    book: createSignatureBook(),
    next: options.script === undefined ? undefined : createScriptReader(options.script),
    nextId() {
      count += 1;
      return `demo-${String(count).padStart(6, '0')}`;
    },
  };
  return {
    async call(route, request, reply) {
      const format = toStreamFormat(route.verb, request.query);
      const call = unwrapEnvelope(route, parseBody(request.body), { format, reply, owner: findOwner(request) });
      if (!call.ok) return sendError(reply, invalidArgumentResponse(call.message), format);
      const denied = findError(call.value, state.faults);
      if (denied !== undefined) return sendError(reply, denied, format);
      if (state.faults.take(['hang']) !== undefined) return waitForAbort(reply.signal);
      switch (route.verb) {
        case 'countTokens':
          return sendOutcome(reply, answerCountTokens(call.value, state));
        case 'generateContent':
        case 'streamGenerateContent':
          return generate(call.value, state);
        default:
          return sendOutcome(reply, answerEmbed(call.value, route.verb, state));
      }
    },
    answer: (given) => answerBatched(given, state),
  };
}

async function answerBatched(given: BatchedCall, state: State): Promise<Outcome> {
  const { model, owner, signal } = given;
  const request = parseRequest(given.body, model);
  if (!request.ok) return { ok: false, error: invalidArgumentResponse(request.message) };
  const resolved = state.files.resolve(owner, request.value.contents);
  if (!resolved.ok) return resolved;
  const problem = checkRequest(request.value) ?? state.book.check(request.value.contents, model);
  if (problem !== undefined) return { ok: false, error: invalidArgumentResponse(problem) };
  const target = { model, format: 'object', signal } as const;
  const { contents } = resolved;
  const events = createEvents({ target, request: { ...request.value, contents }, responseId: state.nextId() }, state);
  if ('body' in events) return { ok: false, error: events };
  const { clock } = state;
  const sent: JsonObject[] = [];
  for await (const frame of applyFaults(events, takeStreamFaults(state.faults), { clock, signal })) {
    if (frame.kind === 'event') sent.push(frame.value);
  }
  return { ok: true, body: joinEvents(sent) };
}

function toStreamFormat(verb: Verb, query: URLSearchParams): StreamFormat {
  if (verb !== 'streamGenerateContent') return 'object';
  return query.get('alt') === 'sse' ? 'sse' : 'array';
}

function unwrapEnvelope(
  { backend, verb, model: routeModel }: ModelRoute,
  parsed: Parsed<JsonObject>,
  rest: Pick<Call, 'format' | 'reply' | 'owner'>,
): Parsed<Call> {
  if (!parsed.ok) return parsed;
  const outer = parsed.value;
  if (backend !== 'code-assist') {
    const stray = ['session_id', 'sessionId'].find((key) => outer[key] !== undefined);
    if (stray !== undefined) return { ok: false, message: `Invalid JSON payload received. Unknown name "${stray}".` };
    return { ok: true, value: { ...rest, backend, verb, model: routeModel ?? '', body: outer } };
  }
  const stray = Object.keys(outer).find((key) => !ENVELOPE_KEYS.has(key));
  if (stray !== undefined) return { ok: false, message: `Invalid JSON payload received. Unknown name "${stray}".` };
  if (!isObject(outer.request)) return { ok: false, message: 'The envelope holds no request.' };
  const body = toJsonObject(outer.request);
  // countTokens names the model inside the request, with its prefix.
  const model = verb === 'countTokens' ? String(body.model ?? '').replace(/^models\//, '') : String(outer.model ?? '');
  return { ok: true, value: { ...rest, backend, verb, model, body } };
}

/** Why a call of a model is refused: a fault, or a model that does not exist or cannot do that. */
export function findError(
  { backend, model, verb }: Pick<Call, 'backend' | 'model' | 'verb'>,
  faults: FaultBook,
): ErrorResponse | undefined {
  const fits = ({ name, text }: { readonly name: FaultName; readonly text?: string }): boolean =>
    name !== '404-retired' || model.startsWith(text ?? RETIRED_PREFIX);
  const fault = faults.take(ERROR_FAULTS, fits);
  if (fault !== undefined) {
    const { name, retryAfterSeconds } = fault;
    return faultResponse({ fault: name, backend, model, retryAfterSeconds });
  }
  const embeds = verb === 'embedContent' || verb === 'batchEmbedContents' || verb === 'predict';
  if (isServed(model) && (verb === 'countTokens' || embeds === isEmbedding(model))) return undefined;
  return notFoundResponse(`models/${model} is not found, or is not supported for ${verb}.`);
}

function scriptEndError(method: ScriptMethod): ErrorResponse {
  const message = `The script has no more responses for ${method}.`;
  return errorResponse({ code: 500, status: 'INTERNAL', message });
}

function answerCountTokens({ body, model, backend }: Call, state: State): Outcome {
  const scripted = state.next?.('countTokens');
  if (scripted !== undefined) return { ok: true, body: scripted[0] ?? {} };
  if (state.next !== undefined) return { ok: false, error: scriptEndError('countTokens') };
  const request = parseRequest(body, model);
  if (!request.ok) return { ok: false, error: invalidArgumentResponse(request.message) };
  const totalTokens = createAnswer(request.value, () => '').usage?.[0] ?? countPromptTokens(request.value);
  const billed = backend === 'vertex' ? { totalBillableCharacters: totalTokens * 4 } : {};
  return { ok: true, body: { totalTokens, ...billed } };
}

function answerEmbed({ body }: Call, verb: 'embedContent' | 'batchEmbedContents' | 'predict', state: State): Outcome {
  const scripted = state.next?.('embedContent');
  if (scripted !== undefined) return { ok: true, body: toEmbedResponse(verb, scripted[0] ?? {}) };
  if (state.next !== undefined) return { ok: false, error: scriptEndError('embedContent') };
  if (hasSomethingToEmbed(body)) return { ok: true, body: embedResponse(verb, body) };
  return { ok: false, error: invalidArgumentResponse('There is nothing to embed.') };
}

async function generate(call: Call, state: State): Promise<void> {
  const { reply, format } = call;
  const request = parseRequest(call.body, call.model);
  if (!request.ok) return sendError(reply, invalidArgumentResponse(request.message), format);
  const resolved = state.files.resolve(call.owner, request.value.contents);
  if (!resolved.ok) return sendError(reply, resolved.error, format);
  const problem =
    checkRequest(request.value) ??
    state.book.check(request.value.contents, call.model) ??
    checkPictureRequest(request.value, state.book.isValid) ??
    checkLength(request.value, state.faults.take(['window'])?.amount ?? findInputLimit(call.model));
  if (problem !== undefined) return sendError(reply, invalidArgumentResponse(problem), format);
  const { backend, model } = call;
  const refused = state.quotas.admit({ backend, model, promptTokens: () => countPromptTokens(request.value) });
  if (refused !== undefined) return sendError(reply, refused, format);
  const continuation = parseContinuation(toCamelKeys(call.body));
  if (!continuation.ok && state.next === undefined) {
    return sendError(reply, invalidArgumentResponse(continuation.message), format);
  }
  const responseId = state.nextId();
  const target = { model, format, signal: reply.signal };
  const events = createEvents(
    { target, request: { ...request.value, contents: resolved.contents }, responseId },
    state,
  );
  if ('body' in events) return sendError(reply, events, format);
  const faults = takeStreamFaults(state.faults);
  // In a script, the recorded responses decide what follows a token.
  const sent =
    continuation.ok && state.next === undefined ? continueEvents(events, continuation.value, faults) : events;
  const frames = applyFaults(sent, faults, { clock: state.clock, signal: reply.signal });
  const isWrapped = call.backend === 'code-assist';
  const wrap = (response: JsonObject) => (isWrapped ? { response, traceId: responseId } : response);
  await sendReply(reply, { frames, format, wrap, headers: toTierHeaders(request.value, state.faults) });
}

function toTierHeaders({ serviceTier }: DemoRequest, faults: FaultBook): Readonly<Record<string, string>> {
  if (serviceTier === undefined) return {};
  const isLower = faults.take(['tier-downgrade']) !== undefined;
  return { 'x-gemini-service-tier': isLower ? 'standard' : serviceTier };
}

function createEvents(
  given: {
    readonly target: Pick<Call, 'model' | 'format'> & { readonly signal: AbortSignal };
    readonly request: DemoRequest;
    readonly responseId: string;
  },
  state: State,
): AsyncGenerator<JsonObject> | ErrorResponse {
  const { target, request, responseId } = given;
  const method = target.format === 'object' ? 'generateContent' : 'generateContentStream';
  if (state.next !== undefined) {
    const recorded = state.next(method);
    return recorded === undefined ? scriptEndError(method) : replay(recorded, state.book);
  }
  const { sign } = state.book;
  return streamResponses(createAnswer(request, sign), {
    request,
    modelVersion: toModelVersion(target.model),
    responseId,
    clock: state.clock,
    signal: target.signal,
    sign,
  });
}

async function* replay(recorded: readonly JsonObject[], book: SignatureBook): AsyncGenerator<JsonObject> {
  for (const response of recorded) {
    book.record(response);
    // The SDK's own note about the HTTP response.
    const { sdkHttpResponse: _note, ...rest } = response;
    yield rest;
  }
}
