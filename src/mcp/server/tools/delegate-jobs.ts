import { JOB_STATUSES } from '../../../jobs/record.ts';
import { listVisibleSessions, toPublicSession } from '../sessions.ts';
import { serverTool } from '../tool.ts';
import {
  delegateFailure,
  delegateResult,
  formatJobRow,
  JOB_OUTPUT,
  JOBS_OUTPUT,
  jobNotFoundResult,
  jobResult,
  SESSIONS_OUTPUT,
} from './delegate-result.ts';

export const delegateJobs = serverTool({
  name: 'delegate_jobs',
  title: 'List delegated jobs',
  description: 'The delegated jobs, newest first, without their output: delegate_status has that.',
  isQuick: true,
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  input: {
    properties: {
      limit: { type: 'integer', description: 'How many to list at most.', default: 20, minimum: 1, maximum: 1000 },
      status_filter: { type: 'string', description: 'Only jobs in this state.', enum: JOB_STATUSES },
    },
  },
  output: JOBS_OUTPUT,
  fail: delegateFailure,
  async run({ limit = 20, status_filter }, { host }) {
    const all = await host.jobs.list();
    const wanted = status_filter === undefined ? all : all.filter(({ status }) => status === status_filter);
    const jobs = wanted.slice(0, limit);
    const text = jobs.length === 0 ? 'No jobs.' : jobs.map(formatJobRow).join('\n');
    return delegateResult({ jobs: jobs.map((job) => ({ ...job })), total: wanted.length }, text);
  },
});

const MAX_WAIT_MS = 600_000;

export const delegateStatus = serverTool({
  name: 'delegate_status',
  title: 'Status and output of a delegated job',
  description:
    'The state of a job, with its output: the whole answer once it is completed, what has arrived so far while it runs. ' +
    'With wait_ms it waits for the end that long.',
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  input: {
    properties: {
      job_id: { type: 'string', description: 'As delegate returned it.' },
      wait_ms: {
        type: 'integer',
        description: 'Wait up to this many milliseconds for the job to end.',
        default: 0,
        minimum: 0,
        maximum: MAX_WAIT_MS,
      },
    },
    required: ['job_id'],
  },
  output: JOB_OUTPUT,
  fail: delegateFailure,
  async run({ job_id, wait_ms = 0 }, { host, signal }) {
    const view = wait_ms === 0 ? await host.jobs.find(job_id) : await host.jobs.wait(job_id, wait_ms, signal);
    return view === undefined ? jobNotFoundResult(job_id) : jobResult(view);
  },
});

export const delegateCancel = serverTool({
  name: 'delegate_cancel',
  title: 'Cancel a delegated job',
  description: 'End a queued or running job. A finished one stays as it is. Returns the state of the job.',
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  input: {
    properties: { job_id: { type: 'string', description: 'As delegate returned it.' } },
    required: ['job_id'],
  },
  output: JOB_OUTPUT,
  fail: delegateFailure,
  async run({ job_id }, { host }) {
    const view = await host.jobs.cancel(job_id);
    return view === undefined ? jobNotFoundResult(job_id) : jobResult(view);
  },
});

export const delegateSessions = serverTool({
  name: 'delegate_sessions',
  title: 'List sessions',
  description: 'The saved conversations that were started inside the roots of this server, newest first.',
  isQuick: true,
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  input: {
    properties: {
      limit: { type: 'integer', description: 'How many to list at most.', default: 20, minimum: 1, maximum: 1000 },
    },
  },
  output: SESSIONS_OUTPUT,
  fail: delegateFailure,
  async run({ limit = 20 }, { host }) {
    const all = await listVisibleSessions(host);
    const sessions = all.slice(0, limit).map(toPublicSession);
    const lines = sessions.map(({ session_id, last_accessed, name }) =>
      [session_id, last_accessed, name ?? ''].join('  ').trimEnd(),
    );
    return delegateResult({ sessions, total: all.length }, lines.length === 0 ? 'No sessions.' : lines.join('\n'));
  },
});
