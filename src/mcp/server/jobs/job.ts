import type { JsonObject } from '../../../core/json.ts';
import type { JobView } from '../../../jobs/record.ts';
import { type Page, splitPages } from '../pages.ts';

export type DelegateCode =
  | 'TIMEOUT'
  | 'EXECUTION_FAILED'
  | 'CANCELLED'
  | 'SESSION_NOT_FOUND'
  | 'JOB_NOT_FOUND'
  | 'INVALID_DIRECTORY'
  | 'INTERRUPTED'
  | 'OVERLOADED';

const PAGE_CHARACTERS = 2_000_000;

export function findJobPage({ record, output }: JobView, page = 1): Page | undefined {
  const parts = output === '' ? [''] : splitPages(output, PAGE_CHARACTERS);
  const text = parts[page - 1];
  if (text === undefined) return undefined;
  return page < parts.length ? { text, next: `gmn://jobs/${record.job_id}/${page + 1}` } : { text };
}

/** Has `output` once the job is completed, `partial_output` before that or if it failed. */
export function toPublicJob(view: JobView): JsonObject {
  const { title: _, ...record } = view.record;
  const { text = '', ...next } = findJobPage(view) ?? {};
  if (record.status === 'completed') return { ...record, output: text, ...next };
  return text === '' ? { ...record } : { ...record, partial_output: text, ...next };
}
