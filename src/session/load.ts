import type { KeptContent } from '../core/content.ts';
import { AppError } from '../core/error.ts';
import type { TurnRecord } from '../core/history.ts';
import type { SavedRecord, SessionSetup } from '../core/session.ts';
import { counted } from '../core/text/format.ts';
import { NO_USAGE } from '../core/usage.ts';
import type { BlobFiles } from '../platform/files/blobs.ts';
import { lineBatches } from '../platform/files/lines.ts';
import { reasonOf } from '../platform/runtime/system.ts';
import { type FoundHeader, headerOf, parseLine, type ReadLine } from './parse.ts';
import { type Header, type Standing, VERSION, withMedia } from './record.ts';

export interface Loaded {
  readonly header: Header;
  /** The turns that were not rewound. A reply cut off by a crash is there as far as it was written. */
  readonly exchanges: Exchanges<SavedRecord>;
  /** Where the last complete line ends. */
  readonly bytes: number;
  readonly seq: number;
  readonly standing: Standing;
  readonly setup: SessionSetup;
  /** The last prompt, if it was undone before the model answered. */
  readonly unanswered: KeptContent | undefined;
  /** What could not be read, for the user. */
  readonly notices: readonly string[];
}

/**
 * Reads a session without changing it. Damaged lines, the header included, are skipped and counted. Throws AppError
 * `usage` if it is not a session, was written by a newer gmn, or cannot be read.
 */
export async function loadSession(file: string, blobs: BlobFiles): Promise<Loaded> {
  let header: FoundHeader | undefined;
  let damaged = 0;
  let missing = 0;
  let bytes = 0;
  const playback = playing();
  const missed = (): void => {
    missing += 1;
  };
  try {
    for await (const { lines, isTorn, end } of lineBatches(file)) {
      if (!isTorn) bytes = end;
      for (const text of lines) {
        if (header === undefined) {
          header = readHeader(text, file);
          continue;
        }
        const line = isTorn ? undefined : parseLine(text);
        if (line === undefined) damaged += 1;
        else if (line.apart.length === 0) playback.play(line);
        else playback.play({ ...line, entry: await withMedia(line.entry, line.apart, { blobs, missed }) });
      }
    }
  } catch (thrown) {
    if (thrown instanceof AppError) throw thrown;
    throw new AppError('usage', `cannot read the session ${file}: ${reasonOf(thrown)}`, { cause: thrown, hint: LIST });
  }
  if (header === undefined || (header.isDamaged && playback.isEmpty)) throw notASession(file);
  const notices = noticesOf(damaged, missing);
  return { header, bytes, ...playback.end(header), notices: header.isDamaged ? [HEADLESS, ...notices] : notices };
}

const HEADLESS = 'the first line of this session is damaged: what it is called and where it was begun may be lost';
const LIST = 'Run: gmn sessions list';

function readHeader(text: string, file: string): FoundHeader {
  const header = headerOf(file, text);
  if (header === undefined) throw notASession(file);
  refuseNewer(header.id, header.v);
  return header;
}

/** Throws AppError `usage` if the format is newer than this gmn understands. */
export function refuseNewer(id: string, version: number): void {
  if (version <= VERSION) return;
  throw new AppError('usage', `the session ${id} was written by a newer gmn (format ${version})`, {
    hint: 'Update gmn to use it: npm install -g gmn',
  });
}

function notASession(file: string): AppError {
  return new AppError('usage', `${file} is not a session, or nothing in it can be read`, { hint: LIST });
}

function noticesOf(damaged: number, missing: number): readonly string[] {
  const notices: string[] = [];
  if (damaged > 0) notices.push(`${counted(damaged, 'damaged record')} of this session could not be read`);
  if (missing > 0) notices.push(`${counted(missing, 'attachment')} of this session could not be found`);
  return notices;
}

interface Playback {
  play(line: ReadLine): void;
  readonly isEmpty: boolean;
  end(header: Header): Pick<Loaded, 'exchanges' | 'seq' | 'standing' | 'setup' | 'unanswered'>;
}

/** Rebuilds the conversation from the records of the file. */
function playing(): Playback {
  const found = exchanges<SavedRecord>();
  let last: ReadLine | undefined;
  let unanswered: KeptContent | undefined;
  let setup: SessionSetup = {};
  /** Text of a reply whose final record has not been read yet. */
  let partial = '';
  const cutOff = (): void => {
    if (partial === '') return;
    const content: KeptContent = { role: 'model', parts: [{ text: partial }] };
    const model = last?.standing.model ?? '';
    found.add({ kind: 'reply', content, usage: NO_USAGE, model, at: last?.at ?? 0 }, 'other');
    partial = '';
  };
  return {
    get isEmpty() {
      return last === undefined;
    },
    play(line) {
      const { entry, at } = line;
      const isAside = entry.kind === 'name' || entry.kind === 'setup';
      if (entry.kind === 'setup') setup = entry.chosen;
      if (!isAside) {
        unanswered = entry.kind === 'rewind' && last?.entry.kind === 'prompt' ? last.entry.content : undefined;
      }
      if (entry.kind === 'partial') partial += entry.text;
      // The final record contains the partial text.
      else if (entry.kind === 'reply' || entry.kind === 'call') partial = '';
      else if (!isAside) cutOff();
      if ('content' in entry) found.add({ ...entry, at }, entry.kind === 'prompt' ? 'prompt' : 'other');
      else if (entry.kind === 'rewind') found.rewind(entry.turns);
      else if (entry.kind === 'replace') {
        found.clear();
        for (const content of entry.contents) {
          const record = recordOf(content, line.standing.model ?? '');
          found.add({ ...record, at }, record.kind === 'prompt' ? 'prompt' : 'other');
        }
      }
      last = line;
    },
    end({ name }) {
      cutOff();
      const standing = { ...(last?.standing ?? { name }), turn: found.count };
      return { exchanges: found, seq: last?.seq ?? 0, standing, setup, unanswered };
    },
  };
}

/** Infers the kind of record from a content alone. */
export function recordOf(content: KeptContent, model: string): TurnRecord {
  const has = (key: string): boolean => content.parts.some((part) => Object.hasOwn(part, key));
  if (content.role === 'user') return { kind: has('functionResponse') ? 'answer' : 'prompt', content };
  return { kind: has('functionCall') ? 'call' : 'reply', content, usage: NO_USAGE, model };
}

/** Items of a conversation in order, grouped into turns. */
export interface Exchanges<Item> {
  readonly items: readonly Item[];
  readonly count: number;
  /** A prompt begins a turn; everything else belongs to the last one. */
  add(item: Item, kind: 'prompt' | 'other'): void;
  /** Removes the last `count` turns, at most all of them. */
  rewind(count: number): void;
  clear(): void;
}

export function exchanges<Item>(): Exchanges<Item> {
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
