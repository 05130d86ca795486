import type { Content, Part } from '../core/content.ts';

/** Puts a streamed reply together again. */
export interface ContentKeeper {
  add(part: Part): void;
  /** Undefined if it was longer than the limit. */
  content(): Content | undefined;
}

/**
 * Keeps every part as it came, in its order. Neighbouring texts become one only if that loses nothing: neither has a key
 * besides `text` and `thought`, and `thought` is the same. What grows beyond `limit` characters is let go of as a whole.
 */
export function contentKeeper(limit: number): ContentKeeper {
  let parts: Part[] = [];
  let length = 0;
  return {
    add(part) {
      if (length > limit) return;
      length += lengthOf(part);
      if (length > limit) {
        parts = [];
        return;
      }
      const last = parts.at(-1);
      if (last !== undefined && isPlain(last) && isPlain(part) && last.thought === part.thought) {
        parts[parts.length - 1] = { ...last, text: last.text + part.text };
      } else {
        parts.push(part);
      }
    },
    content: () => (length > limit ? undefined : { role: 'model', parts }),
  };
}

function lengthOf(part: Part): number {
  return 'text' in part && typeof part.text === 'string' ? part.text.length : JSON.stringify(part).length;
}

function isPlain(part: Part): part is Extract<Part, { text: string }> {
  return (
    'text' in part &&
    typeof part.text === 'string' &&
    Object.keys(part).every((key) => key === 'text' || key === 'thought')
  );
}
