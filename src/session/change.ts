import { AppError } from '../core/error.ts';
import type { SessionSummary } from '../core/session.ts';
import { shortenId } from '../core/text/names.ts';
import { openAppendFile } from '../platform/files/append.ts';
import { createReservation, readFileSummary } from './find.ts';
import { checkVersion } from './load.ts';
import { encodeRecord, formatSaveError } from './record.ts';
import type { StoreContext } from './session-file.ts';

export async function renameSession(place: StoreContext, summary: SessionSummary, name: string): Promise<void> {
  const reservation = createReservation(place);
  const kept = await reservation.reserve(name, summary.id);
  await withSessionLock(place, summary, () => appendName(place, summary, kept)).finally(reservation.release);
}

/** The session has this name from now on, or none, and was changed now. Needs its lock. */
export async function appendName(
  { clock }: StoreContext,
  summary: SessionSummary,
  name: string | undefined,
): Promise<void> {
  const found = readFileSummary(summary);
  if (found === undefined) throw sessionGoneError(summary);
  checkVersion(summary.id, found.version);
  const now = clock.now();
  const state = { turn: 0, ...found.last?.state, name };
  const line = { seq: (found.last?.seq ?? 0) + 1, at: now, state, body: { kind: 'name' } } as const;
  const file = await openAppendFile(summary.file, { now });
  const outcome = await file.append(encodeRecord(line)).finally(() => file.close());
  if (outcome === 'overtaken') throw inUseError(summary);
}

/** Throws AppError `usage` while the session is open elsewhere. */
export async function withSessionLock<Result>(
  place: StoreContext,
  summary: Pick<SessionSummary, 'id'>,
  work: () => Promise<Result>,
): Promise<Result> {
  const lock = await place.lock(summary.id);
  try {
    if (lock.isTaken) throw inUseError(summary);
    return await work();
  } catch (thrown) {
    if (thrown instanceof AppError) throw thrown;
    throw new AppError('config', `cannot change the session ${shortenId(summary.id)}: ${formatSaveError(thrown)}`, {
      cause: thrown,
      hint: 'Check the free space and the permissions: gmn sessions path',
    });
  } finally {
    await lock.release();
  }
}

function inUseError({ id }: Pick<SessionSummary, 'id'>): AppError {
  return new AppError('usage', `the session ${shortenId(id)} is open elsewhere`, { hint: 'Close it there first.' });
}

export function sessionGoneError({ id }: Pick<SessionSummary, 'id'>): AppError {
  return new AppError('usage', `there is no session ${id} any more`, { hint: 'Run: gmn sessions list --all' });
}
