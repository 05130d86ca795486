import { type JobContext, openJobs, requireJob, withResearcher } from '../../app/jobs.ts';
import { createNoticeCollector } from '../../app/notice-collector.ts';
import { printReport, type WordOptions } from '../../app/report.ts';
import { cancelResearch, isResearch, type ResearchJob } from '../../app/research.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { hasEnded, type JobRecord, toEndFields } from '../../jobs/record.ts';

interface CancelOptions extends WordOptions {
  readonly auth?: string;
}

/** Ends a job: at the service, or in the server that runs it. One that has ended stays as it is. */
export async function run(options: CancelOptions, app: App): Promise<number> {
  const store = openJobs(app);
  const { notify, take } = createNoticeCollector(options, app);
  const { record } = await requireJob(options.args[0] ?? '', store);
  const context = { app, store, notify };
  const ended = hasEnded(record)
    ? record
    : isResearch(record)
      ? await cancelAtService(record, options, context)
      : await cancelDelegated(record, context);
  const text = `job ${ended.job_id} is ${ended.status}${hasEnded(record) ? ' already' : ''}\n`;
  return printReport({ text, json: { ...ended }, notices: take() }, options, app);
}

async function cancelAtService(record: ResearchJob, options: CancelOptions, context: JobContext): Promise<JobRecord> {
  const { app, store, notify } = context;
  const { interaction_id: id } = record;
  const forget = async (changes: Pick<JobRecord, 'status' | 'error'>): Promise<JobRecord> => {
    const ended = { ...record, ...changes, is_delivered: true, ...toEndFields(record, app.clock.now()) };
    await store.saveDurably(ended);
    return ended;
  };
  if (id === undefined) {
    notify('if the service has begun it, it goes on there: gmn does not know its id');
    return forget({ status: 'cancelled' });
  }
  return withResearcher(record, options, context, async (research) => {
    const finished = await cancelResearch(record, { signal: app.signal }, research);
    if (finished !== undefined) return finished.record;
    // Not cancelled: with the key that began it, it may go on.
    const error = 'the service does not know it any more, or not for this API key';
    notify(`${error}. With the key that began it: gmn research --interaction ${id}`);
    return forget({ status: 'failed', error });
  });
}

const LOOK_MS = 250;
const PATIENCE_MS = 15_000;

/** The server that runs it looks for the mark every second. */
async function cancelDelegated({ job_id: id }: JobRecord, { app, store }: JobContext): Promise<JobRecord> {
  await store.requestCancel(id);
  const giveUpAt = app.clock.now() + PATIENCE_MS;
  for (;;) {
    const { record } = await requireJob(id, store);
    if (hasEnded(record)) return record;
    if (app.clock.now() > giveUpAt) break;
    await app.clock.sleep(LOOK_MS, app.signal);
  }
  throw new AppError('limit', `job ${id} has not ended yet`, {
    hint: 'Its server may be an older gmn, or busy; the job ends with that server.',
  });
}
