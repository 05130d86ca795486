import type { JsonObject } from '../../../core/json.ts';
import { JOB_STATUSES } from '../jobs/job.ts';

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

/** What `delegate` gives: an answer, a queued job, or an error. */
export const DELEGATE_OUTPUT: JsonObject = { type: 'object', properties: JOB_PROPERTIES, required: ['status'] };

/** What `delegate_status` and `delegate_cancel` give. */
export const JOB_OUTPUT: JsonObject = DELEGATE_OUTPUT;

/** What `delegate_jobs` gives. */
export const JOBS_OUTPUT: JsonObject = listed('jobs', JOB_PROPERTIES);

/** What `delegate_sessions` gives. */
export const SESSIONS_OUTPUT: JsonObject = listed('sessions', SESSION_PROPERTIES);

/** A failure has neither list nor total, so none is required. */
function listed(key: string, properties: JsonObject): JsonObject {
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
