import type { KeptContent } from '../../core/content.ts';
import type { History } from '../../core/history.ts';
import type { Clock } from '../../core/io.ts';
import type { Gate } from './concurrency.ts';
import type { Engine } from './engine.ts';
import type { Jobs } from './jobs/table.ts';
import type { Pages } from './pages.ts';
import type { RecentIds } from './recent.ts';
import type { Roots } from './roots.ts';

/** A tool, as far as the tools themselves know of each other. */
export interface Offer {
  readonly name: string;
  readonly title: string;
  readonly description: string;
}

/** What all clients of this process share. */
export interface Host {
  readonly name: string;
  readonly version: string;
  /** What there is, in the order in which it is listed. */
  readonly offers: readonly Offer[];
  /** Opened with the first call that needs it; a start must not wait for settings and credentials. */
  readonly engine: () => Promise<Engine>;
  /** Resolves when every turn that has ended is written down. */
  readonly settled: () => Promise<void>;
  readonly clock: Clock;
  readonly roots: Roots;
  /** What the model may do besides reading. */
  readonly allowed: { readonly write: boolean; readonly shell: boolean };
  /** Where the server was started, free of links. */
  readonly startDirectory: string;
  readonly jobs: Jobs;
  readonly pages: Pages;
  readonly conversations: Conversations;
  /** Holds back calls of plain tools when there are too many. */
  readonly gate: Gate;
  /** The calls that are being answered. */
  readonly calls: Set<Promise<unknown>>;
  /** The sessions that were begun or continued here, wherever that was; the newest of them. */
  readonly ownSessions: RecentIds;
  /** What `chat` began, or went on with, last. */
  readonly latest: { sessionId?: string };
}

const MOST = 100;
const MOST_CHARACTERS = 64_000_000;

/** Conversations that callers name, in this process only. */
interface Conversations {
  /**
   * Runs one turn of the conversation; of none without an id. What was said is kept only if the work succeeds, so a failed
   * turn leaves no question without an answer. Whoever calls sees to it that turns of one follow each other. Throws what the
   * work throws.
   */
  turn<Result>(id: string | undefined, work: (history: History) => Promise<Result>): Promise<Result>;
}

interface Kept {
  readonly contents: readonly KeptContent[];
  readonly characters: number;
}

/** At most a hundred of them, and so many characters; the one that was silent longest is forgotten first. */
export function conversations(mostCharacters = MOST_CHARACTERS): Conversations {
  const kept = new Map<string, Kept>();
  let characters = 0;
  const forget = (id: string): void => {
    characters -= kept.get(id)?.characters ?? 0;
    kept.delete(id);
  };
  const keep = (id: string, contents: readonly KeptContent[]): void => {
    const before = kept.get(id);
    const added = contents.slice(before?.contents.length ?? 0);
    const length = added.reduce((sum, content) => sum + JSON.stringify(content).length, before?.characters ?? 0);
    forget(id);
    kept.set(id, { contents, characters: length });
    characters += length;
    for (const oldest of [...kept.keys()]) {
      if (oldest === id || (kept.size <= MOST && characters <= mostCharacters)) break;
      forget(oldest);
    }
  };
  return {
    async turn(id, work) {
      if (id === undefined) return work(historyFrom([], 0));
      const history = historyFrom(kept.get(id)?.contents ?? [], Number.POSITIVE_INFINITY);
      const result = await work(history);
      keep(id, history.contents);
      return result;
    },
  };
}

function historyFrom(earlier: readonly KeptContent[], replyLimit: number): History {
  const contents = [...earlier];
  return { contents, replyLimit, append: async ({ content }) => void contents.push(content) };
}
