import { join } from 'node:path';
import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import { openResearcher, type ResearcherOptions } from '../engine/model/research.ts';
import type { JobView } from '../jobs/record.ts';
import { createJobStore, type JobStore } from '../jobs/store.ts';
import { recordDirectory } from '../platform/files/records.ts';
import type { ResearchContext, ResearchJob } from './research.ts';

/** The jobs of this user: those of `gmn research`, and those that agents have delegated. */
export function openJobs({ homes, clock }: Pick<App, 'homes' | 'clock'>): JobStore {
  return createJobStore(recordDirectory(join(homes().gmn, 'jobs')), clock);
}

const MIN_PREFIX = 4;

/** By its id, or the beginning of it. Throws AppError `usage` if there is none, or more than one. */
export async function requireJob(word: string, store: JobStore): Promise<JobView> {
  const wanted = word.toLowerCase();
  const exact = await store.find(wanted);
  if (exact !== undefined) return exact;
  const near = wanted.length < MIN_PREFIX ? [] : (await store.list()).filter(({ job_id }) => job_id.startsWith(wanted));
  const [first, ...others] = near;
  const found = first === undefined || others.length > 0 ? undefined : await store.find(first.job_id);
  if (found !== undefined) return found;
  const what = others.length > 0 ? `more than one job begins with "${word}"` : `there is no job "${word.slice(0, 80)}"`;
  throw new AppError('usage', what, { hint: 'To see the jobs: gmn jobs list' });
}

export type JobContext = Pick<ResearchContext, 'app' | 'store' | 'notify'>;

/** Opens the service for a job that began there earlier. */
export async function withResearcher<Result>(
  job: ResearchJob,
  options: Pick<ResearcherOptions, 'auth'>,
  { app, store, notify }: JobContext,
  work: (context: ResearchContext) => Promise<Result>,
): Promise<Result> {
  const isDemo = job.is_demo === true;
  const researcher = await openResearcher({ auth: isDemo ? undefined : options.auth, demo: isDemo }, app, notify);
  try {
    return await work({ app, store, researcher, notify, isDemo });
  } finally {
    await researcher.close();
  }
}
