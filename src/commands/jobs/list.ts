import { openJobs } from '../../app/jobs.ts';
import { formatTable, type PrintOptions, printReport } from '../../app/report.ts';
import type { App } from '../../core/app.ts';
import { formatAge } from '../../core/text/format.ts';
import type { JobRecord } from '../../jobs/record.ts';

const SHORT_ID = 8;

/** The newest first. Asks nobody: what is at Google is shown as it was last seen. */
export async function run(options: PrintOptions, app: App): Promise<number> {
  const jobs = await openJobs(app).list();
  const rows = jobs.map((job) => toJobRow(job, app.clock.now()));
  const text = rows.length === 0 ? 'There are no jobs. To begin one: gmn research "…"\n' : formatTable(rows);
  return printReport({ text, json: { jobs: jobs.map(({ sources: _, ...job }) => ({ ...job })) } }, options, app);
}

function toJobRow({ job_id, kind, status, created_at, title, agent, model_used }: JobRecord, now: number) {
  const what = title ?? agent ?? model_used ?? '';
  return [job_id.slice(0, SHORT_ID), kind ?? 'delegated', status, formatAge(Date.parse(created_at), now), what];
}
