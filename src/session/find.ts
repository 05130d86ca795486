import { join } from 'node:path';
import { AppError } from '../core/error.ts';
import type { SessionSource, SessionSummary } from '../core/session.ts';
import { emojiApart, isUuid, shortId } from '../core/text/names.ts';
import { visible } from '../core/text/terminal.ts';
import { fileNames, readEnds } from '../platform/files/lines.ts';
import type { Lock } from '../platform/files/lock.ts';
import { sha256 } from '../platform/runtime/native.ts';
import { errnoOf } from '../platform/runtime/system.ts';
import { headerOf, idIn, parseLine, type ReadLine } from './parse.ts';
import { troubleOf } from './record.ts';
import type { FilePlace } from './session-file.ts';

/** Where one session is. */
interface Place {
  readonly id: string;
  readonly file: string;
}

/** Every file in a directory that has the name of a session. None if the directory cannot be read. */
function sessionPlaces(directory: string): readonly Place[] {
  return namesIn(directory).flatMap((name) => {
    const id = idIn(name);
    return id === undefined ? [] : [{ id, file: join(directory, name) }];
  });
}

function namesIn(directory: string): readonly string[] {
  try {
    return fileNames(directory);
  } catch {
    return [];
  }
}

/** Throws AppError `config` if there may be sessions in a directory, and it cannot be read; where there is none, all is well. */
export function refuseUnreadable(directory: string): void {
  try {
    fileNames(directory);
  } catch (thrown) {
    if (errnoOf(thrown) === 'ENOENT') return;
    throw new AppError('config', `cannot read the sessions in ${directory}: ${troubleOf(thrown)}`, {
      cause: thrown,
      hint: 'It must be a directory that you may read: gmn sessions path',
    });
  }
}

/** What the two ends of a session's file tell. */
export interface Glance {
  readonly summary: SessionSummary;
  /** Of the format. */
  readonly version: number;
  readonly last: ReadLine | undefined;
}

/**
 * A session as a list shows it; undefined if the file is none: neither its first line nor any other can be read. Reads only the
 * ends of the file.
 */
export function glanceAt({ id, file }: Place): Glance | undefined {
  const ends = readEnds(file, parseLine);
  const header = ends === undefined ? undefined : headerOf(file, ends.first);
  if (ends === undefined || header === undefined) return undefined;
  const { last, size } = ends;
  if (header.isDamaged && last === undefined) return undefined;
  const { name, model } = last?.standing ?? { name: header.name, model: undefined };
  const summary = {
    id,
    title: header.title,
    cwd: header.cwd,
    createdAt: header.at,
    updatedAt: last?.at ?? header.at,
    turns: last?.standing.turn ?? 0,
    isUnanswered: last?.standing.unanswered ?? false,
    source: last?.standing.by ?? header.by,
    bytes: size,
    file,
    ...(name === undefined ? {} : { name }),
    ...(model === undefined ? {} : { model }),
  };
  return { summary, version: header.v, last };
}

/**
 * The sessions of a directory, the one that was written to last first. One in which nothing counts, since all of it was
 * rewound, is left out unless it has a name.
 */
export function listSessions(directory: string): readonly SessionSummary[] {
  const all = glances(directory).map(({ summary }) => summary);
  return all.filter((summary) => canGoOn(summary) || summary.name !== undefined);
}

/** Whether there is something in a session to go on with: an exchange, or a prompt that waits to be asked again. */
function canGoOn({ turns, isUnanswered }: SessionSummary): boolean {
  return turns > 0 || isUnanswered;
}

/** All of them, with what else the ends of their files tell. */
export function glances(directory: string): readonly Glance[] {
  const found = sessionPlaces(directory).flatMap((place) => glanceAt(place) ?? []);
  return found.sort(
    ({ summary: left }, { summary: right }) =>
      right.updatedAt - left.updatedAt || right.createdAt - left.createdAt || (left.id < right.id ? -1 : 1),
  );
}

const LIST = { hint: 'Run: gmn sessions list --all' } as const;

/**
 * The session that `reference` names: an id or at least 8 digits of its beginning, `last`, `latest`, a number of the list,
 * a name, a shorter beginning of an id, tried in this order. `last` is the newest that counts for `asker`. Throws AppError
 * `usage` if there is none, or more than one, `config` if they cannot be read.
 */
export function findSession(directory: string, reference: string, asker: SessionSource): SessionSummary {
  const wanted = reference.trim();
  const byId = /^\w[\w-]*$/.test(wanted) ? startingWith(directory, wanted.toLowerCase()) : [];
  // The names of the files tell, and no other file need be opened.
  const exact = byId.find(({ id }) => id.toLowerCase() === wanted.toLowerCase());
  if (exact !== undefined) return exact;
  if (byId.length === 1 && /^[0-9a-f-]{8,}$/i.test(wanted) && byId[0] !== undefined) return byId[0];
  const list = listSessions(directory);
  const isNewest = wanted === 'last' || wanted === 'latest';
  const found = isNewest ? list.find(countsFor(asker)) : (numbered(list, wanted) ?? named(list, wanted));
  if (found !== undefined) return found;
  if (byId.length > 1) {
    const some = byId.slice(0, 5).map(({ id }) => id);
    throw new AppError('usage', `"${visible(wanted)}" could be ${byId.length} sessions: ${some.join(', ')}`, LIST);
  }
  if (byId[0] !== undefined) return byId[0];
  refuseUnreadable(directory);
  if (list.length === 0 || isNewest) throw noneYet(list, asker);
  throw new AppError('usage', `there is no session "${visible(wanted)}"`, LIST);
}

/**
 * What is the newest for whoever asks: in a chat a conversation that was held in a chat; at the command line also a one-shot;
 * what other agents delegated only for another agent.
 */
function countsFor(asker: SessionSource): (session: SessionSummary) => boolean {
  const sources: readonly SessionSource[] =
    asker === 'chat' ? ['chat'] : asker === 'prompt' ? ['chat', 'prompt'] : ['chat', 'prompt', 'mcp'];
  return (session) => canGoOn(session) && sources.includes(session.source);
}

/** Nothing counts for whoever asks; there may be other sessions. */
function noneYet(list: readonly SessionSummary[], asker: SessionSource): AppError {
  if (!list.some(canGoOn)) {
    return new AppError('usage', 'there is no saved session yet', { hint: 'The next prompt makes one: gmn "…"' });
  }
  const [what, others] = asker === 'chat' ? ['chat', 'a one-shot'] : ['session of yours', 'what an agent delegated'];
  return new AppError('usage', `there is no saved ${what} yet`, {
    hint: `To go on with ${others}, name it: -r <id>. To see them: gmn sessions list --all`,
  });
}

/** The newest session of a directory that counts for `asker`. Throws AppError `usage` if there is none. */
export function newestSession(directory: string, cwd: string, asker: SessionSource): SessionSummary {
  const all = listSessions(directory);
  const list = all.filter(countsFor(asker));
  const found = list.find((session) => session.cwd === cwd);
  if (found !== undefined) return found;
  refuseUnreadable(directory);
  if (list.length === 0) throw noneYet(all, asker);
  throw new AppError('usage', `there is no saved ${asker === 'chat' ? 'chat' : 'session'} of this directory`, {
    hint: 'To go on with the newest of all: -r last. To see them: gmn sessions list --all',
  });
}

function startingWith(directory: string, prefix: string): readonly SessionSummary[] {
  const places = sessionPlaces(directory).filter(({ id }) => id.toLowerCase().startsWith(prefix));
  return places.flatMap((place) => glanceAt(place)?.summary ?? []);
}

function numbered(list: readonly SessionSummary[], text: string): SessionSummary | undefined {
  return isListNumber(text) ? list[Number(text) - 1] : undefined;
}

function isListNumber(text: string): boolean {
  return /^[1-9]\d{0,6}$/.test(text);
}

function named(list: readonly SessionSummary[], name: string): SessionSummary | undefined {
  const [found, ...others] = list.filter((session) => session.name === keptForm(name));
  if (others.length === 0) return found;
  throw new AppError('usage', `${others.length + 1} sessions have the name "${visible(name)}"`, LIST);
}

const LONGEST_NAME = 100;

/** The name as it is kept. Throws AppError `usage` if it cannot be one. */
function nameAsKept(name: string): string {
  const kept = keptForm(name);
  const why = faultOf(kept);
  if (why === undefined) return kept;
  throw new AppError('usage', `a session cannot be named "${visible(kept)}": ${why}`, NAMING);
}

/** A wide space looks like a plain one, and is typed by the same key. */
function keptForm(name: string): string {
  return name
    .trim()
    .normalize('NFC')
    .replace(/\p{Zs}/gu, ' ');
}

/** Throws AppError `usage` if the name, as it is kept, is in the file of another session than `id`. */
function refuseTaken(directory: string, name: string, id: string): void {
  if (isTakenId(directory, name) && name.toLowerCase() !== id.toLowerCase()) throw takenId(name);
  const owner = listSessions(directory).find((session) => session.name === name);
  if (owner === undefined || owner.id === id) return;
  throw new AppError('usage', `there is a session with the name "${visible(name)}"`, {
    hint: `To go on with it: -r ${shortId(owner.id)}`,
  });
}

/** Whether a session has this id; a file system may not tell large letters from small ones. */
export function isTakenId(directory: string, id: string): boolean {
  return sessionPlaces(directory).some((place) => place.id.toLowerCase() === id.toLowerCase());
}

export function takenId(id: string): AppError {
  return new AppError('usage', `there is a session with the id ${id}`, { hint: `To go on with it: -r ${id}` });
}

/** The id that somebody gave. Throws AppError `usage` if it cannot be the id of a new session. */
export function givenId(directory: string, id: string): string {
  const why = idFault(directory, id);
  if (why === undefined) return id;
  throw new AppError('usage', `"${visible(id)}" cannot be the id of a session: ${why}`, {
    hint: 'Take 1 to 64 letters, digits, - and _; or give it a name instead: --session-name',
  });
}

/** Devices of Windows, whatever stands behind the point. */
const DEVICE = /^(?:con|prn|aux|nul|com\d|lpt\d)$/i;

/** Why a text cannot be the id of a new session; undefined if it can. */
export function idFault(directory: string, id: string): string | undefined {
  if (!/^[\w-]*$/.test(id)) return 'it has other characters than letters, digits, - and _';
  if (id === '') return 'it is empty';
  if (id.startsWith('-')) return 'it begins like a flag';
  if (id.length > 64) return 'it is longer than 64 characters';
  if (isListNumber(id)) return 'it is a number, which stands for a place in the list';
  if (/^(?:last|latest)$/i.test(id)) return 'that word means the newest one';
  if (DEVICE.test(id)) return 'some systems have a device of that name';
  return listSessions(directory).some(({ name }) => name === id) ? 'it is the name of another session' : undefined;
}

const NAMING = { hint: 'Take 1 to 100 characters that can be seen, and that are neither a number nor an id.' } as const;

function faultOf(name: string): string | undefined {
  if (name === '') return 'it is empty';
  if ([...name].length > LONGEST_NAME) return `it is longer than ${LONGEST_NAME} characters`;
  if (emojiApart(name).some((piece, index) => index % 2 === 0 && visible(piece) !== piece)) {
    return 'it has characters that cannot be seen';
  }
  if (isUuid(name.toLowerCase())) return 'it looks like an id';
  if (/^\d+$/.test(name)) return 'it is a number';
  if (/^(?:last|latest)$/i.test(name)) return 'that word means the newest one';
  return undefined;
}

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
