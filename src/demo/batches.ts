import type { Clock } from '../core/io.ts';
import { isObject, type JsonObject, type JsonValue, toJsonObject, tryParseJson } from '../core/json.ts';
import { splitTextLines } from '../platform/files/chunks.ts';
import type { RequestHead, ServedReply, ServedRequest } from '../platform/http/server.ts';
import type { FaultBook } from './fault.ts';
import { findOwner } from './file-store.ts';
import type { DemoFiles } from './files.ts';
import {
  ApiError,
  type ErrorResponse,
  errorResponse,
  invalidArgumentResponse,
  notFoundResponse,
  requireValid,
} from './google-error.ts';
import { checkServed, type ModelHandler } from './model-call.ts';
import { parseBody, slicePage, toCamelKeys } from './request.ts';
import { sendJson } from './send.ts';

interface BatchOptions {
  readonly faults: FaultBook;
  readonly clock: Clock;
  readonly files: Pick<DemoFiles, 'create' | 'read'>;
  readonly answer: ModelHandler['answer'];
}

type State = 'PENDING' | 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'CANCELLED' | 'EXPIRED';

interface Row {
  readonly key: string | undefined;
  readonly metadata: JsonValue | undefined;
  readonly request: JsonObject;
}

interface Job {
  readonly name: string;
  readonly model: string;
  readonly displayName: string;
  readonly owner: string;
  readonly fileName: string | undefined;
  readonly inlined: readonly Row[];
  readonly count: number;
  readonly createdAt: number;
  state: State;
  polls: number;
  endedAt?: number;
  output?: JsonObject;
  failed: number;
}

/** The service gives up a job that takes longer. */
const EXPIRY_MS = 48 * 3_600_000;
const DEFAULT_POLLS = 2;
const TYPE = 'type.googleapis.com/google.ai.generativelanguage.v1main.';

/** Two equal requests make two jobs, as with the real service. A job moves on when it is looked at, or with `batch-time`. */
export function createBatches(options: BatchOptions) {
  const { faults, clock } = options;
  const jobs = new Map<string, Job>();
  const takeAmount = (name: 'batch-polls' | 'batch-time' | 'batch-lag') => faults.take([name])?.amount;
  const pollsNeeded = takeAmount('batch-polls') ?? DEFAULT_POLLS;
  const timeMs = takeAmount('batch-time');
  const lagMs = takeAmount('batch-lag') ?? 0;
  const shape: Shape = {
    prefix: faults.take(['batch-job-state']) ? 'JOB_STATE_' : 'BATCH_STATE_',
    isFlat: faults.take(['batch-flat']) !== undefined,
    inMetadata: faults.take(['batch-response']) === undefined,
    inResponse: faults.take(['batch-metadata']) === undefined,
  };
  let count = 0;

  const complete = async (job: Job): Promise<void> => {
    job.endedAt = clock.now();
    if (faults.take(['batch-expired']) !== undefined) {
      job.state = 'EXPIRED';
    } else if (faults.take(['batch-failed']) !== undefined) {
      job.state = 'FAILED';
    } else {
      job.output = await createJobOutput(job, options, shape);
      // The file of the requests was deleted meanwhile.
      job.state = job.output === undefined ? 'FAILED' : 'SUCCEEDED';
    }
  };
  const advance = async (job: Job): Promise<void> => {
    if (job.endedAt !== undefined) return;
    const ageMs = clock.now() - job.createdAt;
    job.polls += 1;
    const isOver = timeMs === undefined ? job.polls >= pollsNeeded : ageMs >= timeMs;
    if (ageMs >= EXPIRY_MS) Object.assign(job, { state: 'EXPIRED', endedAt: clock.now() });
    else if (isOver) await complete(job);
    else job.state = 'RUNNING';
  };
  const requireJob = (id: string, request: RequestHead): Job => {
    const job = jobs.get(`batches/${id}`);
    if (job !== undefined && job.owner === findOwner(request)) return job;
    throw new ApiError(notFoundResponse(`Batch batches/${id} is not found.`));
  };
  const show = (job: Job, withOutput = true): JsonObject => toOperation(job, { shape, now: clock.now(), withOutput });

  return {
    async create(model: string, request: ServedRequest, reply: ServedReply): Promise<void> {
      checkServed({ backend: 'gemini', model, verb: 'generateContent' }, faults);
      if (faults.take(['batch-full']) !== undefined) throw new ApiError(fullResponse(model));
      const parsed = await parseCreation(request, options.files);
      count += 1;
      const name = `batches/demo${String(count).padStart(8, '0')}`;
      const job: Job = { ...parsed, name, model, createdAt: clock.now(), state: 'PENDING', polls: 0, failed: 0 };
      jobs.set(name, job);
      if (faults.take(['batch-lost']) === undefined) return sendJson(reply, show(job));
      reply.begin(200, { 'content-type': 'application/json' });
      reply.cut();
    },
    async get(id: string, request: RequestHead): Promise<JsonObject> {
      const job = requireJob(id, request);
      await advance(job);
      return show(job);
    },
    list(request: RequestHead): JsonObject {
      const owner = findOwner(request);
      // The newest first, as people expect of a list of jobs.
      const isVisible = (job: Job): boolean => job.owner === owner && job.createdAt + lagMs <= clock.now();
      const visible = [...jobs.values()].filter(isVisible).reverse();
      const { items, next } = slicePage(visible, request.query, { usual: 50, most: 1000 });
      const operations = items.map((job) => show(job, false));
      return { operations: operations.length === 0 ? undefined : operations, ...next };
    },
    cancel(id: string, request: RequestHead): JsonObject {
      const job = requireJob(id, request);
      if (job.endedAt === undefined) Object.assign(job, { state: 'CANCELLED', endedAt: clock.now() });
      return {};
    },
    delete(id: string, request: RequestHead): JsonObject {
      jobs.delete(requireJob(id, request).name);
      return {};
    },
  };
}

type Creation = Pick<Job, 'displayName' | 'owner' | 'fileName' | 'inlined' | 'count'>;

async function parseCreation(request: ServedRequest, files: BatchOptions['files']): Promise<Creation> {
  const body = requireValid(parseBody(request.body));
  const owner = findOwner(request);
  const batch = toCamelKeys(toJsonObject(toCamelKeys(body).batch));
  const displayName = typeof batch.displayName === 'string' ? batch.displayName : '';
  if (displayName === '') throw new ApiError(invalidArgumentResponse('batch.display_name: must not be empty'));
  const inputConfig = toCamelKeys(toJsonObject(batch.inputConfig));
  const { fileName } = inputConfig;
  if (typeof fileName === 'string') {
    const content = files.read(owner, fileName);
    if (content === undefined) throw new ApiError(notFoundResponse(`File ${fileName} is not found.`));
    let count = 0;
    for await (const _row of readFileRows(content)) count += 1;
    return { displayName, owner, fileName, inlined: [], count };
  }
  const { requests } = toJsonObject(inputConfig.requests);
  if (!Array.isArray(requests) || requests.length === 0) {
    throw new ApiError(invalidArgumentResponse('batch.input_config: names neither a file nor requests'));
  }
  const inlined = requests.map((item) => {
    const { request: row, metadata } = toJsonObject(item);
    return { key: undefined, metadata, request: toJsonObject(row) };
  });
  return { displayName, owner, fileName: undefined, inlined, count: inlined.length };
}

async function* readFileRows(content: AsyncIterable<Uint8Array>): AsyncGenerator<Row, void> {
  for await (const line of splitTextLines(content)) if (line.trim() !== '') yield parseInputLine(line);
}

function parseInputLine(line: string): Row {
  const value = tryParseJson(line);
  const { key, request } = isObject(value) ? toJsonObject(value) : {};
  return { key: typeof key === 'string' ? key : undefined, metadata: undefined, request: toJsonObject(request) };
}

function fullResponse(model: string): ErrorResponse {
  const violation = {
    quotaMetric: 'generativelanguage.googleapis.com/batch_enqueued_tokens',
    quotaId: 'BatchEnqueuedTokensPerModel',
    quotaDimensions: { model },
    quotaValue: '3000000',
  };
  const message = `Too many tokens are enqueued for ${model}. Wait until a batch is complete.`;
  const details = [{ '@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations: [violation] }];
  return errorResponse(429, 'RESOURCE_EXHAUSTED', message, details);
}

interface Shape {
  readonly prefix: string;
  readonly isFlat: boolean;
  readonly inMetadata: boolean;
  readonly inResponse: boolean;
}

async function createJobOutput(job: Job, options: BatchOptions, shape: Shape): Promise<JsonObject | undefined> {
  const { faults, files } = options;
  const { fileName, owner, inlined, displayName } = job;
  if (fileName === undefined) {
    const results: JsonObject[] = [];
    for await (const result of createResults(job, inlined, options)) results.push(result);
    if (faults.take(['batch-reversed']) !== undefined) results.reverse();
    return { inlinedResponses: shape.isFlat ? results : { inlinedResponses: results } };
  }
  const content = files.read(owner, fileName);
  if (content === undefined) return undefined;
  const isReversed = faults.take(['batch-reversed']) !== undefined;
  const lines = toLines(createResults(job, readFileRows(content), options));
  const mimeType = 'application/jsonl';
  const name = `results of ${displayName}`;
  const made = { mimeType, displayName: name, content: isReversed ? reverse(lines) : lines };
  return { responsesFile: await files.create(owner, made) };
}

async function* createResults(
  job: Job,
  rows: Iterable<Row> | AsyncIterable<Row>,
  { faults, answer }: BatchOptions,
): AsyncGenerator<JsonObject, void> {
  const errorEvery = faults.take(['batch-row-errors'])?.amount ?? Number.POSITIVE_INFINITY;
  const missingEvery = faults.take(['batch-row-missing'])?.amount ?? Number.POSITIVE_INFINITY;
  const { model, owner } = job;
  const { signal } = new AbortController();
  let number = 0;
  for await (const { key, metadata, request } of rows) {
    number += 1;
    if (number % missingEvery === 0) continue;
    try {
      if (number % errorEvery === 0) throw new ApiError(ROW_FAILURE);
      yield { key, metadata, response: await answer({ model, owner, body: request, signal }) };
    } catch (thrown) {
      if (!(thrown instanceof ApiError)) throw thrown;
      job.failed += 1;
      const { code = 500, message = '' } = toJsonObject(thrown.response.body.error);
      yield { key, metadata, error: { code, message } };
    }
  }
}

const PIECE_CHARACTERS = 65_536;

async function* toLines(results: AsyncIterable<JsonObject>): AsyncGenerator<Uint8Array, void> {
  let text = '';
  for await (const result of results) {
    text += `${JSON.stringify(result)}\n`;
    if (text.length < PIECE_CHARACTERS) continue;
    yield Buffer.from(text);
    text = '';
  }
  if (text !== '') yield Buffer.from(text);
}

async function* reverse(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  const lines = Buffer.concat(all).toString('utf8').trimEnd().split('\n');
  yield Buffer.from(`${lines.reverse().join('\n')}\n`);
}

const ROW_FAILURE = errorResponse(500, 'INTERNAL', 'The row could not be processed.');

function toOperation(
  job: Job,
  { shape, now, withOutput }: { readonly shape: Shape; readonly now: number; readonly withOutput: boolean },
): JsonObject {
  const { name, model, displayName, fileName, count, createdAt, endedAt, state, failed } = job;
  const isDone = endedAt !== undefined;
  // A list has the names of files, but no inlined responses.
  const output = withOutput || job.output?.responsesFile !== undefined ? job.output : undefined;
  const isGood = state === 'SUCCEEDED';
  const metadata = {
    '@type': `${TYPE}GenerateContentBatch`,
    name,
    model: `models/${model}`,
    displayName,
    state: `${shape.prefix}${state}`,
    createTime: new Date(createdAt).toISOString(),
    updateTime: new Date(endedAt ?? now).toISOString(),
    endTime: isDone ? new Date(endedAt).toISOString() : undefined,
    inputConfig: fileName === undefined ? {} : { fileName },
    priority: '0',
    batchStats: {
      requestCount: String(count),
      successfulRequestCount: isGood ? String(count - failed) : undefined,
      failedRequestCount: isGood ? String(failed) : undefined,
      pendingRequestCount: isGood ? undefined : String(count),
    },
    output: shape.inMetadata ? output : undefined,
  };
  if (!isDone) return { name, metadata };
  return { name, metadata, done: true, ...toEnding(state, shape.inResponse ? output : undefined) };
}

function toEnding(state: State, output: JsonObject | undefined): JsonObject {
  if (state === 'SUCCEEDED') {
    return output === undefined ? {} : { response: { '@type': `${TYPE}GenerateContentBatchOutput`, ...output } };
  }
  const [code, message] = ENDINGS[state] ?? [13, 'The batch failed.'];
  return { error: { code, message } };
}

/** Codes of google.rpc.Code. */
const ENDINGS: Readonly<Partial<Record<State, readonly [number, string]>>> = {
  CANCELLED: [1, 'The batch was cancelled.'],
  EXPIRED: [4, 'The batch expired before it was complete.'],
};
