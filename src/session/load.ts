import type { StoredContent } from '../core/content.ts';
import { AppError } from '../core/error.ts';
import type { TurnRecord } from '../core/history.ts';
import type { SavedRecord, SessionSetup } from '../core/session.ts';
import { plural } from '../core/text/format.ts';
import { NO_USAGE } from '../core/usage.ts';
import type { BlobStore } from '../platform/files/blobs.ts';
import { readLineBatches } from '../platform/files/lines.ts';
import { errorReason } from '../platform/runtime/system.ts';
import { parseRecord, type ReadRecord, type RecoveredHeader, recoverHeader } from './parse.ts';
import { type Header, restoreMedia, type SessionState, VERSION } from './record.ts';

export interface LoadedSession {
  readonly header: Header;
  /** The turns that were not rewound. A reply cut off by a crash is there as far as it was written. */
  readonly exchanges: Turns<SavedRecord>;
  /** Where the last complete line ends. */
  readonly bytes: number;
  readonly seq: number;
  readonly state: SessionState;
  readonly setup: SessionSetup;
  readonly unanswered: StoredContent | undefined;
  readonly notices: readonly string[];
}

/**
 * Reads a session without changing it. Damaged lines, the header included, are skipped and counted. Throws AppError
 * `usage` if it is not a session, was written by a newer gmn, or cannot be read.
 */
export async function loadSession(file: string, blobs: BlobStore): Promise<LoadedSession> {
  let header: RecoveredHeader | undefined;
  let damaged = 0;
  let missing = 0;
  let bytes = 0;
  const playback = createPlayback();
  const countMissing = (): void => {
    missing += 1;
  };
  try {
    for await (const { lines, isTorn, end } of readLineBatches(file)) {
      if (!isTorn) bytes = end;
      for (const text of lines) {
        if (header === undefined) {
          header = requireHeader(text, file);
          continue;
        }
        const line = isTorn ? undefined : parseRecord(text);
        if (line === undefined) damaged += 1;
        else if (line.blobs.length === 0) playback.play(line);
        else
          playback.play({
            ...line,
            body: await restoreMedia(line.body, line.blobs, { blobs, missed: countMissing }),
          });
      }
    }
  } catch (thrown) {
    if (thrown instanceof AppError) throw thrown;
    throw new AppError('usage', `cannot read the session ${file}: ${errorReason(thrown)}`, {
      cause: thrown,
      hint: LIST,
    });
  }
  if (header === undefined || (header.isDamaged && playback.isEmpty)) throw notSessionError(file);
  const notices = damageNotices(damaged, missing);
  return { header, bytes, ...playback.end(header), notices: header.isDamaged ? [DAMAGED_HEADER, ...notices] : notices };
}

const DAMAGED_HEADER = 'the first line of this session is damaged: its name and its directory may be lost';
const LIST = 'Run: gmn sessions list';

function requireHeader(text: string, file: string): RecoveredHeader {
  const header = recoverHeader(file, text);
  if (header === undefined) throw notSessionError(file);
  checkVersion(header.id, header.v);
  return header;
}

/** Throws AppError `usage` if the format is newer than this gmn understands. */
export function checkVersion(id: string, version: number): void {
  if (version <= VERSION) return;
  throw new AppError('usage', `the session ${id} was written by a newer gmn (format ${version})`, {
    hint: 'Update gmn to use it: npm install -g gmn',
  });
}

function notSessionError(file: string): AppError {
  return new AppError('usage', `${file} is not a session, or nothing in it can be read`, { hint: LIST });
}

function damageNotices(damaged: number, missing: number): readonly string[] {
  const notices: string[] = [];
  if (damaged > 0) notices.push(`${plural(damaged, 'damaged record')} of this session could not be read`);
  if (missing > 0) notices.push(`${plural(missing, 'attachment')} of this session could not be found`);
  return notices;
}

interface Playback {
  play(line: ReadRecord): void;
  readonly isEmpty: boolean;
  end(header: Header): Pick<LoadedSession, 'exchanges' | 'seq' | 'state' | 'setup' | 'unanswered'>;
}

function createPlayback(): Playback {
  const found = createTurns<SavedRecord>();
  let last: ReadRecord | undefined;
  let unanswered: StoredContent | undefined;
  let setup: SessionSetup = {};
  /** Text of a reply whose final record has not been read yet. */
  let partial = '';
  const addPartialReply = (): void => {
    if (partial === '') return;
    const content: StoredContent = { role: 'model', parts: [{ text: partial }] };
    const model = last?.state.model ?? '';
    found.add({ kind: 'reply', content, usage: NO_USAGE, model, at: last?.at ?? 0 }, 'other');
    partial = '';
  };
  return {
    get isEmpty() {
      return last === undefined;
    },
    play(line) {
      const { body, at } = line;
      const isAside = body.kind === 'name' || body.kind === 'setup';
      if (body.kind === 'setup') setup = body.chosen;
      if (!isAside) {
        unanswered = body.kind === 'rewind' && last?.body.kind === 'prompt' ? last.body.content : undefined;
      }
      if (body.kind === 'partial') partial += body.text;
      // The final record contains the partial text.
      else if (body.kind === 'reply' || body.kind === 'call') partial = '';
      else if (!isAside) addPartialReply();
      if ('content' in body) found.add({ ...body, at }, body.kind === 'prompt' ? 'prompt' : 'other');
      else if (body.kind === 'rewind') found.rewind(body.turns);
      else if (body.kind === 'replace') {
        found.clear();
        for (const content of body.contents) {
          const record = toTurnRecord(content, line.state.model ?? '');
          found.add({ ...record, at }, record.kind === 'prompt' ? 'prompt' : 'other');
        }
      }
      last = line;
    },
    end({ name }) {
      addPartialReply();
      const state = { ...(last?.state ?? { name }), turn: found.count };
      return { exchanges: found, seq: last?.seq ?? 0, state, setup, unanswered };
    },
  };
}

export function toTurnRecord(content: StoredContent, model: string): TurnRecord {
  const has = (key: string): boolean => content.parts.some((part) => Object.hasOwn(part, key));
  if (content.role === 'user') return { kind: has('functionResponse') ? 'answer' : 'prompt', content };
  return { kind: has('functionCall') ? 'call' : 'reply', content, usage: NO_USAGE, model };
}

export interface Turns<Item> {
  readonly items: readonly Item[];
  readonly count: number;
  /** A prompt begins a turn; everything else belongs to the last one. */
  add(item: Item, kind: 'prompt' | 'other'): void;
  /** Removes the last `count` turns, at most all of them. */
  rewind(count: number): void;
  clear(): void;
}

export function createTurns<Item>(): Turns<Item> {
  const items: Item[] = [];
  const starts: number[] = [];
  return {
    items,
    get count() {
      return starts.length;
    },
    add(item, kind) {
      if (kind === 'prompt') starts.push(items.length);
      items.push(item);
    },
    rewind(count) {
      const [first] = count > 0 ? starts.splice(Math.max(0, starts.length - count)) : [];
      if (first !== undefined) items.length = first;
    },
    clear() {
      items.length = 0;
      starts.length = 0;
    },
  };
}
