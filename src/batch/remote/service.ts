import type { App } from '../../core/app.ts';
import type { BatchesClient, BatchResult, BatchResults } from '../../core/batches.ts';
import { AppError } from '../../core/error.ts';
import type { RemoteFile } from '../../core/files.ts';
import { DAY_MS } from '../../core/text/format.ts';
import type { OpenedModel } from '../../engine/model/model.ts';
import { createUploads } from '../../engine/model/uploads.ts';
import { splitTextLines } from '../../platform/files/chunks.ts';
import { openFileSource } from '../../platform/files/upload-source.ts';
import type { RowResult } from '../rows/result.ts';
import type { PendingRow } from '../rows/row-engine.ts';

/** The service that works on batches, and keeps their files. Its methods throw AppError `auth` or `api`. */
export interface BatchService {
  readonly jobs: BatchesClient;
  /** Uploads a file of requests, unless the service has it; gives its name, `files/<id>`. */
  upload(path: string, name: string, signal: AbortSignal): Promise<string>;
  getFile(name: string, signal: AbortSignal): Promise<Pick<RemoteFile, 'name' | 'displayName'> | undefined>;
  deleteFile(name: string, signal: AbortSignal): Promise<void>;
  /** Yields results as they arrive, and skips lines that cannot be parsed. */
  readResults(results: BatchResults, model: string, signal: AbortSignal): AsyncGenerator<BatchResult, void>;
}

export interface PreparedRequest {
  readonly model: string;
  line(key: string): string;
  /** What it may cost at most, in US dollars, if that is known. */
  readonly cost?: number;
}

export interface RowCodec {
  /** An AppError if this row cannot be sent. Throws what ends the run. */
  prepare(row: PendingRow, signal: AbortSignal): Promise<PreparedRequest | AppError>;
  toResult(line: BatchResult, asked: AskedRow): RowResult | Promise<RowResult>;
}

interface AskedRow {
  readonly id: string;
  readonly model: string;
  readonly attempts: number;
  readonly ms: number;
}

const MIME_TYPE = 'application/jsonl';

/** Google usually completes a job within a day, and keeps a file for two. */
export const MIN_FILE_LIFE_MS = 1.5 * DAY_MS;

/** The Batch API and the files it needs, for one account. Throws AppError `auth` if the backend takes no batches. */
export async function openBatchService(
  app: App,
  opened: Pick<OpenedModel, 'files' | 'batches' | 'backend' | 'account'>,
  retries: number,
): Promise<BatchService> {
  const { files: openFiles, batches: openJobs } = opened;
  if (openJobs === undefined || openFiles === undefined) throw noBatchesError(opened.backend);
  const [jobs, files] = await Promise.all([openJobs(retries), openFiles(retries)]);
  return {
    jobs,
    async upload(path, name, signal) {
      const source = await openFileSource(path, { name, signal, links: 'never' });
      try {
        // Opened each time: a file of an earlier upload may have been deleted since.
        const uploads = await createUploads(app, { ...opened, files: () => openFiles(retries) });
        return (await uploads.provide(source, MIME_TYPE, { signal, minLifeMs: MIN_FILE_LIFE_MS })).name;
      } finally {
        await source.close();
      }
    },
    getFile: files.get,
    async deleteFile(name, signal) {
      await files.delete(name, signal);
    },
    async *readResults(results, model, signal) {
      const lines = 'inlined' in results ? results.inlined : splitTextLines(files.download(results.fileName, signal));
      for await (const line of lines) {
        const result = await jobs.parseResult(line, model);
        if (result !== undefined) yield result;
      }
    },
  };
}

function noBatchesError(backend: OpenedModel['backend']): AppError {
  const hint = 'Use an API key: gmn auth set-key (https://aistudio.google.com/apikey), or --engine local';
  const why =
    backend === 'vertex'
      ? ': on Vertex AI batches live in Cloud Storage'
      : ', which takes no Google login of the command line';
  return new AppError('auth', `--engine api needs the Gemini API${why}`, { hint });
}
