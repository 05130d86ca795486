import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { splitGraphemes } from '../../src/core/text/width.ts';
import { openRenderer } from '../../src/render/renderers.ts';
import { type Emulator, emulator } from '../support/emulator.ts';
import { FUZZ_TIMEOUT, fuzz } from '../support/fuzz.ts';
import { renderOptions } from './fakes.ts';
import { begin, end } from './runs.ts';

async function open(screen: Emulator) {
  const render = await openRenderer('text', { out: screen, err: screen }, renderOptions());
  await render(begin);
  return { push: (delta: string) => render({ type: 'text', delta }), end: () => render(end) };
}

async function showAtOnce(
  text: string,
  columns: number,
  rows: number,
  hasOldWidths = false,
): Promise<readonly string[]> {
  const screen = emulator({ columns, rows, hasOldWidths });
  const answer = await open(screen);
  await answer.push(text);
  await answer.end();
  return (await screen.shown()).lines;
}

const ANSWER = `# Harbours

A harbour is **a sheltered place** where ships may lie in safety, and \`boats\` too; the word is older than the towns around it.

港は船が安全に停泊できる場所です。世界には数えきれないほどの港があり、それぞれに長い歴史があります。

| Name | Country | Known for |
|---|---|---|
| Rotterdam | Netherlands | the largest port in Europe, with forty kilometres of quays |
| 横浜 | 日本 | 1859年の開港 |

- one **thing**
  - and another
- 👨‍👩‍👧 families e\u0301 welcome

\`\`\`js
const port = open('harbour');
\`\`\`

> That is all.
`;

describe.each([
  [80, 24],
  [120, 40],
])('an answer that streams at %i columns and %i rows', (columns, rows) => {
  test('is seen as it comes, and is at its end what it would be at once', async () => {
    const screen = emulator({ columns, rows });
    const answer = await open(screen);
    const moments: string[] = [];
    const step = Math.ceil(ANSWER.length / 10);
    for (let at = 0; at < ANSWER.length; at += 3) {
      await answer.push(ANSWER.slice(at, at + 3));
      if (Math.floor((at + 3) / step) > moments.length) moments.push((await screen.shown()).window.join('\n'));
    }
    await answer.end();
    const { window, lines } = await screen.shown();
    expect([...moments.slice(0, 9), window.join('\n')].join('\n~~~\n')).toMatchSnapshot();
    expect(lines).toEqual(await showAtOnce(ANSWER, columns, rows));
  });
});

function stripBlanks(text: string): string {
  return text.replace(/\s+/g, '');
}

describe('what is taller than the window', () => {
  test('scrolls away as exact text, in rows as they were', async () => {
    const words = Array.from({ length: 700 }, (_, index) => `word${index}`).join(' ');
    const screen = emulator({ columns: 60, rows: 12 });
    const answer = await open(screen);
    for (let at = 0; at < words.length; at += 11) await answer.push(words.slice(at, at + 11));
    await answer.end();
    const { lines } = await screen.shown();
    expect(lines.join(' ')).toBe(words);
    expect(lines).toEqual(await showAtOnce(words, 60, 12));
  });

  test('is cut between two rows also in Japanese, and where words are marked', async () => {
    const text = `${'港は**船が安全に**停泊できる'.repeat(60)}。`;
    const screen = emulator({ columns: 41, rows: 10 });
    const answer = await open(screen);
    for (let at = 0; at < text.length; at += 7) await answer.push(text.slice(at, at + 7));
    await answer.end();
    const { lines } = await screen.shown();
    expect(lines.join('')).toBe(text.replaceAll('**', ''));
    for (const line of lines.slice(0, -1)) expect(line.length).toBeGreaterThanOrEqual(18);
  });

  test('a table keeps its columns', async () => {
    const rows = Array.from({ length: 40 }, (_, index) => `| row${index} | what it is |\n`).join('');
    const screen = emulator({ columns: 60, rows: 12 });
    const answer = await open(screen);
    const text = `| Name | Text |\n|---|---|\n${rows}\nend`;
    for (let at = 0; at < text.length; at += 9) await answer.push(text.slice(at, at + 9));
    await answer.end();
    const { lines } = await screen.shown();
    expect(lines.filter((line) => /^row\d+ +│ what it is$/.test(line))).toHaveLength(40);
    expect(lines.filter((line) => line.includes('Name'))).toHaveLength(1);
    expect(lines.slice(-2)).toEqual(['', 'end']);
  });

  test('a quote keeps its bar', async () => {
    const screen = emulator({ columns: 40, rows: 8 });
    const answer = await open(screen);
    const text = `> ${'quoted words '.repeat(60)}\n`;
    for (let at = 0; at < text.length; at += 9) await answer.push(text.slice(at, at + 9));
    await answer.end();
    const { lines } = await screen.shown();
    expect(lines.every((line) => /^│ (?:quoted|words)/.test(line))).toBe(true);
    expect(lines).toEqual(await showAtOnce(text, 40, 8));
  });

  test('a list keeps its indentation', async () => {
    const items = Array.from({ length: 30 }, (_, index) => `   - item ${index}\n     - deep\n`).join('');
    const screen = emulator({ columns: 60, rows: 12 });
    const answer = await open(screen);
    const text = `1. first\n${items}2. second\n`;
    for (let at = 0; at < text.length; at += 9) await answer.push(text.slice(at, at + 9));
    await answer.end();
    const { lines } = await screen.shown();
    const nested = Array.from({ length: 30 }, (_, index) => [`   • item ${index}`, '     • deep']).flat();
    expect(lines).toEqual(['1. first', ...nested, '2. second']);
  });

  test('an item after a cut one stands where its mark is, also before its line is complete', async () => {
    const text = Array.from({ length: 4 }, () => `- ${'outer '.repeat(9)}\n  - ${'inner '.repeat(9)}\n`).join('');
    const screen = emulator({ columns: 40, rows: 5 });
    const answer = await open(screen);
    for (let at = 0; at < text.length; at += 5) {
      await answer.push(text.slice(at, at + 5));
      for (const line of (await screen.shown()).lines) expect(line).toMatch(/^(?:• o| {2}o| {2}• i| {4}i|[ •]*$)/);
    }
    await answer.end();
    expect((await screen.shown()).lines).toEqual(await showAtOnce(text, 40, 24));
  });

  test('code in an item stays code, and what comes after it is none', async () => {
    const code = Array.from({ length: 30 }, (_, index) => `   line${index}();\n`).join('');
    const screen = emulator({ columns: 80, rows: 24 });
    const text = `1. Write this:\n\n   \`\`\`js\n${code}   \`\`\`\n\n2. **Then** run it.\n\n# End\n`;
    await stream(screen, { pieces: cutUp(text.split(''), [7]) });
    const { lines } = await screen.shown();
    expect(lines.filter((line) => /```|js/.test(line))).toEqual(['   js']);
    expect(lines.filter((line) => /^ {3}line\d+\(\);$/.test(line))).toHaveLength(30);
    expect(lines.slice(-3)).toEqual(['2. Then run it.', '', '# End']);
  });

  test('code in an item keeps its indentation and its one end when the window changes', async () => {
    const code = Array.from({ length: 26 }, (_, index) => `     line${index}();\n`).join('');
    const text = `1. Write this:\n   - here:\n     \`\`\`js\n${code}     \`\`\`\n     and more\n   - there\n2. Run it.\n`;
    const screen = emulator({ columns: 120, rows: 40 });
    const sizes = [
      [50, 12],
      [120, 40],
    ] as const;
    await stream(screen, { pieces: cutUp(text.split(''), [17]), sizes });
    const { lines } = await screen.shown();
    expect(lines.filter((line) => /```|js/.test(line))).toEqual(['     js']);
    expect(lines.filter((line) => line.trim() !== '' && !line.startsWith('     '))).toEqual([
      '1. Write this:',
      '   • here:',
      '   • there',
      '2. Run it.',
    ]);
    expect(stripBlanks(lines.join(''))).toBe(stripBlanks(text).replaceAll('-', '•').replaceAll('```', ''));
  });

  test('of a line of code that is longer than the window nothing is lost when that changes', async () => {
    const code = Array.from({ length: 800 }, (_, index) => String(index).padStart(5)).join('');
    const screen = emulator({ columns: 80, rows: 24 });
    const pieces = cutUp(`\`\`\`\n${code}\n\`\`\`\n`.split(''), [400]);
    const sizes = [
      [80, 24],
      [70, 24],
    ] as const;
    await stream(screen, { pieces, sizes });
    expect(stripBlanks((await screen.shown()).lines.join(''))).toContain(stripBlanks(code));
  });
});

test('words that look like a mark at the start of a row are none after a resize', async () => {
  const text = 'The harbour was for a long time the largest one in all the wide world - it is the tenth now.\n';
  const screen = emulator({ columns: 70, rows: 24 });
  await stream(screen, { pieces: cutUp(text.split(''), [20]), sizes: [[40, 6]] });
  expect(stripBlanks((await screen.shown()).lines.join(''))).toBe(stripBlanks(text));
});

describe('a thought that streams', () => {
  const thought = 'They ask for a name, and 日本語の長い文 too; an-unbreakable-word-of-thirty end.\n\nNext.\n';

  async function show(size: number, isDumb = false, text = thought): Promise<readonly string[]> {
    const screen = emulator({ columns: 20, rows: 24 });
    const options = { ...renderOptions(), showThoughts: true, isDumb };
    const render = await openRenderer('text', { out: screen, err: screen }, options);
    await render(begin);
    for (let at = 0; at < text.length; at += size) {
      await render({ type: 'thought', delta: text.slice(at, at + size) });
    }
    return (await screen.shown()).lines;
  }

  test.each([1, 2, 7, 200])('breaks between words, in pieces of %i', async (size) => {
    expect(await show(size)).toEqual([
      'They ask for a name,',
      'and 日本語の長い文',
      'too;',
      'an-unbreakable-word-of-thirty',
      'end.',
      '',
      'Next.',
    ]);
  });

  test('is whole if it is long', async () => {
    const text = Array.from({ length: 5000 }, (_, index) => `word${index}`).join(' ');
    expect((await show(17_000, false, text)).join(' ')).toBe(text);
  });

  test('is left to a dumb terminal', async () => {
    expect(await show(7, true)).toEqual(thought.trimEnd().split('\n'));
  });
});

const word = fc.oneof(
  { weight: 5, arbitrary: fc.stringMatching(/^[a-z]{1,9}$/) },
  fc.constantFrom(
    '日本語の',
    '港。',
    '👨‍👩‍👧',
    'e\u0301a',
    '🎉',
    '한국어',
    '**b c**',
    '`x y`',
    '_i_',
    '[l](http://x.y/z)',
    'ｶﾅ',
    '…',
  ),
);
const words = fc.array(word, { minLength: 1, maxLength: 14 }).map((list) => list.join(' '));
const cell = fc.array(word, { minLength: 1, maxLength: 4 }).map((list) => list.join(' '));
const table = fc
  .array(fc.tuple(cell, cell), { minLength: 1, maxLength: 2 })
  .map((rows) => `| + | = |\n|---|---|\n${rows.map((row) => `| ${row.join(' | ')} |`).join('\n')}`);
const block = fc.oneof(
  { weight: 3, arbitrary: words },
  words.map((text) => `# ${text}`),
  fc.array(words, { minLength: 1, maxLength: 3 }).map((list) => list.map((text) => `- ${text}`).join('\n')),
  fc
    .array(words, { minLength: 1, maxLength: 2 })
    .map((list) => list.map((text, index) => `${index + 1}. a\n   - ${text}`).join('\n')),
  words.map((text) => `> ${text}`),
  fc
    .tuple(fc.constantFrom('- ', '*   ', '10. '), words, fc.array(words, { maxLength: 4 }), words)
    .map(([marker, text, list, end]) => {
      const indent = ' '.repeat(marker.length + 2);
      const code = ['```js', ...list, '```'].map((line) => indent + line).join('\n');
      return `${marker}${text}\n${indent.slice(2)}- a\n${code}\n${indent.slice(2)}- ${end}`;
    }),
  fc
    .array(words, { maxLength: 3 })
    .map((list) => `1. - \`\`\`js\n${list.map((line) => `     ${line}\n`).join('')}     \`\`\`\n   - a`),
  fc.array(words, { maxLength: 3 }).map((list) => `\`\`\`js\n${list.join('\n\t')}\n\`\`\``),
);
const textsOf = (blocks: fc.Arbitrary<string>) =>
  fc.array(blocks, { minLength: 1, maxLength: 5 }).map((list) => `${list.join('\n\n')}\n`);
const texts = textsOf(fc.oneof({ weight: 8, arbitrary: block }, table));
const cuts = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 8 });

/**
 * All that is copied, without line ends, blanks, bullets, the rules of tables and quotes, and the names before stacked
 * cells. What is cut before its mark was complete is shown as it was written. Characters of several code points are all
 * one: the emulator mixes them up when it wraps the lines of a window anew.
 */
function copied(lines: readonly string[]): string {
  const shown = lines.join('').replace(/[\s•│─┼|:+=-]/gu, '');
  const text = Array.from(splitGraphemes(shown), (one) => ([...one].length > 1 ? '◇' : one)).join('');
  return text.replace(/\*\*(bc)\*\*|_(i)_|\[(l)\]/g, '$1$2$3').replaceAll('`x``y`', '`xy`');
}

describe('for any text', { timeout: FUZZ_TIMEOUT }, () => {
  test('the screen is in the end as if the text had come at once, also in a window that gets lower and higher', async () => {
    const heights = fc.array(fc.integer({ min: 50, max: 70 }), { maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(
        texts,
        cuts,
        fc.constantFrom(20, 37, 80),
        heights,
        fc.boolean(),
        async (text, lengths, columns, rows, isOld) => {
          const screen = emulator({ columns, rows: 60, hasOldWidths: isOld });
          await stream(screen, {
            pieces: cutUp(text.split(''), lengths),
            sizes: rows.map((height) => [columns, height]),
          });
          expect((await screen.shown()).lines).toEqual(await showAtOnce(text, columns, 60, isOld));
        },
      ),
      fuzz(12, 5_000),
    );
  });

  const widths = fc.constantFrom(18, 25, 40, 80);

  type Case = [text: string, lengths: number[], sizes: [number, number][]];

  test.each([
    {
      blocks: 'blocks that fit the window',
      written: texts,
      heights: fc.constantFrom(40, 60),
      example: [
        '> w lztglj nq nprdcsyoo `x y` **b c** hzecbvrcz niuvvqyhh\n',
        [5, 4],
        [
          [80, 60],
          [18, 60],
        ],
      ] as Case,
    },
    {
      blocks: 'blocks that are taller than the window',
      written: textsOf(block),
      heights: fc.constantFrom(6, 12, 24),
      example: [
        '# a 日本語の a aaaaa\n\n```js\n\n```\n',
        [1],
        [
          [18, 12],
          [40, 6],
        ],
      ] as Case,
    },
  ])(
    '$blocks can be copied after resizes: nothing is lost, left over or shown twice',
    async ({ written, heights, example }) => {
      const sizes = fc.array(fc.tuple(widths, heights), { minLength: 1, maxLength: 5 });
      await fc.assert(
        fc.asyncProperty(written, cuts, sizes, async (text, lengths, resizes) => {
          const [columns, rows] = resizes[0] ?? [80, 24];
          const screen = emulator({ columns, rows });
          // What has scrolled away may end in any character, but the emulator loses one that is broken.
          await stream(screen, { pieces: cutUp([...splitGraphemes(text)], lengths), sizes: resizes });
          const found = copied((await screen.shown()).lines);
          // The lines of wrapped cells stand side by side.
          const isOrdered = !text.includes('|---|');
          const order = (read: string): string => (isOrdered ? read : [...read].sort().join(''));
          expect(order(found)).toBe(order(copied(await showAtOnce(text, 2_000, 60))));
        }),
        { ...fuzz(10, 5_000), examples: [example] },
      );
    },
  );
});

/** Gives the window the next of the sizes after every fourth piece. */
async function stream(
  screen: Emulator,
  {
    pieces,
    sizes = [],
  }: { readonly pieces: readonly string[]; readonly sizes?: readonly (readonly [number, number])[] },
): Promise<void> {
  const answer = await open(screen);
  for (const [index, piece] of pieces.entries()) {
    await answer.push(piece);
    const next = index % 4 === 3 ? sizes[((index / 4) % sizes.length) | 0] : undefined;
    if (next !== undefined) await screen.resize(...next);
  }
  await answer.end();
}

function cutUp(characters: string[], lengths: readonly number[]): readonly string[] {
  const pieces: string[] = [];
  while (characters.length > 0) {
    pieces.push(characters.splice(0, lengths[pieces.length % lengths.length] ?? 1).join(''));
  }
  return pieces;
}

test('what the model said before a command checked it is shown before that, line by line', async () => {
  const screen = emulator({ columns: 60, rows: 12 });
  const render = await openRenderer('text', { out: screen, err: screen }, renderOptions());
  const verify = (code: number) =>
    render({ type: 'verify', command: 'npm test', exit: { code, signal: null }, output: 'no', elapsedMs: 100 });
  await render(begin);
  await render({ type: 'text', delta: 'Done.' });
  await render({ type: 'wait', what: 'verify: npm test' });
  await verify(1);
  await render({ type: 'text', delta: '\n' });
  await render({ type: 'text', delta: 'Done *now*.' });
  await verify(0);
  await render(end);
  expect((await screen.shown()).lines).toEqual([
    'Done.',
    '✗ verify npm test · exit 1 · 0.1s',
    '',
    'Done now.',
    '✓ verify npm test · 0.1s',
  ]);
});
