import { AppError, serverError } from '../core/error.ts';
import { closeBody, type HttpRequest, type HttpResponse, type SendHttp } from '../core/io.ts';
import { filterObjects, isCount, isObject, tryParseJson } from '../core/json.ts';
import type { ModelRequest } from '../core/model.ts';
import { addUsage, NO_USAGE, type Usage } from '../core/usage.ts';
import type { ListedModel } from '../models/table.ts';
import { type Identity, modelPath } from './backend.ts';
import { type GeminiApiEndpoint, geminiApiUrl } from './gemini-api.ts';
import { readPrefix } from './payload.ts';
import type { RetryPause } from './retry.ts';
import { type VertexEndpoint, vertexModelPath, vertexUrl } from './vertex.ts';

interface EmbedBatch {
  readonly model: string;
  readonly texts: readonly string[];
  /** As the API names it: `RETRIEVAL_DOCUMENT`. */
  readonly taskType?: string;
  readonly dimensions?: number;
}

export interface Embeddings {
  readonly vectors: readonly (readonly number[])[];
  /** As far as the service counts: gemini-embedding-001 on the Gemini API does not. */
  readonly usage: Usage;
}

/** Queries to a backend besides model calls. Every method throws AppError `auth` or `api`. */
export interface Queries {
  countTokens(request: ModelRequest, signal: AbortSignal): Promise<number>;
  listModels(signal: AbortSignal): Promise<readonly ListedModel[]>;
  embed(batch: EmbedBatch, signal: AbortSignal): Promise<Embeddings>;
  checkAccount(signal: AbortSignal): Promise<{ readonly lines: readonly string[] }>;
}

const MAX_BYTES = 16 * 1024 * 1024;

export interface QueryContext {
  readonly identity: Identity;
  readonly send: SendHttp;
  readonly userAgent: string;
}

export interface RetryOptions extends RetryPause {
  readonly random: () => number;
  readonly retryBaseMs: number;
  readonly retries?: number;
}

export interface JsonCall {
  readonly url: URL;
  readonly method?: HttpRequest['method'];
  readonly body?: object;
  readonly model?: string;
  /** See `HttpRequest`. By default true for a call with a model. */
  readonly isRepeatable?: boolean;
  /** What a call without a model is for, for error messages: `a list of models`. */
  readonly asks?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** May turn an error response into a result, by the reasons it names and its status. */
  readonly instead?: (reasons: readonly string[], status: number) => Fields | undefined;
}

export type Fields = Readonly<Record<string, unknown>>;

/** On a 401 it refreshes the credential and tries once more. Throws AppError `auth` or `api`. */
export async function callJson(caller: QueryContext, call: JsonCall, signal: AbortSignal): Promise<Fields> {
  const type: HttpRequest['headers'] = call.body === undefined ? {} : { 'content-type': 'application/json' };
  const request: HttpRequest = {
    method: call.method ?? (call.body === undefined ? 'GET' : 'POST'),
    url: call.url,
    headers: { ...type, accept: 'application/json', ...call.headers },
    body: call.body && JSON.stringify(call.body),
    // A query changes nothing on the server; onboarding might.
    isRepeatable: call.isRepeatable ?? call.model !== undefined,
  };
  return readResponse(await sendAuthorized(caller, request, signal), caller.identity, call);
}

export async function sendAuthorized(
  { identity, send, userAgent }: QueryContext,
  request: HttpRequest,
  signal: AbortSignal,
): Promise<HttpResponse> {
  let credential: Readonly<Record<string, string>> | undefined;
  const attempt = async (refresh: boolean): Promise<HttpResponse> => {
    credential = await identity.headers({ signal, refresh, refused: credential });
    return send({ ...request, headers: { 'user-agent': userAgent, ...request.headers, ...credential } }, signal);
  };
  const response = await attempt(false);
  if (response.status !== 401 || !identity.canRefresh) return response;
  await closeBody(response.body);
  return attempt(true);
}

async function readResponse(response: HttpResponse, identity: Identity, call: JsonCall): Promise<Fields> {
  const { status } = response;
  const text = await readPrefix(response.body, MAX_BYTES);
  if (status < 200 || status > 299) {
    const { tryParseGoogleError } = await import('./google-error.ts');
    const instead = call.instead?.(tryParseGoogleError(text)?.reasons ?? [], status);
    if (instead !== undefined) return instead;
    throw await responseError(response, text, { identity, ...call });
  }
  const value = tryParseJson(text);
  if (isObject(value)) return value;
  throw serverError('api', 'the server did not answer with a JSON object', {
    hint: 'A login page or a proxy may be in between; open a web page once, or check the base URL.',
    status,
  });
}

/** A client of one of the Gemini API's services beside the models: files, batches, decisions, interactions. */
export interface ServiceContext extends QueryContext, RetryOptions {
  readonly place: GeminiApiEndpoint;
}

type ServiceCall = Omit<JsonCall, 'url' | 'instead'>;

export interface ServiceCaller {
  /** With retries, as `find` is. */
  ask(path: string, signal: AbortSignal, call?: ServiceCall): Promise<Fields>;
  /** Undefined if what the path names does not exist. */
  find(path: string, signal: AbortSignal, call?: ServiceCall): Promise<Fields | undefined>;
}

export function createServiceCaller(context: ServiceContext, common: ServiceCall): ServiceCaller {
  const ask = (path: string, signal: AbortSignal, call?: Omit<JsonCall, 'url'>): Promise<Fields> => {
    const whole = { ...common, ...call, url: geminiApiUrl(context.place, path) };
    return withRetries(() => callJson(context, whole, signal), context, signal);
  };
  return {
    ask,
    async find(path, signal, call) {
      const fields = await ask(path, signal, { ...call, instead: replaceNotFound });
      return fields === NOT_FOUND ? undefined : fields;
    },
  };
}

const NOT_FOUND: Fields = {};

/** Google answers 403 for what does not exist, as for what belongs to another account. */
function replaceNotFound(reasons: readonly string[], status: number): Fields | undefined {
  return status === 404 || (status === 403 && reasons.length === 0) ? NOT_FOUND : undefined;
}

export async function responseError(
  { status, headers }: HttpResponse,
  text: string,
  { identity, model, asks }: Pick<JsonCall, 'model' | 'asks'> & { readonly identity: Identity },
): Promise<AppError> {
  const { classifyResponse } = await import('./failure.ts');
  const { kind: credential, authHint, secrets } = identity;
  return classifyResponse({ status, headers, body: text, model, asks, credential, authHint, secrets });
}

/** Runs `task` with retries, reported only in the trace unless they take long. Throws the last failure. */
export async function withRetries<Value>(
  task: () => Promise<Value>,
  retrying: RetryOptions,
  signal: AbortSignal,
): Promise<Value> {
  const { clock, random, retryBaseMs: baseMs, retries: atMost } = retrying;
  const options = { baseMs, random, atMost, now: clock.now };
  for (let done = 0; ; done += 1) {
    try {
      return await task();
    } catch (thrown) {
      if (signal.aborted) throw signal.reason;
      if (!(thrown instanceof AppError)) throw thrown;
      const { toFinalFailure, nextRetry, pauseBeforeRetry } = await import('./retry.ts');
      const retry = nextRetry(thrown, done, options);
      if (retry === undefined) throw toFinalFailure(thrown, options);
      await pauseBeforeRetry(thrown, retry, retrying, signal);
    }
  }
}

const PAGE_SIZE = 1000;
/** Guards against a server that never stops sending page tokens. */
const MAX_MODEL_PAGES = 100;

export function geminiApiQueries(place: GeminiApiEndpoint, caller: QueryContext): Queries {
  const listModels = (signal: AbortSignal): Promise<readonly ListedModel[]> =>
    listModelPages(
      readPages((page) => {
        const url = geminiApiUrl(place, `models?pageSize=${PAGE_SIZE}${page}`);
        return callJson(caller, { url, asks: 'a list of models' }, signal);
      }, MAX_MODEL_PAGES),
      'models',
    );
  return {
    listModels,
    async countTokens(request, signal) {
      const path = modelPath(request.model);
      const url = geminiApiUrl(place, `${path}:countTokens`);
      const answer = await callJson(caller, { url, body: toCountBody(request, path), model: request.model }, signal);
      return parseCount(answer);
    },
    async embed({ model, texts, taskType, dimensions: outputDimensionality }, signal) {
      const path = modelPath(model);
      const url = geminiApiUrl(place, `${path}:batchEmbedContents`);
      const requests = texts.map((text) => {
        return { model: path, content: { parts: [{ text }] }, taskType, outputDimensionality };
      });
      const found = parseEmbeddings(await callJson(caller, { url, body: { requests }, model }, signal));
      const { vectors } = found;
      if (vectors.length === texts.length) return found;
      const hint = 'Try again.';
      throw serverError('api', `the server sent ${vectors.length} embeddings for ${texts.length} texts`, { hint });
    },
    checkAccount: async (signal) => ({
      lines: [`The Gemini API accepts it: ${formatModelCount(await listModels(signal))}.`],
    }),
  };
}

function formatModelCount(models: readonly ListedModel[]): string {
  return `${models.length} ${models.length === 1 ? 'model' : 'models'}`;
}

/** The API counts a system instruction and tools only inside a full request, which must repeat the model. */
function toCountBody({ contents, systemInstruction, tools }: ModelRequest, model: string): object {
  if (systemInstruction === undefined && tools === undefined) return { contents };
  return { generateContentRequest: { model, contents, systemInstruction, tools } };
}

export function parseCount({ totalTokens }: Fields): number {
  if (typeof totalTokens === 'number' && Number.isSafeInteger(totalTokens) && totalTokens >= 0) return totalTokens;
  throw serverError('api', 'the server did not say how many tokens there are', {
    hint: 'Try again, or choose another model with -m.',
  });
}

/** Vectors and token counts, as `batchEmbedContents`, `embedContent` and Vertex AI's `predict` name them. */
function parseEmbeddings({ embeddings, embedding, predictions, usageMetadata }: Fields): Embeddings {
  const found = filterObjects(
    embeddings ?? (embedding ? [embedding] : filterObjects(predictions).map(({ embeddings: inner }) => inner)),
  );
  const statistics = found.map((each) => (isObject(each.statistics) ? each.statistics.token_count : undefined));
  const counts = isObject(usageMetadata) ? [usageMetadata.promptTokenCount] : statistics;
  const tokens = counts.filter(isCount);
  const isCounted = tokens.length > 0 && tokens.length === counts.length;
  return {
    vectors: found.map(parseVector),
    usage: isCounted ? { promptTokenCount: tokens.reduce((sum, count) => sum + count, 0) } : NO_USAGE,
  };
}

function parseVector(embedding: unknown): readonly number[] {
  const values = isObject(embedding) ? embedding.values : undefined;
  const isWhole = Array.isArray(values) && values.length > 0 && values.every((value) => typeof value === 'number');
  if (isWhole) return values;
  throw noEmbeddingError();
}

function noEmbeddingError(): AppError {
  return serverError('api', 'the server sent no embedding', { hint: 'Try again.' });
}

/** The pages of a list. `fetchPage` gets what to add to the query of its address. */
export async function* readPages(
  fetchPage: (page: string) => Promise<Fields>,
  maxPages = 1000,
): AsyncGenerator<Fields, void> {
  let page = '';
  for (let pages = 0; pages < maxPages; pages += 1) {
    const fields = await fetchPage(page);
    yield fields;
    const { nextPageToken } = fields;
    if (typeof nextPageToken !== 'string' || nextPageToken === '') return;
    page = `&pageToken=${encodeURIComponent(nextPageToken)}`;
  }
}

async function listModelPages(pages: AsyncIterable<Fields>, key: string): Promise<readonly ListedModel[]> {
  const found = new Map<string, ListedModel>();
  for await (const { [key]: models } of pages) {
    for (const model of Array.isArray(models) ? models.flatMap(parseListedModel) : []) found.set(model.id, model);
  }
  return [...found.values()];
}

/** Leaves out models that cannot generate content; a list without methods leaves that open. */
function parseListedModel(value: unknown): readonly ListedModel[] {
  if (!isObject(value) || typeof value.name !== 'string') return [];
  const id = value.name.replace(/^.*\//s, '');
  const methods = value.supportedGenerationMethods;
  if (!/^[\w.@:-]+$/.test(id) || (Array.isArray(methods) && !methods.includes('generateContent'))) return [];
  const { inputTokenLimit, outputTokenLimit, thinking } = value;
  return [
    {
      id,
      inputLimit: typeof inputTokenLimit === 'number' ? inputTokenLimit : undefined,
      outputLimit: typeof outputTokenLimit === 'number' ? outputTokenLimit : undefined,
      thinks: typeof thinking === 'boolean' ? thinking : undefined,
    },
  ];
}

const VERTEX_PAGE_SIZE = 100;

export function vertexQueries(place: VertexEndpoint, caller: QueryContext): Queries {
  const { site } = place;
  // A publisher's list belongs to no project, so a header must name the project to charge.
  const headers = site && { 'x-goog-user-project': site.project };
  const listModels = async (signal: AbortSignal): Promise<readonly ListedModel[]> => {
    const pages = readPages((page) => {
      const url = vertexUrl(place, `publishers/google/models?pageSize=${VERTEX_PAGE_SIZE}${page}`);
      return callJson(caller, { url, headers, asks: 'a list of models' }, signal);
    }, MAX_MODEL_PAGES);
    const models = await listModelPages(pages, 'publisherModels');
    // Google also publishes models that do not answer in text, and the list does not mark them.
    return models.filter(({ id }) => /^gem(?:ini|ma)-(?!embedding)/.test(id));
  };
  const embedOne = async (
    text: string,
    { model, taskType, dimensions: outputDimensionality }: Omit<EmbedBatch, 'texts'>,
    signal: AbortSignal,
  ): Promise<Embeddings> => {
    // As Google's own SDK decides it: the first Gemini model and those before it are behind `predict`.
    const isContent = /gemini|maas/.test(model) && !/\bgemini-embedding-001$/.test(model);
    const url = vertexUrl(place, `${vertexModelPath(place, model)}:${isContent ? 'embedContent' : 'predict'}`);
    const body = isContent
      ? {
          content: { role: 'user', parts: [{ text }] },
          embedContentConfig: (taskType ?? outputDimensionality) ? { taskType, outputDimensionality } : undefined,
        }
      : { instances: [{ content: text, task_type: taskType }], parameters: { outputDimensionality } };
    const found = parseEmbeddings(await callJson(caller, { url, body, model }, signal));
    const [first] = found.vectors;
    if (first === undefined) throw noEmbeddingError();
    return { ...found, vectors: [first] };
  };
  return {
    listModels,
    async countTokens({ model, contents, systemInstruction, tools }, signal) {
      const url = vertexUrl(place, `${vertexModelPath(place, model)}:countTokens`);
      return parseCount(await callJson(caller, { url, body: { contents, systemInstruction, tools }, model }, signal));
    },
    // Vertex AI takes one text in a request.
    async embed({ texts, ...wanted }, signal) {
      const vectors: (readonly number[])[] = [];
      let usage = NO_USAGE;
      for (const text of texts) {
        const found = await embedOne(text, wanted, signal);
        vectors.push(...found.vectors);
        usage = addUsage(usage, found.usage);
      }
      return { vectors, usage };
    },
    async checkAccount(signal) {
      const where = site === undefined ? '' : ` (project ${site.project}, location ${site.location})`;
      return { lines: [`Vertex AI accepts it${where}: ${formatModelCount(await listModels(signal))}.`] };
    },
  };
}
