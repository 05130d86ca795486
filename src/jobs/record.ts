import type { Source } from '../core/event.ts';
import { isInteractionId } from '../core/interaction.ts';
import { isCount, isObject } from '../core/json.ts';
import { hasSecret } from '../core/text/secrets.ts';
import { truncateEnd } from '../core/text/width.ts';
import type { Usage } from '../core/usage.ts';
import { type ProcessIdentity, tryParseProcessIdentity } from '../platform/process/identity.ts';

export const JOB_STATUSES = ['queued', 'running', 'completed', 'failed', 'cancelled'] as const;
export type JobStatus = (typeof JOB_STATUSES)[number];

/** On disk and as published; the output is in a separate file. Times are ISO 8601. */
export interface JobRecord extends Partial<ResearchFields> {
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
  /** The first words of the prompt. Absent if they seem to contain a secret. */
  readonly title?: string;
  readonly timeout_ms: number;
  readonly error?: string;
  readonly code?: string;
  readonly refused?: readonly string[];
  readonly notices?: readonly string[];
}

/** What a research job has besides; a delegated one has none of it. */
export interface ResearchFields {
  readonly kind: 'research';
  readonly agent: string;
  /** Written down when the service has answered: before that it is not known whether the research has begun. */
  readonly interaction_id: string;
  /** Its interaction is at the demo server, which knows it by its id. */
  readonly is_demo: boolean;
  /** Somebody has got the report, or what became of it. */
  readonly is_delivered: boolean;
  readonly sources: readonly Source[];
  readonly usage: Usage;
}

export interface JobView {
  readonly record: JobRecord;
  readonly output: string;
}

const TITLE_LENGTH = 60;

export function toJobTitle(prompt: string): string | undefined {
  const words = prompt.slice(0, 1000).replace(/\s+/g, ' ').trim();
  return hasSecret(words) ? undefined : truncateEnd(words, TITLE_LENGTH);
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
const isFlag = (value: unknown): boolean => typeof value === 'boolean';
const isSourceList = (value: unknown): boolean =>
  Array.isArray(value) && value.every((source) => isObject(source) && isText(source.title) && isText(source.uri));
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
  kind: (value) => value === 'research',
  title: isText,
  agent: isText,
  interaction_id: isInteractionId,
  is_demo: isFlag,
  is_delivered: isFlag,
  sources: isSourceList,
  usage: (value) => isObject(value) && Object.values(value).every(isCount),
};

const REQUIRED_FIELDS = ['job_id', 'status', 'created_at', 'prompt_sha256', 'timeout_ms'] as const;
