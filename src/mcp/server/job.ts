import { isObject, type JsonObject, stringOf } from '../../core/json.ts';
import { type ProcessIdentity, parseProcessIdentity } from '../../platform/process-identity.ts';

export const JOB_STATUSES = ['queued', 'running', 'completed', 'failed', 'cancelled'] as const;
export type JobStatus = (typeof JOB_STATUSES)[number];

/** Why a delegation failed, for programs. */
export type DelegateCode =
  | 'TIMEOUT'
  | 'EXECUTION_FAILED'
  | 'CANCELLED'
  | 'SESSION_NOT_FOUND'
  | 'JOB_NOT_FOUND'
  | 'INVALID_DIRECTORY'
  | 'INTERRUPTED'
  | 'OVERLOADED';

/** A job as it is published and as it is on disk; its output is a file of its own. Times are ISO 8601. */
export interface JobRecord {
  readonly job_id: string;
  readonly status: JobStatus;
  readonly created_at: string;
  readonly started_at?: string;
  readonly completed_at?: string;
  readonly duration_ms?: number;
  readonly session_id?: string | undefined;
  readonly model_used?: string;
  readonly working_directory?: string;
  readonly prompt_sha256: string;
  readonly timeout_ms: number;
  readonly error?: string;
  readonly code?: string;
  /** Calls of the model that were not allowed. */
  readonly refused?: readonly string[];
  /** What the caller should know of the answer. */
  readonly notices?: readonly string[];
}

/** A job with what it said so far, or in the end. */
export interface JobView {
  readonly record: JobRecord;
  readonly output: string;
}

/** Whether nothing will change any more. */
export function isOver({ status }: Pick<JobRecord, 'status'>): boolean {
  return status !== 'queued' && status !== 'running';
}

/** When a job ended, and how long it took if it had begun. */
export function endedAt(
  { started_at }: Pick<JobRecord, 'started_at'>,
  at: number,
): Pick<JobRecord, 'completed_at' | 'duration_ms'> {
  const completed_at = new Date(at).toISOString();
  return started_at === undefined
    ? { completed_at }
    : { completed_at, duration_ms: Math.max(0, at - Date.parse(started_at)) };
}

/** The job as its callers see it: `output` once it is complete, `partial_output` before and if it failed. */
export function publishedJob({ record, output }: JobView): JsonObject {
  if (record.status === 'completed') return { ...record, output };
  return output === '' ? { ...record } : { ...record, partial_output: output };
}

/** The text of a job's file. */
export function jobText(record: JobRecord, owner: ProcessIdentity): string {
  return `${JSON.stringify({ v: 1, ...record, owner })}\n`;
}

/** A job and whose it is, as `jobText` wrote it; undefined if it is none. */
export function parseJob(value: unknown): { readonly record: JobRecord; readonly owner?: ProcessIdentity } | undefined {
  if (!isObject(value)) return undefined;
  const { v: _, owner: written, ...record } = value;
  const isWhole = ['job_id', 'created_at', 'prompt_sha256'].every((key) => stringOf(record[key]) !== undefined);
  if (!isWhole || !JOB_STATUSES.some((status) => status === record.status)) return undefined;
  const owner = parseProcessIdentity(written);
  return { record: record as unknown as JobRecord, ...(owner === undefined ? {} : { owner }) };
}
