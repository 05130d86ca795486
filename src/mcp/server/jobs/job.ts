import { isObject, type JsonObject } from '../../../core/json.ts';
import { type ProcessIdentity, tryParseProcessIdentity } from '../../../platform/process/identity.ts';
import { type Page, splitPages } from '../pages.ts';

export const JOB_STATUSES = ['queued', 'running', 'completed', 'failed', 'cancelled'] as const;
export type JobStatus = (typeof JOB_STATUSES)[number];

export type DelegateCode =
  | 'TIMEOUT'
  | 'EXECUTION_FAILED'
  | 'CANCELLED'
  | 'SESSION_NOT_FOUND'
  | 'JOB_NOT_FOUND'
  | 'INVALID_DIRECTORY'
  | 'INTERRUPTED'
  | 'OVERLOADED';

/** On disk and as published; the output is in a separate file. Times are ISO 8601. */
export interface JobRecord {
  readonly job_id: string;
  readonly status: JobStatus;
  readonly created_at: string;
  readonly started_at?: string;
  readonly completed_at?: string;
  readonly duration_ms?: number;
  readonly session_id?: string;
  readonly model_used?: string;
  /** In dollars. */
  readonly cost?: number;
  readonly working_directory?: string;
  readonly prompt_sha256: string;
  readonly timeout_ms: number;
  readonly error?: string;
  readonly code?: string;
  readonly refused?: readonly string[];
  readonly notices?: readonly string[];
}

export interface JobView {
  readonly record: JobRecord;
  readonly output: string;
}

export function hasEnded({ status }: Pick<JobRecord, 'status'>): boolean {
  return status !== 'queued' && status !== 'running';
}

/** The duration is absent if the job never started. */
export function toEndFields(
  { started_at }: Pick<JobRecord, 'started_at'>,
  at: number,
): Pick<JobRecord, 'completed_at' | 'duration_ms'> {
  const completed_at = new Date(at).toISOString();
  return started_at === undefined
    ? { completed_at }
    : { completed_at, duration_ms: Math.max(0, at - Date.parse(started_at)) };
}

const PAGE_CHARACTERS = 2_000_000;

export function findJobPage({ record, output }: JobView, page = 1): Page | undefined {
  const parts = output === '' ? [''] : splitPages(output, PAGE_CHARACTERS);
  const text = parts[page - 1];
  if (text === undefined) return undefined;
  return page < parts.length ? { text, next: `gmn://jobs/${record.job_id}/${page + 1}` } : { text };
}

/** Has `output` once the job is completed, `partial_output` before that or if it failed. */
export function toPublicJob(view: JobView): JsonObject {
  const { record } = view;
  const { text = '', ...next } = findJobPage(view) ?? {};
  if (record.status === 'completed') return { ...record, output: text, ...next };
  return text === '' ? { ...record } : { ...record, partial_output: text, ...next };
}

/** Begins with the line feed, so that a line cut off by a full disk does not spoil the next one. */
export function formatJobLine(record: JobRecord, owner: ProcessIdentity): string {
  return `\n${JSON.stringify({ v: 1, ...record, owner })}`;
}

export function tryParseJobRecord(
  value: unknown,
): { readonly record: JobRecord; readonly owner?: ProcessIdentity } | undefined {
  if (!isObject(value)) return undefined;
  const fields = Object.entries(FIELD_CHECKS).filter(([key, fits]) => fits(value[key]));
  const record = Object.fromEntries(fields.map(([key]) => [key, value[key]]));
  if (REQUIRED_FIELDS.some((key) => record[key] === undefined)) return undefined;
  const owner = tryParseProcessIdentity(value.owner);
  return { record: record as unknown as JobRecord, owner };
}

export function compareNewestFirst(left: JobRecord, right: JobRecord): number {
  return left.created_at < right.created_at ? 1 : -1;
}

const isText = (value: unknown): boolean => typeof value === 'string';
const isTextList = (value: unknown): boolean => Array.isArray(value) && value.every(isText);
const isFiniteNumber = (value: unknown): boolean => Number.isFinite(value);
const isTime = (value: unknown): boolean => typeof value === 'string' && !Number.isNaN(Date.parse(value));

/** A damaged field is dropped, and with it the job if the field is required. */
const FIELD_CHECKS: Readonly<Record<keyof JobRecord, (value: unknown) => boolean>> = {
  job_id: isText,
  status: (value) => JOB_STATUSES.some((status) => status === value),
  created_at: isTime,
  started_at: isTime,
  completed_at: isTime,
  duration_ms: isFiniteNumber,
  session_id: isText,
  model_used: isText,
  cost: isFiniteNumber,
  working_directory: isText,
  prompt_sha256: isText,
  timeout_ms: isFiniteNumber,
  error: isText,
  code: isText,
  refused: isTextList,
  notices: isTextList,
};

const REQUIRED_FIELDS = ['job_id', 'status', 'created_at', 'prompt_sha256', 'timeout_ms'] as const;
