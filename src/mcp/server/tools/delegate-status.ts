import { serverTool } from '../tool.ts';
import { delegateFailure, jobNotFound, jobResult } from './delegate-result.ts';
import { JOB_OUTPUT } from './delegate-schema.ts';

const LONGEST_WAIT_MS = 600_000;

/** How a job stands, with all it has said. */
export const delegateStatus = serverTool({
  name: 'delegate_status',
  title: 'Status and output of a delegated job',
  description:
    'How a job stands, with its output: the whole answer once it is completed, what has come so far while it runs. ' +
    'With wait_ms it waits for the end that long.',
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  input: {
    properties: {
      job_id: { type: 'string', description: 'As delegate returned it.' },
      wait_ms: {
        type: 'integer',
        description: 'Wait up to so many milliseconds for the job to end.',
        default: 0,
        minimum: 0,
        maximum: LONGEST_WAIT_MS,
      },
    },
    required: ['job_id'],
  },
  output: JOB_OUTPUT,
  fail: delegateFailure,
  async run({ job_id, wait_ms = 0 }, { host, signal }) {
    const view = wait_ms === 0 ? await host.jobs.find(job_id) : await host.jobs.wait(job_id, wait_ms, signal);
    return view === undefined ? jobNotFound(job_id) : jobResult(view);
  },
});
