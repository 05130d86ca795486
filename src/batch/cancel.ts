import { printReport } from '../app/report.ts';
import type { App } from '../core/app.ts';
import { readCounts } from './output/journal.ts';
import { settleRemote } from './remote/settle.ts';
import { type RemoteRunOptions, reportRun, withRemoteRun } from './remote-run.ts';

/** Cancels the batch jobs of a run; what is complete by then is collected, since it is paid for. */
export async function cancelJobs(options: RemoteRunOptions, app: App): Promise<number> {
  return withRemoteRun(
    options,
    app,
    async ({ journal, options: remote }) => {
      const { signal } = app;
      const settled = await settleRemote(remote, { finish: journal.write, sync: journal.sync, signal });
      const { cancelled, collected } = settled;
      const report = reportRun(journal.paths.named, journal.counts, undefined);
      const text = `${cancelled} batch jobs cancelled, ${collected} were complete and are collected\n${report.text}`;
      await printReport({ ...report, text, json: { ...report.json, cancelled, collected } }, options, app);
      return 0;
    },
    async (paths) => {
      const report = reportRun(paths.named, await readCounts(paths), undefined);
      const text = `No batch jobs are in flight.\n${report.text}`;
      await printReport({ ...report, text, json: { ...report.json, cancelled: 0, collected: 0 } }, options, app);
      return 0;
    },
  );
}
