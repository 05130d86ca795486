const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** For names, questions and command lines: every character that cannot be seen, or moves others, is written as its escape. */
export function visible(text: string): string {
  return /^[ -~]*$/.test(text) ? text : escaped(text);
}

function escaped(text: string): string {
  return text.replace(invisible(), (char) => NAMED[char] ?? escapeOf(char.codePointAt(0) ?? 0));
}

/** How many characters `visible` would write as their escapes. */
export function countInvisible(text: string): number {
  return /^[ -~]*$/.test(text) ? 0 : (text.match(invisible())?.length ?? 0);
}

/**
 * Controls, bidi, zero-width, tag and other characters without a shape of their own, halves of a pair, spaces that are not
 * the plain one, and marks that are stacked more than two high. Made when it is needed, not at load: its character classes
 * cost more than most starts need.
 */
function invisible(): RegExp {
  return /(?! )[\p{Cc}\p{Cf}\p{Cs}\p{Z}\u2800\p{Default_Ignorable_Code_Point}]|(?<=\p{M}\p{M})\p{M}/gu;
}

function escapeOf(code: number): string {
  const hex = code.toString(16);
  if (code <= 0xff) return `\\x${hex.padStart(2, '0')}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\u{${hex}}`;
}
