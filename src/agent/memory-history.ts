import type { KeptContent } from '../core/content.ts';
import type { History } from '../core/history.ts';

interface MemoryOptions {
  readonly keepsReplies?: boolean;
  readonly earlier?: readonly KeptContent[];
}

/** A conversation that lasts as long as the process, going on from `earlier`. Keeps no replies unless told to. */
export function memoryHistory({ keepsReplies = false, earlier = [] }: MemoryOptions = {}): History {
  const contents = [...earlier];
  return {
    contents,
    replyLimit: keepsReplies ? Number.POSITIVE_INFINITY : 0,
    append: async ({ content }) => void contents.push(content),
  };
}
