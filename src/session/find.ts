import { sep } from 'node:path';
import { AppError } from '../core/error.ts';
import type { SessionSource, SessionSummary } from '../core/session.ts';
import { isNewestWord, isUuid, shortenId, splitEmoji } from '../core/text/names.ts';
import { sanitize } from '../core/text/terminal.ts';
import { listFileNames, readEnds, readFirstLines, tryListFileNames } from '../platform/files/lines.ts';
import type { Lock } from '../platform/files/lock.ts';
import { readModifiedTime } from '../platform/files/write-sync.ts';
import { sha256 } from '../platform/runtime/native.ts';
import { errorCode } from '../platform/runtime/system.ts';
import { findSessionId, type ReadRecord, recoverHeader, tryParseRecord } from './parse.ts';
import { deriveTitle, formatSaveError } from './record.ts';
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
    title: header.title || findFirstTitle(file),
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

/** Far more than what comes before the first prompt. */
const TITLE_BYTES = 65_536;

/** Of a session that was begun before its first prompt, so that its header has none. */
function findFirstTitle(file: string): string {
  const bodies = readFirstLines(file, TITLE_BYTES).flatMap((line) => tryParseRecord(line)?.body ?? []);
  const prompt = bodies.find((body) => body.kind === 'prompt');
  return prompt === undefined ? '' : deriveTitle(prompt.content);
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

/** By its whole id; also one that nothing was asked in yet. */
export function findById(directory: string, id: string): SessionSummary | undefined {
  if (!/^\w[\w-]*$/.test(id)) return undefined;
  return findByIdPrefix(directory, id.toLowerCase()).find((summary) => summary.id === id);
}

/**
 * An id or its first 8 digits, `last`, a number, a name, a shorter prefix. A number is a place in the list and nothing
 * else, so that one that is not there resumes nothing. Throws AppError `usage`, `config`.
 */
export function findSession(directory: string, reference: string, asker: SessionSource): SessionSummary {
  const wanted = reference.trim();
  const byId = /^\w[\w-]*$/.test(wanted) ? findByIdPrefix(directory, wanted.toLowerCase()) : [];
  // The id is in the file name, so no other file need be opened.
  const exact = byId.find(({ id }) => id.toLowerCase() === wanted.toLowerCase());
  if (exact !== undefined) return exact;
  if (byId.length === 1 && /^[0-9a-f-]{8,}$/i.test(wanted) && byId[0] !== undefined) return byId[0];
  const list = listSessions(directory);
  const isNewest = isNewestWord(wanted);
  const found = isNewest
    ? list.find(createResumableCheck(asker))
    : ((isListNumber(wanted) ? list[Number(wanted) - 1] : undefined) ?? findByName(list, wanted));
  if (found !== undefined) return found;
  checkReadable(directory);
  if (list.length === 0 || isNewest) throw noSessionError(list, asker);
  if (isListNumber(wanted)) throw numberError(wanted, list);
  if (byId[0] !== undefined && wanted.length < MIN_PREFIX) throw shortPrefixError(wanted);
  if (byId.length > 1) throw ambiguityError(wanted, byId);
  if (byId[0] !== undefined) return byId[0];
  throw new AppError('usage', `there is no session "${sanitize(wanted)}"`, LIST);
}

/** Shorter beginnings of an id name nothing: a slip of one key would be another session. */
const MIN_PREFIX = 4;

function shortPrefixError(wanted: string): AppError {
  return new AppError('usage', `"${sanitize(wanted)}" is too short to be the beginning of an id`, {
    hint: `Give at least ${MIN_PREFIX} characters of it. To see the ids: gmn sessions list`,
  });
}

function numberError(wanted: string, list: readonly SessionSummary[]): AppError {
  return new AppError('usage', `there is no session number ${wanted}`, {
    hint: `The last one is ${list.length}: gmn sessions list --all. For an id, give 8 characters of it.`,
  });
}

interface NamingScope {
  readonly asker: SessionSource;
  readonly cwd: string;
  /** Deleted ones, which may be named, too; the newest first. */
  readonly trashed?: readonly SessionSummary[];
}

/**
 * For what changes or deletes: only what the reference names beyond doubt, a deleted one by its whole id or its name. A
 * number, or `last`, is one of `gmn sessions list` in this directory. Throws AppError `usage`.
 */
export function requireNamedSession(
  directory: string,
  reference: string,
  { asker, cwd, trashed = [] }: NamingScope,
): SessionSummary {
  const wanted = reference.trim();
  const saved = readFileSummaries(directory).map(({ summary }) => summary);
  const { exact, begun } = matchReference([...saved, ...trashed], wanted);
  const isSaved = (session: SessionSummary): boolean => saved.includes(session);
  // The name of a deleted session is free: a saved one that has it now comes first.
  const named = exact.some(isSaved) ? exact.filter(isSaved) : exact;
  const [found, ...others] = takeFirstOfEachId([...named, ...begun]);
  if (found === undefined) {
    if (isListNumber(wanted) || isNewestWord(wanted)) return requireListedSession(directory, wanted, { asker, cwd });
    throw unnamedError(wanted, findSession(directory, wanted, asker));
  }
  if (others.length > 0) throw ambiguityError(wanted, [found, ...others]);
  if (named.length > 0 || isSaved(found)) return found;
  throw unnamedError(wanted, found, ', which is in the trash');
}

interface ReferenceMatches {
  /** Those with this id; if there are none, those with this name. */
  readonly exact: readonly SessionSummary[];
  /** Those whose generated id begins like this; none if it is a whole id. */
  readonly begun: readonly SessionSummary[];
}

/**
 * At most one of each id: the first. Ids that people choose, like `review` and `review-2`, often begin alike, so the
 * beginning of one counts for nothing.
 */
export function matchReference(all: readonly SessionSummary[], wanted: string): ReferenceMatches {
  const [start, name] = [wanted.toLowerCase(), normalizeName(wanted)];
  const whole = all.find(({ id }) => id.toLowerCase() === start);
  if (whole !== undefined) return { exact: [whole], begun: [] };
  const exact = takeFirstOfEachId(all.filter((session) => session.name === name));
  const isPrefix = start.length >= MIN_PREFIX && !isListNumber(start);
  const begun = all.filter(({ id }) => isPrefix && isUuid(id.toLowerCase()) && id.toLowerCase().startsWith(start));
  return { exact, begun: takeFirstOfEachId(begun) };
}

function takeFirstOfEachId(all: readonly SessionSummary[]): readonly SessionSummary[] {
  return all.filter(({ id }, index) => all.findIndex((session) => session.id === id) === index);
}

export function ambiguityError(
  wanted: string,
  found: readonly SessionSummary[],
  next: { readonly hint: string } = LIST,
): AppError {
  const toWords = ({ id, name }: SessionSummary): string =>
    name === normalizeName(wanted) ? `${id} (by its name)` : id;
  const some = found.slice(0, 5).map(toWords).join(', ');
  return new AppError('usage', `"${sanitize(wanted)}" could be ${found.length} sessions: ${some}`, next);
}

/** For a beginning of this id that does not name it. */
function unnamedError(wanted: string, { id }: SessionSummary, where = ''): AppError {
  return new AppError('usage', `"${sanitize(wanted)}" is only the beginning of the id ${id}${where}`, {
    hint: `If that is the one, give the whole id: ${id}`,
  });
}

function requireListedSession(directory: string, wanted: string, { asker, cwd }: NamingScope): SessionSummary {
  const found = findSession(directory, wanted, asker);
  if (found.cwd === cwd) return found;
  const what = `${shortenId(found.id)} "${sanitize(found.title)}" of another directory, ${sanitize(found.cwd)}`;
  throw new AppError('usage', `"${wanted}" is ${what}`, {
    hint: `If that is the one, give its id: ${shortenId(found.id)}. Those of this directory: gmn sessions list`,
  });
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
  const conflict = findNameConflict(directory, name, id);
  if (conflict !== undefined) throw conflict;
}

function findNameConflict(directory: string, name: string, id: string): AppError | undefined {
  if (isIdTaken(directory, name) && name.toLowerCase() !== id.toLowerCase()) return idTakenError(name);
  const owner = listSessions(directory).find((session) => session.name === name);
  if (owner === undefined || owner.id === id) return undefined;
  return new AppError('usage', `there is a session with the name "${sanitize(name)}"`, {
    hint: `To continue it: -r ${shortenId(owner.id)}`,
  });
}

/** Whether a session may have this name: it is a name, and no other session has it. */
export function canBeNamed(directory: string, name: string, id: string): boolean {
  const kept = normalizeName(name);
  return findNameProblem(kept) === undefined && findNameConflict(directory, kept, id) === undefined;
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
  if (isNewestWord(id)) return 'that word means the newest one';
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
  if (isNewestWord(name)) return 'that word means the newest one';
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
