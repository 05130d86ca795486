import { collectJobs, type JobOptions } from '../../batch/jobs.ts';
import type { App } from '../../core/app.ts';

export async function run(options: JobOptions, app: App): Promise<number> {
  return collectJobs(options, app, 'once');
}
