/** Text as one word for a POSIX shell. */
export function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The same, without quotes where none are needed. */
export function quoteIfNeeded(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : quoteForShell(word);
}
