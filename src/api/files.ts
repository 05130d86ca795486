import { AppError, findStatus, serverError } from '../core/error.ts';
import { fileTooLargeError, MAX_FILE_BYTES, type RemoteFile, type UploadSource } from '../core/files.ts';
import { closeBody, type HttpRequest, type HttpResponse, SAID_MS } from '../core/io.ts';
import { filterObjects, isCount, isObject, toNonEmptyString, toTimestamp, tryParseJson } from '../core/json.ts';
import { formatSize } from '../core/text/format.ts';
import { isLoopback } from '../core/text/url.ts';
import { API_VERSION, type GeminiApiEndpoint, geminiApiUrl } from './gemini-api.ts';
import { toOneLine } from './google-error.ts';
import { readPrefix } from './payload.ts';
import {
  createServiceCaller,
  type Fields,
  readPages,
  responseError,
  type ServiceContext,
  sendAuthorized,
  withRetries,
} from './queries.ts';
import { nextRetry, pauseBeforeRetry, toFinalFailure } from './retry.ts';

/** The Files API on the wire. Every method throws AppError: `auth` or `api`, and `usage` for what cannot be sent. */
export interface FilesClient {
  /** The address of the API. With the account, it identifies the owner of the files. */
  readonly endpoint: string;
  /** In pieces, resumed after a lost connection; named by `toOwnName` if possible. May still be `PROCESSING`. */
  upload(source: UploadSource, options: UploadOptions): Promise<RemoteFile>;
  get(name: string, signal: AbortSignal): Promise<RemoteFile | undefined>;
  /** Polls until the file can be used. Throws AppError `api` if the service could not process it. */
  waitUntilActive(file: RemoteFile, signal: AbortSignal): Promise<RemoteFile>;
  list(signal: AbortSignal): Promise<readonly RemoteFile[]>;
  delete(name: string, signal: AbortSignal): Promise<boolean>;
  /** The content as it arrives. Does not resume after a lost connection, which is an error. */
  download(name: string, signal: AbortSignal): AsyncGenerator<Uint8Array, void>;
}

interface UploadOptions {
  readonly mimeType: string;
  readonly displayName?: string;
  readonly signal: AbortSignal;
  readonly onProgress?: (bytes: number) => void;
  /** Where an earlier upload of this content by this account can be resumed; see `onAddress`. */
  readonly address?: string;
  /**
   * Called with the address at which this upload can be resumed, even by another process, and with undefined when it no longer
   * can. The address is a secret: no credential is needed to write there.
   */
  readonly onAddress?: (address: string | undefined) => void | Promise<void>;
  /** Whether a copy that the service already has can be used. By default any can. */
  readonly isEnough?: (file: RemoteFile) => boolean;
}

/** The service asks for multiples of this, except at the end. https://ai.google.dev/gemini-api/docs/files */
const CHUNK_BYTES = 8 * 1024 * 1024;

/** Less than this between two failures is not counted as progress. */
const MIN_PROGRESS_BYTES = 64 * 1024;

/** How often an upload is resumed after lost connections without progress. */
const MAX_RESUMPTIONS = 3;

/** The service has forgotten it. */
const MAX_RESTARTS = 3;

const MAX_ANSWER_BYTES = 1024 * 1024;
const PAGE_SIZE = 100;
/** The longest delay between two polls of a file that is being processed, in retry delays. */
const MAX_POLL_DELAYS = 5;

/** The same content gets the same name, so it is uploaded once. */
export function toOwnName(sha256: string): string {
  return `files/gmn-${sha256.slice(0, 36)}`;
}

export function createFilesClient(context: ServiceContext): FilesClient {
  const { place, clock, retryBaseMs, notify } = context;
  const { ask, find } = createServiceCaller(context, { asks: 'files' });

  const get = async (name: string, signal: AbortSignal): Promise<RemoteFile | undefined> => {
    const answer = await find(toFilePath(name), signal);
    return answer && parseFile(answer);
  };

  const list = async (signal: AbortSignal): Promise<readonly RemoteFile[]> => {
    const found = new Map<string, RemoteFile>();
    const pages = readPages((page) => ask(`files?pageSize=${PAGE_SIZE}${page}`, signal));
    for await (const { files } of pages) {
      for (const file of filterObjects(files).flatMap(tryParseFile)) found.set(file.name, file);
    }
    return [...found.values()];
  };

  return {
    endpoint: geminiApiUrl(place, '').href,
    upload: (source, options) => uploadSource(source, options, { ...context, get, list }),
    get,
    list,
    async waitUntilActive(file, signal) {
      let current = file;
      const begunAt = clock.now();
      let isSaid = false;
      for (let delays = 1; current.state === 'PROCESSING'; delays = Math.min(delays * 2, MAX_POLL_DELAYS)) {
        await clock.sleep(delays * retryBaseMs, signal);
        if (!isSaid && clock.now() - begunAt > SAID_MS) {
          isSaid = true;
          notify?.(`the service is still processing ${toOneLine(file.displayName ?? file.name, 100)}`);
        }
        const found = await get(file.name, signal);
        if (found === undefined) throw goneError(file);
        current = found;
      }
      if (current.state === 'FAILED') throw processingError(current);
      return current;
    },
    delete: async (name, signal) => (await find(toFilePath(name), signal, { method: 'DELETE' })) !== undefined,
    async *download(name, signal) {
      const url = siblingUrl(place, 'download', `${toFilePath(name)}:download?alt=media`);
      const request = { method: 'GET', url, headers: {} } as const;
      const send = async (): Promise<HttpResponse> => {
        const answer = await sendAuthorized(context, request, signal);
        if (isSuccess(answer)) return answer;
        throw await toError(answer, context);
      };
      yield* (await withRetries(send, context, signal)).body;
    },
  };
}

interface UploadContext extends ServiceContext, Pick<FilesClient, 'get' | 'list'> {}

async function uploadSource(source: UploadSource, options: UploadOptions, context: UploadContext): Promise<RemoteFile> {
  if (source.bytes > MAX_FILE_BYTES) throw fileTooLargeError(source.name, source.bytes);
  const { signal, onAddress } = options;
  let address = options.address === undefined ? undefined : tryParseAddress(options.address, context);
  let isResumed = address !== undefined;
  for (let starts = 0; starts <= MAX_RESTARTS; ) {
    if (address === undefined) {
      starts += 1;
      const started = await withRetries(() => start(source, options, context), context, signal);
      if ('file' in started) return started.file;
      address = started.address;
      await onAddress?.(address.href);
    }
    const result = await transfer({ source, options, context, address, isResumed });
    await onAddress?.(undefined);
    if (result instanceof AppError) throw result;
    const file = result === 'final' ? await findFinished(source, options, context) : result;
    if (file !== 'forgotten' && file !== undefined) return checkArrival(file, source);
    address = undefined;
    isResumed = false;
  }
  throw serverError('api', `the service forgot the upload of ${source.name} again and again`, {
    hint: 'Try again later.',
  });
}

type Started = { readonly address: URL } | { readonly file: RemoteFile };

/** Starts an upload. Returns the file instead if the service already has the content under our name. */
async function start(source: UploadSource, options: UploadOptions, context: UploadContext): Promise<Started> {
  const { signal, isEnough = () => true } = options;
  const own = toOwnName(source.sha256);
  const named = await sendStart(source, options, context, own);
  if (isSuccess(named)) return { address: await readAddress(named, context) };
  if (!OWN_NAME_REFUSALS.includes(named.status)) throw await toError(named, context);
  await closeBody(named.body);
  if (named.status === 409) {
    const file = await context.get(own, signal);
    if (file !== undefined && file.state !== 'FAILED' && isSameFile(file, source) && isEnough(file)) return { file };
  }
  const nameless = await sendStart(source, options, context);
  if (isSuccess(nameless)) return { address: await readAddress(nameless, context) };
  throw await toError(nameless, context);
}

/** The service does not accept names, or this one is taken: by another account, or by a file that expired a moment ago. */
const OWN_NAME_REFUSALS: readonly number[] = [400, 403, 409];

function sendStart(
  { bytes }: UploadSource,
  { mimeType, displayName, signal }: UploadOptions,
  context: UploadContext,
  name?: string,
): Promise<HttpResponse> {
  const request = {
    method: 'POST',
    url: siblingUrl(context.place, 'upload', 'files'),
    headers: {
      'content-type': 'application/json',
      'x-goog-upload-protocol': 'resumable',
      'x-goog-upload-command': 'start',
      'x-goog-upload-header-content-length': String(bytes),
      'x-goog-upload-header-content-type': mimeType,
    },
    body: JSON.stringify({ file: { displayName, name } }),
    // An upload that was started and never continued leaves nothing behind.
    isRepeatable: true,
  } as const;
  return sendAuthorized(context, request, signal);
}

async function readAddress(response: HttpResponse, context: UploadContext): Promise<URL> {
  await closeBody(response.body);
  const address = tryParseAddress(response.headers['x-goog-upload-url'] ?? '', context);
  if (address !== undefined) return address;
  throw serverError('api', 'the server did not say where to upload to, or named an address that is not safe', {
    hint: 'The base URL may lead to a gateway without uploads: check GOOGLE_GEMINI_BASE_URL if it is set.',
  });
}

/** Undefined unless it is https, or plain http on this machine if the service itself is on it, too. */
function tryParseAddress(text: string, { place }: UploadContext): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.username !== '' || url.password !== '') return undefined;
  if (url.protocol === 'https:') return url;
  const isLocal = url.protocol === 'http:' && isLoopback(url.hostname) && isLoopback(geminiApiUrl(place, '').hostname);
  return isLocal ? url : undefined;
}

interface Transfer {
  readonly source: UploadSource;
  readonly options: UploadOptions;
  readonly context: UploadContext;
  readonly address: URL;
  /** Whether an earlier process may have sent something. */
  readonly isResumed: boolean;
}

/**
 * Sends what the service does not have yet. `final`: it has everything, but did not name the file. Returns an error if the
 * service contradicts itself about the upload. Throws if the upload can be resumed later.
 */
async function transfer(one: Transfer): Promise<RemoteFile | 'final' | 'forgotten' | AppError> {
  const { source, options, context, isResumed } = one;
  const { signal, onProgress } = options;
  let offset = 0;
  /** Failed requests, and chunks that were accepted only in part, since the last progress. */
  let failures = 0;
  let stalls = 0;
  let progressAt = 0;
  if (isResumed) {
    const state = await withRetries(() => query(one), context, signal);
    if (typeof state !== 'number') return state;
    if (state > source.bytes) return disagreementError(source);
    offset = state;
    progressAt = state;
  }
  // Shared by all chunks: a failed request is closed, so nothing sends from the buffer any more.
  const buffer = new Uint8Array(Math.min(CHUNK_BYTES, source.bytes));
  for (;;) {
    onProgress?.(offset);
    const chunk = await source.read(offset, buffer.subarray(0, Math.min(buffer.length, source.bytes - offset)));
    let answer: UploadState;
    try {
      answer = await sendChunk(one, offset, chunk);
      if (typeof answer === 'number' && (answer < offset + chunk.length || chunk.length === 0)) stalls += 1;
    } catch (thrown) {
      if (signal.aborted) throw signal.reason;
      const failure = AppError.from(thrown);
      const isOver = OUT_OF_STEP.includes(findStatus(failure) ?? 0) && failures >= MAX_RESUMPTIONS;
      if (isOver) return failure;
      failures = await waitForRetry(failure, failures, one);
      answer = await withRetries(() => query(one), context, signal);
    }
    if (typeof answer !== 'number') return answer;
    if (answer < offset || answer > offset + chunk.length || stalls > MAX_RESUMPTIONS) return disagreementError(source);
    offset = answer;
    if (offset - progressAt >= MIN_PROGRESS_BYTES) {
      failures = 0;
      stalls = 0;
      progressAt = offset;
    }
  }
}

/** Waits before the upload is resumed, and returns the number of failures. Throws the failure after too many. */
async function waitForRetry(failure: AppError, failures: number, { options, context }: Transfer): Promise<number> {
  const { clock, random, retries, retryBaseMs: baseMs } = context;
  // Resuming after a lost connection repeats nothing, so it does not count as a retry. A refused request does.
  const status = findStatus(failure);
  const isLost = status === undefined || OUT_OF_STEP.includes(status);
  const atMost = isLost ? Math.max(MAX_RESUMPTIONS, retries ?? 0) : retries;
  const limits = { baseMs, random, atMost, now: clock.now };
  const retry = nextRetry(failure, failures, limits);
  if (retry === undefined) throw toFinalFailure(failure, limits);
  await pauseBeforeRetry(failure, retry, context, options.signal);
  return retry.number;
}

/** How many bytes the service has; `final`, or the file, once it has everything. */
type UploadState = number | RemoteFile | 'final' | 'forgotten';

/** Sends a chunk; the last one ends the upload. Throws AppError, with `retry` if the upload can be resumed. */
async function sendChunk(one: Transfer, offset: number, chunk: Uint8Array): Promise<UploadState> {
  const { source, options, context } = one;
  const isLast = offset + chunk.length === source.bytes;
  const response = await sendCommand(one, isLast ? 'upload, finalize' : 'upload', {
    headers: { 'content-type': 'application/octet-stream', 'x-goog-upload-offset': String(offset) },
    body: chunk,
    // Not repeatable: after a failure the service is first asked what it has.
    mayReuse: true,
    onProgress: (bytes) => options.onProgress?.(offset + bytes),
  });
  if (isSuccess(response)) return readState(response, offset + chunk.length, isLast);
  if (response.status === 409 && isLast) {
    // Another process has finished an upload of the same content.
    await closeBody(response.body);
    return 'final';
  }
  if (FORGOTTEN.includes(response.status)) {
    await closeBody(response.body);
    return 'forgotten';
  }
  const error = await toError(response, context);
  throw OUT_OF_STEP.includes(response.status) ? error.with({ retry: {} }) : error;
}

const FORGOTTEN: readonly number[] = [404, 410];

/** The service expected another offset, and must be asked for it. */
const OUT_OF_STEP: readonly number[] = [400, 409, 412, 416];

async function query(one: Transfer): Promise<UploadState> {
  const response = await sendCommand(one, 'query', { isRepeatable: true });
  if (isSuccess(response)) return readState(response, undefined, false);
  const error = await toError(response, one.context);
  if (error.retry !== undefined || error.fault === 'auth') throw error;
  return 'forgotten';
}

/** The credential is sent to the service itself only; another host gets just the secret address. */
function sendCommand(
  { options, context, address }: Transfer,
  command: string,
  { headers = {}, ...rest }: Partial<HttpRequest>,
): Promise<HttpResponse> {
  const request: HttpRequest = {
    method: 'POST',
    url: address,
    isSecret: true,
    ...rest,
    headers: { ...headers, 'x-goog-upload-command': command },
  };
  if (address.origin === geminiApiUrl(context.place, '').origin)
    return sendAuthorized(context, request, options.signal);
  return context.send({ ...request, headers: { 'user-agent': context.userAgent, ...request.headers } }, options.signal);
}

/** `sent`: how many bytes the service must have if its response does not say. */
async function readState(response: HttpResponse, sent: number | undefined, isLast: boolean): Promise<UploadState> {
  const { 'x-goog-upload-status': status, 'x-goog-upload-size-received': received } = response.headers;
  const body = tryParseJson(await readPrefix(response.body, MAX_ANSWER_BYTES));
  const [file] = isObject(body) ? tryParseFile(isObject(body.file) ? body.file : body) : [];
  if (status === 'cancelled') return 'forgotten';
  if (status === 'final' || (status === undefined && isLast && file !== undefined)) return file ?? 'final';
  const bytes = received === undefined ? sent : Number(received);
  if (bytes !== undefined && isCount(bytes)) return bytes;
  throw serverError('api', 'the server did not say how much of the upload it has', {
    hint: 'Try again.',
    retry: {},
  });
}

async function findFinished(
  source: UploadSource,
  { signal, isEnough = () => true }: UploadOptions,
  { get, list }: UploadContext,
): Promise<RemoteFile | undefined> {
  const own = await get(toOwnName(source.sha256), signal);
  if (own !== undefined && isSameFile(own, source) && isEnough(own)) return own;
  return (await list(signal)).find(
    (file) => file.sha256 === source.sha256 && isSameFile(file, source) && isEnough(file),
  );
}

function isSameFile({ bytes = -1, sha256 }: RemoteFile, source: UploadSource): boolean {
  return bytes === source.bytes && (sha256 === undefined || sha256 === source.sha256);
}

function checkArrival(file: RemoteFile, source: UploadSource): RemoteFile {
  const { bytes = source.bytes, sha256 = source.sha256 } = file;
  if (bytes === source.bytes && sha256 === source.sha256) return file;
  const what = bytes === source.bytes ? 'other content' : `${formatSize(bytes)} instead of ${formatSize(source.bytes)}`;
  throw serverError('api', `${source.name} did not arrive whole: the service has ${what}`, {
    hint: `Remove it (gmn files delete ${file.name}) and try again.`,
  });
}

function isSuccess({ status }: HttpResponse): boolean {
  return status >= 200 && status <= 299;
}

async function toError(response: HttpResponse, { identity }: ServiceContext): Promise<AppError> {
  const text = await readPrefix(response.body, MAX_ANSWER_BYTES);
  return responseError(response, text, { identity, asks: 'uploads' });
}

function toFilePath(name: string): string {
  const [, id] = /^(?:files\/)?([a-z\d][a-z\d-]{0,99})$/i.exec(name) ?? [];
  if (id !== undefined) return `files/${id}`;
  throw new AppError('usage', `"${toOneLine(name, 100)}" is not the name of an uploaded file`, {
    hint: 'gmn files list shows the names.',
  });
}

/** An address beside those of the API, such as `/upload/v1beta/files`. */
function siblingUrl({ apiVersion = API_VERSION, ...place }: GeminiApiEndpoint, prefix: string, path: string): URL {
  return geminiApiUrl({ ...place, apiVersion: `${prefix}/${apiVersion}` }, path);
}

function parseFile(fields: Fields): RemoteFile {
  const [file] = tryParseFile(fields);
  if (file !== undefined) return file;
  throw serverError('api', 'the server did not describe the file', { hint: 'Try again.' });
}

function tryParseFile(fields: Fields): readonly RemoteFile[] {
  const { name, uri, mimeType, state = 'ACTIVE', sizeBytes, sha256Hash, displayName, error } = fields;
  if (typeof name !== 'string' || !/^files\/[\w-]{1,100}$/.test(name) || typeof uri !== 'string') return [];
  const size = typeof sizeBytes === 'string' && /^\d{1,15}$/.test(sizeBytes) ? Number(sizeBytes) : sizeBytes;
  return [
    {
      name,
      uri,
      mimeType: toNonEmptyString(mimeType) ?? 'application/octet-stream',
      state: String(state),
      bytes: isCount(size) ? size : undefined,
      sha256: toHex(sha256Hash),
      displayName: toNonEmptyString(displayName),
      createdAt: toTimestamp(fields.createTime),
      expiresAt: toTimestamp(fields.expirationTime),
      problem: isObject(error) ? toNonEmptyString(error.message) : undefined,
    },
  ];
}

/** Base64 of the hash, or of its hexadecimal form: the service has given both. */
function toHex(hash: unknown): string | undefined {
  if (typeof hash !== 'string') return undefined;
  const bytes = Buffer.from(hash, 'base64');
  if (bytes.length === 32) return bytes.toString('hex');
  const text = bytes.toString('latin1').toLowerCase();
  return /^[\da-f]{64}$/.test(text) ? text : undefined;
}

function disagreementError({ name }: UploadSource): AppError {
  return serverError('api', `what the service says it has of ${name} cannot be true`, {
    hint: 'Run the same command again: the upload then starts over.',
  });
}

function processingError({ name, displayName = name, problem }: RemoteFile): AppError {
  const why = problem === undefined ? '' : `: ${toOneLine(problem, 200)}`;
  return serverError('api', `the service could not process ${toOneLine(displayName, 100)}${why}`, {
    hint: 'Check that the file is what its ending says, or convert it.',
  });
}

function goneError({ name, displayName = name }: RemoteFile): AppError {
  return serverError('api', `${toOneLine(displayName, 100)} was deleted while the service processed it`, {
    hint: 'Run the same command again.',
  });
}
