import { JOB_STATUSES } from '../jobs/job.ts';
import { serverTool } from '../tool.ts';
import { delegateFailure, delegateResult, jobLine } from './delegate-result.ts';
import { JOBS_OUTPUT } from './delegate-schema.ts';

/** The jobs there are, of this server and of those before it. */
export const delegateJobs = serverTool({
  name: 'delegate_jobs',
  title: 'List delegated jobs',
  description: 'The delegated jobs, newest first, without their output: delegate_status has that.',
  isQuick: true,
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  input: {
    properties: {
      limit: { type: 'integer', description: 'At most so many.', default: 20, minimum: 1, maximum: 1000 },
      status_filter: { type: 'string', description: 'Only jobs in this state.', enum: JOB_STATUSES },
    },
  },
  output: JOBS_OUTPUT,
  fail: delegateFailure,
  async run({ limit = 20, status_filter }, { host }) {
    const all = await host.jobs.list();
    const wanted = status_filter === undefined ? all : all.filter(({ status }) => status === status_filter);
    const jobs = wanted.slice(0, limit);
    const text = jobs.length === 0 ? 'No jobs.' : jobs.map(jobLine).join('\n');
    return delegateResult({ jobs: jobs.map((job) => ({ ...job })), total: wanted.length }, text);
  },
});
