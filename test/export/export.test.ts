import { readFileSync } from 'node:fs';
import { type Schema, Validator } from '@cfworker/json-schema';
import fc from 'fast-check';
import { Lexer } from 'marked';
import { describe, expect, test } from 'vitest';
import type { SavedSession } from '../../src/core/session.ts';
import { type ExportFormat, exportSession, findFormat } from '../../src/export/export.ts';
import { fuzz } from '../support/fuzz.ts';
import { codePoint } from '../support/properties.ts';
import { everywhere, HOSTILE } from './hostile.ts';
import { longSession } from './long.ts';
import { followUp, prompt, reply, sessionOf, small } from './samples.ts';

async function exported(session: SavedSession, format: ExportFormat): Promise<string> {
  return [...(await exportSession(session, format))].join('');
}

const schema: Schema = JSON.parse(
  readFileSync(new URL('../../docs/schemas/session-export.schema.json', import.meta.url), 'utf8'),
);

test.each(['md', 'json', 'html'] as const)('a small conversation as %s', async (format) => {
  await expect(await exported(small, format)).toMatchFileSnapshot(`../fixtures/export/small.${format}`);
});

const repaired = sessionOf([
  prompt('make it 2'),
  reply('Done.'),
  followUp('The check fails (exit code 1):\n\nnpm test\n\n<b>*1*</b>'),
  reply('Now it is.'),
]);

test('what gmn asked by itself is no prompt of the person in Markdown', async () => {
  const text = await exported(repaired, 'md');
  expect(text.slice(text.indexOf('\n## '))).toBe(`
## 1. Prompt

*2026-01-31 09:05 UTC*

make it 2

### Answer (gemini-2.5-flash)

Done.

#### Follow-up by gmn

\`\`\`
The check fails (exit code 1):

npm test

<b>*1*</b>
\`\`\`

Now it is.

*2,200 in · 80 out*
`);
});

test('what gmn asked by itself is no prompt of the person on the page', async () => {
  const page = await exported(repaired, 'html');
  expect(page.match(/<article class="turn"/g)).toHaveLength(1);
  expect(page.match(/<section class="prompt"/g)).toHaveLength(1);
  expect(page).toContain(
    '<span class="kind">Follow-up by gmn</span> <span class="about">The check fails (exit code 1):</span></summary>\n',
  );
  expect(page).toContain('npm test\n\n&lt;b&gt;*1*&lt;/b&gt;');
});

test.each(['md', 'json', 'html'] as const)('a turn late in a long session takes no more room as %s', async (format) => {
  const [one = 0, two = 0, three = 0] = await Promise.all(
    [200, 400, 600].map(async (turns) => (await exported(longSession(turns), format)).length),
  );
  expect((three - two) / (two - one)).toBeCloseTo(1, 1);
});

test.each([
  ['a.md', 'md'],
  ['a.markdown', 'md'],
  ['A.JSON', 'json'],
  ['dir.html/a.htm', 'html'],
  ['a.html', 'html'],
  ['a.txt', undefined],
  ['html', undefined],
  ['.html', undefined],
  ['a.constructor', undefined],
] as const)('the ending of %s means %s', (file, format) => {
  expect(findFormat(file)).toBe(format);
});

describe('json', () => {
  const validator = new Validator(schema, '2020-12');

  test('the schema describes it', async () => {
    for (const session of [small, sessionOf([]), ...HOSTILE.map(everywhere)]) {
      expect(validator.validate(JSON.parse(await exported(session, 'json')))).toEqual({ valid: true, errors: [] });
    }
  });

  test.each([{}, { version: 2 }, { version: 1, session: {}, usage: {}, contents: [], records: [] }])(
    'the schema refuses %j',
    (value) => {
      expect(validator.validate(value).valid).toBe(false);
    },
  );

  test('every part comes back exactly as it was, whatever is in it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: codePoint }), async (text) => {
        const session = everywhere(text);
        const { contents } = JSON.parse(await exported(session, 'json'));
        expect(contents).toEqual(session.records.map(({ content: { role, parts } }) => ({ role, parts })));
      }),
      fuzz(20),
    );
  });
});

describe('markdown', () => {
  /** Headings that a Markdown reader sees at the top level, not inside a block. */
  const promptsIn = (text: string): number =>
    new Lexer()
      .lex(text)
      .filter((token) => token.type === 'heading' && token.depth === 2 && / Prompt$/.test(token.raw.trim())).length;

  test('texts are unchanged', async () => {
    const said = '# Mine\n\n* a\n  * b\n\n```\ncode\n```\n\n| a |\n|---|\n';
    expect(await exported(sessionOf([prompt('x'), reply(said)]), 'md')).toContain(`\n${said}\n`);
  });

  test.each([
    ['an open fence', '```js\nlet a;', '\n```js\nlet a;\n```\n'],
    ['an open fence of tildes', '~~~~\n```\n', '\n~~~~\n```\n~~~~\n'],
    ['an open comment', 'a\n\n<!-- b\n', '\n<!-- b\n-->\n'],
    ['an open script', '<script>\nx', '\n<script>\nx\n</script>\n'],
    ['a comment in a fence', '```\n<!--\n```', '\n```\n<!--\n```\n\n*'],
    ['a comment that ends', '<!-- a -->', '\n<!-- a -->\n\n*'],
  ])('%s ends with the text', async (_name, text, expected) => {
    const markdown = await exported(sessionOf([prompt('x'), reply(text), prompt('y')]), 'md');
    expect(markdown).toContain(expected);
    expect(promptsIn(markdown)).toBe(2);
  });

  test('no text swallows what comes after it', async () => {
    const piece = fc.constantFrom(
      ...[
        '```',
        '~~~',
        '````',
        '<!--',
        '-->',
        '<script>',
        '</script>',
        '<div>',
        '<?',
        '<![CDATA[',
        '> ',
        '- ',
        '1. ',
        '    ',
      ],
      ...['\n', '\n\n', '\n', 'word ', '`', '|', '---\n', '[a]: <', '[', '<pre>', '<textarea', '<!A'],
    );
    const soup = fc.array(piece, { maxLength: 30, size: 'max' }).map((pieces) => pieces.join(''));
    await fc.assert(
      fc.asyncProperty(soup, soup, async (one, two) => {
        const session = sessionOf([
          prompt(one),
          reply({ text: two, thought: true }, two),
          followUp(two),
          prompt('end'),
        ]);
        const added = promptsIn(`${one}\n\n${two}`);
        expect(promptsIn(await exported(session, 'md'))).toBeGreaterThanOrEqual(2 + added);
      }),
      fuzz(40, 20_000),
    );
  });
});
