import type { Clock } from '../core/io.ts';
import { isObject, parseJson } from '../core/json.ts';
import { fingerprint } from '../platform/workspace-file.ts';
import { journalFiles } from '../platform/workspace-journal.ts';
import type { Journal, Workspace } from './workspace.ts';

/** One change a tool made to a file. */
export interface Change {
  readonly id: string;
  /** Which run of gmn made it. */
  readonly run: string;
  /** Milliseconds since the epoch. */
  readonly time: number;
  /** Free of links. */
  readonly path: string;
  readonly mode: number;
  /** The fingerprint of what was there; undefined: nothing. */
  readonly before: string | undefined;
  /** The fingerprint of what it was changed to. */
  readonly after: string;
}

/** The changes of all runs, and what was there before. */
export interface UndoStore {
  /** The journal of one run, whose id nobody else has. */
  journal(run: string): Journal;
  /** Changes that were not taken back, oldest first. Throws AppError `config`. */
  changes(): Promise<readonly Change[]>;
  /**
   * Puts back what was there, through the fence. Throws AppError `usage` if the file was changed since, and `config` if
   * what was there is not kept any more; nothing is changed then.
   */
  takeBack(change: Change, workspace: Workspace): Promise<void>;
}

/** A store in that directory, usually `~/.gmn/undo`. */
export function undoStore(directory: string, clock: Clock): UndoStore {
  const files = journalFiles(directory);
  return {
    journal: (run) => {
      let count = 0;
      return {
        before: async (path, bytes, mode, after) => {
          const before = bytes === undefined ? null : await files.keep(bytes);
          count += 1;
          const id = `${run}.${count}`;
          const record = { v: 1, id, run, time: clock.now(), path, mode, before, after: fingerprint(after) };
          await files.append(JSON.stringify(record));
        },
      };
    },
    changes: async () => {
      const records = (await files.lines()).map(parseJson);
      const undone = new Set(records.map(parseUndone));
      return records.flatMap((record) => parseChange(record) ?? []).filter(({ id }) => !undone.has(id));
    },
    takeBack: async (change, workspace) => {
      const bytes = change.before === undefined ? undefined : await files.fetch(change.before);
      await workspace.restore(change.path, { bytes, mode: change.mode, expected: change.after });
      await files.append(JSON.stringify({ v: 1, undone: change.id, time: clock.now() }));
    },
  };
}

function parseUndone(record: unknown): unknown {
  return isObject(record) ? record.undone : undefined;
}

/** Undefined for what is damaged, or of another version. */
function parseChange(record: unknown): Change | undefined {
  if (!isObject(record) || record.v !== 1) return undefined;
  const { id, run, time, path, mode, before, after } = record;
  const isWhole =
    typeof id === 'string' &&
    typeof run === 'string' &&
    typeof time === 'number' &&
    typeof path === 'string' &&
    typeof mode === 'number' &&
    typeof after === 'string' &&
    /^[\da-f]{64}$/.test(after);
  if (!isWhole || (before !== null && !(typeof before === 'string' && /^[\da-f]{64}$/.test(before)))) return undefined;
  return { id, run, time, path, mode, after, before: before ?? undefined };
}
