import { AppError } from '../../core/error.ts';
import { visible } from '../../core/text/terminal.ts';
import type { Workspace } from '../../tools/workspace/workspace.ts';

/** The same workspace, but whatever it does not let the model do is noted: nobody is there to see it. */
export function noting(workspace: Workspace, note: (words: string) => void): Workspace {
  const refuse = (thrown: unknown): never => {
    if (thrown instanceof AppError) note(visible(thrown.message));
    throw thrown;
  };
  /** What is merely not there is no refusal: such a place may be named. */
  const unread =
    (path: string) =>
    async (thrown: unknown): Promise<never> => {
      await workspace.place(path, 'read').catch(refuse);
      throw thrown;
    };
  return {
    ...workspace,
    open: (path) => workspace.open(path).catch(unread(path)),
    openDirectory: (path) => workspace.openDirectory(path).catch(unread(path)),
    current: (path, extent, draft) => workspace.current(path, extent, draft).catch(refuse),
    write: (path, bytes) => workspace.write(path, bytes).catch(refuse),
  };
}
