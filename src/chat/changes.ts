import { relative } from 'node:path';
import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import type { Session } from '../core/session.ts';
import { decodeText } from '../core/text/decode.ts';
import { sanitize } from '../core/text/terminal.ts';
import { takeBefore } from '../core/text/trim.ts';
import type { ToolSetup } from '../engine/tools/setup.ts';
import { openTurnChanges } from '../engine/tools/turn-changes.ts';
import { putBackChanges } from '../engine/tools/undo-store.ts';
import { readBytesIfAny } from '../platform/files/read.ts';
import { unifiedDiff } from '../tools/diff.ts';
import type { Buffers } from '../tools/workspace/buffers.ts';
import type { Change, UndoResult, UndoStore } from '../tools/workspace/journal.ts';
import { ALL_SHOWN, MAX_FILE_BYTES, type Workspace } from '../tools/workspace/workspace.ts';

export interface Changes {
  readonly workspace: Workspace;
  /**
   * Records that the model has seen the whole file, so that tools may change it, unless someone else changes it first.
   */
  markShown(path: string, bytes: Uint8Array): Promise<void>;
  /** Begins a turn. */
  begin(session: Session): void;
  /** Lets `next`, which continues `session` under another id, own the changes of `session` too. */
  transfer(session: Session, next: Session): void;
  /**
   * Undoes the session's latest turn that changed files and is not undone yet. Throws AppError `usage` if there is none
   * (`config` if the journal is damaged). If the very last turn changed nothing, the first call throws `usage` too, so
   * that an earlier turn is undone only when the user asks again.
   */
  undo(session: Session): Promise<readonly UndoResult[]>;
  /** The files that turns of the session have changed since this time, in milliseconds since the epoch. */
  listSince(session: Session, since: number): Promise<readonly string[]>;
  /** Undoes those changes. */
  undoSince(session: Session, since: number): Promise<readonly UndoResult[]>;
  diff(session: Session): Promise<string>;
}

/** Opens the workspace, so that what is written there can be undone turn by turn. */
export async function createChanges(options: ToolSetup, app: App, buffers?: Buffers): Promise<Changes> {
  const { workspace, store, begin } = await openTurnChanges(options, app, buffers);
  const cwd = workspace.roots[0] ?? app.cwd;
  const ids = new WeakMap<Session, ReadonlySet<string>>();
  let lastTurn: string | undefined;
  // A session that continues as a copy has a new id; keep the old ones.
  const collectIds = (session: Session): ReadonlySet<string> => new Set(ids.get(session)).add(session.id);
  const listChanges = async (session: Session): Promise<readonly Change[]> => {
    const wanted = collectIds(session);
    return (await store.listChanges()).filter(({ run }) => wanted.has(takeBefore(run, '.')));
  };
  const listChangesSince = async (session: Session, since: number): Promise<readonly Change[]> =>
    (await listChanges(session)).filter(({ time }) => time >= since);
  return {
    workspace,
    listSince: async (session, since) => [...new Set((await listChangesSince(session, since)).map(({ path }) => path))],
    undoSince: async (session, since) => putBackChanges(await listChangesSince(session, since), store, workspace),
    begin(session) {
      ids.set(session, collectIds(session));
      lastTurn = begin(session.id);
    },
    transfer: (session, next) => void ids.set(next, collectIds(session)),
    markShown: async (path, bytes) => {
      // A path outside the fence cannot be changed either, so there is nothing to record.
      const place = await workspace.place(path, 'read').catch(() => undefined);
      if (place !== undefined) workspace.remember(place, bytes, ALL_SHOWN);
    },
    undo: async (session) => {
      const changes = await listChanges(session);
      const last = changes.findLast(({ isPassed }) => !isPassed) ?? changes.at(-1);
      if (last === undefined) {
        const nothing = new AppError('usage', 'there is nothing to undo in this session', {
          hint: 'Files that tools changed are put back; /rewind drops exchanges.',
        });
        throw (await store.findDamage()) ?? nothing;
      }
      const isEarlier = lastTurn !== undefined && !changes.some(({ run }) => run === lastTurn);
      lastTurn = undefined;
      if (isEarlier) {
        throw new AppError('usage', 'the last turn changed no files', {
          hint: 'To put back what an earlier one changed: /undo again',
        });
      }
      return putBackChanges(
        changes.filter(({ run }) => run === last.run),
        store,
        workspace,
      );
    },
    diff: async (session) => {
      const firsts = new Map<string, Change>();
      for (const change of await listChanges(session)) {
        if (!firsts.has(change.path)) firsts.set(change.path, change);
      }
      let diffs = '';
      // One at a time: each diff may need a thread.
      for (const change of firsts.values()) diffs += await diffChange(change, store, cwd);
      return diffs;
    },
  };
}

export function formatUndone(results: readonly UndoResult[], cwd: string): readonly string[] {
  return results.map((result) =>
    'outcome' in result
      ? `${result.outcome} ${sanitize(relative(cwd, result.path))}`
      : `✗ ${sanitize(result.problem.message)}`,
  );
}

async function diffChange(change: Change, store: UndoStore, cwd: string): Promise<string> {
  const name = relative(cwd, change.path);
  const before = await store.readBefore(change);
  const now = await readBytesIfAny(change.path, {
    maxBytes: MAX_FILE_BYTES,
    tooLarge: () =>
      new AppError('usage', `${name} is too large to compare`, { hint: 'Compare it with another program.' }),
    links: 'never',
  });
  const [old, fresh] = [decodeOrUndefined(before), decodeOrUndefined(now)];
  if (old === undefined || fresh === undefined) return `${name}: not text, not compared\n`;
  if (old === fresh) return '';
  const { diff } = await unifiedDiff(name, before === undefined ? undefined : old, fresh);
  return now === undefined ? diff.replace(`+++ b/${name}`, '+++ /dev/null') : diff;
}

/** A missing file is the empty text; undefined if the bytes are not text. */
function decodeOrUndefined(bytes: Uint8Array | undefined): string | undefined {
  const decoded = decodeText(bytes ?? new Uint8Array());
  return decoded.isText ? decoded.text : undefined;
}
