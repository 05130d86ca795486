import type { KeptContent } from '../core/content.ts';
import type { TurnRecord } from '../core/history.ts';
import type { Clock } from '../core/io.ts';
import type { SavedRecord, Session, SessionSetup, SessionSource } from '../core/session.ts';
import type { NameClaim } from './find.ts';
import { type Exchanges, exchanges, type Loaded, recordOf } from './load.ts';
import type { Entry, Line } from './record.ts';
import type { Durability, SessionFile, SessionWriter } from './session-file.ts';

/** How often a reply that is under way is written down. */
const PARTIAL_MS = 2000;
const PARTIAL_LENGTH = 65_536;

interface SessionOptions {
  readonly clock: Clock;
  /** Who it is; that may change, when the session goes on as a copy. */
  readonly file: Pick<SessionFile, 'id' | 'name'>;
  /** What was there before. */
  readonly earlier?: Pick<Loaded, 'header' | 'exchanges' | 'seq' | 'standing' | 'setup' | 'unanswered'>;
  /** Who has it open. */
  readonly by: SessionSource;
  readonly writer: SessionWriter;
  /** Of all records but answers to calls. */
  readonly durability: Durability;
  /** Is let go when the session is closed. */
  readonly claim: NameClaim;
}

/** A session that takes what happened before. */
export interface SavedHere extends Session {
  /** Adds records with one write, each with its own time. */
  appendAll(records: readonly SavedRecord[]): Promise<void>;
  /** Lets it count as written to now, however long ago its records are. */
  touch(): Promise<void>;
}

/** A session that can be added to. What cannot be written is reported, and kept in memory. */
export function openSession({ clock, file, earlier, writer, claim, ...options }: SessionOptions): SavedHere {
  const { talk, choice, lineOf, linesOf, ...book } = ledger(clock, earlier, options.by);
  const inOrder = queue();
  const pace = pacing(clock);
  /** Whether there is nothing yet that a line could change. */
  const isBlank = (): boolean => earlier === undefined && !writer.hasBegun;
  const put = (lines: readonly Line[], durability = options.durability): Promise<void> => {
    pace.restart();
    return inOrder(() => writer.put(lines, durability));
  };
  return {
    get id() {
      return file.id;
    },
    get name() {
      return file.name;
    },
    get turns() {
      return talk.count;
    },
    get isSaved() {
      return writer.isSaved;
    },
    get unanswered() {
      return book.unanswered();
    },
    get setup() {
      return choice.setup;
    },
    choose: choice.choose,
    contents: talk.items,
    replyLimit: Number.POSITIVE_INFINITY,
    append: (record) =>
      // An answer is not worth the wait: at worst its call is answered anew.
      put(linesOf({ ...record, at: clock.now() }), record.kind === 'answer' ? 'written' : options.durability),
    appendAll: (records) => put(records.flatMap(linesOf)),
    touch: () => put([lineOf({ kind: 'name' })]),
    async overhear(delta) {
      const text = pace.due(delta);
      if (text === undefined) return;
      const line = lineOf({ kind: 'partial', text });
      await inOrder(async () => {
        if (await writer.tryPut(line)) pace.taken(text);
      });
    },
    async rename(next) {
      file.name = await claim.take(next, file.id);
      // The header of a new one will have it.
      if (!isBlank()) await put([lineOf({ kind: 'name' })]);
    },
    async rewind(turns) {
      const count = Math.min(turns, talk.count);
      if (count <= 0) return;
      talk.rewind(count);
      book.forget();
      await put([lineOf({ kind: 'rewind', turns: count })]);
    },
    async takeBack() {
      if (book.takeBack()) await put([lineOf({ kind: 'rewind', turns: 1 })]);
    },
    async replace(contents) {
      talk.clear();
      book.forget();
      fill(talk, contents);
      if (contents.length > 0 || !isBlank()) await put([lineOf({ kind: 'replace', contents })]);
    },
    close: () => inOrder(() => writer.close().then(claim.release)),
  };
}

interface Choice {
  readonly setup: SessionSetup;
  choose(setup: SessionSetup): void;
  /** What is to be written down of it: nothing, if it is there. */
  news(): readonly Entry[];
}

/** What is chosen for a session, and whether its file knows. */
function choosing(known: SessionSetup): Choice {
  let written = known;
  let setup = known;
  return {
    get setup() {
      return setup;
    },
    choose(next) {
      setup = next;
    },
    news() {
      if (setup.model === written.model && setup.system === written.system) return [];
      written = setup;
      return [{ kind: 'setup', chosen: setup }];
    },
  };
}

interface Ledger {
  readonly talk: Exchanges<KeptContent>;
  /** The next line. */
  lineOf(entry: Entry): Line;
  readonly choice: Choice;
  /** The next lines, once the talk has the record: before a prompt stands what was chosen for it. */
  linesOf(record: SavedRecord): readonly Line[];
  unanswered(): KeptContent | undefined;
  /** The last prompt no longer counts and is unanswered; false if the talk does not end with a prompt. */
  takeBack(): boolean;
  /** Nothing is unanswered any more. */
  forget(): void;
}

/** What was said so far, and the lines that tell what is said next. */
function ledger({ now }: Clock, earlier: SessionOptions['earlier'], own: SessionSource): Ledger {
  const talk = talkOf(earlier?.exchanges.items ?? []);
  let model = earlier?.standing.model;
  let seq = earlier?.seq ?? 0;
  const choice = choosing(earlier?.setup ?? {});
  let unanswered = earlier?.unanswered;
  const by = sourceIfOther(earlier, own);
  const lineOf = (entry: Entry, at = now()): Line => {
    seq += 1;
    const isUnanswered = unanswered === undefined ? {} : ({ unanswered: true } as const);
    return { seq, at, standing: { turn: talk.count, model, by, ...isUnanswered }, entry };
  };
  return {
    talk,
    choice,
    lineOf,
    linesOf({ at, ...record }) {
      unanswered = undefined;
      const news = record.kind === 'prompt' ? choice.news().map((entry) => lineOf(entry, at)) : [];
      talk.add(record.content, record.kind === 'prompt' ? 'prompt' : 'other');
      if ('model' in record && record.model !== '') model = record.model;
      return [...news, lineOf(record, at)];
    },
    unanswered: () => unanswered,
    takeBack() {
      const last = talk.items.at(-1);
      if (last === undefined || recordOf(last, '').kind !== 'prompt') return false;
      talk.rewind(1);
      unanswered = last;
      return true;
    },
    forget() {
      unanswered = undefined;
    },
  };
}

/** From what is farthest from the person to what is nearest. */
const SOURCES: readonly SessionSource[] = ['mcp', 'prompt', 'chat'];

/** Where the session is held from now on, if that is not what its header says. */
function sourceIfOther(earlier: SessionOptions['earlier'], own: SessionSource): SessionSource | undefined {
  if (earlier === undefined) return undefined;
  const { header, standing } = earlier;
  const before = standing.by ?? header.by;
  const source = SOURCES.indexOf(own) > SOURCES.indexOf(before) ? own : before;
  return source === header.by ? undefined : source;
}

function talkOf(records: readonly TurnRecord[]): Exchanges<KeptContent> {
  const talk = exchanges<KeptContent>();
  for (const { kind, content } of records) talk.add(content, kind === 'prompt' ? 'prompt' : 'other');
  return talk;
}

function fill(talk: Exchanges<KeptContent>, contents: readonly KeptContent[]): void {
  for (const content of contents) talk.add(content, recordOf(content, '').kind === 'prompt' ? 'prompt' : 'other');
}

interface Pace {
  /** All text that is not written down yet, if it is time to do so. */
  due(delta: string): string | undefined;
  /** That much was written down. */
  taken(text: string): void;
  /** The reply's own record has come. */
  restart(): void;
}

/** Collects text until it is worth writing down. */
function pacing({ now }: Clock): Pace {
  let text = '';
  let fresh = 0;
  let since = now();
  return {
    due(delta) {
      text += delta;
      fresh += delta.length;
      if (fresh < PARTIAL_LENGTH && now() - since < PARTIAL_MS) return undefined;
      fresh = 0;
      since = now();
      return text;
    },
    taken(written) {
      text = text.slice(written.length);
    },
    restart() {
      text = '';
      fresh = 0;
      since = now();
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
