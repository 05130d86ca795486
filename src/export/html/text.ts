import { codeReader, type Run, splitPortions } from '../../render/markdown/highlight.ts';

/**
 * What HTML would read as markup, and what a reader would not see: line ends, control characters, bidirectional marks,
 * lone surrogates, and tag characters, which are invisible except in the flag of a region.
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

/** Shows invisible characters by their code points. */
export function escapeHtml(text: string): string {
  return escapeWith(text, (name) => `<span class="unseen">${name}</span>`);
}

/** For a quoted attribute or a title, which cannot contain elements. */
export function escapeAttribute(text: string): string {
  return escapeWith(text, (name) => `[${name}]`);
}

function escapeWith(text: string, unseen: (name: string) => string): string {
  return text.replace(SPECIAL, (found) => {
    if (found.startsWith('\u{1f3f4}')) return found;
    const code = (found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    return ENTITIES[found] ?? unseen(`U+${code}`);
  });
}

/** Longer code is not highlighted, for speed. */
const MAX_CODE_LENGTH = 50_000;

/** By the first word of a highlight scope. No other class is ever written. */
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

export function* codeBlockHtml(code: string, language: string): Generator<string, void> {
  const label = language === '' ? '' : `<span class="language">${escapeHtml(language)}</span>`;
  yield `<div class="code">${label}<pre tabindex="0"><code>`;
  yield* highlightLines(code, language);
  yield '</code></pre></div>\n';
}

export function highlightHtml(code: string, language: string): string {
  return [...highlightLines(code, language)].join('');
}

function* highlightLines(code: string, language: string): Generator<string, void> {
  const read = code.length > MAX_CODE_LENGTH ? undefined : codeReader(language);
  if (read === undefined) return yield escapeHtml(code);
  let end = '';
  for (const portion of splitPortions(code.split('\n'))) {
    const runs = read(portion);
    yield end + portion.map((line, index) => runs[index]?.map(highlightRun).join('') ?? escapeHtml(line)).join('\n');
    end = '\n';
  }
}

function highlightRun({ text, scopes }: Run): string {
  const found = scopes.toReversed().flatMap(findClasses)[0];
  return found === undefined ? escapeHtml(text) : `<span class="${found}">${escapeHtml(text)}</span>`;
}

function findClasses(scope: string): readonly string[] {
  return scope.split(' ').flatMap((name) => CLASSES.get(name.split('-')[0] ?? '') ?? []);
}
