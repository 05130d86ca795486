import { createLimit, type Locks } from '../../../core/async.ts';
import { AppError } from '../../../core/error.ts';
import type { Clock } from '../../../core/io.ts';
import { callAfter } from '../../../platform/runtime/clock.ts';
import { formatFailure, toErrorCode } from '../errors.ts';
import { hasEnded, type JobRecord, type JobStatus, type JobView, toEndFields } from './job.ts';
import type { JobStore, JobWriter } from './store.ts';

export interface JobWork {
  readonly promptSha256: string;
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
  readonly timeoutMs: number;
  readonly onText: (delta: string) => void;
  readonly update: (result: Partial<JobResult>) => void;
}

type JobResult = Pick<JobRecord, 'model_used' | 'cost' | 'session_id' | 'refused' | 'notices'>;

interface SubmittedJob {
  readonly id: string;
  /** Resolves when the job is saved or cannot be: from then on its id survives this process. */
  readonly saved: Promise<void>;
  /**
   * Resolves when the job has ended and that is saved, or cannot be: if the server is killed then, the job must not
   * look as if it were running.
   */
  readonly ended: Promise<JobView>;
}

export interface JobsOptions {
  readonly store: JobStore;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly locks: Locks;
  /** Jobs of other projects are not shown. */
  readonly isInside: (directory: string) => boolean;
  readonly maxRunning: number;
  readonly maxQueued: number;
}

type StopReason = 'cancelled' | 'timeout' | 'interrupted';

interface JobEntry {
  readonly id: string;
  readonly work: JobWork;
  readonly controller: AbortController;
  readonly output: JobWriter;
  record: JobRecord;
  /** Writes the current record after the output so far; false if this or an earlier write failed. */
  readonly save: () => Promise<boolean>;
  stoppedBy?: StopReason;
  startTimer: () => void;
  stopTimer: () => void;
  onSaved: (isSaved: boolean) => void;
  settle: (view: JobView) => void;
  ended: Promise<JobView>;
}

export interface LiveJob {
  readonly id: string;
  readonly ended: Promise<JobView>;
  view(): JobView;
  /** Ends its request and its child processes; does nothing to a job that has ended. */
  stop(by: StopReason): void;
  waitForWrites(): Promise<void>;
}

/** The jobs of this process. Only the runner changes the state of a job. */
export interface JobRunner {
  submit(work: JobWork): SubmittedJob;
  /** Jobs queued or running, and ended ones that could not be saved. */
  readonly live: ReadonlyMap<string, LiveJob>;
}

/** Ended jobs that could not be saved stay in memory, up to these limits. */
const MAX_UNSAVED = 100;
const MAX_UNSAVED_CHARACTERS = 32_000_000;

export function createJobRunner(options: JobsOptions): JobRunner {
  const { locks, maxRunning, maxQueued } = options;
  const live = new Map<string, LiveJob>();
  const queue = createLimit({ maxRunning, maxQueued, locks, overloadError: jobOverloadError });

  function stop(entry: JobEntry, by: StopReason): void {
    if (hasEnded(entry.record) || entry.stoppedBy !== undefined) return;
    entry.stoppedBy = by;
    entry.controller.abort(stopError(by));
  }

  return {
    live,
    submit(work) {
      const entry = createEntry(options, work);
      entry.startTimer = () => {
        entry.stopTimer = callAfter(work.timeoutMs, () => stop(entry, 'timeout'));
      };
      entry.onSaved = (isSaved) => (isSaved ? live.delete(entry.id) : dropOldest(live));
      const ran = queue.run(() => runJob(entry, options), { signal: entry.controller.signal, key: toLockKey(work) });
      // It was stopped while in the queue.
      ran.catch((thrown: unknown) => finishJob(entry, options, toFailedState(entry, thrown)));
      live.set(entry.id, toLiveJob(entry, stop));
      if (work.isAwaited) entry.startTimer();
      if (entry.record.status === 'queued') void entry.save();
      return { id: entry.id, saved: entry.output.waitForWrites(), ended: entry.ended };
    },
  };
}

function toLockKey({ sessionId, sessionName }: JobWork): string | undefined {
  return sessionId ?? (sessionName && `name ${sessionName}`);
}

function toLiveJob(entry: JobEntry, stop: (entry: JobEntry, by: StopReason) => void): LiveJob {
  return {
    id: entry.id,
    ended: entry.ended,
    view: () => toView(entry),
    stop: (by) => stop(entry, by),
    waitForWrites: () => entry.output.waitForWrites(),
  };
}

async function runJob(entry: JobEntry, options: JobsOptions): Promise<void> {
  entry.record = { ...entry.record, status: 'running', started_at: formatNow(options) };
  void entry.save();
  if (!entry.work.isAwaited) entry.startTimer();
  const { signal } = entry.controller;
  try {
    const result = await entry.work.run({
      signal,
      timeoutMs: entry.record.timeout_ms,
      onText: entry.output.add,
      update: (changes) => {
        entry.record = { ...entry.record, ...changes };
        void entry.save();
      },
    });
    signal.throwIfAborted();
    finishJob(entry, options, { ...result, status: 'completed' });
  } catch (thrown) {
    finishJob(entry, options, toFailedState(entry, thrown));
  }
}

function finishJob(entry: JobEntry, { clock }: JobsOptions, changes: Partial<JobRecord>): void {
  entry.stopTimer();
  entry.record = { ...entry.record, ...changes, ...toEndFields(entry.record, clock.now()) };
  void entry.save().then((isSaved) => {
    entry.onSaved(isSaved);
    entry.settle(toView(entry));
  });
}

function formatNow({ clock }: Pick<JobsOptions, 'clock'>): string {
  return new Date(clock.now()).toISOString();
}

function toView({ record, output }: JobEntry): JobView {
  return { record, output: output.text() };
}

function createEntry({ newId, store, clock }: JobsOptions, work: JobWork): JobEntry {
  const id = newId();
  let settle: (view: JobView) => void = () => {};
  const ended = new Promise<JobView>((resolve) => {
    settle = resolve;
  });
  const record: JobRecord = {
    job_id: id,
    status: 'queued',
    created_at: formatNow({ clock }),
    session_id: work.sessionId,
    working_directory: work.workingDirectory,
    prompt_sha256: work.promptSha256,
    timeout_ms: work.timeoutMs,
  };
  const output = store.openWriter(id);
  const ignore = (): void => {};
  const timer = { startTimer: ignore, stopTimer: ignore, onSaved: ignore };
  const save = (): Promise<boolean> => output.save(entry.record);
  const entry: JobEntry = {
    id,
    work,
    record,
    output,
    save,
    controller: new AbortController(),
    ...timer,
    settle,
    ended,
  };
  return entry;
}

function toFailedState({ stoppedBy }: JobEntry, thrown: unknown): Partial<JobRecord> & { readonly status: JobStatus } {
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

function stopError(by: StopReason): AppError {
  if (by === 'timeout') return new AppError('api', 'Task exceeded timeout');
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
