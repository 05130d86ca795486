import { type AnswerOptions, showAnswer } from '../../app/answer.ts';
import { openJobs, requireJob } from '../../app/jobs.ts';
import { answerResearch, isResearch, type ResearchJob } from '../../app/research.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import type { Notify, TurnEvent } from '../../core/event.ts';
import { openResearcher } from '../../engine/research.ts';
import { hasEnded, type JobView } from '../../jobs/record.ts';
import type { JobStore } from '../../jobs/store.ts';

interface WaitOptions extends AnswerOptions {
  readonly args: readonly string[];
  readonly auth?: string;
}

const POLL_MS = 500;

/** Waits for the end of a job, however long that takes, and prints what it has answered. */
export async function run(options: WaitOptions, app: App): Promise<number> {
  const store = openJobs(app);
  const { record } = await requireJob(options.args[0] ?? '', store);
  return showAnswer(options, app, (notify) =>
    isResearch(record)
      ? waitForResearch(record, options, { app, store, notify })
      : waitForDelegated(record.job_id, { app, store }),
  );
}

interface WaitContext {
  readonly app: App;
  readonly store: JobStore;
  readonly notify: Notify;
}

async function* waitForResearch(
  record: ResearchJob,
  { auth }: WaitOptions,
  { app, store, notify }: WaitContext,
): AsyncGenerator<TurnEvent, void> {
  if (record.interaction_id === undefined && !hasEnded(record)) {
    throw new AppError('api', `it cannot be known whether research ${record.job_id} has begun`, {
      hint: `If you know its id at Google: gmn research --interaction <id> "…". To give it up: gmn jobs cancel ${record.job_id}`,
    });
  }
  const isDemo = record.is_demo === true;
  const researcher = await openResearcher(isDemo ? { demo: true } : { auth }, app, notify);
  try {
    yield* answerResearch(record, { signal: app.signal }, { app, store, researcher, notify, isDemo });
  } finally {
    await researcher.close();
  }
}

async function* waitForDelegated(
  id: string,
  { app, store }: Pick<WaitContext, 'app' | 'store'>,
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
