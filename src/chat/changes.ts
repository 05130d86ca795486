import { relative } from 'node:path';
import { AppError } from '../core/error.ts';
import type { Session } from '../core/session.ts';
import { decode } from '../core/text/decode.ts';
import { textBefore } from '../core/text/trim.ts';
import { readBytesIfAny } from '../platform/files/read.ts';
import { randomId } from '../platform/runtime/random-id.ts';
import { unifiedDiff } from '../tools/diff.ts';
import { type Change, type TakenBack, takeBackAll, type UndoStore } from '../tools/workspace/journal.ts';
import { ALL_SHOWN, type Journal, MAX_FILE_BYTES, type Workspace } from '../tools/workspace/workspace.ts';

/** What the tools changed in the course of a session, turn by turn. */
export interface Changes {
  /** The model is shown all that a file holds: from now on it may change it, if nobody else does before. */
  shown(path: string, bytes: Uint8Array): Promise<void>;
  /** From now on changes belong to a new turn of this session. */
  begin(session: Session): void;
  /** What belonged to `session` belongs to the one that goes on in its place, too. */
  handOn(session: Session, next: Session): void;
  /**
   * Puts back what the last turn of the session changed, of those that changed anything and were not taken back. Throws
   * AppError `usage` if there is none (`config` if the journal is damaged), and the first time also if the last turn of all changed nothing: who asks again means
   * one before it.
   */
  undo(session: Session): Promise<readonly TakenBack[]>;
  /** All that is different now from what it was, as unified diffs; empty if nothing is. */
  diff(session: Session): Promise<string>;
}

/** A journal whose changes are told apart by turns. `gmn undo` takes them back turn by turn, too. */
interface TurnJournal {
  /** Opens it, for the directories that may be written to. */
  open(roots: readonly string[]): Journal;
  /** From now on changes belong to a new turn, whose name it returns. */
  begin(sessionId: string): string;
}

/** Notes changes in `store`. */
export function turnJournal(store: UndoStore): TurnJournal {
  let roots: readonly string[] = [];
  let current = store.journal(randomId());
  return {
    open: (wanted) => {
      roots = wanted;
      return { before: (...change) => current.before(...change) };
    },
    begin: (sessionId) => {
      const run = `${sessionId}.${randomId()}`;
      current = store.journal(run, roots);
      return run;
    },
  };
}

/** The changes that `begin` tells apart. */
export function sessionChanges(
  store: UndoStore,
  { workspace, begin, cwd }: { readonly workspace: Workspace; readonly cwd: string } & Pick<TurnJournal, 'begin'>,
): Changes {
  const ids = new WeakMap<Session, ReadonlySet<string>>();
  /** The last turn, until somebody has asked to undo it. */
  let lastTurn: string | undefined;
  // One that goes on as a copy has another id after that.
  const idsOf = (session: Session): ReadonlySet<string> => new Set(ids.get(session)).add(session.id);
  const changesOf = async (session: Session): Promise<readonly Change[]> => {
    const wanted = idsOf(session);
    return (await store.changes()).filter(({ run }) => wanted.has(textBefore(run, '.')));
  };
  return {
    begin(session) {
      ids.set(session, idsOf(session));
      lastTurn = begin(session.id);
    },
    handOn: (session, next) => void ids.set(next, idsOf(session)),
    shown: async (path, bytes) => {
      // What the fence does not let through cannot be changed either.
      const place = await workspace.place(path, 'read').catch(() => undefined);
      if (place !== undefined) workspace.remember(place, bytes, ALL_SHOWN);
    },
    undo: async (session) => {
      const changes = await changesOf(session);
      const last = changes.findLast(({ isPassed }) => !isPassed) ?? changes.at(-1);
      if (last === undefined) {
        const nothing = new AppError('usage', 'there is nothing to undo in this session', {
          hint: 'Files that tools changed are put back; /rewind drops exchanges.',
        });
        throw (await store.damage()) ?? nothing;
      }
      const isEarlier = lastTurn !== undefined && !changes.some(({ run }) => run === lastTurn);
      lastTurn = undefined;
      if (isEarlier) {
        throw new AppError('usage', 'the last turn changed no files', {
          hint: 'To put back what an earlier one changed: /undo again',
        });
      }
      return takeBackAll(
        changes.filter(({ run }) => run === last.run),
        store,
        workspace,
      );
    },
    diff: async (session) => {
      const firsts = new Map<string, Change>();
      for (const change of await changesOf(session)) {
        if (!firsts.has(change.path)) firsts.set(change.path, change);
      }
      let diffs = '';
      // One after the other: each may need a thread.
      for (const change of firsts.values()) diffs += await diffOf(change, store, cwd);
      return diffs;
    },
  };
}

/** The difference between what was there before a change and what is there now. */
async function diffOf(change: Change, store: UndoStore, cwd: string): Promise<string> {
  const name = relative(cwd, change.path);
  const before = await store.before(change);
  const now = await readBytesIfAny(change.path, {
    maxBytes: MAX_FILE_BYTES,
    tooLarge: () => new AppError('usage', `${name} is too large to be compared`, { hint: 'Look at it yourself.' }),
    links: 'never',
  });
  const [old, fresh] = [textOf(before), textOf(now)];
  if (old === undefined || fresh === undefined) return `${name}: not text, and not compared\n`;
  if (old === fresh) return '';
  const { diff } = await unifiedDiff(name, before === undefined ? undefined : old, fresh, new AbortController().signal);
  return now === undefined ? diff.replace(`+++ b/${name}`, '+++ /dev/null') : diff;
}

/** Nothing is the empty text; undefined if it is no text. */
function textOf(bytes: Uint8Array | undefined): string | undefined {
  const decoded = decode(bytes ?? new Uint8Array());
  return decoded.isText ? decoded.text : undefined;
}
