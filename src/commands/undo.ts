import { type PrintOptions, printReport } from '../app/report.ts';
import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import { contains } from '../core/text/path.ts';
import { listStateDirectories } from '../core/text/secrets.ts';
import { createUndoStore, putBackChanges } from '../engine/tools/undo-store.ts';
import { isDirectory, realPath } from '../platform/files/path.ts';
import { findUserHomes } from '../platform/host.ts';
import type { Change } from '../tools/workspace/journal.ts';
import { openWorkspace } from '../tools/workspace/workspace.ts';

/**
 * Undoes the file changes of the last run with tools: all of them if it was run here, else those below this directory.
 * A file that was changed since is skipped and named, and the exit code is 1. Throws AppError `usage` if there is
 * nothing to undo here, `config` if the journal cannot be read.
 */
export async function run(options: PrintOptions, app: App): Promise<number> {
  const store = createUndoStore(app);
  const here = realPath(app.cwd) ?? app.cwd;
  const all = await store.listChanges();
  const changes = selectLastRun(all.filter(({ path, roots }) => roots[0] === here || contains(here, path)));
  if (changes.length === 0) {
    const nothing = new AppError('usage', 'there is nothing to undo here', {
      hint: 'gmn can undo what tools wrote (gmn --tools edit "…"). Run it in the same directory.',
    });
    throw (await store.findDamage()) ?? nothing;
  }
  const others = changes.flatMap(({ roots: [first, ...more] }) => (first === here ? more.filter(isDirectory) : []));
  const workspace = await openWorkspace({
    roots: [here, ...others],
    denied: listStateDirectories(app.homes(), findUserHomes(app.env)),
    journal: { record: async () => {} },
  });
  const results = await putBackChanges(changes, store, workspace);
  const undone = results.flatMap((result) => ('outcome' in result ? result : []));
  const skipped = results.flatMap((result) => ('problem' in result ? result : []));
  const text = undone.map(({ path, outcome }) => `${outcome} ${path}\n`).join('');
  const json = { undone: undone.map(({ path }) => path), skipped: skipped.map(({ path }) => path) };
  await printReport({ text, json, notices: skipped.map(({ problem }) => problem.message) }, options, app);
  return skipped.length > 0 ? 1 : 0;
}

/** A run whose undo already failed comes after all others. */
function selectLastRun(changes: readonly Change[]): readonly Change[] {
  const last = changes.findLast(({ isPassed }) => !isPassed) ?? changes.at(-1);
  return changes.filter(({ run: id }) => id === last?.run);
}
