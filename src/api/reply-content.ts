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
  // Plain texts that will be one, joined now and then: a string that grew bit by bit takes several times its length.
  let plain: { readonly first: PlainPart; readonly whole: string[]; open: string[]; openLength: number } | undefined;
  const close = (): void => {
    if (plain !== undefined) parts.push({ ...plain.first, text: [...plain.whole, ...plain.open].join('') });
    plain = undefined;
  };
  return {
    add(part) {
      if (length > limit) return;
      length += lengthOf(part);
      if (length > limit) {
        parts = [];
        plain = undefined;
      } else if (!isPlain(part)) {
        close();
        parts.push(part);
      } else if (plain !== undefined && plain.first.thought === part.thought) {
        plain.open.push(part.text);
        plain.openLength += part.text.length + 1;
        if (plain.openLength > MAX_OPEN) {
          plain.whole.push(plain.open.join(''));
          plain.open = [];
          plain.openLength = 0;
        }
      } else {
        close();
        plain = { first: part, whole: [part.text], open: [], openLength: 0 };
      }
    },
    content() {
      close();
      return length > limit ? undefined : { role: 'model', parts };
    },
  };
}

const MAX_OPEN = 65_536;

type PlainPart = Extract<Part, { text: string }>;

function lengthOf(part: Part): number {
  return 'text' in part && typeof part.text === 'string' ? part.text.length : JSON.stringify(part).length;
}

function isPlain(part: Part): part is PlainPart {
  return (
    'text' in part &&
    typeof part.text === 'string' &&
    Object.keys(part).every((key) => key === 'text' || key === 'thought')
  );
}
