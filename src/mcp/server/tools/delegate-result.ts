import type { AppError } from '../../../core/error.ts';
import type { JsonObject } from '../../../core/json.ts';
import { CodedError, codeOf } from '../coded-error.ts';
import { failureText } from '../errors.ts';
import { isOver, type JobRecord, type JobView, jobPage, publishedJob } from '../jobs/job.ts';
import type { CallResult } from '../tool.ts';
import { notesOf } from './results.ts';

/** Data and the words for it: hosts show the one or the other. */
export function delegateResult(structuredContent: JsonObject, ...texts: readonly string[]): CallResult {
  return { content: texts.map((text) => ({ type: 'text', text })), structuredContent };
}

/** A failure of a delegation. */
export function delegateFailure(error: AppError): CallResult {
  const text = failureText(error);
  const code = codeOf(error);
  return { ...delegateResult({ status: 'error', error: text, code }, `${code}: ${text}`), isError: true };
}

/** There is no such job, or no longer. */
export function jobNotFound(id: string): CallResult {
  return delegateFailure(
    new CodedError('JOB_NOT_FOUND', `there is no job "${id.slice(0, 80)}"`, {
      hint: 'delegate_jobs lists those there are.',
    }),
  );
}

/** What `delegate` answers when its job is over. */
export function fromJob(view: JobView): CallResult {
  const { record } = view;
  const { text: output = '', ...next } = jobPage(view) ?? {};
  const { job_id, session_id, model_used, duration_ms, refused = [], notices = [], timeout_ms } = record;
  const known = { job_id, ...(session_id === undefined ? {} : { session_id }) };
  const shown = { ...(refused.length === 0 ? {} : { refused }), ...(notices.length === 0 ? {} : { notices }) };
  if (record.status === 'completed') {
    const structured = { status: 'completed', output, ...next, duration_ms, model_used, ...known, ...shown };
    return delegateResult(structured, output, ...nextNotes(next), ...notesOf(record));
  }
  const { code = 'EXECUTION_FAILED', error = '' } = record;
  const partial = output === '' ? {} : { partial_output: output, ...next };
  const limit = code === 'TIMEOUT' ? { timeout_ms } : {};
  const structured = { status: 'error', error, code, ...limit, ...known, ...partial, ...shown };
  const texts = [`${code}: ${error}`, ...(output === '' ? [] : [output]), ...notesOf(record)];
  return { ...delegateResult(structured, ...texts), isError: true };
}

/** What is known of a job, with all it has said. */
export function jobResult(view: JobView): CallResult {
  const { record } = view;
  const { text: output = '', ...next } = jobPage(view) ?? {};
  const state = record.status === 'completed' ? [] : [stateText(record)];
  const said = output === '' && record.status !== 'completed' ? [] : [output];
  return delegateResult(publishedJob(view), ...state, ...said, ...nextNotes(next), ...notesOf(record));
}

function nextNotes({ next }: { readonly next?: string }): readonly string[] {
  return next === undefined ? [] : [`The answer goes on in the resource ${next}`];
}

/** One line of a list of jobs. */
export function jobLine({ job_id, status, created_at, code }: JobRecord): string {
  return [job_id, status, created_at, code ?? ''].join('  ').trimEnd();
}

function stateText(record: JobRecord): string {
  const { job_id, status, code, error } = record;
  if (!isOver(record)) return `Job ${job_id} is ${status}. Ask again, with wait_ms to wait for it.`;
  return `Job ${job_id} is ${status}${code ? ` (${code})` : ''}${error ? `: ${error}` : ''}`;
}
