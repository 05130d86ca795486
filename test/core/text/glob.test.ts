import fc from 'fast-check';
import picomatch from 'picomatch';
import { expect, test } from 'vitest';
import { AppError } from '../../../src/core/error.ts';
import { compileGlob } from '../../../src/core/text/glob.ts';
import { fuzz } from '../../support/fuzz.ts';

const EXACT = { isCaseSensitive: true, hasBraces: true } as const;

function matches(pattern: string, path: string): boolean {
  return compileGlob(pattern, EXACT).matches(path);
}

test.each([
  ['*.ts', 'a.ts', true],
  ['*.ts', 'src/a.ts', false],
  ['**/*.ts', 'a.ts', true],
  ['**/*.ts', 'src/deep/a.ts', true],
  ['src/**', 'src/a/b', true],
  ['src/**', 'src', false],
  ['src/**/b', 'src/b', true],
  ['src/**/b', 'src/x/y/b', true],
  ['**/x/**/y', 'a/x/b/c/y', true],
  ['**/x/**/y', 'a/b/c/y', false],
  ['a?c', 'abc', true],
  ['a?c', 'a/c', false],
  ['[a-c]x', 'bx', true],
  ['[!a-c]x', 'bx', false],
  ['[^a-c]x', 'dx', true],
  ['[]]x', ']x', true],
  ['[a', '[a', true],
  ['[\\]]', ']', true],
  ['\\*', '*', true],
  ['\\*', 'a', false],
  ['{a,b}/*.{js,ts}', 'b/x.ts', true],
  ['{a,{b,c}}x', 'cx', true],
  ['{a}', '{a}', true],
  ['{a,b', '{a,b', true],
  ['\\{a,b}', '{a,b}', true],
  ['@(a|b).ts', 'b.ts', true],
  ['@(a).ts', 'a.ts', true],
  ['(auth)/page.ts', '(auth)/page.ts', true],
  ['./a', 'a', true],
  ['a*b*c', 'axxbyyc', true],
  ['a*b*c', 'axxbyy', false],
  ['*', '.hidden', true],
] as const)('the glob %s says of %s: %s', (pattern, path, expected) => {
  expect(matches(pattern, path)).toBe(expected);
});

test('case is folded only when it does not matter', () => {
  const loose = compileGlob('SRC/*.TS', { isCaseSensitive: false, hasBraces: true });
  expect(loose.matches('src/a.ts')).toBe(true);
  expect(matches('SRC/*.TS', 'src/a.ts')).toBe(false);
});

test('a glob tells where its matches are and how deep', () => {
  const { base, depth } = compileGlob('src/core/*.ts', EXACT);
  expect({ base, depth }).toEqual({ base: ['src', 'core'], depth: 3 });
  expect(compileGlob('**/x', EXACT).depth).toBe(Number.POSITIVE_INFINITY);
  expect(compileGlob('{a,b}/x', EXACT).base).toEqual([]);
});

test('it agrees with picomatch about everything both understand', () => {
  const name = fc.stringMatching(/^[ab.]{1,4}$/).filter((text) => !/^\.+$/.test(text));
  const step = fc.oneof(
    name,
    fc.constantFrom('*', '?', '**', '*a', 'a*', '?b', '[ab]', '[^a]', 'a*b', '*.a', '{a,b}', '{a,b}*'),
  );
  const pattern = fc.array(step, { minLength: 1, maxLength: 4 }).map((steps) => steps.join('/'));
  const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join('/'));
  fc.assert(
    fc.property(pattern, path, (glob, text) => {
      // picomatch lets `a/**` stand for `a` too; a directory is never what is looked for here.
      fc.pre(!/\*\*$/.test(glob));
      expect(matches(glob, text)).toBe(picomatch(glob, { dot: true })(text));
    }),
    fuzz(800),
  );
});

test.each([
  ['{a,b}'.repeat(20), 'more than 100 patterns'],
  ['x'.repeat(5000), 'longer than 4096'],
  ['!(a|b)', 'extended group'],
])('a pattern that is too much is refused: %#', (pattern, why) => {
  expect(() => compileGlob(pattern, EXACT)).toThrow(AppError);
  expect(() => compileGlob(pattern, EXACT)).toThrow(why);
});

test('stars do not multiply', () => {
  const pattern = compileGlob(`${'*a'.repeat(60)}*b`, EXACT);
  expect(pattern.matches('a'.repeat(250))).toBe(false);
  const deep = compileGlob(`${'**/'.repeat(60)}b`, EXACT);
  expect(deep.matches(Array(2000).fill('a').join('/'))).toBe(false);
});
