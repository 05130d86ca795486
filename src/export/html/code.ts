import { codeReader, portions } from '../../render/markdown/highlight.ts';
import type { Run } from '../../render/markdown/scopes.ts';
import { escaped } from './text.ts';

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
