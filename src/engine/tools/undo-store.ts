import { join } from 'node:path';
import { OWN_CONTEXT_NAME } from '../../config/context-place.ts';
import { noHomeError } from '../../config/home.ts';
import type { App } from '../../core/app.ts';
import { type Change, type UndoResult, type UndoStore, undoAll, undoStore } from '../../tools/workspace/journal.ts';
import type { Workspace } from '../../tools/workspace/workspace.ts';

export function createUndoStore({ homes, clock }: Pick<App, 'homes' | 'clock'>): UndoStore {
  const { gmn, isMissing } = homes();
  return isMissing ? createNoUndoStore() : undoStore(join(gmn, 'undo'), clock);
}

/** Undoes these changes, with those that `/init` made after the user approved them. */
export async function putBackChanges(
  changes: readonly Change[],
  store: UndoStore,
  workspace: Workspace,
): Promise<readonly UndoResult[]> {
  const close = workspace.permitInstruction(OWN_CONTEXT_NAME);
  return undoAll(changes, store, workspace).finally(close);
}

/** Without a home directory the previous content of a file cannot be kept, so no file is changed. */
function createNoUndoStore(): UndoStore {
  const refuse = async (): Promise<never> => {
    throw noHomeError('a change could not be undone and is not made');
  };
  return {
    ...{ createJournal: () => ({ record: refuse }), readBefore: refuse, undo: refuse, pass: refuse },
    ...{ listChanges: async () => [], findDamage: async () => undefined },
  };
}
