import { join } from 'node:path';
import { type FilesClient, toOwnName } from '../../api/files.ts';
import type { App } from '../../core/app.ts';
import type { Content, FilePart, Part } from '../../core/content.ts';
import { AppError, findStatus } from '../../core/error.ts';
import type { Notify } from '../../core/event.ts';
import { RETENTION, type RemoteFile, type UploadSource } from '../../core/files.ts';
import { SAID_MS } from '../../core/io.ts';
import { isObject } from '../../core/json.ts';
import type { Model, ModelRequest, Reply, ReplyEvent, RequestWatch } from '../../core/model.ts';
import { DAY_MS, formatDuration, formatSize } from '../../core/text/format.ts';
import { listByteForms } from '../../core/text/secrets.ts';
import { acquireLock, type Lock } from '../../platform/files/lock.ts';
import { readCache, writeCache } from '../../platform/files/small-file.ts';
import { createLocalSource } from '../../platform/files/upload-source.ts';
import { removeFiles } from '../../platform/files/write.ts';
import { readModifiedTime, tryRemoveSync } from '../../platform/files/write-sync.ts';
import { sha256 } from '../../platform/runtime/native.ts';
import { findLocalFile } from './local-files.ts';
import { readSecrets } from './redaction.ts';

export interface Uploads {
  readonly client: FilesClient;
  /** Uploads a content unless the service has it, and waits until it is processed. Throws AppError. */
  provide(source: UploadSource, mimeType: string, need: FileNeed): Promise<RemoteFile>;
  /** Checks that the service still has the provided contents; the next `provide` uploads missing ones. True if one is missing. Throws AppError. */
  dropMissing(signal: AbortSignal): Promise<boolean>;
}

export interface FileNeed {
  readonly signal: AbortSignal;
  /** How long the service must still keep a file; one that expires sooner is uploaded again. Ten minutes by default. */
  readonly minLifeMs?: number;
}

interface UploadTarget {
  readonly backend: string;
  readonly account: () => string;
  readonly files?: () => Promise<FilesClient>;
}

interface UploadOptions {
  /** Whether uploads are remembered for later runs. True by default. */
  readonly isRemembered?: boolean;
  /** Stops the clock of the run while something is sent, until the returned function is called. */
  readonly pause?: (() => () => void) | undefined;
  readonly notify?: Notify;
  /** Shows how far an upload is. */
  readonly showProgress?: (text: string) => void;
  readonly onProvided?: (file: RemoteFile, bytes: number) => void;
}

const MIN_LIFE_MS = 10 * 60_000;

const CACHE_MS = 7 * DAY_MS;

export async function createUploads(
  app: App,
  opened: UploadTarget,
  { isRemembered = true, pause, notify = () => {}, showProgress = () => {}, onProvided = () => {} }: UploadOptions = {},
): Promise<Uploads> {
  if (opened.files === undefined) throw noFilesError(opened.backend);
  const client = await opened.files();
  const ready = new Map<string, RemoteFile>();
  const running = new Map<string, Promise<void>>();
  let hasReported = false;

  const livesLongEnough: LifeCheck = ({ expiresAt = Number.POSITIVE_INFINITY }, minLifeMs = MIN_LIFE_MS) =>
    expiresAt - app.clock.now() > minLifeMs;

  async function send(
    source: UploadSource,
    mimeType: string,
    { cache, signal, minLifeMs }: FileNeed & { readonly cache: UploadCache },
  ): Promise<RemoteFile> {
    const { name } = source;
    notify({ type: 'wait', what: `the upload of ${name}` });
    const resume = pause?.();
    try {
      await source.open?.(signal);
      const file = await client.upload(await guardSource(source, app), {
        ...{ mimeType, signal, displayName: name },
        onProgress: createUploadReporter(source.bytes, app, showProgress),
        address: cache.read()?.address,
        onAddress: (address) => cache.write({ address }),
        isEnough: (file) => livesLongEnough(file, minLifeMs),
      });
      await cache.write({ name: file.name });
      if (!hasReported) notify(`uploaded ${name}: Google keeps it for ${RETENTION}`);
      hasReported = true;
      return file;
    } finally {
      resume?.();
    }
  }

  async function makeReady(source: UploadSource, mimeType: string, need: FileNeed): Promise<RemoteFile> {
    const { name } = source;
    const { signal } = need;
    const owner = `${opened.backend}\n${client.endpoint}\n${opened.account()}`;
    const cache = isRemembered ? createUploadCache(app, owner, source.sha256) : NO_CACHE;
    notify({ type: 'wait', what: `the service about ${name}` });
    const lock = await cache.lock(
      signal,
      () => notify(`another gmn is uploading ${name}, which this one waits for`),
      showProgress,
    );
    try {
      const known = cache.read()?.name ?? toOwnName(source.sha256);
      const kept = await findKept(source, known, { client, livesLongEnough, ...need });
      const file = kept ?? (await send(source, mimeType, { cache, ...need }));
      if (file.state === 'ACTIVE') return file;
      notify({ type: 'wait', what: `the service to process ${name}` });
      return await client.waitUntilActive(file, signal);
    } finally {
      await lock?.release();
    }
  }

  return {
    client,
    async provide(source, mimeType, need) {
      const { sha256: hash } = source;
      // Many rows of a batch may want the same content at once.
      while (running.has(hash)) await running.get(hash);
      const known = ready.get(hash);
      if (known !== undefined && livesLongEnough(known, need.minLifeMs)) return known;
      let end = (): void => {};
      running.set(hash, new Promise((resolve) => (end = resolve)));
      try {
        const file = await makeReady(source, mimeType, need);
        ready.set(hash, file);
        onProvided(file, source.bytes);
        return file;
      } finally {
        running.delete(hash);
        end();
      }
    },
    async dropMissing(signal) {
      const found = await Promise.all(
        [...ready].map(async ([hash, { name }]) => ((await client.get(name, signal)) === undefined ? [hash] : [])),
      );
      for (const hash of found.flat()) ready.delete(hash);
      return found.flat().length > 0;
    },
  };
}

type LifeCheck = (file: RemoteFile, minLifeMs?: number) => boolean;

async function findKept(
  source: UploadSource,
  name: string,
  {
    client,
    livesLongEnough,
    signal,
    minLifeMs,
  }: FileNeed & { readonly client: FilesClient; readonly livesLongEnough: LifeCheck },
): Promise<RemoteFile | undefined> {
  const file = await client.get(name, signal);
  if (file === undefined || !isSameContent(file, source)) return undefined;
  const isActive = file.state === 'ACTIVE';
  if (file.state === 'PROCESSING' || (isActive && livesLongEnough(file, minLifeMs))) return file;
  // A file that lives for a while may be in use by a batch, so it is kept and the new one uploaded beside it.
  if (!isActive || !livesLongEnough(file)) await client.delete(file.name, signal);
  return undefined;
}

/** Replaces files of this machine in the request by uploaded ones. Throws as `provide` does. */
export async function provideFiles(
  request: ModelRequest,
  open: () => Promise<Uploads>,
  need: FileNeed,
): Promise<ModelRequest> {
  const contents: Content[] = [];
  for (const content of request.contents) {
    const parts: Part[] = [];
    for (const part of content.parts) {
      const local = content.role === 'user' ? findLocalFile(part) : undefined;
      parts.push(local === undefined ? part : await provideFile(local, await open(), need));
    }
    contents.push({ ...content, parts });
  }
  return { ...request, contents };
}

/** Uploads the files of this machine that the request names, and asks. Asks once more if the service no longer has one of them. */
export async function* streamWithFiles(
  model: Model,
  request: ModelRequest,
  open: () => Promise<Uploads>,
  signal: AbortSignal,
  watch?: RequestWatch,
): AsyncGenerator<ReplyEvent, Reply> {
  const provided = await provideFiles(request, open, { signal });
  try {
    return yield* model.stream(provided, signal, watch);
  } catch (thrown) {
    // Google answers 403 for a file that does not exist, and for a key without permission.
    if (findStatus(thrown) !== 403) throw thrown;
    const isGone = await (await open()).dropMissing(signal).catch(() => false);
    if (!isGone) throw thrown;
  }
  return yield* model.stream(await provideFiles(request, open, { signal }), signal, watch);
}

async function provideFile(
  { fileData, localFile }: Required<Pick<FilePart, 'fileData' | 'localFile'>>,
  uploads: Uploads,
  need: FileNeed,
): Promise<FilePart> {
  const source = createLocalSource(localFile);
  try {
    const { mimeType, uri } = await uploads.provide(source, fileData.mimeType, need);
    return { fileData: { mimeType, fileUri: uri } };
  } finally {
    await source.close();
  }
}

/** Throws before a credential of gmn is sent: a file cannot be redacted. */
async function guardSource(source: UploadSource, app: App): Promise<UploadSource> {
  const forms = listByteForms(await readSecrets(app)).map((form) => Buffer.from(form));
  const longest = Math.max(0, ...forms.map(({ length }) => length));
  if (longest === 0) return source;
  /** The last bytes that were read, as a credential may lie across two chunks. */
  let before: { readonly end: number; readonly bytes: Uint8Array } = { end: 0, bytes: new Uint8Array() };
  const readBefore = async (end: number): Promise<Uint8Array> => {
    if (before.end === end) return before.bytes;
    const start = Math.max(0, end - longest);
    return source.read(start, new Uint8Array(end - start));
  };
  return {
    ...source,
    async read(offset, into) {
      const earlier = await readBefore(offset);
      const chunk = await source.read(offset, into);
      const seam = Buffer.concat([earlier, chunk.subarray(0, longest)]);
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
      if (forms.some((form) => seam.includes(form) || bytes.includes(form))) throw credentialError(source.name);
      before = { end: offset + chunk.length, bytes: Uint8Array.from(chunk.subarray(-longest)) };
      return chunk;
    },
  };
}

function credentialError(name: string): AppError {
  return new AppError('usage', `${name} has a credential of gmn in it, and was not sent`, {
    hint: 'Remove it from the file, or send another part of it.',
  });
}

function isSameContent({ bytes, sha256: hash }: RemoteFile, source: UploadSource): boolean {
  return bytes === source.bytes && (hash === undefined || hash === source.sha256);
}

export function noFilesError(backend: string): AppError {
  const name = backend === 'vertex' ? 'Vertex AI' : 'Code Assist, which a Google login uses,';
  return new AppError('auth', `${name} keeps no files; the Gemini API does`, {
    hint: 'Use an API key: gmn auth set-key (https://aistudio.google.com/apikey), then --backend gemini-api',
  });
}

interface CachedUpload {
  /** Where the upload can be resumed. A secret: no credential is needed to write there. */
  readonly address?: string;
  readonly name?: string;
}

interface UploadCache {
  read(): CachedUpload | undefined;
  /** Never throws: without it the next run uploads from the beginning. */
  write(entry: CachedUpload): Promise<void>;
  /** Waits while another process uploads the same content; `onLong` is called if that takes long. Rejects with the signal's reason. */
  lock(signal: AbortSignal, onLong: () => void, showProgress: (text: string) => void): Promise<Lock | undefined>;
}

const NO_CACHE: UploadCache = { read: () => undefined, write: async () => {}, lock: async () => undefined };

/** What is known about one content of one account: a private file of its own. */
function createUploadCache(app: App, owner: string, hash: string): UploadCache {
  const directory = join(app.homes().gmn, 'uploads', sha256(owner).slice(0, 32));
  const path = join(directory, `${hash}.json`);
  const isOld = (file: string): boolean =>
    app.clock.now() - (readModifiedTime(join(directory, file)) ?? Number.POSITIVE_INFINITY) > CACHE_MS;
  return {
    read: () => readCache(path, toCachedUpload),
    async write(entry) {
      if (entry.address === undefined && entry.name === undefined) return tryRemoveSync(path);
      await writeCache(path, entry);
      await removeFiles(directory, isOld).catch(() => {});
    },
    lock(signal, onLong, showProgress) {
      const saidAt = app.clock.now() + SAID_MS;
      let isSaid = false;
      return acquireLock(join(directory, `${hash}.lock`), {
        clock: app.clock,
        signal,
        maxWaitMs: Number.POSITIVE_INFINITY,
        takesFrom: 'gone',
        isDone: async () => {
          showProgress('· another gmn is uploading it');
          if (!isSaid && app.clock.now() > saidAt) onLong();
          isSaid ||= app.clock.now() > saidAt;
          return false;
        },
      });
    },
  };
}

function toCachedUpload(value: unknown): CachedUpload | undefined {
  if (!isObject(value)) return undefined;
  const { address, name } = value;
  return {
    address: typeof address === 'string' ? address : undefined,
    name: typeof name === 'string' && /^files\/[\w-]{1,100}$/.test(name) ? name : undefined,
  };
}

const BAR_CELLS = 20;
/** The rate is that of the last seconds. */
const RATE_MS = 5000;

/** Shows beside the spinner: `████░░░░ 42 % of 1.2 GB · 12.3 MB/s · 1 min 5 s left`. */
function createUploadReporter(
  total: number,
  { clock }: App,
  showProgress: (text: string) => void,
): (bytes: number) => void {
  let marks: readonly { readonly at: number; readonly bytes: number }[] = [];
  return (bytes) => {
    const at = clock.now();
    const [first] = marks;
    if (first === undefined || bytes < first.bytes) marks = [{ at, bytes }];
    else marks = [...marks.filter((mark, index) => index === 0 || at - mark.at < RATE_MS), { at, bytes }];
    while (marks.length > 2 && at - (marks[1]?.at ?? at) >= RATE_MS) marks = marks.slice(1);
    showProgress(formatUploadProgress(bytes, total, toRate(marks)));
  };
}

/** Bytes per second; undefined after less than half a second. */
function toRate(marks: readonly { readonly at: number; readonly bytes: number }[]): number | undefined {
  const [first] = marks;
  const last = marks.at(-1);
  if (first === undefined || last === undefined || last.at - first.at < 500) return undefined;
  return ((last.bytes - first.bytes) * 1000) / (last.at - first.at);
}

export function formatUploadProgress(bytes: number, total: number, rate: number | undefined): string {
  const share = total === 0 ? 1 : bytes / total;
  const cells = Math.floor(share * BAR_CELLS);
  const bar = `${'█'.repeat(cells)}${'░'.repeat(BAR_CELLS - cells)}`;
  const left = rate === undefined || rate < 1 ? undefined : ((total - bytes) / rate) * 1000;
  return [
    `${bar} ${Math.floor(share * 100)} % of ${formatSize(total)}`,
    ...(rate === undefined ? [] : [`${formatSize(Math.round(rate))}/s`]),
    ...(left === undefined ? [] : [`${formatDuration(Math.max(1000, left))} left`]),
  ].join(' · ');
}
