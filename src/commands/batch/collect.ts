import type { RemoteRunOptions } from '../../app/batch/remote-run.ts';
import type { App } from '../../core/app.ts';
import { collect } from './wait.ts';

/** Collects what the batch jobs of a run have ready, and waits for nothing. */
export async function run(options: RemoteRunOptions, app: App): Promise<number> {
  return collect(options, app, 'once');
}
