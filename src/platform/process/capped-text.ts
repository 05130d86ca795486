/** Text of any length, of which only the beginning and the end are kept. */
export interface CappedText {
  add(text: string): void;
  /** What was kept; `omitted` characters are missing between the two. `tail` is empty while nothing is. */
  readonly kept: () => { readonly head: string; readonly tail: string; readonly omitted: number };
}

/** Keeps about half of `maxChars` at either end, never half a character. Memory stays within twice that. */
export function cappedText(maxChars: number): CappedText {
  const half = Math.floor(maxChars / 2);
  let head = '';
  let recent: string[] = [];
  let recentLength = 0;
  let total = 0;
  const squeeze = (): void => {
    const end = recent.join('').slice(-half);
    recent = [end];
    recentLength = end.length;
  };
  return {
    add(text) {
      total += text.length;
      const room = half - head.length;
      if (room > 0) head += text.slice(0, room);
      const rest = text.slice(Math.max(room, 0));
      if (rest === '') return;
      recent.push(rest);
      recentLength += rest.length;
      if (recentLength > 2 * half) squeeze();
    },
    kept() {
      squeeze();
      const tail = recent.join('');
      const omitted = total - head.length - tail.length;
      if (omitted === 0) return { head: head + tail, tail: '', omitted };
      const start = head.replace(/[\ud800-\udbff]$/, '');
      const end = tail.replace(/^[\udc00-\udfff]/, '');
      return { head: start, tail: end, omitted: total - start.length - end.length };
    },
  };
}
