import { sep } from 'node:path';
import { AppError } from '../core/error.ts';
import type { SessionSource, SessionSummary } from '../core/session.ts';
import { isUuid, shortenId, splitEmoji } from '../core/text/names.ts';
import { sanitize } from '../core/text/terminal.ts';
import { listFileNames, readEnds, tryListFileNames } from '../platform/files/lines.ts';
import type { Lock } from '../platform/files/lock.ts';
import { readModifiedTime } from '../platform/files/write-sync.ts';
import { sha256 } from '../platform/runtime/native.ts';
import { errorCode } from '../platform/runtime/system.ts';
import { findSessionId, type ReadRecord, recoverHeader, tryParseRecord } from './parse.ts';
import { formatSaveError } from './record.ts';
import type { StoreContext } from './session-file.ts';

interface SessionPath {
  readonly id: string;
  readonly file: string;
}

function listSessionPaths(directory: string): readonly SessionPath[] {
  return tryListFileNames(directory).flatMap((name) => {
    const id = findSessionId(name);
    // Not `join`, which parses the path: there may be thousands.
    return id === undefined ? [] : [{ id, file: `${directory}${sep}${name}` }];
  });
}

export function checkReadable(directory: string): void {
  try {
    listFileNames(directory);
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT') return;
    throw new AppError('config', `cannot read the sessions in ${directory}: ${formatSaveError(thrown)}`, {
      cause: thrown,
      hint: 'It must be a directory that you may read: gmn sessions path',
    });
  }
}

export interface FileSummary {
  readonly summary: SessionSummary;
  readonly version: number;
  readonly last: ReadRecord | undefined;
}

/** Reads only its two ends. Undefined if neither the header nor any record can be read. */
export function readFileSummary({ id, file }: SessionPath): FileSummary | undefined {
  const ends = readEnds(file, tryParseRecord);
  const header = ends === undefined ? undefined : recoverHeader(file, ends.first);
  if (ends === undefined || header === undefined) return undefined;
  const { last, size } = ends;
  if (header.isDamaged && last === undefined) return undefined;
  const { name, model } = last?.state ?? { name: header.name, model: undefined };
  const summary = {
    id,
    title: header.title,
    cwd: header.cwd,
    createdAt: header.at,
    updatedAt: last?.at ?? header.at,
    turns: last?.state.turn ?? 0,
    isUnanswered: last?.state.unanswered ?? false,
    source: last?.state.by ?? header.by,
    bytes: size,
    file,
    name,
    model,
  };
  return { summary, version: header.v, last };
}

/** The newest first. Omits sessions without a name in which every turn was rewound. */
export function listSessions(directory: string): readonly SessionSummary[] {
  const all = readFileSummaries(directory).map(({ summary }) => summary);
  return all.filter((summary) => canResume(summary) || summary.name !== undefined);
}

function canResume({ turns, isUnanswered }: SessionSummary): boolean {
  return turns > 0 || isUnanswered;
}

export function readFileSummaries(directory: string): readonly FileSummary[] {
  const found = listSessionPaths(directory).flatMap((place) => readFileSummary(place) ?? []);
  return found.sort(({ summary: left }, { summary: right }) => compareNewest(left, right));
}

function compareNewest(left: SessionSummary, right: SessionSummary): number {
  return right.updatedAt - left.updatedAt || right.createdAt - left.createdAt || (left.id < right.id ? -1 : 1);
}

/** How much older a file may seem than its last record: some file systems count in steps of two seconds. */
const COARSE_TIME_MS = 2000;
/** Other file systems use the time of the system's last tick. */
const TICK_MS = 20;

/** A file is written after its records are made, so older files need not be opened, unless the clocks disagree. */
function findNewest(directory: string, isWanted: (session: SessionSummary) => boolean): SessionSummary | undefined {
  const files = listSessionPaths(directory)
    .map((place) => ({ place, writtenAt: toLatestWrite(readModifiedTime(place.file) ?? 0) }))
    .sort((left, right) => right.writtenAt - left.writtenAt);
  let newest: SessionSummary | undefined;
  let newestAt = Number.NEGATIVE_INFINITY;
  for (const { place, writtenAt } of files) {
    if (writtenAt < newestAt) break;
    const summary = readFileSummary(place)?.summary;
    if (summary === undefined || !isWanted(summary)) continue;
    if (newest !== undefined && compareNewest(newest, summary) < 0) continue;
    newest = summary;
    newestAt = summary.updatedAt > writtenAt ? Number.NEGATIVE_INFINITY : summary.updatedAt;
  }
  return newest;
}

function toLatestWrite(modifiedAt: number): number {
  return modifiedAt + (modifiedAt % 1000 === 0 ? COARSE_TIME_MS : TICK_MS);
}

const LIST = { hint: 'Run: gmn sessions list --all' } as const;

/** An id or its first 8 digits, `last`, a number, a name, a shorter prefix. Throws AppError `usage`, `config`. */
export function findSession(directory: string, reference: string, asker: SessionSource): SessionSummary {
  const wanted = reference.trim();
  const byId = /^\w[\w-]*$/.test(wanted) ? findByIdPrefix(directory, wanted.toLowerCase()) : [];
  // The id is in the file name, so no other file need be opened.
  const exact = byId.find(({ id }) => id.toLowerCase() === wanted.toLowerCase());
  if (exact !== undefined) return exact;
  if (byId.length === 1 && /^[0-9a-f-]{8,}$/i.test(wanted) && byId[0] !== undefined) return byId[0];
  const list = listSessions(directory);
  const isNewest = wanted === 'last' || wanted === 'latest';
  const found = isNewest
    ? list.find(createResumableCheck(asker))
    : ((isListNumber(wanted) ? list[Number(wanted) - 1] : undefined) ?? findByName(list, wanted));
  if (found !== undefined) return found;
  if (byId.length > 1) {
    const some = byId.slice(0, 5).map(({ id }) => id);
    throw new AppError('usage', `"${sanitize(wanted)}" could be ${byId.length} sessions: ${some.join(', ')}`, LIST);
  }
  if (byId[0] !== undefined) return byId[0];
  checkReadable(directory);
  if (list.length === 0 || isNewest) throw noSessionError(list, asker);
  throw new AppError('usage', `there is no session "${sanitize(wanted)}"`, LIST);
}

/** In a chat only chats; at the command line also one-shots; for an agent also what others delegated. */
function createResumableCheck(asker: SessionSource): (session: SessionSummary) => boolean {
  const sources: readonly SessionSource[] =
    asker === 'chat' ? ['chat'] : asker === 'prompt' ? ['chat', 'prompt'] : ['chat', 'prompt', 'mcp'];
  const isReady = (session: SessionSummary): boolean => asker !== 'mcp' || session.model !== undefined;
  return (session) => canResume(session) && sources.includes(session.source) && isReady(session);
}

/** There may still be sessions that another kind of asker could resume. */
function noSessionError(list: readonly SessionSummary[], asker: SessionSource): AppError {
  if (!list.some(canResume)) {
    return new AppError('usage', 'there is no saved session yet', { hint: 'The next prompt makes one: gmn "…"' });
  }
  const [what, others] = asker === 'chat' ? ['chat', 'a one-shot'] : ['session of yours', 'what an agent delegated'];
  return new AppError('usage', `there is no saved ${what} yet`, {
    hint: `To continue ${others}, name it: -r <id>. To see them: gmn sessions list --all`,
  });
}

export function requireNewestSession(directory: string, cwd: string, asker: SessionSource): SessionSummary {
  const isResumable = createResumableCheck(asker);
  const found = findNewest(directory, (session) => session.cwd === cwd && isResumable(session));
  if (found !== undefined) return found;
  const all = listSessions(directory);
  const list = all.filter(isResumable);
  checkReadable(directory);
  if (list.length === 0) throw noSessionError(all, asker);
  throw new AppError('usage', `there is no saved ${asker === 'chat' ? 'chat' : 'session'} of this directory`, {
    hint: 'To continue the newest of all: -r last. To see them: gmn sessions list --all',
  });
}

function findByIdPrefix(directory: string, prefix: string): readonly SessionSummary[] {
  const places = listSessionPaths(directory).filter(({ id }) => id.toLowerCase().startsWith(prefix));
  return places.flatMap((place) => readFileSummary(place)?.summary ?? []);
}

function isListNumber(text: string): boolean {
  return /^[1-9]\d{0,6}$/.test(text);
}

function findByName(list: readonly SessionSummary[], name: string): SessionSummary | undefined {
  const [found, ...others] = list.filter((session) => session.name === normalizeName(name));
  if (others.length === 0) return found;
  throw new AppError('usage', `${others.length + 1} sessions have the name "${sanitize(name)}"`, LIST);
}

const MAX_NAME_LENGTH = 100;

function parseName(name: string): string {
  const kept = normalizeName(name);
  const why = findNameProblem(kept);
  if (why === undefined) return kept;
  throw new AppError('usage', `a session cannot be named "${sanitize(kept)}": ${why}`, NAMING);
}

/** Wide spaces become plain ones: they look alike and are typed with the same key. */
function normalizeName(name: string): string {
  return name
    .trim()
    .normalize('NFC')
    .replace(/\p{Zs}/gu, ' ');
}

/** `name` must be normalized. Throws AppError `usage` if another session than `id` has it. */
function checkNameFree(directory: string, name: string, id: string): void {
  if (isIdTaken(directory, name) && name.toLowerCase() !== id.toLowerCase()) throw idTakenError(name);
  const owner = listSessions(directory).find((session) => session.name === name);
  if (owner === undefined || owner.id === id) return;
  throw new AppError('usage', `there is a session with the name "${sanitize(name)}"`, {
    hint: `To continue it: -r ${shortenId(owner.id)}`,
  });
}

/** Ignores case, since some file systems do. */
export function isIdTaken(directory: string, id: string): boolean {
  return listSessionPaths(directory).some((place) => place.id.toLowerCase() === id.toLowerCase());
}

export function idTakenError(id: string): AppError {
  return new AppError('usage', `there is a session with the id ${id}`, { hint: `To continue it: -r ${id}` });
}

export function parseNewId(directory: string, id: string): string {
  const why = findIdProblem(directory, id);
  if (why === undefined) return id;
  throw new AppError('usage', `"${sanitize(id)}" cannot be the id of a session: ${why}`, {
    hint: 'Use 1 to 64 letters, digits, - and _; or give it a name instead: --session-name',
  });
}

/** Windows reserves these names, with any extension. */
const DEVICE = /^(?:con|prn|aux|nul|com\d|lpt\d)$/i;

export function findIdProblem(directory: string, id: string): string | undefined {
  if (!/^[\w-]*$/.test(id)) return 'it has characters other than letters, digits, - and _';
  if (id === '') return 'it is empty';
  if (id.startsWith('-')) return 'it begins like a flag';
  if (id.length > 64) return 'it is longer than 64 characters';
  if (isListNumber(id)) return 'it is a number, which stands for a place in the list';
  if (/^(?:last|latest)$/i.test(id)) return 'that word means the newest one';
  if (DEVICE.test(id)) return 'some systems have a device of that name';
  return listSessions(directory).some(({ name }) => name === id) ? 'it is the name of another session' : undefined;
}

const NAMING = { hint: 'Use 1 to 100 visible characters that are neither a number nor an id.' } as const;

function findNameProblem(name: string): string | undefined {
  if (name === '') return 'it is empty';
  if ([...name].length > MAX_NAME_LENGTH) return `it is longer than ${MAX_NAME_LENGTH} characters`;
  if (splitEmoji(name).some((piece, index) => index % 2 === 0 && sanitize(piece) !== piece)) {
    return 'it has characters that cannot be seen';
  }
  if (isUuid(name.toLowerCase())) return 'it looks like an id';
  if (/^\d+$/.test(name)) return 'it is a number';
  if (/^(?:last|latest)$/i.test(name)) return 'that word means the newest one';
  return undefined;
}

/** Reserves a name for one session, even before the name is written to a file. */
export interface NameReservation {
  /** Releases an earlier one; returns it normalized. Throws AppError `usage` if it is taken or not allowed. */
  reserve(name: string, id: string): Promise<string>;
  /** Never throws. A name that is in the session file stays taken. */
  release(): Promise<void>;
}

/** How long to wait for another process that is checking the same name. */
const LOCK_WAIT_MS = 200;

export function createReservation({ directory, lock }: Pick<StoreContext, 'directory' | 'lock'>): NameReservation {
  let held: { readonly name: string; readonly lock: Lock } | undefined;
  const release = async (): Promise<void> => {
    await held?.lock.release();
    held = undefined;
  };
  return {
    release,
    async reserve(name, id) {
      const kept = parseName(name);
      if (kept === held?.name) {
        // The session may have become a copy since; then the name belongs to the original.
        checkNameFree(directory, kept, id);
        return kept;
      }
      const next = await lock(`name-${sha256(kept)}`, LOCK_WAIT_MS);
      try {
        checkNameFree(directory, kept, id);
        if (next.isTaken) throw nameTakenError(kept);
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

function nameTakenError(name: string): AppError {
  return new AppError('usage', `another session is being given the name "${sanitize(name)}"`, {
    hint: 'Use another name, or wait until that run is over.',
  });
}
