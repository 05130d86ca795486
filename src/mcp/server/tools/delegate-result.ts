import { AppError } from '../../../core/error.ts';
import { type JsonObject, omitEmpty } from '../../../core/json.ts';
import { hasEnded, JOB_STATUSES, type JobRecord, type JobView } from '../../../jobs/record.ts';
import { formatFailure, toErrorCode } from '../errors.ts';
import { findJobPage, toPublicJob } from '../jobs/job.ts';
import type { CallResult } from '../tool.ts';
import { formatNext, formatNotices } from './results.ts';

/** Hosts show either the structured content or the text. */
export function delegateResult(structuredContent: JsonObject, ...texts: readonly string[]): CallResult {
  return { content: texts.map((text) => ({ type: 'text', text })), structuredContent };
}

export function delegateFailure(error: AppError): CallResult {
  const text = formatFailure(error);
  const code = toErrorCode(error);
  return { ...delegateResult({ status: 'error', error: text, code }, `${code}: ${text}`), isError: true };
}

export function jobNotFoundResult(id: string): CallResult {
  return delegateFailure(
    new AppError('usage', `there is no job "${id.slice(0, 80)}"`, {
      hint: 'delegate_jobs lists those there are.',
      code: 'JOB_NOT_FOUND',
    }),
  );
}

export function delegateAnswer(view: JobView): CallResult {
  const { record } = view;
  const { text: output = '', ...next } = findJobPage(view) ?? {};
  const { job_id, session_id, model_used, duration_ms, cost, refused = [], notices = [], timeout_ms } = record;
  const known = { job_id, session_id, cost };
  const shown = { refused: omitEmpty(refused), notices: omitEmpty(notices) };
  if (record.status === 'completed') {
    const structured = { status: 'completed', output, ...next, duration_ms, model_used, ...known, ...shown };
    return delegateResult(structured, output, ...formatNext(next), ...formatNotices(record));
  }
  const { code = 'EXECUTION_FAILED', error = '' } = record;
  const limit = code === 'TIMEOUT' ? timeout_ms : undefined;
  const partial_output = output || undefined;
  const structured = { status: 'error', error, code, timeout_ms: limit, ...known, partial_output, ...next, ...shown };
  const texts = [`${code}: ${error}`, ...(output === '' ? [] : [output]), ...formatNotices(record)];
  return { ...delegateResult(structured, ...texts), isError: true };
}

export function jobResult(view: JobView): CallResult {
  const { record } = view;
  const { text: output = '', ...next } = findJobPage(view) ?? {};
  const state = record.status === 'completed' ? [] : [formatJobState(record)];
  const shown = output === '' && record.status !== 'completed' ? [] : [output];
  return delegateResult(toPublicJob(view), ...state, ...shown, ...formatNext(next), ...formatNotices(record));
}

export function formatJobRow({ job_id, status, created_at, code }: JobRecord): string {
  return [job_id, status, created_at, code ?? ''].join('  ').trimEnd();
}

function formatJobState(record: JobRecord): string {
  const { job_id, status, error } = record;
  if (!hasEnded(record)) return `Job ${job_id} is ${status}. Ask again, with wait_ms to wait for it.`;
  return `Job ${job_id} ${status === 'failed' ? 'failed' : `is ${status}`}${error ? `: ${error}` : ''}`;
}

const TEXT = { type: 'string' } as const;
const NUMBER = { type: 'number' } as const;
const TEXTS = { type: 'array', items: TEXT } as const;

const FAILURE = { error: TEXT, code: TEXT, timeout_ms: NUMBER } as const;

const JOB_PROPERTIES = {
  job_id: TEXT,
  status: { type: 'string', enum: [...JOB_STATUSES, 'error'] },
  created_at: TEXT,
  started_at: TEXT,
  completed_at: TEXT,
  duration_ms: NUMBER,
  session_id: TEXT,
  model_used: TEXT,
  cost: NUMBER,
  working_directory: TEXT,
  prompt_sha256: TEXT,
  output: TEXT,
  partial_output: TEXT,
  next: TEXT,
  refused: TEXTS,
  notices: TEXTS,
  ...FAILURE,
} as const;

const SESSION_PROPERTIES = {
  session_id: TEXT,
  name: TEXT,
  created_at: TEXT,
  last_accessed: TEXT,
  turn_count: NUMBER,
  working_directory: TEXT,
  model: TEXT,
} as const;

export const JOB_OUTPUT: JsonObject = { type: 'object', properties: JOB_PROPERTIES, required: ['status'] };

export const JOBS_OUTPUT: JsonObject = listSchema('jobs', JOB_PROPERTIES);

export const SESSIONS_OUTPUT: JsonObject = listSchema('sessions', SESSION_PROPERTIES);

/** An error has neither list nor total, so none is required. */
function listSchema(key: string, properties: JsonObject): JsonObject {
  return {
    type: 'object',
    properties: {
      [key]: { type: 'array', items: { type: 'object', properties } },
      total: NUMBER,
      status: TEXT,
      ...FAILURE,
    },
  };
}
