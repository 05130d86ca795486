import type { KeptContent } from '../core/content.ts';
import type { TurnRecord } from '../core/history.ts';
import type { Clock } from '../core/io.ts';
import type { Session } from '../core/session.ts';
import { type Exchanges, exchanges } from './exchanges.ts';
import { type Loaded, recordOf } from './load.ts';
import type { Entry, Line } from './record.ts';
import type { Durability, SessionWriter } from './writer.ts';

/** How often a reply that is under way is written down. */
const PARTIAL_MS = 2000;
const PARTIAL_LENGTH = 65_536;

export interface SessionOptions {
  readonly clock: Clock;
  /** It may change, when the session goes on as a copy. */
  readonly id: () => string;
  /** What was there before. */
  readonly earlier?: Pick<Loaded, 'exchanges' | 'seq' | 'standing'>;
  readonly name: string | undefined;
  readonly writer: SessionWriter;
  /** Of all records but answers to calls. */
  readonly durability: Durability;
  /** The name as it is kept. Throws AppError `usage` if it cannot be that of this session. */
  readonly checkName: (name: string) => Promise<string>;
  /** Lets go of what else is held. */
  readonly release: () => Promise<void>;
}

/** A session that says whether everything is in its file. */
export interface SavedHere extends Session {
  readonly isSaved: boolean;
}

/** A session that can be added to. What cannot be written is reported, and kept in memory. */
export function openSession({ clock, id, earlier, writer, ...options }: SessionOptions): SavedHere {
  const talk = talkOf(earlier?.exchanges.items ?? []);
  let { name } = options;
  let model = earlier?.standing.model;
  let seq = earlier?.seq ?? 0;
  const inOrder = queue();
  const pace = pacing(clock);
  const lineOf = (entry: Entry): Line => {
    seq += 1;
    return { seq, at: clock.now(), standing: { turn: talk.count, name, model }, entry };
  };
  const put = (entry: Entry): Promise<void> => {
    pace.restart();
    const line = lineOf(entry);
    // An answer is not worth the wait: at worst its call is answered anew.
    return inOrder(() => writer.put(line, entry.kind === 'answer' ? 'written' : options.durability));
  };
  return {
    get id() {
      return id();
    },
    get name() {
      return name;
    },
    get turns() {
      return talk.count;
    },
    get isSaved() {
      return writer.isSaved;
    },
    contents: talk.items,
    replyLimit: Number.POSITIVE_INFINITY,
    append(record) {
      talk.add(record.content, record.kind === 'prompt' ? 'prompt' : 'other');
      if ('model' in record && record.model !== '') model = record.model;
      return put(record);
    },
    async overhear(delta) {
      const text = pace.take(delta);
      if (text === undefined) return;
      const line = lineOf({ kind: 'partial', text });
      await inOrder(() => writer.tryPut(line));
    },
    async rename(next) {
      name = await options.checkName(next);
      // The header of a new one will have it.
      if (writer.hasBegun || earlier !== undefined) await put({ kind: 'name' });
    },
    async rewind(turns) {
      const count = Math.min(turns, talk.count);
      if (count <= 0) return;
      talk.rewind(count);
      await put({ kind: 'rewind', turns: count });
    },
    replace(contents) {
      talk.clear();
      fill(talk, contents);
      return put({ kind: 'replace', contents });
    },
    async close() {
      await inOrder(() => writer.close());
      await options.release();
    },
  };
}

function talkOf(records: readonly TurnRecord[]): Exchanges<KeptContent> {
  const talk = exchanges<KeptContent>();
  for (const { kind, content } of records) talk.add(content, kind === 'prompt' ? 'prompt' : 'other');
  return talk;
}

function fill(talk: Exchanges<KeptContent>, contents: readonly KeptContent[]): void {
  for (const content of contents) talk.add(content, recordOf(content, '').kind === 'prompt' ? 'prompt' : 'other');
}

/** Collects text until it is worth writing down. */
function pacing({ now }: Clock): { take(delta: string): string | undefined; restart(): void } {
  let text = '';
  let since = now();
  const restart = (): void => {
    text = '';
    since = now();
  };
  return {
    restart,
    take(delta) {
      text += delta;
      if (text.length < PARTIAL_LENGTH && now() - since < PARTIAL_MS) return undefined;
      const taken = text;
      restart();
      return taken;
    },
  };
}

/** Runs what it is given one after the other. */
function queue(): (work: () => Promise<void>) => Promise<void> {
  let last = Promise.resolve();
  return (work) => {
    last = last.then(work);
    return last;
  };
}
