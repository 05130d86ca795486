import type { Content, Part } from '../core/content.ts';

/** Puts a streamed reply together again. */
export interface ContentKeeper {
  add(part: Part): void;
  content(): Content;
}

/**
 * Keeps every part as it came, in its order. Neighbouring texts become one only if that loses nothing: neither has a key
 * besides `text` and `thought`, and `thought` is the same.
 */
export function contentKeeper(): ContentKeeper {
  const parts: Part[] = [];
  return {
    add(part) {
      const last = parts.at(-1);
      if (last !== undefined && isPlain(last) && isPlain(part) && last.thought === part.thought) {
        parts[parts.length - 1] = { ...last, text: last.text + part.text };
      } else {
        parts.push(part);
      }
    },
    content: () => ({ role: 'model', parts }),
  };
}

function isPlain(part: Part): part is Extract<Part, { text: string }> {
  return (
    'text' in part &&
    typeof part.text === 'string' &&
    Object.keys(part).every((key) => key === 'text' || key === 'thought')
  );
}
