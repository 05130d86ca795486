import type { Clock } from '../core/io.ts';
import type { JsonObject } from '../core/json.ts';
import { DAY_MS } from '../core/text/format.ts';
import type { Spool, SpoolFile } from '../platform/files/spool.ts';
import type { RequestHead } from '../platform/http/server.ts';
import type { FaultBook } from './fault.ts';
import { type Backend, type ErrorResponse, faultResponse } from './google-error.ts';

/** Whose files a request sees: those uploaded with the same credential. */
export function findOwner({ headers, query }: RequestHead): string {
  return headers['x-goog-api-key'] ?? query.get('key') ?? headers.authorization ?? '';
}

export function hasCredential({ headers, query }: RequestHead, backend: Backend): boolean {
  if (/^Bearer \S/i.test(headers.authorization ?? '')) return true;
  return backend !== 'code-assist' && Boolean(headers['x-goog-api-key'] || query.get('key'));
}

export interface StoredFile {
  readonly name: string;
  readonly owner: string;
  readonly mimeType: string;
  readonly displayName: string | undefined;
  readonly source: 'UPLOADED' | 'GENERATED';
  readonly content: SpoolFile;
  readonly createdAt: number;
  readonly sizeBytes: string;
  readonly isFailed: boolean;
  looksLeft: number;
}

type NewFile = Omit<StoredFile, 'name' | 'createdAt' | 'sizeBytes' | 'isFailed' | 'looksLeft'> & {
  readonly name: string | undefined;
};

type Step = 'start' | 'upload' | 'query' | 'get' | 'list' | 'delete';

export type FileStore = ReturnType<typeof createFileStore>;

export interface StoreOptions {
  readonly faults: FaultBook;
  readonly clock: Clock;
}

const KEPT_MS = 2 * DAY_MS;

export function createFileStore({ faults, clock }: StoreOptions) {
  const files = new Map<string, StoredFile>();
  let spool: Promise<Spool> | undefined;
  let count = 0;
  const find = (name: string): StoredFile | undefined => {
    const file = files.get(name);
    return file !== undefined && clock.now() - file.createdAt < KEPT_MS ? file : undefined;
  };
  return {
    faults,
    files,
    find,
    findOwn(owner: string, name: string): StoredFile | undefined {
      const file = find(name);
      return file?.owner === owner ? file : undefined;
    },
    add(given: NewFile): StoredFile {
      count += 1;
      const file = {
        ...given,
        name: given.name ?? `files/demo-${String(count).padStart(6, '0')}`,
        createdAt: clock.now(),
        sizeBytes: String(faults.take(['file-size'])?.amount ?? given.content.bytes),
        looksLeft: faults.take(['file-processing'])?.amount ?? 0,
        isFailed: faults.take(['file-failed']) !== undefined,
      };
      files.set(file.name, file);
      return file;
    },
    async createContent(): Promise<SpoolFile> {
      spool ??= import('../platform/files/spool.ts').then(({ createSpool }) => createSpool());
      return (await spool).create();
    },
    isOverloaded: (step: Step): boolean =>
      faults.take(['upload-503'], ({ text }) => text === undefined || text === step) !== undefined,
    async close(): Promise<void> {
      await (await spool)?.close();
    },
  };
}

export const OVERLOADED = faultResponse({ fault: '503', backend: 'gemini', model: '' }) as ErrorResponse;

export function toState({ isFailed, looksLeft }: StoredFile): string {
  if (looksLeft > 0) return 'PROCESSING';
  return isFailed ? 'FAILED' : 'ACTIVE';
}

export function toResource(file: StoredFile, host = ''): JsonObject {
  const { name, mimeType, displayName, sizeBytes, createdAt, content, source } = file;
  const formatTime = (ms: number): string => new Date(ms).toISOString();
  const state = toState(file);
  return {
    name,
    displayName,
    mimeType,
    sizeBytes,
    createTime: formatTime(createdAt),
    updateTime: formatTime(createdAt),
    expirationTime: formatTime(createdAt + KEPT_MS),
    // As the service does: the base64 form of the hexadecimal digits.
    sha256Hash: Buffer.from(content.digest()).toString('base64'),
    uri: `http://${host}/v1beta/${name}`,
    downloadUri: source === 'GENERATED' ? `http://${host}/v1beta/${name}:download?alt=media` : undefined,
    state,
    source,
    error: state === 'FAILED' ? { code: 3, message: 'The file could not be processed.' } : undefined,
  };
}
