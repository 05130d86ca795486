import { AppError } from '../core/error.ts';
import { visible } from '../core/text/terminal.ts';
import type { Lock } from '../platform/files/lock.ts';
import { sha256 } from '../platform/runtime/native.ts';
import { nameAsKept, refuseTaken } from './reference.ts';
import type { FilePlace } from './session-file.ts';

/** The name of one session, which nobody else can take meanwhile, also before it is in any file. */
export interface NameClaim {
  /** The name as it is kept; an earlier one is given up. Throws AppError `usage` if it cannot be that of this session. */
  take(name: string, id: string): Promise<string>;
  /** Lets others have the name, unless it is in the session's file. Never throws. */
  release(): Promise<void>;
}

/** How long somebody who asks for the same name at the same time may look whether it is free. */
const PATIENCE_MS = 200;

/** A claim of no name at first. */
export function nameClaim({ directory, lock }: Pick<FilePlace, 'directory' | 'lock'>): NameClaim {
  let held: { readonly name: string; readonly lock: Lock } | undefined;
  const release = async (): Promise<void> => {
    await held?.lock.release();
    held = undefined;
  };
  return {
    release,
    async take(name, id) {
      const kept = nameAsKept(name);
      if (kept === held?.name) {
        // The session may go on as a copy, and what has the name is the other one.
        refuseTaken(directory, kept, id);
        return kept;
      }
      const next = await lock(`name-${sha256(kept)}`, PATIENCE_MS);
      try {
        refuseTaken(directory, kept, id);
        if (next.isTaken) throw takenName(kept);
      } catch (thrown) {
        await next.release();
        throw thrown;
      }
      await release();
      held = { name: kept, lock: next };
      return kept;
    },
  };
}

function takenName(name: string): AppError {
  return new AppError('usage', `another session is being given the name "${visible(name)}"`, {
    hint: 'Take another name, or wait until that run is over.',
  });
}
