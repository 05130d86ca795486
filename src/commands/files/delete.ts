import { type AccountOptions, openAccount } from '../../app/account.ts';
import { printReport } from '../../app/report.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { plural } from '../../core/text/format.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { noFilesError } from '../../engine/model/uploads.ts';

interface DeleteOptions extends AccountOptions {
  readonly args: readonly string[];
  readonly all?: boolean;
  readonly yes?: boolean;
}

/** Removes files from the service. Throws AppError `usage` if one of them is not there, after removing the others. */
export async function run(options: DeleteOptions, app: App): Promise<number> {
  checkUsage(options);
  const { opened, takeNotices } = await openAccount(options, app);
  if (opened.files === undefined) throw noFilesError(opened.name);
  const client = await opened.files();
  const names = options.all ? (await client.list(app.signal)).map(({ name }) => name) : options.args;
  if (options.all && names.length > 0 && !options.yes) {
    throw new AppError('usage', `this would delete ${plural(names.length, 'file')} of this account`, {
      hint: 'To do it: gmn files delete --all --yes',
    });
  }
  const deleted: string[] = [];
  const missing: string[] = [];
  try {
    for (const name of new Set(names)) ((await client.delete(name, app.signal)) ? deleted : missing).push(name);
  } finally {
    // Also report those removed before a failure.
    const text = deleted.map((name) => `deleted ${sanitize(name)}\n`).join('');
    const isDone = missing.length === 0 || deleted.length > 0;
    if (isDone) await printReport({ text, json: { deleted }, notices: takeNotices() }, options, app);
  }
  if (missing.length === 0 || options.all) return 0;
  throw new AppError('usage', `no such file: ${missing.map(sanitize).join(', ')}`, { hint: 'Run: gmn files list' });
}

function checkUsage({ args, all, yes }: DeleteOptions): void {
  if (all && args.length > 0) {
    throw new AppError('usage', '--all cannot be combined with names', { hint: 'Use one of them.' });
  }
  if (!all && args.length === 0) {
    throw new AppError('usage', 'files delete takes one file or more', { hint: 'To see them: gmn files list' });
  }
  if (yes && !all) throw new AppError('usage', '--yes is for --all only', { hint: 'Leave it out.' });
}
