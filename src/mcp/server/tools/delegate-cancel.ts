import { serverTool } from '../tool.ts';
import { delegateFailure, jobNotFound, jobResult } from './delegate-result.ts';
import { JOB_OUTPUT } from './delegate-schema.ts';

/** Ends a job, with its request and its children. */
export const delegateCancel = serverTool({
  name: 'delegate_cancel',
  title: 'Cancel a delegated job',
  description: 'End a queued or running job. One that is over stays as it is. Returns how the job stands.',
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  input: {
    properties: { job_id: { type: 'string', description: 'As delegate returned it.' } },
    required: ['job_id'],
  },
  output: JOB_OUTPUT,
  fail: delegateFailure,
  async run({ job_id }, { host }) {
    const view = await host.jobs.cancel(job_id);
    return view === undefined ? jobNotFound(job_id) : jobResult(view);
  },
});
