import { relative } from 'node:path';
import { formatTable, type PrintOptions, printReport } from '../app/report.ts';
import type { App } from '../core/app.ts';
import { formatAge, formatCount } from '../core/text/format.ts';
import { contains, shortenPath } from '../core/text/path.ts';
import { sanitize } from '../core/text/terminal.ts';
import { readDirectory } from '../platform/files/read.ts';
import { readCounts } from './output/journal.ts';
import { type RunFile, readRunFile, resolveRunPaths } from './output/run-file.ts';

const RUN_SUFFIX = '.run.json';

const BEGIN_NOTICE = 'to begin one: gmn batch <input> --output-file <output>; more: gmn batch -h';

interface ListedRun extends Pick<RunFile, 'runId' | 'createdAt'> {
  readonly output: string;
  readonly input: string;
  /** Absent if the output cannot be read. */
  readonly counts?: { readonly ok: number; readonly failed: number };
}

/** Lists the runs whose outputs are in this directory, by name. Changes nothing. */
export async function listRuns(options: PrintOptions, app: App): Promise<number> {
  const names = (await readDirectory(app.cwd)).flatMap(({ name, kind }) =>
    kind === 'file' && name.endsWith(RUN_SUFFIX) ? [name.slice(0, -RUN_SUFFIX.length)] : [],
  );
  const runs: ListedRun[] = [];
  for (const name of names) runs.push(...(await readListedRun(name, app)));
  const now = app.clock.now();
  const rows = runs.map(({ output, counts, createdAt, input }) => [
    sanitize(output),
    counts === undefined ? '?' : formatCount(counts.ok),
    counts === undefined ? '?' : formatCount(counts.failed),
    formatAge(Date.parse(createdAt), now),
    input === '-' ? 'stdin' : sanitize(nameInput(input, app)),
  ]);
  const report = {
    text: rows.length === 0 ? '' : formatTable([['OUTPUT', 'ANSWERED', 'FAILED', 'BEGUN', 'INPUT'], ...rows]),
    json: {
      runs: runs.map(({ counts, ...rest }) => ({ ...rest, answered: counts?.ok, failed: counts?.failed })),
    },
    notices: options.json ? [] : [...(rows.length === 0 ? ['no batch was run in this directory'] : []), BEGIN_NOTICE],
  } as const;
  return printReport(report, options, app);
}

function nameInput(input: string, { cwd, env }: App): string {
  return contains(cwd, input) ? relative(cwd, input) : shortenPath(input, env.HOME);
}

/** None if the files are not those of a run, or may not be read. */
async function readListedRun(output: string, { cwd }: App): Promise<readonly ListedRun[]> {
  try {
    const paths = resolveRunPaths(output, cwd);
    const file = await readRunFile(paths);
    if (file === undefined) return [];
    const { runId, createdAt, input } = file;
    const counts = await readCounts(paths).catch(() => undefined);
    return [{ output, runId, createdAt, input: input.name, counts }];
  } catch {
    return [];
  }
}
