import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { FUZZ_TIMEOUT, fuzz } from './support/fuzz.ts';
import { startStepCount } from './support/steps.ts';

/** Measured once, and not for growth. */
const NAMES = 'names of a directory';

const { readers, countSteps, stop } = await startStepCount(new URL('./support/text-readers.ts', import.meta.url));
afterAll(stop);

const SIZE = 8192;
/** Nobody notices fewer: a few milliseconds. */
const FEW = 200_000;
/** Less than half a second, in slices. */
const MOST = 30_000_000;

const part = fc.oneof(
  fc.constantFrom(
    '.',
    '**a[',
    '|x|\n--\n',
    '> ',
    '- a\n',
    '*a',
    '@',
    '\\"',
    '<a ',
    '<!--',
    '`',
    '~',
    ' ',
    '\t\n',
    '\u001b[',
    'e\u0301',
    '漢',
  ),
  fc.string({ unit: fc.constantFrom(...'a1 \n|-*_[]()<>"\'`~@#.:/\\&!{}$=,;é'), minLength: 1, maxLength: 5 }),
);
const beginning = fc.constantFrom('', '@', '- ', '> ', '```c\n', 'a|b\n-|-\n', '[', '"', '<p>', '\u001b]');

const ending = fc.constantFrom('', 'a', '!', '\n');

/** What has held gmn up before. */
const KNOWN: [string, string, string][] = [
  ['@', '.', 'a'],
  ['', '|x|\n--\n', ''],
  ['', '**a[', ''],
  ['a|b\n---', ' ', 'x'],
  ['', '*a*a*a*b\n', ''],
  ['> ', '1', ''],
  ['', ' a\n', 'b'],
  ['', '{é', ''],
];

test.for(readers.filter((reader) => reader !== NAMES))(
  '%s: the steps grow no faster than the text',
  { timeout: FUZZ_TIMEOUT },
  async (reader) => {
    await fc.assert(
      fc.asyncProperty(beginning, part, ending, async (start, again, end) => {
        const make = (size: number): string => start + again.repeat(Math.ceil(size / again.length)) + end;
        const once = await countSteps(reader, make(SIZE));
        const twice = await countSteps(reader, make(2 * SIZE));
        expect(twice, `${once} steps for ${SIZE} characters`).toBeLessThan(Math.max(FEW, 2.6 * once));
        expect(twice).toBeLessThan(MOST);
      }),
      { ...fuzz(KNOWN.length + 2, 500), examples: KNOWN },
    );
  },
);

test('a name is compared with the lists of secrets in few steps: a directory has many names', async () => {
  const names = Array.from({ length: 1000 }, (_, index) => `/home/some/project/src/file-name-number-${index}.ts`);
  const steps = await countSteps(NAMES, names.join('\n'));
  expect(steps / names.length).toBeLessThan(1500);
});
