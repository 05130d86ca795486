import type { App } from '../../core/app.ts';
import { randomId } from '../../platform/runtime/random-id.ts';
import type { Buffers } from '../../tools/workspace/buffers.ts';
import type { UndoStore } from '../../tools/workspace/journal.ts';
import type { Journal, Workspace } from '../../tools/workspace/workspace.ts';
import type { ToolSetup } from './setup.ts';
import { openOwnWorkspace } from './toolbox.ts';
import { createUndoStore } from './undo-store.ts';

/** The workspace of many turns, with what each of them has changed there. */
export interface TurnChanges {
  readonly workspace: Workspace;
  readonly store: UndoStore;
  /** Begins a turn of this owner. Its changes are recorded under the id that is returned: `<owner>.<turn>`. */
  begin(owner: string): string;
}

export async function openTurnChanges(options: ToolSetup, app: App, buffers?: Buffers): Promise<TurnChanges> {
  const store = createUndoStore(app);
  let roots: readonly string[] = [];
  let journal = store.createJournal(randomId());
  const openJournal = (opened: readonly string[]): Journal => {
    roots = opened;
    return { record: (...change) => journal.record(...change) };
  };
  const workspace = await openOwnWorkspace(options, app, openJournal, buffers);
  return {
    workspace,
    store,
    begin(owner) {
      const turn = `${owner}.${randomId()}`;
      journal = store.createJournal(turn, roots);
      return turn;
    },
  };
}
