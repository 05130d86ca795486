import { type AppError, findStatus } from './error.ts';
import type { CountedCall } from './model.ts';
import type { Usage, UsageDetails } from './usage.ts';

/** `unknown`: a state that this version does not know; the job is polled again. */
export type BatchState = 'pending' | 'running' | 'succeeded' | 'failed' | 'cancelled' | 'expired' | 'unknown';

export interface BatchJob {
  readonly name: string;
  /** Untrusted text. */
  readonly displayName: string;
  readonly state: BatchState;
  /** In milliseconds since the epoch; absent if the service does not say. */
  readonly createdAt?: number;
  /** How many requests there are, and how many of them failed; absent if the service does not say. */
  readonly requests?: number;
  readonly failed?: number;
  readonly results?: BatchResults;
  readonly problem?: string;
}

/** A file, or the lines themselves. A list of jobs has only files. */
export type BatchResults =
  | { readonly fileName: string }
  | { readonly inlined: readonly Readonly<Record<string, unknown>>[] };

interface BatchCreation {
  readonly model: string;
  readonly displayName: string;
  /** `files/<id>` of the requests, one a line: `{"key":"…","request":{…}}`. */
  readonly fileName: string;
}

/** The jobs of the Batch API. Every method throws AppError `auth` or `api`. */
export interface BatchesClient {
  /** Never retried, because that could create two jobs. After an error the job may exist anyway, see `isRefused`. */
  create(batch: BatchCreation, signal: AbortSignal): Promise<BatchJob>;
  get(name: string, signal: AbortSignal): Promise<BatchJob | undefined>;
  /** All jobs. New ones may be missing for half a minute. */
  list(signal: AbortSignal): AsyncGenerator<BatchJob, void>;
  /** False if there is no such job. Does nothing to one that has ended. */
  cancel(name: string, signal: AbortSignal): Promise<boolean>;
  delete(name: string, signal: AbortSignal): Promise<boolean>;
  /** Parses a line of results, or an inlined one. `model` is the requested one. Undefined if it has no key. */
  parseResult(line: string | Readonly<Record<string, unknown>>, model: string): Promise<BatchResult | undefined>;
}

export interface BatchReply {
  readonly text: string;
  readonly model: string;
  readonly usage: Usage;
  readonly details?: UsageDetails;
  readonly finishReason: string;
}

export interface BatchResult {
  readonly key: string;
  /** An AppError `api` if there is no answer; with `retry` if another attempt may help. */
  readonly reply: BatchReply | AppError;
  /** What the service counted for it, also without an answer; absent if nothing. */
  readonly counted?: CountedCall;
}

/** Whether a failed creation certainly made no job. After a lost connection or a server error that is not known. */
export function isRefused(error: AppError): boolean {
  const status = findStatus(error);
  return status !== undefined && status >= 400 && status <= 499 && status !== 408 && status !== 499;
}
