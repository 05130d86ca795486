/**
 * What HTML would read as more than text, and what a reader would not see: line ends, controls, marks that reorder what
 * stands around them, halves of a pair, and the tag characters, which are invisible unless they make the flag of a region.
 */
const SPECIAL =
  /[&<>"'`]|\r\n?|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|\p{Cs}|\u{1f3f4}[\u{e0030}-\u{e007a}]+\u{e007f}|[\u{e0000}-\u{e007f}]/gu;

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '`': '&#96;',
  '\r\n': '\n',
  '\r': '\n',
};

/** Any text as the content of an element: shown as it is, and what cannot be seen is named. */
export function escaped(text: string): string {
  return replaced(text, (name) => `<span class="unseen">${name}</span>`);
}

/** The same for a quoted attribute or a title, where nothing but text can stand. */
export function attribute(text: string): string {
  return replaced(text, (name) => `[${name}]`);
}

function replaced(text: string, unseen: (name: string) => string): string {
  return text.replace(SPECIAL, (found) => {
    if (found.startsWith('\u{1f3f4}')) return found;
    return ENTITIES[found] ?? unseen(`U+${codeOf(found)}`);
  });
}

function codeOf(char: string): string {
  return (char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
}
