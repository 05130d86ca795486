import { type AnswerOptions, type AnswerView, showAnswer } from '../../app/answer.ts';
import { type JobContext, openJobs, requireJob } from '../../app/jobs.ts';
import { answerResearch, doubtError, isResearch, type ResearchJob } from '../../app/research.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import type { TurnEvent } from '../../core/event.ts';
import { openResearcher } from '../../engine/model/research.ts';
import { hasEnded, type JobView } from '../../jobs/record.ts';

interface WaitOptions extends AnswerOptions {
  readonly args: readonly string[];
  readonly auth?: string;
}

const POLL_MS = 500;

/** Waits for the end of a job, however long that takes, and prints what it has answered. */
export async function run(options: WaitOptions, app: App): Promise<number> {
  const store = openJobs(app);
  const { record } = await requireJob(options.args[0] ?? '', store);
  return showAnswer(options, app, (view) =>
    isResearch(record)
      ? waitForResearch(record, options, { ...view, app, store })
      : waitForDelegated(record.job_id, { app, store }),
  );
}

async function* waitForResearch(
  record: ResearchJob,
  { auth }: WaitOptions,
  { app, store, notify, afterDelivery }: JobContext & AnswerView,
): AsyncGenerator<TurnEvent, void> {
  if (record.interaction_id === undefined && !hasEnded(record)) {
    throw doubtError(record, 'the service has not answered the gmn that asked, or not yet');
  }
  const isDemo = record.is_demo === true;
  const researcher = await openResearcher(isDemo ? { demo: true } : { auth }, app, notify);
  try {
    const context = { app, store, researcher, notify, isDemo, afterDelivery };
    yield* answerResearch(record, { signal: app.signal }, context);
  } finally {
    await researcher.close();
  }
}

async function* waitForDelegated(
  id: string,
  { app, store }: Pick<JobContext, 'app' | 'store'>,
): AsyncGenerator<TurnEvent, void> {
  const find = async (): Promise<JobView> => requireJob(id, store);
  let view = await find();
  yield { type: 'begin', model: view.record.model_used ?? '' };
  while (!hasEnded(view.record)) {
    yield { type: 'wait', what: `job ${id}` };
    await app.clock.sleep(POLL_MS, app.signal);
    view = await find();
  }
  const { record, output } = view;
  if (output !== '') yield { type: 'text', delta: output };
  if (record.status !== 'completed') throw new AppError('api', `job ${id}: ${record.error ?? record.status}`);
  yield { type: 'end', model: record.model_used ?? '', finishReason: 'STOP', usage: {}, cost: record.cost, jobId: id };
}
