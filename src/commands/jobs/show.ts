import { type JobContext, openJobs, requireJob, withResearcher } from '../../app/jobs.ts';
import { createNoticeCollector } from '../../app/notice-collector.ts';
import { formatTable, printReport, type WordOptions } from '../../app/report.ts';
import { isResearch, markDelivered, saveEnd } from '../../app/research.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { hasInteractionEnded } from '../../core/interaction.ts';
import { hasEnded, type JobRecord, type JobView } from '../../jobs/record.ts';

interface ShowOptions extends WordOptions {
  readonly auth?: string;
}

/** The state of a job and what it has answered. Asks the service how far a research is. */
export async function run(options: ShowOptions, app: App): Promise<number> {
  const store = openJobs(app);
  const { notify, take } = createNoticeCollector(options, app);
  const found = await requireJob(options.args[0] ?? '', store);
  const { record, output } = await refreshResearch(found, options, { app, store, notify });
  const text = `${formatTable(toJobRows(record))}${output === '' ? '' : `\n${output.trimEnd()}\n`}`;
  const report = { text, json: { ...record, output }, notices: take(), isVerbatim: true as const };
  const exitCode = await printReport(report, options, app);
  await app.io.out.flush?.();
  if (isResearch(record) && hasEnded(record)) await markDelivered(record, { store });
  return exitCode;
}

async function refreshResearch(view: JobView, options: ShowOptions, context: JobContext): Promise<JobView> {
  const { record } = view;
  const { interaction_id: id } = record;
  if (!isResearch(record) || hasEnded(record)) return view;
  if (id === undefined) {
    context.notify(
      'it cannot be known whether it has begun: the service has not answered the gmn that asked, or not yet',
    );
    return view;
  }
  try {
    return await withResearcher(record, options, context, async (research) => {
      const interaction = await research.researcher.client.get(id, context.app.signal);
      if (interaction === undefined || !hasInteractionEnded(interaction)) return view;
      const { record: ended, report } = await saveEnd(record, interaction, research);
      return { record: ended, output: report };
    });
  } catch (thrown) {
    context.app.signal.throwIfAborted();
    context.notify(`shown as it was last seen: ${AppError.from(thrown).message}`);
    return view;
  }
}

function toJobRows(record: JobRecord): readonly (readonly string[])[] {
  const { job_id, kind = 'delegated', status, title, created_at, completed_at, cost, error } = record;
  const rows = { job: job_id, kind, status, question: title, began: created_at, ended: completed_at };
  const more = { 'id at Google': record.interaction_id, cost: cost === undefined ? undefined : `$${cost}`, error };
  return Object.entries({ ...rows, ...more }).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
}
