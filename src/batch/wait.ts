import { printReport } from '../app/report.ts';
import type { App } from '../core/app.ts';
import { FAULTS } from '../core/error.ts';
import { keepHeapSmall } from '../platform/runtime/native.ts';
import { readCounts } from './output/journal.ts';
import { createRemoteEngine, type RemoteStatus } from './remote/remote-engine.ts';
import { closePlan, formatJobs, type RemoteRunOptions, reportRun, withRemoteRun } from './remote-run.ts';

/** Collects the results of the batch jobs of a run as they end, or `once`: what is ready now. */
export async function collectJobs(options: RemoteRunOptions, app: App, mode: 'wait' | 'once'): Promise<number> {
  keepHeapSmall();
  return withRemoteRun(
    options,
    app,
    async ({ journal, store, options: remote }) => {
      const onStatus = createStatusLine(remote.notify);
      await createRemoteEngine({ ...remote, mode, onStatus }).run({
        rows: noRows(),
        finish: journal.write,
        sync: journal.sync,
        signal: app.signal,
      });
      const report = reportRun(journal.paths.named, journal.counts, store);
      await printReport({ ...report, notices: await closePlan(store) }, options, app);
      return journal.counts.failed > 0 ? FAULTS.api.exitCode : 0;
    },
    async (paths) => {
      const counts = await readCounts(paths);
      await printReport(reportRun(paths.named, counts, undefined), options, app);
      return counts.failed > 0 ? FAULTS.api.exitCode : 0;
    },
  );
}

function createStatusLine(say: (message: string) => void): (status: RemoteStatus) => void {
  let last = 0;
  return ({ jobs, rows }) => {
    if (jobs > 0 && jobs !== last) say(formatJobs(rows, jobs));
    last = jobs;
  };
}

async function* noRows(): AsyncGenerator<never, void> {}
