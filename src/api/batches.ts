import type { BatchesClient, BatchJob, BatchReply, BatchResult, BatchResults, BatchState } from '../core/batches.ts';
import { AppError, serverError } from '../core/error.ts';
import { filterObjects, isCount, isObject, toNonEmptyString, tryParseJson } from '../core/json.ts';
import type { ModelRequest } from '../core/model.ts';
import { type Identity, modelPath, toRequestBody } from './backend.ts';
import { parseChunk } from './chunk.ts';
import { classifyStreamError } from './failure.ts';
import { geminiApiUrl } from './gemini-api.ts';
import { callJson, createServiceCaller, type Fields, readPages, type ServiceContext } from './queries.ts';
import { type ReplyReader, replyReader } from './reply.ts';
import { blockedPromptError } from './reply-failure.ts';

const PAGE_SIZE = 100;

/** https://ai.google.dev/api/batch-api */
export function createBatchesClient(context: ServiceContext): BatchesClient {
  const { ask, find } = createServiceCaller(context, { asks: 'batches' });
  return {
    async create({ model, displayName, fileName }, signal) {
      const url = geminiApiUrl(context.place, `${modelPath(model)}:batchGenerateContent`);
      const body = { batch: { displayName, inputConfig: { fileName } } };
      const answer = await callJson(context, { url, body, model, isRepeatable: false }, signal);
      return parseBatchJob(answer);
    },
    async get(name, signal) {
      const answer = await find(toBatchPath(name), signal);
      return answer && parseBatchJob(answer);
    },
    async *list(signal) {
      const pages = readPages((page) => ask(`batches?pageSize=${PAGE_SIZE}${page}`, signal));
      for await (const { operations, batches } of pages) {
        yield* filterObjects(operations ?? batches).flatMap(tryParseJob);
      }
    },
    cancel: async (name, signal) => (await find(`${toBatchPath(name)}:cancel`, signal, { body: {} })) !== undefined,
    delete: async (name, signal) => (await find(toBatchPath(name), signal, { method: 'DELETE' })) !== undefined,
    async parseResult(line, model) {
      const value = typeof line === 'string' ? tryParseJson(line) : line;
      return isObject(value) ? parseResult(value, { model, identity: context.identity }) : undefined;
    },
  };
}

const NAME = /^batches\/[\w-]{1,100}$/;

function toBatchPath(name: string): string {
  if (NAME.test(name)) return name;
  throw new AppError('usage', `"${name.slice(0, 100)}" is not the name of a batch`);
}

function parseBatchJob(fields: Fields): BatchJob {
  const [job] = tryParseJob(fields);
  if (job !== undefined) return job;
  throw serverError('api', 'the server did not describe the batch', { hint: 'Try again.' });
}

/** One at most. Accepts an operation, or a job without one. */
function tryParseJob(fields: Fields): readonly BatchJob[] {
  const metadata = isObject(fields.metadata) ? fields.metadata : fields;
  const name = [fields.name, metadata.name].find((value) => typeof value === 'string' && NAME.test(value));
  if (typeof name !== 'string') return [];
  const stats = isObject(metadata.batchStats) ? metadata.batchStats : {};
  const problem = isObject(fields.error) ? toNonEmptyString(fields.error.message) : undefined;
  const createdAt = Date.parse(String(metadata.createTime));
  return [
    {
      name,
      displayName: toNonEmptyString(metadata.displayName) ?? '',
      state: toBatchState(metadata.state, fields),
      createdAt: Number.isNaN(createdAt) ? undefined : createdAt,
      requests: toCount(stats.requestCount),
      failed: toCount(stats.failedRequestCount),
      results: findResults([fields.response, metadata.output, metadata.dest]),
      problem,
    },
  ];
}

/** By the part after `BATCH_STATE_` or `JOB_STATE_`: the service has used both. */
const STATES: ReadonlyMap<string, BatchState> = new Map([
  ['PENDING', 'pending'],
  ['QUEUED', 'pending'],
  ['RUNNING', 'running'],
  // It is followed by another state.
  ['CANCELLING', 'running'],
  ['SUCCEEDED', 'succeeded'],
  ['PARTIALLY_SUCCEEDED', 'succeeded'],
  ['FAILED', 'failed'],
  ['CANCELLED', 'cancelled'],
  ['EXPIRED', 'expired'],
]);

function toBatchState(state: unknown, { done, error, response }: Fields): BatchState {
  const known = STATES.get(String(state).replace(/^(?:BATCH|JOB)_STATE_/, ''));
  if (known !== undefined || done !== true) return known ?? 'unknown';
  return isObject(error) ? 'failed' : isObject(response) ? 'succeeded' : 'unknown';
}

/** int64 comes as a string. */
function toCount(value: unknown): number | undefined {
  const count = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  return isCount(count) ? count : undefined;
}

/** The results are in the response or in the metadata; inlined ones at one level of nesting or two. */
function findResults(places: readonly unknown[]): BatchResults | undefined {
  for (const place of filterObjects(places)) {
    const fileName = toNonEmptyString(place.responsesFile) ?? toNonEmptyString(place.fileName);
    if (fileName !== undefined) return { fileName };
    const outer = place.inlinedResponses;
    const inlined = isObject(outer) ? outer.inlinedResponses : outer;
    if (Array.isArray(inlined)) return { inlined: filterObjects(inlined) };
  }
  return undefined;
}

/** One line of an input file, without its line break. */
export function formatBatchLine(key: string, request: ModelRequest, fields: object = {}): string {
  return JSON.stringify({ key, request: { ...toRequestBody(request), ...fields } });
}

interface ResultContext {
  readonly model: string;
  readonly identity: Pick<Identity, 'kind' | 'authHint' | 'secrets'>;
}

async function parseResult(value: Fields, context: ResultContext): Promise<BatchResult | undefined> {
  const metadata = isObject(value.metadata) ? value.metadata : {};
  const key = toNonEmptyString(value.key) ?? toNonEmptyString(metadata.key);
  if (key === undefined) return undefined;
  const reader = replyReader(context.model, { secrets: context.identity.secrets });
  const reply = await parseReply(value, reader, context).catch((thrown: unknown) => {
    if (thrown instanceof AppError) return thrown;
    throw thrown;
  });
  const counted = reader.counted();
  return { key, reply, counted };
}

async function parseReply(
  { response, error }: Fields,
  reader: ReplyReader,
  { model, identity }: ResultContext,
): Promise<BatchReply> {
  const { kind: credential, authHint, secrets } = identity;
  const failed = isObject(error) ? { error } : isObject(response) && isObject(response.error) ? response : undefined;
  if (failed !== undefined) {
    throw classifyStreamError({ model, credential, authHint, secrets, body: JSON.stringify(toHttpCodes(failed)) });
  }
  const chunk = parseChunk(response);
  const events = [...reader.take(chunk)];
  if (chunk.block) throw blockedPromptError(chunk.block, secrets);
  reader.throwIfOver();
  const { events: rest, reply } = await reader.finish();
  const text = [...events, ...rest].map((event) => (event.type === 'text' ? event.delta : '')).join('');
  const { usage, details, finishReason, model: answeredBy } = reply;
  return { text, usage, finishReason, model: answeredBy, details };
}

/** From google.rpc.Code, which the error of a row may have, to the HTTP status of the same meaning. */
const HTTP_CODES: Readonly<Record<number, number>> = {
  1: 499,
  2: 500,
  3: 400,
  4: 504,
  5: 404,
  6: 409,
  7: 403,
  8: 429,
  9: 400,
  10: 409,
  11: 400,
  12: 501,
  13: 500,
  14: 503,
  15: 500,
  16: 401,
};

function toHttpCodes({ error }: Fields): object {
  const fields = isObject(error) ? error : {};
  const code = Number(fields.code);
  return { error: { ...fields, code: HTTP_CODES[code] ?? code } };
}
