import type { RemoteRunOptions } from '../../batch/remote-run.ts';
import { collectJobs } from '../../batch/wait.ts';
import type { App } from '../../core/app.ts';

export async function run(options: RemoteRunOptions, app: App): Promise<number> {
  return collectJobs(options, app, 'wait');
}
