import { AppError } from '../../../core/error.ts';
import { type Clock, settlesWithin } from '../../../core/io.ts';
import { compareNewestFirst, hasEnded, type JobRecord, type JobView } from '../../../jobs/record.ts';
import { MAX_JOBS } from '../../../jobs/store.ts';
import { createRecentIds } from '../recent-ids.ts';
import { createJobRunner, type JobsOptions, type JobWork, type LiveJob } from './runner.ts';

export type Jobs = ReturnType<typeof createJobs>;

const POLL_MS = 250;
const PRUNE_EVERY_MS = 3_600_000;

/** Submits to this process; reads also what other processes run inside its roots. */
export function createJobs(options: JobsOptions) {
  const { store, clock } = options;
  const { live, submit } = createJobRunner(options);
  let prunedAt = Number.NEGATIVE_INFINITY;
  /** Only this process can see jobs without a directory. The store keeps no more than MAX_JOBS of them. */
  const withoutDirectory = createRecentIds(MAX_JOBS);
  const isVisible = ({ job_id, working_directory, kind }: JobRecord): boolean => {
    // Research belongs to the person who asked for it.
    if (kind !== undefined) return false;
    if (working_directory !== undefined) return options.isInside(working_directory);
    return live.has(job_id) || withoutDirectory.has(job_id);
  };
  const find = async (id: string): Promise<JobView | undefined> => {
    const job = live.get(id);
    const view = await (job === undefined ? store.find(id) : readSavedView(job));
    return view && isVisible(view.record) ? view : undefined;
  };

  return {
    submit(work: JobWork): LiveJob {
      if (clock.now() - prunedAt >= PRUNE_EVERY_MS) {
        prunedAt = clock.now();
        void store.prune();
      }
      const job = submit(work);
      if (work.workingDirectory === undefined) withoutDirectory.add(job.id);
      return job;
    },
    find,
    async wait(id: string, ms: number, signal: AbortSignal): Promise<JobView | undefined> {
      const job = live.get(id);
      if (job === undefined) return pollJob(() => find(id), clock, { ms, signal });
      await settlesWithin(job.ended, ms, clock, signal);
      signal.throwIfAborted();
      return readSavedView(job);
    },
    async list(): Promise<readonly JobRecord[]> {
      // A job that ends during the read may have been read in its earlier state.
      const before = [...live.values()];
      const stored = await store.list();
      const views = await Promise.all([...before, ...live.values()].map(readSavedView));
      const own = new Map(views.map(({ record }) => [record.job_id, record]));
      const others = stored.filter((record) => !own.has(record.job_id) && isVisible(record));
      return [...own.values(), ...others].sort(compareNewestFirst);
    },
    /** Does nothing to a job that has ended. Throws AppError `usage` for a running job of another process. */
    async cancel(id: string): Promise<JobView | undefined> {
      const job = live.get(id);
      if (job !== undefined) {
        job.stop('cancelled');
        await job.ended;
        return readSavedView(job);
      }
      const view = await find(id);
      if (view !== undefined && !hasEnded(view.record)) throw otherProcessError(id);
      return view;
    },
    /** Ends all jobs as INTERRUPTED, and resolves when that is saved. */
    async close(): Promise<void> {
      const all = [...live.values()];
      for (const job of all) job.stop('interrupted');
      await Promise.all(all.map(({ ended }) => ended));
      await Promise.all(all.map((job) => job.waitForWrites()));
    },
  };
}

/** The end of a job is reported only once it is saved. */
async function readSavedView(job: LiveJob): Promise<JobView> {
  if (hasEnded(job.view().record)) await job.waitForWrites();
  return job.view();
}

async function pollJob(
  find: () => Promise<JobView | undefined>,
  clock: Clock,
  { ms, signal }: { readonly ms: number; readonly signal: AbortSignal },
): Promise<JobView | undefined> {
  const endsAt = clock.now() + ms;
  for (;;) {
    const view = await find();
    const leftMs = endsAt - clock.now();
    if (view === undefined || hasEnded(view.record) || leftMs <= 0) return view;
    await clock.sleep(Math.min(POLL_MS, leftMs), signal);
  }
}

function otherProcessError(id: string): AppError {
  return new AppError('usage', `job ${id} runs in another gmn process`, { hint: 'Cancel it there.' });
}
