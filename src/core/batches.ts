import type { AppError } from './error.ts';
import type { Usage, UsageDetails } from './usage.ts';

/** `unknown`: a state that this version does not know, to be looked at again. */
export type BatchState = 'pending' | 'running' | 'succeeded' | 'failed' | 'cancelled' | 'expired' | 'unknown';

/** A batch of requests that the service works on. */
export interface BatchJob {
  /** `batches/<id>` */
  readonly name: string;
  /** Untrusted text. */
  readonly displayName: string;
  readonly state: BatchState;
  /** In milliseconds since the epoch; absent if the service does not say. */
  readonly createdAt?: number;
  /** How many requests there are, and how many of them are done; absent if the service does not say. */
  readonly requests?: number;
  readonly successful?: number;
  readonly failed?: number;
  readonly results?: BatchResults;
  /** Why it failed. Untrusted text. */
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
  /**
   * Creates a job from an uploaded file. Sent once and never again by itself, since sent twice it makes two jobs. After
   * an error the job may exist all the same, unless its status says that it was refused.
   */
  create(batch: BatchCreation, signal: AbortSignal): Promise<BatchJob>;
  /** Undefined if there is no such job. */
  get(name: string, signal: AbortSignal): Promise<BatchJob | undefined>;
  /** All jobs. New ones may be missing for half a minute. */
  list(signal: AbortSignal): AsyncGenerator<BatchJob, void>;
  /** False if there is no such job. One that has ended stays as it is. */
  cancel(name: string, signal: AbortSignal): Promise<boolean>;
  /** False if there is no such job. */
  delete(name: string, signal: AbortSignal): Promise<boolean>;
  /**
   * Reads a line of results, or one of those that came inlined; `model` is the requested one. Undefined if it has no key, so
   * that nobody can say whose it is.
   */
  parseResult(line: string | Readonly<Record<string, unknown>>, model: string): Promise<BatchResult | undefined>;
}

/** A whole answer, as it comes from a batch. */
export interface BatchReply {
  readonly text: string;
  readonly model: string;
  readonly usage: Usage;
  readonly details?: UsageDetails;
  readonly finishReason: string;
}

/** One line of the results. */
export interface BatchResult {
  readonly key: string;
  /** An AppError `api` if there is no answer; with `retry` if another try may help. */
  readonly reply: BatchReply | AppError;
}

/** Whether a failed creation made no job. After a lost connection or a failure of the server, nobody knows. */
export function isRefused({ status }: AppError): boolean {
  return status !== undefined && status >= 400 && status <= 499 && status !== 408 && status !== 499;
}
