import { createLimit, type Locks } from '../../../core/async.ts';
import { AppError } from '../../../core/error.ts';
import type { Clock } from '../../../core/io.ts';
import { hasEnded, type JobRecord, type JobView, toEndFields } from '../../../jobs/record.ts';
import type { JobStore } from '../../../jobs/store.ts';
import { callAfter, callEvery } from '../../../platform/runtime/clock.ts';
import { formatFailure, toErrorCode } from '../errors.ts';

export interface JobWork {
  readonly promptSha256: string;
  readonly title?: string;
  readonly workingDirectory?: string;
  /** The session to continue: the job waits for its lock. */
  readonly sessionId?: string;
  /** Of the session to begin: the job waits for others that begin one of the same name. */
  readonly sessionName?: string;
  /** Counted from submission if somebody waits, else from the start of the work. */
  readonly timeoutMs: number;
  readonly isAwaited: boolean;
  /** The reason of its signal is an AppError. Whatever it throws becomes the job's error. */
  run(job: RunningJob): Promise<JobResult>;
}

interface RunningJob {
  readonly signal: AbortSignal;
  readonly onText: (delta: string) => void;
  readonly update: (result: Partial<JobResult>) => void;
}

type JobResult = Pick<JobRecord, 'model_used' | 'cost' | 'session_id' | 'refused' | 'notices'>;

export interface JobsOptions {
  readonly store: JobStore;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly locks: Locks;
  readonly isInside: (directory: string) => boolean;
  readonly maxRunning: number;
  readonly maxQueued: number;
}

type StopReason = 'cancelled' | 'timeout' | 'interrupted';

export interface LiveJob {
  readonly id: string;
  /** Resolves when the end is saved, or cannot be: a killed server must not leave a job that looks as if it were running. */
  readonly ended: Promise<JobView>;
  view(): JobView;
  /** Ends its request and its child processes; does nothing to a job that has ended. */
  stop(by: StopReason): void;
  waitForWrites(): Promise<void>;
}

/** `gmn jobs cancel` is another process: it leaves a mark in the store. */
const CANCEL_LOOK_MS = 1000;

/** Ended jobs that could not be saved stay in memory, up to these limits. */
const MAX_UNSAVED = 100;
const MAX_UNSAVED_CHARACTERS = 32_000_000;

/** The jobs of this process. Only the runner changes the state of a job. */
export function createJobRunner({ store, clock, newId, locks, maxRunning, maxQueued }: JobsOptions) {
  /** Jobs queued or running, and ended ones that could not be saved. */
  const live = new Map<string, LiveJob>();
  const queue = createLimit({ maxRunning, maxQueued, locks, overloadError: jobOverloadError });
  const formatNow = (): string => new Date(clock.now()).toISOString();

  function submit(work: JobWork): LiveJob {
    const id = newId();
    const output = store.openWriter(id);
    const controller = new AbortController();
    const { signal } = controller;
    let record: JobRecord = {
      job_id: id,
      status: 'queued',
      created_at: formatNow(),
      session_id: work.sessionId,
      working_directory: work.workingDirectory,
      prompt_sha256: work.promptSha256,
      title: work.title,
      timeout_ms: work.timeoutMs,
    };
    let stoppedBy: StopReason | undefined;
    let stopTimer = (): void => {};
    let settle: (view: JobView) => void = () => {};
    const ended = new Promise<JobView>((resolve) => {
      settle = resolve;
    });

    const view = (): JobView => ({ record, output: output.text() });
    const update = (changes: Partial<JobRecord>): Promise<boolean> => {
      record = { ...record, ...changes };
      return output.save(record);
    };
    const stop = (by: StopReason): void => {
      if (hasEnded(record) || stoppedBy !== undefined) return;
      stoppedBy = by;
      controller.abort(stopError(by, work));
    };
    const startTimer = (): void => {
      stopTimer = callAfter(work.timeoutMs, () => stop('timeout'));
    };
    const finish = async (changes: Partial<JobRecord>): Promise<void> => {
      stopTimer();
      stopWatching();
      const isSaved = await update({ ...changes, ...toEndFields(record, clock.now()) });
      if (isSaved) live.delete(id);
      else dropOldest(live);
      settle(view());
    };
    const watchCancel = async (): Promise<void> => {
      if (await store.isCancelRequested(id)) stop('cancelled');
    };
    const run = async (): Promise<void> => {
      void update({ status: 'running', started_at: formatNow() });
      if (!work.isAwaited) startTimer();
      try {
        const result = await work.run({ signal, onText: output.add, update: (changes) => void update(changes) });
        signal.throwIfAborted();
        void finish({ ...result, status: 'completed' });
      } catch (thrown) {
        void finish(toFailedState(stoppedBy, thrown));
      }
    };

    // From the queue on: a job that is cancelled while it waits never runs.
    const stopWatching = callEvery(CANCEL_LOOK_MS, () => void watchCancel());
    const ran = queue.run(run, { signal, key: toLockKey(work) });
    // It was stopped while in the queue.
    ran.catch((thrown: unknown) => finish(toFailedState(stoppedBy, thrown)));
    const job = { id, ended, view, stop, waitForWrites: output.waitForWrites };
    live.set(id, job);
    if (work.isAwaited) startTimer();
    if (record.status === 'queued') void update({});
    return job;
  }

  return { submit, live };
}

function toLockKey({ sessionId, sessionName }: JobWork): string | undefined {
  return sessionId ?? (sessionName && `name ${sessionName}`);
}

function toFailedState(stoppedBy: StopReason | undefined, thrown: unknown): Partial<JobRecord> {
  const failure = AppError.from(thrown);
  const error = formatFailure(failure);
  switch (stoppedBy) {
    case 'cancelled':
      return { status: 'cancelled', error, code: 'CANCELLED' };
    case 'timeout':
      return { status: 'failed', error, code: 'TIMEOUT' };
    case 'interrupted':
      return { status: 'failed', error, code: 'INTERRUPTED' };
    default:
      return { status: 'failed', error, code: toErrorCode(failure) };
  }
}

function stopError(by: StopReason, { timeoutMs }: JobWork): AppError {
  if (by === 'timeout')
    return new AppError('api', `it took longer than timeout_ms (${timeoutMs}). Delegate again with more.`);
  return new AppError('interrupted', by === 'cancelled' ? 'the job was cancelled' : 'the server ended');
}

function jobOverloadError(running: number, queued: number): AppError {
  return new AppError('limit', `${running} jobs are running and ${queued} are waiting: the queue is full`, {
    hint: 'Wait for some to end, or cancel them. Whoever runs the server can raise --max-running and --max-queued.',
    code: 'OVERLOADED',
  });
}

function dropOldest(live: Map<string, LiveJob>): void {
  const newestFirst = [...live.values()].reverse().filter((job) => hasEnded(job.view().record));
  let characters = 0;
  for (const [index, job] of newestFirst.entries()) {
    characters += job.view().output.length;
    // The newest stays, however long: somebody may be about to ask for it.
    if (index > 0 && (index >= MAX_UNSAVED || characters > MAX_UNSAVED_CHARACTERS)) live.delete(job.id);
  }
}
