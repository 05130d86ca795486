import type { BatchesClient, BatchResult, BatchResults } from '../../core/batches.ts';
import type { AppError } from '../../core/error.ts';
import type { RemoteFile } from '../../core/files.ts';
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
