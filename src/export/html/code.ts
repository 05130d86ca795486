import { type Run, scopedLines } from '../../render/markdown/scopes.ts';
import { escaped } from './text.ts';

/** Beyond these, colour costs more than it gives. */
const MAX_CODE_LENGTH = 50_000;
const MAX_LINE_LENGTH = 2000;

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

/** A block of code, in colour if its language is known. */
export function codeBlock(code: string, language: string): string {
  const label = language === '' ? '' : `<span class="language">${escaped(language)}</span>`;
  return `<div class="code">${label}<pre tabindex="0"><code>${coloured(code, language)}</code></pre></div>\n`;
}

/** Code as the content of an element; every character of it is there. */
export function coloured(code: string, language: string): string {
  const lines = code.split('\n');
  if (code.length > MAX_CODE_LENGTH || lines.some((line) => line.length > MAX_LINE_LENGTH)) return escaped(code);
  const scoped = scopedLines(lines, language);
  if (scoped === undefined) return escaped(code);
  return scoped.lines.map((runs) => runs.map(colouredRun).join('')).join('\n');
}

function colouredRun({ text, scopes }: Run): string {
  const found = scopes.toReversed().flatMap(classOf)[0];
  return found === undefined ? escaped(text) : `<span class="${found}">${escaped(text)}</span>`;
}

function classOf(scope: string): readonly string[] {
  return scope.split(' ').flatMap((name) => CLASSES.get(name.split('-')[0] ?? '') ?? []);
}
