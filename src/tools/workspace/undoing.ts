import { AppError } from '../../core/error.ts';
import type { Change, Undoing, UndoStore } from './journal.ts';
import type { Workspace } from './workspace.ts';

/** What became of one file that was to be put back. */
export type TakenBack = { readonly path: string } & ({ readonly undoing: Undoing } | { readonly problem: AppError });

/**
 * Puts back what was there before these changes, file by file, the one that was changed last first. What cannot be put back
 * is left alone, told, and passed over next time. Throws AppError `config`.
 */
export async function takeBackAll(
  changes: readonly Change[],
  store: UndoStore,
  workspace: Workspace,
): Promise<readonly TakenBack[]> {
  const results: TakenBack[] = [];
  for (const path of new Set(changes.map((change) => change.path).reverse())) {
    const [first, ...others] = changes.filter((change) => change.path === path);
    if (first === undefined) continue;
    try {
      results.push({ path, undoing: await store.takeBack([first, ...others], workspace) });
    } catch (thrown) {
      results.push({ path, problem: AppError.from(thrown) });
      await store.pass([first, ...others]);
    }
  }
  return results;
}
