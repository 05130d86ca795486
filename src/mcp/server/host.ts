import type { Limit } from '../../core/async.ts';
import type { StoredContent } from '../../core/content.ts';
import type { History } from '../../core/history.ts';
import type { Clock } from '../../core/io.ts';
import type { Engine, TurnRequest } from './engine.ts';
import type { Jobs } from './jobs/table.ts';
import type { Pages } from './pages.ts';
import type { RecentIds } from './recent-ids.ts';
import type { Roots } from './roots.ts';

export interface ToolInfo {
  readonly name: string;
  readonly title: string;
  readonly description: string;
}

export interface Host {
  readonly name: string;
  readonly version: string;
  readonly tools: readonly ToolInfo[];
  /** Opened by the first call that needs it: settings and credentials must not delay a start. */
  readonly engine: () => Promise<Engine>;
  readonly clock: Clock;
  readonly roots: Roots;
  /** For hosts that hide `_meta`: the id of a chat's session stands in its text. */
  readonly showsSession: boolean;
  readonly allowed: { readonly write: boolean; readonly shell: boolean };
  /** With links resolved. */
  readonly startDirectory: string;
  readonly jobs: Jobs;
  readonly pages: Pages;
  readonly conversations: ReturnType<typeof createConversations>;
  readonly queue: Limit;
  readonly calls: Set<Promise<unknown>>;
  /** Sessions begun or continued by this server, in any directory. */
  readonly ownSessions: RecentIds;
  readonly latest: { sessionId?: string };
}

const MAX_CONVERSATIONS = 100;
const MAX_CHARACTERS = 64_000_000;

type NamedSetup = Pick<TurnRequest, 'model' | 'systemText'>;

interface KeptConversation {
  readonly setup: NamedSetup;
  readonly contents: readonly StoredContent[];
  readonly characters: number;
}

/** Kept in memory only; callers choose the ids. Drops the least recently used conversation first. */
export function createConversations(mostCharacters = MAX_CHARACTERS) {
  const kept = new Map<string, KeptConversation>();
  let characters = 0;
  const forget = (id: string): void => {
    characters -= kept.get(id)?.characters ?? 0;
    kept.delete(id);
  };
  const keep = (id: string, contents: readonly StoredContent[], setup: NamedSetup): void => {
    const before = kept.get(id);
    const added = contents.slice(before?.contents.length ?? 0);
    const length = added.reduce((sum, content) => sum + JSON.stringify(content).length, before?.characters ?? 0);
    forget(id);
    kept.set(id, { setup, contents, characters: length });
    characters += length;
    for (const oldest of [...kept.keys()]) {
      if (oldest === id || (kept.size <= MAX_CONVERSATIONS && characters <= mostCharacters)) break;
      forget(oldest);
    }
  };
  return {
    /**
     * Runs one turn of the conversation; without an id, of a new one that is not kept. The work is asked for what the
     * first turn named, except where this one names another. The turn is kept only if the work succeeds, so a failed
     * one leaves no question without an answer. The caller must not run two turns of one conversation at once.
     */
    async runTurn<Result>(
      id: string | undefined,
      named: NamedSetup,
      work: (history: History, setup: NamedSetup) => Promise<Result>,
    ): Promise<Result> {
      if (id === undefined) return work(createHistory([], 0), named);
      const { contents = [], setup = named } = kept.get(id) ?? {};
      const history = createHistory(contents, Number.POSITIVE_INFINITY);
      const { model = setup.model, systemText = setup.systemText } = named;
      const result = await work(history, { model, systemText });
      keep(id, history.contents, setup);
      return result;
    },
  };
}

function createHistory(earlier: readonly StoredContent[], replyLimit: number): History {
  const contents = [...earlier];
  return { contents, replyLimit, append: async ({ content }) => void contents.push(content) };
}
