import { beginsTurn, type StoredContent } from '../core/content.ts';
import { AppError } from '../core/error.ts';
import type { Compaction, TurnRecord } from '../core/history.ts';
import type { KeptSetup, SavedRecord } from '../core/session.ts';
import { plural } from '../core/text/format.ts';
import { NO_USAGE } from '../core/usage.ts';
import type { BlobStore } from '../platform/files/blobs.ts';
import { readLineBatches } from '../platform/files/lines.ts';
import { errorReason } from '../platform/runtime/system.ts';
import { type ReadRecord, type RecoveredHeader, recoverHeader, tryParseRecord } from './parse.ts';
import {
  type CompactRecord,
  type Header,
  type RecordBody,
  restoreMedia,
  type SessionState,
  VERSION,
} from './record.ts';

export interface LoadedSession {
  readonly header: Header;
  /** The turns that were not rewound. A reply cut off by a crash is there as far as it was written. */
  readonly turns: Turns<SavedRecord>;
  readonly bytes: number;
  readonly seq: number;
  readonly state: SessionState;
  readonly setup: KeptSetup;
  readonly unanswered: StoredContent | undefined;
  readonly notices: readonly string[];
}

/** Damaged lines are skipped and counted. Throws AppError `usage` if it is no session, newer, or unreadable. */
export async function loadSession(file: string, blobs: BlobStore): Promise<LoadedSession> {
  let header: RecoveredHeader | undefined;
  let damaged = 0;
  let missing = 0;
  let bytes = 0;
  const playback = createPlayback(blobs);
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
        const line = isTorn ? undefined : tryParseRecord(text);
        if (line === undefined) damaged += 1;
        else {
          const body = await restoreMedia(line.body, line.blobs, { blobs, onMissing: countMissing });
          playback.play({ ...line, body });
        }
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
  const notices = formatDamage(damaged, missing);
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
    hint: 'Update gmn to use it; how: gmn doctor',
  });
}

function notSessionError(file: string): AppError {
  return new AppError('usage', `${file} is not a session, or nothing in it can be read`, { hint: LIST });
}

function formatDamage(damaged: number, missing: number): readonly string[] {
  const notices: string[] = [];
  if (damaged > 0) notices.push(`${plural(damaged, 'damaged record')} of this session could not be read`);
  if (missing > 0) notices.push(`${plural(missing, 'attachment')} of this session could not be found`);
  return notices;
}

interface Playback {
  play(line: ReadRecord): void;
  readonly isEmpty: boolean;
  end(header: Header): Pick<LoadedSession, 'turns' | 'seq' | 'state' | 'setup' | 'unanswered'>;
}

function createPlayback(blobs: Pick<BlobStore, 'path'>): Playback {
  const found = createTurns<SavedRecord>();
  let last: ReadRecord | undefined;
  let lastStep: RecordBody | undefined;
  let unanswered: StoredContent | undefined;
  let setup: KeptSetup = {};
  /** The text of a reply whose own record has not come, and the line that it ends with. */
  let partial: { readonly text: string; readonly line: ReadRecord } | undefined;
  const addPartialReply = (): void => {
    if (!partial?.text) return;
    const { text, line } = partial;
    const content: StoredContent = { role: 'model', parts: [{ text }] };
    found.add({ kind: 'reply', content, usage: NO_USAGE, model: line.state.model ?? '', at: line.at });
    partial = undefined;
  };
  return {
    get isEmpty() {
      return last === undefined;
    },
    play(line) {
      const { body, at } = line;
      const isMetadata = body.kind === 'name' || body.kind === 'setup' || body.kind === 'compact';
      if (body.kind === 'setup') setup = body.chosen;
      if (!isMetadata) {
        const asked = lastStep?.kind === 'prompt' && beginsTurn(lastStep.content) ? lastStep.content : undefined;
        unanswered = body.kind === 'rewind' ? asked : undefined;
      }
      // A prompt that is retracted after a compaction is still unanswered.
      if (body.kind !== 'compact') lastStep = body;
      if (body.kind === 'partial') partial = { text: (partial?.text ?? '') + body.text, line };
      // The final record contains the partial text.
      else if (body.kind === 'reply' || body.kind === 'call') partial = undefined;
      else if (!isMetadata || body.kind === 'compact') addPartialReply();
      if ('content' in body) found.add({ ...body, at });
      else if (body.kind === 'rewind') found.rewind(body.turns);
      else if (body.kind === 'compact') {
        if (body.length === found.items.length) found.compact(toCompaction(body, blobs));
      } else if (body.kind === 'replace') {
        found.clear();
        for (const content of body.contents) {
          found.add({ ...toTurnRecord(content, line.state.model ?? ''), at });
        }
      }
      last = line;
    },
    end({ name }) {
      addPartialReply();
      const state = last?.state ?? { name };
      return { turns: found, seq: last?.seq ?? 0, state: { ...state, turn: found.count }, setup, unanswered };
    },
  };
}

function toCompaction({ summary, outputs }: CompactRecord, blobs: Pick<BlobStore, 'path'>): Compaction {
  return {
    summary,
    outputs: outputs.map(([content, part, head, tail, print]) => ({
      ...{ content, part, head, tail },
      path: print && blobs.path(print),
    })),
  };
}

export function toTurnRecord(content: StoredContent, model: string): TurnRecord {
  const has = (key: string): boolean => content.parts.some((part) => Object.hasOwn(part, key));
  if (content.role === 'user') return { kind: has('functionResponse') ? 'answer' : 'prompt', content };
  return { kind: has('functionCall') ? 'call' : 'reply', content, usage: NO_USAGE, model };
}

export interface Turns<Item extends TurnRecord> {
  readonly items: readonly Item[];
  readonly contents: readonly StoredContent[];
  readonly compactions: readonly Compaction[];
  readonly count: number;
  add(item: Item): void;
  compact(compaction: Compaction): void;
  rewind(count: number): void;
  clear(): void;
}

export function createTurns<Item extends TurnRecord>(): Turns<Item> {
  const items: Item[] = [];
  const contents: StoredContent[] = [];
  const starts: number[] = [];
  const compactions: Compaction[] = [];
  const compact = (compaction: Compaction): void => void compactions.push(compaction);
  return {
    items,
    contents,
    compactions,
    compact,
    get count() {
      return starts.length;
    },
    add(item) {
      if (beginsTurn(item.content)) starts.push(items.length);
      items.push(item);
      contents.push(item.content);
    },
    rewind(count) {
      const [first] = starts.splice(Math.max(0, starts.length - count));
      if (first === undefined) return;
      items.length = first;
      contents.length = first;
      compactions
        .splice(0)
        .map((each) => limitCompaction(each, first))
        .forEach(compact);
    },
    clear() {
      compactions.length = 0;
      items.length = 0;
      contents.length = 0;
      starts.length = 0;
    },
  };
}

/** Limits a compaction to the first `length` contents. A summary that includes later ones is dropped. */
function limitCompaction({ summary, outputs }: Compaction, length: number): Compaction {
  return {
    summary: (summary?.end ?? 0) > length ? undefined : summary,
    outputs: outputs.filter(({ content }) => content < length),
  };
}
