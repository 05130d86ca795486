/** Keeps count of the inline marks that are open, line by line. */
export interface Balance {
  add(line: string): void;
  /** Whether a line break here cuts no emphasis, code or link in two, as far as counting can tell. */
  isClosed(): boolean;
}

/** Counting is enough: a wrong guess costs an emphasis its style, never a word. */
export function balance(): Balance {
  let ticks = 0;
  let stars = 0;
  let tildes = 0;
  let brackets = 0;
  return {
    add(line) {
      for (const [mark] of line.matchAll(/`|\*\*|~~|\[|\]/g)) {
        if (mark === '`') ticks += 1;
        else if (mark === '**') stars += 1;
        else if (mark === '~~') tildes += 1;
        else if (mark === '[') brackets += 1;
        else brackets -= 1;
      }
    },
    isClosed: () => ticks % 2 === 0 && stars % 2 === 0 && tildes % 2 === 0 && brackets <= 0,
  };
}
