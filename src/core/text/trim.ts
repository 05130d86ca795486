/** In linear time: a pattern like `/[.,]+$/` takes quadratic time on text that has long runs of them. */
export function trimTrailing(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

export function takeBefore(text: string, mark: string): string {
  const end = text.indexOf(mark);
  return end === -1 ? text : text.slice(0, end);
}

export function findLastWord(text: string): string {
  let start = text.length;
  while (start > 0 && /\S/.test(text.charAt(start - 1))) start -= 1;
  return text.slice(start);
}

export function countMatches(text: string, pattern: RegExp): number {
  let count = 0;
  for (const _ of text.matchAll(pattern)) count += 1;
  return count;
}

/** Every line gets a newline, the last one too. */
export function joinLines(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}
