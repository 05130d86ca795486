import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { tryPattern } from './support/backtracking.ts';
import { FUZZ_TIMEOUT, isLong } from './support/fuzz.ts';

const SRC = fileURLToPath(new URL('../src', import.meta.url));

/** Patterns that take the square of a text, or that are not counted, and why they may. */
const ALLOWED: Readonly<Record<string, string>> = {
  'auth/official-client.ts /^\\s*=\\s*(["\'])([\\w.-]{10,200})\\1/': 'its repetitions are bounded',
  'cli/completion/plan.ts /[<[]([^\\]>]+?)(?:\\.\\.\\.)?[\\]>]/g': 'our own help texts',
  'cli/description.ts /([<[])(.+?)(\\.{3})?[>\\]]/g': 'our own help texts',
  'cli/description.ts /\\[([^\\]]*)\\]\\([^)]*\\)/g': 'our own help texts',
  'config/keys.ts /(?:"((?:[^"\\\\]|\\\\.)*)"|([^."]+))(\\.|$)/y': 'the name of a setting, typed by the user',
  'config/setting-text.ts /^\\d*\\.?\\d+$/': 'the value of a setting, typed by the user',
  'config/templates.ts /^(["\'])(.*)\\1$/': 'anchored, and one repetition',
  'core/text/pattern.ts /\\[(?:[^\\]\\\\]|\\\\[\\s\\S])*\\]/':
    'every bracket is closed: RegExp has read the text before',
  'core/text/width.ts /^ *\\S+|\\s+\\S+/g': 'the text ends with no blank',
};

test('no pattern takes more than in proportion to a text, however it is made', { timeout: FUZZ_TIMEOUT }, () => {
  const slow = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => {
      const literals = listPatterns(readFileSync(join(SRC, name), 'utf8'));
      return [...new Set(literals)].filter(isSlow).map((literal) => `${name.replaceAll('\\', '/')} ${literal}`);
    });
  expect(slow.toSorted()).toEqual(Object.keys(ALLOWED).toSorted());
});

test.for([
  ['/x+$/', true],
  ['/^a|[.,]+$/g', true],
  ['/(?:a|b*)$/', true],
  ['/\\s{2,}$/', true],
  ['/^(a+)+$/', true],
  ['/^(?:\\S+(?::\\S*)?@)?a/', true],
  ['/a[^b]*b/', true],
  ['/^x+$/', false],
  ['/(?<!x)x+$/', false],
  ['/={1,2}$/', false],
  ['/x\\+$/', false],
  ['/"(?:[^"\\\\\\n]|\\\\.)*"?/g', false],
] as const)('of the pattern %s, %s: it is slow', ([literal, slow]) => {
  expect(isSlow(literal)).toBe(slow);
});

/** The regular expressions of a source text, without what strings and comments hold. */
function listPatterns(text: string): readonly string[] {
  const skipped = String.raw`\/\*[\s\S]*?\*\/|\/\/.*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|${'`'}(?:[^${'`'}\\]|\\[\s\S])*${'`'}`;
  const literal = String.raw`(?<=[(,=:[!&|?{};>]\s*|return\s+)(?<literal>\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*)`;
  return Array.from(
    text.matchAll(new RegExp(`${skipped}|${literal}`, 'g')),
    ({ groups }) => groups?.literal ?? '',
  ).filter((found) => found !== '');
}

const MOST = 100_000;
/** So often a part is repeated, and then twice as often. */
const TIMES = 30;
/** A pattern that takes fewer steps for so many repetitions has no repetition within another. */
const FEW = 900;

const verdicts = new Map<string, boolean>();

/** Many files have the same ones. */
function isSlow(literal: string): boolean {
  const verdict = verdicts.get(literal) ?? examine(literal);
  verdicts.set(literal, verdict);
  return verdict;
}

/** Whether a text of some part again and again, after a part of what it matches, takes far more than twice the steps if it is twice as long. */
function examine(literal: string): boolean {
  if (!/[*+]|\{\d+,\}/.test(literal.replace(/\\./g, '').replace(/\[[^\]]*\]/g, 'x'))) return false;
  let pattern: ReturnType<typeof tryPattern>;
  try {
    pattern = tryPattern(literal);
  } catch {
    return true;
  }
  const { count, sample, kinds } = pattern;
  const some = kinds.slice(0, isLong ? 9 : 6);
  const parts = [
    ...some,
    ...some.flatMap((first) => some.filter((next) => next !== first).map((next) => first + next)),
  ];
  const starts = new Set(
    Array.from({ length: Math.min(sample.length, 10) + 1 }, (_, length) => sample.slice(0, length)),
  );
  return parts.some((part) =>
    [...starts].some((start) =>
      ['', '\0', '\n'].some((end) => {
        const once = count(start + part.repeat(TIMES) + end, MOST);
        return once >= FEW && (once > MOST || count(start + part.repeat(2 * TIMES) + end, MOST) > 2.8 * once);
      }),
    ),
  );
}
