import { noHomeError } from '../config/home.ts';
import type { App } from '../core/app.ts';
import { type UndoStore, undoStore } from '../tools/workspace/journal.ts';

export function createUndoStore({ homes, clock }: Pick<App, 'homes' | 'clock'>): UndoStore {
  const { gmn, isMissing } = homes();
  return isMissing ? createNoUndoStore() : undoStore(`${gmn}/undo`, clock);
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
