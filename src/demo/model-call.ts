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
  ApiError,
  type Backend,
  errorResponse,
  faultResponse,
  invalidArgumentResponse,
  notFoundResponse,
  requireValid,
} from './google-error.ts';
import { checkPictureRequest } from './picture.ts';
import type { QuotaBook } from './quota.ts';
import { checkLength, countPromptTokens, streamResponses } from './reply.ts';
import { type DemoRequest, parseBody, parseRequest, toCamelKeys } from './request.ts';
import { checkRequest } from './rules.ts';
import { createScriptReader, type ScriptLine, type ScriptMethod } from './script.ts';
import {
  applyFaults,
  joinEvents,
  type StreamFormat,
  sendJson,
  sendReply,
  takeStreamFaults,
  toStreamFormat,
} from './send.ts';
import { createSignatureBook, type SignatureBook } from './signature.ts';

export const REFUSALS: readonly FaultName[] = [
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

export const VERBS = [
  'generateContent',
  'streamGenerateContent',
  'countTokens',
  'embedContent',
  'batchEmbedContents',
  'predict',
] as const;

type Verb = (typeof VERBS)[number];

interface ModelTarget {
  readonly backend: Backend;
  readonly verb: Verb;
  /** Empty on Code Assist, where the envelope names it. */
  readonly model: string;
}

interface ModelCallOptions {
  readonly faults: FaultBook;
  readonly files: DemoFiles;
  readonly clock: Clock;
  readonly script: readonly ScriptLine[] | undefined;
  readonly quotas: QuotaBook;
}

interface Call extends ModelTarget {
  readonly owner: string;
  readonly body: JsonObject;
  readonly format: StreamFormat;
}

interface State extends ModelCallOptions {
  readonly book: SignatureBook;
  readonly next: ((method: ScriptMethod) => readonly JsonObject[] | undefined) | undefined;
  readonly nextId: () => string;
}

interface BatchedCall extends Pick<Call, 'model' | 'owner' | 'body'> {
  readonly signal: AbortSignal;
}

export type ModelHandler = ReturnType<typeof createModelHandler>;

/** Both methods throw ApiError for a request that is refused. */
export function createModelHandler(options: ModelCallOptions) {
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
    async call(target: ModelTarget, request: ServedRequest, reply: ServedReply): Promise<void> {
      const unwrapped = unwrapEnvelope(target, requireValid(parseBody(request.body)));
      const call = { ...target, ...unwrapped, format: toStreamFormat(request), owner: findOwner(request) };
      checkServed(call, state.faults);
      if (state.faults.take(['hang']) !== undefined) return waitForAbort(reply.signal);
      switch (call.verb) {
        case 'countTokens':
          return sendJson(reply, answerCountTokens(call, state));
        case 'generateContent':
        case 'streamGenerateContent':
          return generate(call, state, reply);
        default:
          return sendJson(reply, answerEmbed(call, call.verb, state));
      }
    },
    /** The whole response to a request that is part of a batch. Quotas and refusals do not apply. */
    async answer(given: BatchedCall): Promise<JsonObject> {
      const { model, signal } = given;
      const request = requireRequest(given, state);
      const events = createEvents({ model, format: 'object', signal }, request, state.nextId(), state);
      const sent: JsonObject[] = [];
      for await (const frame of applyFaults(events, takeStreamFaults(state.faults), { clock: state.clock, signal })) {
        if (frame.kind === 'event') sent.push(frame.value);
      }
      return joinEvents(sent);
    },
  };
}

function requireRequest({ body, model, owner }: Omit<BatchedCall, 'signal'>, { files, book }: State): DemoRequest {
  const request = requireValid(parseRequest(body, model));
  const contents = files.resolve(owner, request.contents);
  const problem = checkRequest(request) ?? book.check(request.contents, model);
  if (problem !== undefined) throw new ApiError(invalidArgumentResponse(problem));
  return { ...request, contents };
}

function unwrapEnvelope({ backend, verb, model }: ModelTarget, outer: JsonObject): Pick<Call, 'model' | 'body'> {
  const isWrapped = backend === 'code-assist';
  const stray = isWrapped
    ? Object.keys(outer).find((key) => !ENVELOPE_KEYS.has(key))
    : ['session_id', 'sessionId'].find((key) => outer[key] !== undefined);
  if (stray !== undefined) {
    throw new ApiError(invalidArgumentResponse(`Invalid JSON payload received. Unknown name "${stray}".`));
  }
  if (!isWrapped) return { model, body: outer };
  if (!isObject(outer.request)) throw new ApiError(invalidArgumentResponse('The envelope holds no request.'));
  const body = toJsonObject(outer.request);
  // countTokens names the model inside the request, with its prefix.
  const named = verb === 'countTokens' ? String(body.model ?? '').replace(/^models\//, '') : String(outer.model ?? '');
  return { model: named, body };
}

/** Throws ApiError for a fault that refuses the request. */
export function checkFaults({ backend, model }: Pick<ModelTarget, 'backend' | 'model'>, faults: FaultBook): void {
  const fits = ({ name, text }: { readonly name: FaultName; readonly text?: string }): boolean =>
    name !== '404-retired' || model.startsWith(text ?? RETIRED_PREFIX);
  const fault = faults.take(REFUSALS, fits);
  const { name = '404-retired', retryAfterSeconds } = fault ?? {};
  const denied = fault && faultResponse({ fault: name, backend, model, retryAfterSeconds });
  if (denied !== undefined) throw new ApiError(denied);
}

/** Throws ApiError for a fault, or a model that does not exist or cannot do that. */
export function checkServed({ backend, model, verb }: ModelTarget, faults: FaultBook): void {
  checkFaults({ backend, model }, faults);
  const embeds = verb === 'embedContent' || verb === 'batchEmbedContents' || verb === 'predict';
  if (isServed(model) && (verb === 'countTokens' || embeds === isEmbedding(model))) return;
  throw new ApiError(notFoundResponse(`models/${model} is not found, or is not supported for ${verb}.`));
}

/** What the script has recorded next; undefined without a script. Throws ApiError at its end. */
function takeRecorded({ next }: State, method: ScriptMethod): readonly JsonObject[] | undefined {
  const recorded = next?.(method);
  if (recorded !== undefined || next === undefined) return recorded;
  const message = `The script has no more responses for ${method}.`;
  throw new ApiError(errorResponse(500, 'INTERNAL', message));
}

function answerCountTokens({ body, model, backend }: Call, state: State): JsonObject {
  const recorded = takeRecorded(state, 'countTokens');
  if (recorded !== undefined) return recorded[0] ?? {};
  const request = requireValid(parseRequest(body, model));
  const totalTokens = createAnswer(request, () => '').usage?.[0] ?? countPromptTokens(request);
  return { totalTokens, totalBillableCharacters: backend === 'vertex' ? totalTokens * 4 : undefined };
}

function answerEmbed(
  { body }: Call,
  verb: 'embedContent' | 'batchEmbedContents' | 'predict',
  state: State,
): JsonObject {
  const recorded = takeRecorded(state, 'embedContent');
  if (recorded !== undefined) return toEmbedResponse(verb, recorded[0] ?? {});
  if (hasSomethingToEmbed(body)) return embedResponse(verb, body);
  throw new ApiError(invalidArgumentResponse('There is nothing to embed.'));
}

async function generate(call: Call, state: State, reply: ServedReply): Promise<void> {
  const { backend, model, format } = call;
  const { signal } = reply;
  const request = requireRequest(call, state);
  const problem =
    checkPictureRequest(request, state.book.isValid) ??
    checkLength(request, state.faults.take(['window'])?.amount ?? findInputLimit(model));
  if (problem !== undefined) throw new ApiError(invalidArgumentResponse(problem));
  const refused = state.quotas.admit({ backend, model, promptTokens: () => countPromptTokens(request) });
  if (refused !== undefined) throw new ApiError(refused);
  // In a script, the recorded responses decide what follows a token.
  const continuation = state.next ? undefined : requireValid(parseContinuation(toCamelKeys(call.body)));
  const responseId = state.nextId();
  const events = createEvents({ model, format, signal }, request, responseId, state);
  const faults = takeStreamFaults(state.faults);
  const sent = continuation === undefined ? events : continueEvents(events, continuation, faults);
  const frames = applyFaults(sent, faults, { clock: state.clock, signal });
  const wrap = (response: JsonObject) => (backend === 'code-assist' ? { response, traceId: responseId } : response);
  await sendReply(reply, { frames, format, wrap, headers: toTierHeaders(request, state.faults) });
}

function toTierHeaders({ serviceTier }: DemoRequest, faults: FaultBook): Readonly<Record<string, string>> {
  if (serviceTier === undefined) return {};
  const isLower = faults.take(['tier-downgrade']) !== undefined;
  return { 'x-gemini-service-tier': isLower ? 'standard' : serviceTier };
}

function createEvents(
  target: Pick<Call, 'model' | 'format'> & { readonly signal: AbortSignal },
  request: DemoRequest,
  responseId: string,
  state: State,
): AsyncGenerator<JsonObject> {
  const recorded = takeRecorded(state, target.format === 'object' ? 'generateContent' : 'generateContentStream');
  if (recorded !== undefined) return replay(recorded, state.book);
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
