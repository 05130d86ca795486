import { basename } from 'node:path';
import { createSerial } from '../core/async.ts';
import { beginsTurn } from '../core/content.ts';
import type { Compaction } from '../core/history.ts';
import type { Clock } from '../core/io.ts';
import type { KeptSetup, SavedRecord, Session, SessionSource } from '../core/session.ts';
import type { BlobStore } from '../platform/files/blobs.ts';
import type { NameReservation } from './find.ts';
import { createTurns, type LoadedSession, type Turns } from './load.ts';
import type { CompactRecord, FileRecord, RecordBody } from './record.ts';
import type { Durability, SessionFile, SessionWriter } from './session-file.ts';

/** A reply in progress is saved when this much time has passed or this much text has come, whichever is first. */
const PARTIAL_MS = 2000;
const PARTIAL_LENGTH = 65_536;

interface SessionOptions {
  readonly clock: Clock;
  readonly file: Pick<SessionFile, 'id' | 'name'>;
  readonly earlier?: Pick<LoadedSession, 'header' | 'turns' | 'seq' | 'state' | 'setup' | 'unanswered'>;
  readonly by: SessionSource;
  readonly writer: SessionWriter;
  /** Absent: the session keeps no outputs itself. */
  readonly blobs?: Pick<BlobStore, 'put' | 'path'>;
  readonly durability: Durability;
  readonly reservation: NameReservation;
}

export interface LocalSession extends Session {
  appendAll(records: readonly SavedRecord[]): Promise<void>;
  /** Sets the time of the last change to now, however old the records are. */
  touch(): Promise<void>;
}

/** A session to append to. What cannot be written is reported and kept in memory. */
export function createSession(given: SessionOptions): LocalSession {
  const { clock, file, earlier, writer, reservation, blobs, ...options } = given;
  const { turns: history, toLine, toLines, ...log } = createRecordLog(clock, earlier, options.by);
  const runInOrder = createSerial();
  const partial = createPartialBuffer(clock);
  const isBlank = (): boolean => earlier === undefined && !writer.hasBegun;
  const put = (lines: readonly FileRecord[], durability = options.durability): Promise<void> => {
    partial.restart();
    return runInOrder(() => writer.append(lines, durability));
  };
  return {
    get id() {
      return file.id;
    },
    get name() {
      return file.name;
    },
    get turns() {
      return history.count;
    },
    get isSaved() {
      return writer.isSaved;
    },
    get unanswered() {
      return log.findUnanswered();
    },
    get setup() {
      return log.findSetup();
    },
    choose: log.choose,
    contents: history.contents,
    records: history.items,
    compactions: history.compactions,
    async compact(compaction) {
      history.compact(compaction);
      await put([toLine(toCompactRecord(compaction, history.items.length))]);
    },
    // Written before the record that refers to it. If that is never written, a later prune removes it.
    keepOutput: blobs && (async (text) => blobs.put(Buffer.from(text)).then(blobs.path, () => undefined)),
    replyLimit: Number.POSITIVE_INFINITY,
    append: (record) =>
      // Losing a tool result in a power cut is harmless: the call just runs again.
      put(toLines({ ...record, at: clock.now() }), record.kind === 'answer' ? 'written' : options.durability),
    appendAll: (records) => put(records.flatMap(toLines)),
    touch: () => put([toLine({ kind: 'name' })]),
    async appendDelta(delta) {
      const text = partial.takeIfDue(delta);
      if (text === undefined) return;
      const line = toLine({ kind: 'partial', text });
      await runInOrder(async () => {
        if (await writer.tryPut(line)) partial.markWritten(text);
      });
    },
    async rename(next) {
      file.name = await reservation.reserve(next, file.id);
      // A new session gets the name in its header.
      if (!isBlank()) await put([toLine({ kind: 'name' })]);
    },
    async rewind(turns) {
      const count = Math.min(turns, history.count);
      if (count <= 0) return;
      history.rewind(count);
      log.clear();
      await put([toLine({ kind: 'rewind', turns: count })]);
    },
    async retractPrompt() {
      if (log.retractPrompt()) await put([toLine({ kind: 'rewind', turns: 1 })]);
    },
    async replace(records) {
      history.clear();
      log.clear();
      const now = clock.now();
      const cleared = isBlank() ? [] : [toLine({ kind: 'replace', contents: [] })];
      const lines = [...cleared, ...records.flatMap((record) => toLines({ ...record, at: record.at ?? now }))];
      if (lines.length > 0) await put(lines);
    },
    close: () => runInOrder(() => writer.close().then(reservation.release)),
  };
}

const TEXTS = ['model', 'system', 'systemText', 'appendText'] as const satisfies readonly (keyof KeptSetup)[];

function isSameSetup(one: KeptSetup, other: KeptSetup): boolean {
  return (
    TEXTS.every((key) => one[key] === other[key]) &&
    one.start?.date === other.start?.date &&
    one.start?.branch === other.start?.branch
  );
}

function createRecordLog({ now }: Clock, earlier: SessionOptions['earlier'], own: SessionSource) {
  const history = toTurns(earlier?.turns);
  let model = earlier?.state.model;
  let seq = earlier?.seq ?? 0;
  let setup = earlier?.setup ?? {};
  let writtenSetup = setup;
  let unanswered = earlier?.unanswered;
  const by = findNewSource(earlier, own);
  const toLine = (entry: RecordBody, at = now()): FileRecord => {
    seq += 1;
    const state = { turn: history.count, model, by, unanswered: unanswered === undefined ? undefined : true } as const;
    return { seq, at, state, body: entry };
  };
  return {
    turns: history,
    findSetup: () => setup,
    choose(next: KeptSetup) {
      setup = next;
    },
    toLine,
    /** Adds the record to the conversation; a changed setup is written before a prompt. */
    toLines({ at, ...record }: SavedRecord): readonly FileRecord[] {
      unanswered = undefined;
      const isNews = record.kind === 'prompt' && !isSameSetup(setup, writtenSetup);
      const news = isNews ? [toLine({ kind: 'setup', chosen: setup }, at)] : [];
      if (isNews) writtenSetup = setup;
      history.add({ ...record, at });
      if ('model' in record && record.model !== '') model = record.model;
      return [...news, toLine(record, at)];
    },
    findUnanswered: () => unanswered,
    /** Undoes the last prompt and marks it unanswered; false if the conversation does not end with a prompt. */
    retractPrompt(): boolean {
      const last = history.contents.at(-1);
      if (last === undefined || !beginsTurn(last)) return false;
      history.rewind(1);
      unanswered = last;
      return true;
    },
    clear() {
      unanswered = undefined;
    },
  };
}

/** A session keeps the last of these that it was opened by. */
const SOURCES: readonly SessionSource[] = ['agent', 'mcp', 'prompt', 'chat'];

/** The source to write in each record; undefined if the header has it already. */
function findNewSource(earlier: SessionOptions['earlier'], own: SessionSource): SessionSource | undefined {
  if (earlier === undefined) return undefined;
  const { header, state } = earlier;
  const before = state.by ?? header.by;
  const source = SOURCES.indexOf(own) > SOURCES.indexOf(before) ? own : before;
  return source === header.by ? undefined : source;
}

function toTurns(earlier: Pick<Turns<SavedRecord>, 'items' | 'compactions'> | undefined): Turns<SavedRecord> {
  const history = createTurns<SavedRecord>();
  for (const record of earlier?.items ?? []) history.add(record);
  for (const compaction of earlier?.compactions ?? []) history.compact(compaction);
  return history;
}

function toCompactRecord({ summary, outputs }: Compaction, length: number): CompactRecord {
  return {
    kind: 'compact',
    length,
    summary,
    outputs: outputs.map(({ content, part, head, tail, path }) =>
      path === undefined ? [content, part, head, tail] : [content, part, head, tail, basename(path)],
    ),
  };
}

function createPartialBuffer({ now }: Clock) {
  let text = '';
  let fresh = 0;
  let since = now();
  return {
    /** All text not yet written, if it is time to write it. */
    takeIfDue(delta: string): string | undefined {
      text += delta;
      fresh += delta.length;
      if (fresh < PARTIAL_LENGTH && now() - since < PARTIAL_MS) return undefined;
      fresh = 0;
      since = now();
      return text;
    },
    markWritten(written: string) {
      text = text.slice(written.length);
    },
    /** The final record of the reply contains the text. */
    restart() {
      text = '';
      fresh = 0;
      since = now();
    },
  };
}
