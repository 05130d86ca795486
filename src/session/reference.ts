import { emojiApart } from '../core/emoji.ts';
import { AppError } from '../core/error.ts';
import type { SessionSummary } from '../core/session.ts';
import { isUuid } from '../core/uuid.ts';
import { visible } from '../core/visible.ts';
import { glanceAt, listSessions, refuseUnreadable, sessionPlaces } from './directory.ts';

const LIST = { hint: 'Run: gmn sessions list --all' } as const;

/**
 * The session that `reference` names: an id or at least 8 characters of its beginning, `last`, `latest`, a number of the list,
 * a name, a shorter beginning of an id, tried in this order. Throws AppError `usage` if there is none, or more than
 * one, `config` if they cannot be read.
 */
export function findSession(directory: string, reference: string): SessionSummary {
  const wanted = reference.trim();
  const byId = /^[0-9a-f][0-9a-f-]*$/i.test(wanted) ? startingWith(directory, wanted.toLowerCase()) : [];
  // The names of the files tell, and no other file need be opened.
  if (byId.length === 1 && wanted.length >= 8 && byId[0] !== undefined) return byId[0];
  const list = listSessions(directory);
  const isNewest = wanted === 'last' || wanted === 'latest';
  const found = isNewest ? list.find(hasTurns) : (numbered(list, wanted) ?? named(list, wanted));
  if (found !== undefined) return found;
  if (byId.length > 1) {
    const some = byId.slice(0, 5).map(({ id }) => id);
    throw new AppError('usage', `"${visible(wanted)}" could be ${byId.length} sessions: ${some.join(', ')}`, LIST);
  }
  if (byId[0] !== undefined) return byId[0];
  refuseUnreadable(directory);
  if (list.length === 0 || isNewest) {
    throw noneYet();
  }
  throw new AppError('usage', `there is no session "${visible(wanted)}"`, LIST);
}

function noneYet(): AppError {
  return new AppError('usage', 'there is no saved session yet', { hint: 'The next prompt makes one: gmn "…"' });
}

/** The newest session that was begun in a directory and has something to go on with. Throws AppError `usage` if there is none. */
export function newestSession(directory: string, cwd: string): SessionSummary {
  const list = listSessions(directory).filter(hasTurns);
  const found = list.find((session) => session.cwd === cwd);
  if (found !== undefined) return found;
  refuseUnreadable(directory);
  if (list.length === 0) throw noneYet();
  throw new AppError('usage', 'there is no saved session of this directory', {
    hint: 'To go on with the newest of all: -r last. To see them: gmn sessions list --all',
  });
}

function hasTurns({ turns }: SessionSummary): boolean {
  return turns > 0;
}

function startingWith(directory: string, prefix: string): readonly SessionSummary[] {
  const places = sessionPlaces(directory).filter(({ id }) => id.startsWith(prefix));
  return places.flatMap((place) => glanceAt(place)?.summary ?? []);
}

function numbered(list: readonly SessionSummary[], text: string): SessionSummary | undefined {
  return /^[1-9]\d{0,6}$/.test(text) ? list[Number(text) - 1] : undefined;
}

function named(list: readonly SessionSummary[], name: string): SessionSummary | undefined {
  const [found, ...others] = list.filter((session) => session.name === keptForm(name));
  if (others.length === 0) return found;
  throw new AppError('usage', `${others.length + 1} sessions have the name "${visible(name)}"`, LIST);
}

const LONGEST_NAME = 100;

/** The name as it is kept. Throws AppError `usage` if it cannot be one. */
export function nameAsKept(name: string): string {
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
export function refuseTaken(directory: string, name: string, id: string): void {
  const owner = listSessions(directory).find((session) => session.name === name);
  if (owner === undefined || owner.id === id) return;
  throw new AppError('usage', `there is a session with the name "${visible(name)}"`, {
    hint: `To go on with it: -r ${owner.id.slice(0, 8)}`,
  });
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
