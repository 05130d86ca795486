import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compilePattern, StepLimitError } from '../../../src/core/text/pattern.ts';
import { FUZZ_TIMEOUT, fuzz } from '../../support/fuzz.ts';

const ATOMS = [
  'a',
  'b',
  '.',
  '[ab]',
  '[^a]',
  '\\d',
  '\\w',
  '\\s',
  '\\p{L}',
  '\\u{1f600}',
  '\\ud83d\\ude00',
  '\\.',
  '\\-',
];
const PLACES = ['^', '$', '\\b', '\\B'];
const REPEATS = ['', '', '*', '+', '?', '*?', '+?', '??', '{2}', '{1,}', '{0,2}', '{1,3}?'];
const OPENINGS = ['(', '(?:', '(?<name>', '(?=', '(?!', '(?<=', '(?<!'];

const { source } = fc.letrec<{ source: string; list: string; part: string }>((tie) => ({
  source: fc.array(tie('list'), { minLength: 1, maxLength: 2 }).map((lists) => lists.join('|')),
  list: fc.array(tie('part'), { maxLength: 3 }).map((parts) => parts.join('')),
  part: fc.oneof(
    { depthSize: 'small' },
    fc.tuple(fc.constantFrom(...ATOMS), fc.constantFrom(...REPEATS)).map(([atom, repeat]) => atom + repeat),
    fc.constantFrom(...PLACES),
    fc
      .tuple(fc.constantFrom(...OPENINGS), tie('source'), fc.constantFrom(...REPEATS))
      .map(([opening, inner, repeat]) => {
        const isLook = /[=!]$/.test(opening);
        return `${opening}${inner})${isLook ? '' : repeat}`;
      }),
  ),
}));
const text = fc.string({
  unit: fc.constantFrom('a', 'b', 'A', '1', ' ', '\n', '.', '-', 'é', '😀', '\ud83d'),
  maxLength: 8,
});

test('a pattern matches what a RegExp does', { timeout: FUZZ_TIMEOUT }, () => {
  fc.assert(
    fc.property(source, text, (pattern, subject) => {
      const unique = pattern.replaceAll('(?<name>', '(');
      fc.pre(isValid(unique));
      expect(compilePattern(unique).test(subject, { left: 1_000_000 })).toBe(matchesSomewhere(unique, subject));
    }),
    fuzz(2000, 200_000),
  );
});

/** By itself, V8 also looks for empty matches inside of surrogate pairs, where no character begins. */
function matchesSomewhere(pattern: string, subject: string): boolean {
  const sticky = new RegExp(pattern, 'uy');
  let start = 0;
  return [...subject, ''].some((character) => {
    sticky.lastIndex = start;
    start += character.length;
    return sticky.test(subject);
  });
}

function isValid(pattern: string): boolean {
  try {
    new RegExp(pattern, 'u');
    return true;
  } catch {
    return false;
  }
}

/** How many steps it takes to find out that no part of the text matches. */
function countSteps(pattern: string, subject: string): number {
  const limit = { left: 1e9 };
  expect(compilePattern(pattern).test(subject, limit)).toBe(false);
  return 1e9 - limit.left;
}

test.for([
  '^(a+)+$',
  '^(a|a)*$',
  '(a|aa)+b',
  '^(([a-z])+.)+[A-Z]',
  '(a*)*c',
  '((a+)+)+b',
  '^(a?){30}a{30}b',
  '\\s*a+\\s*b',
])('%s takes steps in proportion to the text, however it is repeated', (pattern) => {
  const [some, twice] = [2000, 4000].map((length) => countSteps(pattern, `${'a'.repeat(length)}!`)) as [number, number];
  expect(twice).toBeLessThan(2.1 * some);
});

test('a pattern that looks ahead from every character ends at the limit', () => {
  expect(() => compilePattern('(?=.*b)a').test('a'.repeat(10_000), { left: 1_000_000 })).toThrow(StepLimitError);
});

test.for(['(a', '(a)\\1', '(?<x>a)\\k<x>', '((a{100}){100}){100}'])('%s is refused', (pattern) => {
  expect(() => compilePattern(pattern)).toThrow(SyntaxError);
});
