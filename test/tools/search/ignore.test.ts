import fc from 'fast-check';
import ignore from 'ignore';
import { expect, test } from 'vitest';
import { toIgnoreFile } from '../../../src/tools/search/ignore.ts';
import { fuzz } from '../../support/fuzz.ts';

function verdict(text: string, path: string, kind: 'file' | 'directory' = 'file'): string | undefined {
  return toIgnoreFile(text)?.decide(path, kind);
}

test.each([
  ['out', 'out', 'file', 'ignored'],
  ['out', 'a/out', 'file', 'ignored'],
  ['/out', 'a/out', 'file', undefined],
  ['/out', 'out', 'file', 'ignored'],
  ['out/', 'out', 'file', undefined],
  ['out/', 'out', 'directory', 'ignored'],
  ['a/b', 'a/b', 'file', 'ignored'],
  ['a/b', 'x/a/b', 'file', undefined],
  ['*.log', 'a/b.log', 'file', 'ignored'],
  ['*.log\n!keep.log', 'keep.log', 'file', 'kept'],
  ['!keep.log\n*.log', 'keep.log', 'file', 'ignored'],
  ['keep.log\n!*.log', 'keep.log', 'file', 'kept'],
  ['# out', '# out', 'file', undefined],
  ['\\# out', '# out', 'file', 'ignored'],
  ['\\!out', '!out', 'file', 'ignored'],
  ['out  ', 'out', 'file', 'ignored'],
  ['out\\ ', 'out ', 'file', 'ignored'],
  ['a/**', 'a/b', 'file', 'ignored'],
  ['**/b', 'x/y/b', 'file', 'ignored'],
  ['{a,b}', 'a', 'file', undefined],
  ['/', 'a', 'file', undefined],
  ['\uFEFFout\r\n', 'out', 'file', 'ignored'],
] as const)('the ignore file %j says of %s (%s, %s): %s', (text, path, kind, expected) => {
  expect(verdict(text, path, kind)).toBe(expected);
});

test('it agrees with another implementation about single steps of a walk', () => {
  const line = fc
    .tuple(
      fc.constantFrom('', '!'),
      fc.constantFrom('', '/'),
      fc.constantFrom('a', 'b', '*', 'a*', '?b', '[ab]', 'a/b', 'a/*', '**/b'),
      fc.constantFrom('', '/'),
    )
    .map((parts) => parts.join(''));
  const text = fc.array(line, { maxLength: 5 }).map((lines) => lines.join('\n'));
  const kind = fc.constantFrom('file', 'directory');
  fc.assert(
    fc.property(text, fc.constantFrom('a', 'b', 'ab', 'c'), kind, (rules, path, what) => {
      const other = ignore({ ignorecase: false })
        .add(rules)
        .test(what === 'directory' ? `${path}/` : path);
      expect(verdict(rules, path, what)).toBe(other.ignored ? 'ignored' : other.unignored ? 'kept' : undefined);
    }),
    fuzz(800),
  );
});

test('a file with more patterns than can be asked says nothing at all', () => {
  expect(toIgnoreFile('*a\n'.repeat(3000))).toBeUndefined();
  expect(toIgnoreFile(`*${'a'.repeat(2000)}`)).toBeUndefined();
  expect(verdict('name\n'.repeat(100_000), 'name')).toBe('ignored');
});
