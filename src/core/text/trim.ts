/**
 * The text without these characters at its end. A pattern like `/[.,]+$/` does the same, but begins anew at each of them
 * wherever it stands: of a text from outside that takes the square of its length.
 */
export function trimTrailing(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

/** The text up to the first such mark; all of it if there is none. */
export function textBefore(text: string, mark: string): string {
  const end = text.indexOf(mark);
  return end === -1 ? text : text.slice(0, end);
}

/** The characters at the end that are no white space. */
export function lastWord(text: string): string {
  let start = text.length;
  while (start > 0 && /\S/.test(text.charAt(start - 1))) start -= 1;
  return text.slice(start);
}
