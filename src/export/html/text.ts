import { codeReader, portions, type Run } from '../../render/markdown/highlight.ts';

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

/** Beyond this, colour costs more than it gives. */
const MAX_CODE_LENGTH = 50_000;

/** The class of a run by the first word of its scope. No other class is ever written. */
const CLASSES: ReadonlyMap<string, string> = new Map([
  ['comment', 'c'],
  ['quote', 'c'],
  ['meta', 'c'],
  ['keyword', 'k'],
  ['selector', 'k'],
  ['operator', 'k'],
  ['built_in', 't'],
  ['type', 't'],
  ['title', 'f'],
  ['section', 'f'],
  ['name', 'f'],
  ['tag', 'f'],
  ['string', 's'],
  ['regexp', 's'],
  ['addition', 's'],
  ['deletion', 'd'],
  ['number', 'n'],
  ['literal', 'n'],
  ['symbol', 'n'],
  ['attr', 'a'],
  ['attribute', 'a'],
  ['variable', 'a'],
]);

/** A block of code, in colour if its language is known, piece by piece. */
export function* codeBlock(code: string, language: string): Generator<string, void> {
  const label = language === '' ? '' : `<span class="language">${escaped(language)}</span>`;
  yield `<div class="code">${label}<pre tabindex="0"><code>`;
  yield* colouredLines(code, language);
  yield '</code></pre></div>\n';
}

/** Code as the content of an element; every character of it is there. */
export function coloured(code: string, language: string): string {
  return [...colouredLines(code, language)].join('');
}

function* colouredLines(code: string, language: string): Generator<string, void> {
  const read = code.length > MAX_CODE_LENGTH ? undefined : codeReader(language);
  if (read === undefined) return yield escaped(code);
  let end = '';
  for (const portion of portions(code.split('\n'))) {
    const runs = read(portion);
    yield end + portion.map((line, index) => runs[index]?.map(colouredRun).join('') ?? escaped(line)).join('\n');
    end = '\n';
  }
}

function colouredRun({ text, scopes }: Run): string {
  const found = scopes.toReversed().flatMap(classOf)[0];
  return found === undefined ? escaped(text) : `<span class="${found}">${escaped(text)}</span>`;
}

function classOf(scope: string): readonly string[] {
  return scope.split(' ').flatMap((name) => CLASSES.get(name.split('-')[0] ?? '') ?? []);
}
