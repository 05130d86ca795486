import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import { type Change, undoStore } from '../tools/journal.ts';
import { openWorkspace } from '../tools/workspace.ts';
import { type PrintOptions, printReport } from './report.ts';

/**
 * Puts back the files that the last run with tools changed, the newest change first. Throws AppError: `usage` if there is
 * nothing to take back here, or a file was changed since; what was put back until then stays put back.
 */
export async function run(options: PrintOptions, app: App): Promise<number> {
  const { gmn, gemini } = app.homes();
  const store = undoStore(`${gmn}/undo`, app.clock);
  const changes = await store.changes();
  const last = changes.at(-1);
  if (last === undefined) {
    throw new AppError('usage', 'there is nothing to undo', {
      hint: 'Changes are kept when tools write: gmn --tools edit "…"',
    });
  }
  const workspace = await openWorkspace({
    roots: [app.cwd],
    denied: [gmn, gemini],
    journal: { before: async () => {} },
  });
  const undone: Change[] = [];
  for (const change of changes.filter(({ run: id }) => id === last.run).reverse()) {
    await store.takeBack(change, workspace);
    undone.push(change);
  }
  const lines = undone.map(({ path, before }) => `${before === undefined ? 'removed' : 'restored'} ${path}\n`);
  await printReport(
    { text: lines.join(''), json: { undone: undone.map(({ path }) => path) }, notices: [] },
    options,
    app,
  );
  return 0;
}
