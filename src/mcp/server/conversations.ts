import type { KeptContent } from '../../core/content.ts';
import type { History } from '../../core/history.ts';

const MOST = 100;

/** Conversations that callers name, in this process only. */
export interface Conversations {
  /**
   * Runs one turn of the conversation; of none without an id. What was said is kept only if the work succeeds, so a failed
   * turn leaves no question without an answer. Whoever calls sees to it that turns of one follow each other. Throws what the
   * work throws.
   */
  turn<Result>(id: string | undefined, work: (history: History) => Promise<Result>): Promise<Result>;
}

/** At most a hundred of them; the one that was silent longest is forgotten first. */
export function conversations(): Conversations {
  const kept = new Map<string, readonly KeptContent[]>();
  const keep = (id: string, contents: readonly KeptContent[]): void => {
    kept.delete(id);
    kept.set(id, contents);
    const [oldest] = kept.keys();
    if (kept.size > MOST && oldest !== undefined) kept.delete(oldest);
  };
  return {
    async turn(id, work) {
      if (id === undefined) return work(historyFrom([], 0));
      const history = historyFrom(kept.get(id) ?? [], Number.POSITIVE_INFINITY);
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
