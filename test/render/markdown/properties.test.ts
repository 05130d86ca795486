import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fuzz } from '../../support/fuzz.ts';
import { bare, laidOut } from '../laid-out.ts';

const word = fc.stringMatching(/^[a-z]{4,9}$/);
const soup = fc
  .array(
    fc.oneof(
      {
        weight: 4,
        arbitrary: fc.tuple(word, fc.constantFrom(' ', '\n', '\n\n', ' ', '')).map((pair) => pair.join('')),
      },
      {
        weight: 3,
        arbitrary: fc.constantFrom(
          '**',
          '*',
          '_',
          '`',
          '```\n',
          '~~',
          '~~~',
          '\n- ',
          '\n  - ',
          '\n1. ',
          '\n> ',
          '\n# ',
          '\n---\n',
          '\n| ',
          ' | ',
          ' |\n',
          '\n|---|---|\n',
          '\n    ',
          '\t',
          '<b>',
          '</b>',
          '<!--',
          '-->',
          '[',
          ']',
          '](',
          ')',
          '![',
          '\\',
          '&amp;',
          '&',
          '日本',
          '\n===\n',
          ': ',
          '"',
          '\n\n',
          '- [x] ',
          '[a]: ',
        ),
      },
    ),
    { maxLength: 40, size: 'max' },
  )
  .map((pieces) => pieces.join(''));

const row = fc.array(word, { minLength: 1, maxLength: 4 }).map((cells) => `| ${cells.join(' | ')} |\n`);
const ruled = fc.integer({ min: 1, max: 3 }).map((columns) => `|${'---|'.repeat(columns)}\n`);
const block = fc.oneof(
  fc.tuple(row, ruled, fc.array(row)).map(([head, rule, rows]) => `${head}${rule}${rows.join('')}\n`),
  fc.array(word, { minLength: 1 }).map((words) => words.map((each) => `[same]: http://${each}\n`).join('')),
  fc
    .array(word, { minLength: 1 })
    .map((words) => words.map((each, depth) => `${'  '.repeat(depth)}- ${each}\n`).join('')),
  fc
    .array(word, { minLength: 1 })
    .map((words) => words.map((each, depth) => `${'>'.repeat(depth)} ${each}\n`).join('')),
  fc.tuple(word, word, word).map(([info, code, title]) => `~~~ ${info} ${title}\n${code}\n~~~\n`),
  fc.tuple(word, word, word).map(([text, to, title]) => `[${text}](http://${to} "${title}")\n`),
  soup,
);
const markdownish = fc.oneof(
  soup,
  fc.array(block, { maxLength: 6, size: 'max' }).map((blocks) => blocks.join('')),
);

describe('for any text', () => {
  test('no word is lost or moved', async () => {
    await fc.assert(
      fc.asyncProperty(markdownish, async (source) => {
        const shown = wordsOf(await laidOut(source, { columns: 5_000 }));
        expect(missingInOrder(wordsOf(source), shown)).toEqual([]);
      }),
      fuzz(120, 20_000),
    );
  });

  test('no word is lost in a narrow window', async () => {
    await fc.assert(
      fc.asyncProperty(markdownish, async (source) => {
        const rows = (await laidOut(source, { columns: 20 })).split('\n').map((line) => line.split('│'));
        // A word that is too wide for its column of a table goes on in the same column of the next row.
        const columns = Array.from({ length: Math.max(...rows.map((cells) => cells.length)) }, (_, index) =>
          rows.map((cells) => cells[index] ?? ''),
        );
        const shown = [rows.flat(), ...columns].map((texts) => texts.join('').replace(/[^a-z]/g, '')).join('\n');
        for (const each of wordsOf(source)) expect(shown).toContain(each);
      }),
      fuzz(45, 20_000),
    );
  });

  test('the layout does not depend on how the text was cut', async () => {
    await fc.assert(
      fc.asyncProperty(
        markdownish,
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
        async (source, cuts) => {
          expect(await laidOut(source, { cuts })).toBe(await laidOut(source));
          expect(await laidOut(source, { cuts, isStyled: true })).toBe(await laidOut(source, { isStyled: true }));
        },
      ),
      fuzz(45, 20_000),
    );
  });

  test('without styling there is no escape, with it only ours', async () => {
    await fc.assert(
      fc.asyncProperty(markdownish, async (source) => {
        expect(await laidOut(source)).not.toContain('\u001b');
        expect(bare(await laidOut(source, { isStyled: true }))).not.toContain('\u001b');
      }),
      fuzz(45, 20_000),
    );
  });

  test('the last line is ended', async () => {
    await fc.assert(
      fc.asyncProperty(markdownish, async (source) => {
        expect(await laidOut(source)).toMatch(/^$|\n$/);
      }),
      fuzz(45, 20_000),
    );
  });
});

function wordsOf(text: string): readonly string[] {
  return text.replaceAll('&amp;', '&').match(/[a-z]{4,}/g) ?? [];
}

/** The words that do not turn up in their turn; a word may be part of a longer one, as where marks between words went. */
function missingInOrder(words: readonly string[], shown: readonly string[]): readonly string[] {
  const text = shown.join('');
  let from = 0;
  return words.filter((each) => {
    const found = text.indexOf(each, from);
    if (found >= 0) from = found + each.length;
    return found < 0;
  });
}

const codeWord = fc.stringMatching(/^[!-~]{1,12}$/).filter((each) => !/^(?:`{3}|~{3})/.test(each));
const codeLine = fc
  .tuple(fc.nat({ max: 12 }), fc.array(codeWord, { minLength: 1, maxLength: 12 }))
  .map(([indent, words]) => ' '.repeat(indent) + words.join(' '));

test.each([false, true])('of code no word is broken that a row has room for, styled: %s', async (isStyled) => {
  await fc.assert(
    fc.asyncProperty(fc.array(codeLine, { minLength: 1 }), fc.integer({ min: 26, max: 60 }), async (lines, columns) => {
      const source = `\`\`\`js\n${lines.join('\n')}\n\`\`\`\n`;
      const [, ...rows] = bare(await laidOut(source, { columns, isStyled }))
        .trimEnd()
        .split('\n');
      expect(rows.filter((row) => row.length > columns)).toEqual([]);
      expect(rows.flatMap((row) => row.split(' ')).filter((each) => each !== '')).toEqual(
        lines.flatMap((line) => line.split(' ')).filter((each) => each !== ''),
      );
      expect(rows.join('\n')).not.toContain('```js');
    }),
    fuzz(60, 20_000),
  );
});
