import { describe, expect, test } from 'vitest';
import { joinLines } from '../../../src/core/text/trim.ts';
import { markdownStream } from '../../../src/render/markdown/stream.ts';
import { bare, laidOut } from '../laid-out.ts';

describe('layout without styling', () => {
  test.each([
    ['headings', '# One\n\nTwo\n---\n### *Three* ###', '# One\n\n## Two\n### Three\n'],
    ['line breaks of the author', 'a\nb  \nc', 'a\nb\nc\n'],
    ['at most one empty line', 'a\n\n\n\nb\n\n\n', 'a\n\nb\n'],
    ['emphasis', '**b** _i_ ***bi*** `c  d` ~~s~~ ~5', 'b i bi `c  d` ~~s~~ ~5\n'],
    ['emphasis over two lines', 'x **a\nb** y', 'x a\nb y\n'],
    ['nested lists', '- a\n  - b\n    1. c\n- d', '• a\n  • b\n    1. c\n• d\n'],
    ['loose lists', '- a\n\n- b\n\n  more b\n\nend', '• a\n\n• b\n\n  more b\n\nend\n'],
    ['task lists', '- [x] a\n- [ ] b', '[x] a\n[ ] b\n'],
    ['loose task lists', '- [x] a\n\n  more\n- [ ] b', '[x] a\n\n    more\n[ ] b\n'],
    ['numbers as written', '3. a\n4. b\n9) c', '3. a\n4. b\n9) c\n'],
    ['numbers written lazily', '1. a\n1. b\n\n1. c', '1. a\n2. b\n\n3. c\n'],
    ['numbers on both sides of code', '1. a\n\n```\nx\n```\n\n2. b', '1. a\n\nx\n\n2. b\n'],
    ['a list right after prose', 'Look:\n- a\n1. b', 'Look:\n• a\n1. b\n'],
    ['a year that is no list', 'It was\n1984. A cold day.', 'It was\n1984. A cold day.\n'],
    ['quotes', '> a\n> b\n>\n> - c', '│ a\n│ b\n│\n│ • c\n'],
    ['rules', 'a\n\n***', `a\n\n${'─'.repeat(60)}\n`],
    ['code in a list', '- a\n  ```js\n  - x\n\n  y\n  ```\n- b', '• a\n\n  js\n  - x\n\n  y\n\n• b\n'],
    [
      'code in an inner list, and the numbers around it',
      '2. a\n   1. b\n      ```\n      x\n        y\n      ```\n      more\n   2. c\n3. d',
      '2. a\n   1. b\n\n      x\n        y\n\n      more\n   2. c\n3. d\n',
    ],
    ['code that an item begins with', '- ```js\n  x\n  ```\n- b', '•\n\n  js\n  x\n\n• b\n'],
    ['code after two markers', '1. - ```js\n     x\n     ```\n   - b', '1. •\n\n     js\n     x\n\n   • b\n'],
    [
      'code below wide markers, where their text is shown',
      '*   a\n    *   b\n\n        ```\n        x\n        ```\n        more\n    *   c\n*   d',
      '• a\n  • b\n\n    x\n\n    more\n  • c\n• d\n',
    ],
    ['code in an indented list', '  - a\n    ```\n    x\n    ```\n  - b', '• a\n\n  x\n\n• b\n'],
    ['code of a task', '- [ ] a\n  ```\n  x\n  ```\n- [x] b', '[ ] a\n\n    x\n\n[x] b\n'],
    ['code indented with tabs', '1. a\n\t```\n\tx\n\t\ty\n\t```\n\tmore', '1. a\n\n   x\n   \ty\n\n   more\n'],
    ['code that is less indented than its item', '1. a\n   ```\nx\n ```\n2. b', '1. a\n\n   x\n\n2. b\n'],
    ['code whose end alone is not indented', '- a\n\n  ~~~\n  x\n~~~\n\nb', '• a\n\n  x\n\nb\n'],
    ['indented code', 'a\n\n    b\n      c', 'a\n\n    b\n      c\n'],
    [
      'links',
      '[a](http://x.y "t") <http://u> ![i](p.png) [](http://e)',
      'a (http://x.y "t") http://u i (p.png) http://e\n',
    ],
    [
      'link definitions',
      '[r]: http://x.y\n\n[a][r] and [b][later]',
      '[r]: http://x.y\n\na (http://x.y) and [b][later]\n',
    ],
    ['a definition given twice', '[r]: http://x\n\n[r]: http://y', '[r]: http://x\n\n[r]: http://y\n'],
    ['entities', '&lt;b&gt; &amp;amp; &unknown; &#65;', '<b> &amp; &unknown; A\n'],
    [
      'HTML',
      '<details>\n<summary>s</summary>\n\nx <b>y</b><br>z',
      '<details>\n<summary>s</summary>\n\nx <b>y</b>\nz\n',
    ],
    ['an unclosed fence', '```js\nlet a;\n\nlet b', 'js\nlet a;\n\nlet b\n'],
    ['a fence in a fence', '````\n```\nx\n```\n````\ny', '```\nx\n```\n\ny\n'],
    ['code right below and above words', 'a\n```\nx\n\n\ny\n```\nb', 'a\n\nx\n\n\ny\n\nb\n'],
    ['empty code', 'a\n```\n```\nb', 'a\n\nb\n'],
    ['code in a quote', '> a\n> ```js\n> x\n> ```\n> b', '│ a\n│\n│ js\n│ x\n│\n│ b\n'],
    ['only white space', ' \n\n\t\n', ''],
  ])('keeps %s', async (_name, source, shown) => {
    expect(await laidOut(source)).toBe(shown);
    expect(await laidOut(source, { cuts: [1] })).toBe(shown);
  });

  test('a table is aligned by what its cells show', async () => {
    const source = '| a | 日本語 | right |\n|---|:---:|--:|\n| 1 | 二 | **3** |\n| `long` cell | x | 4 |';
    expect(await laidOut(source)).toBe(
      [
        'a           │ 日本語 │ right',
        '────────────┼────────┼──────',
        '1           │   二   │     3',
        '`long` cell │   x    │     4',
        '',
      ].join('\n'),
    );
  });

  test('a table too wide for the window wraps its cells, at words if it can', async () => {
    const source = '| Name | What it is for |\n|---|---|\n| alpha | to begin with, always |\n| omega | the end |';
    expect(await laidOut(source, { columns: 24 })).toBe(
      [
        'Name  │ What it is for',
        '──────┼─────────────────',
        'alpha │ to begin with,',
        '      │ always',
        '      │',
        'omega │ the end',
        '',
      ].join('\n'),
    );
    expect(await laidOut('|a|b|\n|-|-|\n|supercalifragilistic|日本語の長い文|', { columns: 28 })).toBe(
      [
        'a             │ b',
        '──────────────┼─────────────',
        'supercalifrag │ 日本語の長い',
        'ilistic       │ 文',
        '',
      ].join('\n'),
    );
  });

  test('a table whose columns would be less than twelve wide becomes a list of names and values', async () => {
    const source =
      '| Name of it | What it is for |\n|---|---|\n| alphabet | to begin with, always |\n| omega | the end |';
    expect(await laidOut(source, { columns: 18 })).toBe(
      'Name of it:\n  alphabet\nWhat it is for:\n  to begin with,\n  always\n\nName of it:\n  omega\nWhat it is for:\n  the end\n',
    );
  });

  test('a table with a cell too many is shown as it was written', async () => {
    const source = '| a |\n|---|\n| b | lost? |\n';
    expect(await laidOut(source)).toBe(source);
  });

  test('prose is wrapped at words, and an address is left whole', async () => {
    const source = 'The quick brown fox https://example.com/a/very/long/path jumps';
    expect(await laidOut(source, { columns: 16 })).toBe(
      'The quick brown\nfox\nhttps://example.com/a/very/long/path\njumps\n',
    );
  });

  test('no word is broken in what is shown as written', async () => {
    expect(await laidOut('<p>\n  some words of HTML that go on\n</p>', { columns: 16 })).toBe(
      '<p>\nsome words of\nHTML that go on\n</p>\n',
    );
  });

  test('wide characters wrap anywhere but before a closing mark', async () => {
    expect(await laidOut('日本語の文章は、どこでも折り返す。', { columns: 14 })).toBe(
      '日本語の文章\nは、どこでも折\nり返す。\n',
    );
    expect(await laidOut('한국어 문장은 낱말로', { columns: 14 })).toBe('한국어 문장은\n낱말로\n');
  });

  test('lists and quotes wrap under their own text', async () => {
    expect(await laidOut('- one two three four\n  > five six seven', { columns: 14 })).toBe(
      '• one two\n  three four\n  │ five six\n  │ seven\n',
    );
  });
});

describe('styling', () => {
  test('code is coloured, over line ends too, and stays as it was', async () => {
    const shown = await laidOut('```js\nlet a = `x\ny`; // z\n```', { isStyled: true });
    expect(shown).toBe(
      [
        '\u001b[2mjs\u001b[22m',
        '\u001b[35mlet\u001b[39m a = \u001b[32m`x\u001b[39m',
        '\u001b[32my`\u001b[39m; \u001b[2m// z\u001b[22m',
        '',
      ].join('\n'),
    );
  });

  test('in a diff the changed words are marked, in a list too', async () => {
    const red = (text: string): string => `\u001b[31m${text}\u001b[39m`;
    const green = (text: string): string => `\u001b[32m${text}\u001b[39m`;
    const mark = (text: string): string => `\u001b[7m${text}\u001b[27m`;
    const source = '```diff\n@@ -1 +1,2 @@\n-let port = 80;\n+let port = 8080;\n+start();\n same\n-gone\n```';
    const body = [
      '\u001b[2m@@ -1 +1,2 @@\u001b[22m',
      red('-') + red('let port = ') + red(mark('80')) + red(';'),
      green('+') + green('let port = ') + green(mark('8080')) + green(';'),
      green('+start();'),
      ' same',
      red('-gone'),
    ];
    const shown = ['\u001b[2mdiff\u001b[22m', ...body, ''].join('\n');
    for (const cuts of [[1], [7, 3], [1e9]]) expect(await laidOut(source, { isStyled: true, cuts })).toBe(shown);
    const item = `- a\n${source.replace(/^/gm, '  ')}`;
    expect(await laidOut(item, { isStyled: true })).toContain(`  ${body[1]}\n  ${body[2]}\n`);
    expect(await laidOut('```diff\n-a b c\n+a x c', { isStyled: true })).toContain(green(mark('x')));
  });

  test('a link can be opened, and shows where it leads', async () => {
    expect(await laidOut('[a](https://x.y/ü)', { isStyled: true, hasLinks: true })).toBe(
      '\u001b]8;;https://x.y/%C3%BC\u001b\\\u001b[4ma\u001b[24m\u001b]8;;\u001b\\ ' +
        '\u001b]8;;https://x.y/%C3%BC\u001b\\\u001b[2m(https://x.y/ü)\u001b[22m\u001b]8;;\u001b\\\n',
    );
  });

  test('an address of another kind is no link', async () => {
    expect(await laidOut('[a](javascript:alert)', { isStyled: true, hasLinks: true })).not.toContain('\u001b]8');
  });

  test('an entity cannot smuggle a control character in', async () => {
    for (const entity of ['&#27;', '&#x1b;', '&#155;', '&#8238;', '&#7;']) {
      for (const source of [
        `a ${entity}[31m`,
        `[x](http://a/${entity} "${entity}")`,
        `\`${entity}\``,
        `| ${entity} |\n|---|\n`,
      ]) {
        expect(await laidOut(source)).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/);
        expect(bare(await laidOut(source, { isStyled: true }))).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/);
      }
    }
  });
});

describe('streaming', () => {
  test('each block is shown when it closes, code line by line, items one by one, tables whole', async () => {
    const stream = markdownStream({ columns: () => 80, isStyled: false });
    const steps: readonly (readonly [string, string])[] = [
      ['# T', ''],
      ['\n', '# T\n'],
      ['one\n', ''],
      ['two\n', 'one\n'],
      ['\n', 'two\n'],
      ['- a\n', ''],
      ['- b\n', '\n• a\n'],
      ['\n```\n', '• b\n'],
      ['co', ''],
      ['de\n', '\ncode\n'],
      ['```\n', ''],
      ['a|b\n-|-\n', ''],
      ['1|2\n', ''],
      ['\n', '\na │ b\n──┼──\n1 │ 2\n'],
    ];
    for (const [delta, shown] of steps) expect(await stream.push(delta)).toBe(shown);
    expect(await stream.end()).toBe('');
  });

  test('after an end the next text starts afresh', async () => {
    const stream = markdownStream({ columns: () => 80, isStyled: false });
    expect(await stream.push('```\nx')).toBe('');
    expect(await stream.end()).toBe('x\n');
    expect((await stream.push('*y*')) + (await stream.end())).toBe('y\n');
  });

  test('a paragraph of many lines is shown line by line', async () => {
    const stream = markdownStream({ columns: () => 80, isStyled: false });
    await stream.push('0\n');
    for (let count = 1; count < 2_000; count += 1) expect(await stream.push(`${count}\n`)).toBe(`${count - 1}\n`);
    expect(await stream.end()).toBe('1999\n');
  });

  test.each([
    ['```\na\n``', '`\n**b**', 'a\n``\n\nb\n'],
    ['```\na\n```', '\n**b**', 'a\n```\nb\n'],
    ['- ```\n  a\n  ``', '`\n- b', '•\n\n  a\n  ``\n\n• b\n'],
    ['```\nab', '\nc\n```', 'ab\nc\n'],
    ['*   ```\n    x\n    ```\n    a\n', '    ```\n    y\n    ```\n*   b', '•\n\n  x\n\n  a\n\n  y\n\n• b\n'],
    ['a\n``', '`\n**b**\n```', 'a\n\n**b**\n'],
    ['``', '`\n**b**\n```', '\n**b**\n'],
    ['```j', 's\n**b**\n```', '\njs\n**b**\n'],
  ])('what is left when the window changes goes on as what it is: %j, %j', async (first, rest, shown) => {
    const stream = markdownStream({ columns: () => 40, isStyled: false });
    const above = await stream.push(first);
    const { live } = await stream.preview(10);
    await stream.leave(live.length);
    expect(above + joinLines(live) + (await stream.push(rest)) + (await stream.end())).toBe(shown);
  });

  test('a very long line of code in an item stays in it', async () => {
    const shown = await laidOut(`- a\n  \`\`\`\n  ${'x'.repeat(150_000)}\n  \`\`\`\n- b`);
    const lines = shown.split('\n');
    expect(lines.filter((line) => !line.startsWith('  x'))).toEqual(['• a', '', '', '• b', '']);
    expect(shown.match(/x/g)).toHaveLength(150_000);
  });

  test.each(['> ', '- ', '1. ', '> - '])(
    'a word after %j that is longer than the window is shown to its end',
    async (marks) => {
      const stream = markdownStream({ columns: () => 80, isStyled: false });
      const above = await stream.push(marks + 'x'.repeat(4000));
      const { complete, live } = await stream.preview(20);
      const shown = above + complete + joinLines(live);
      expect(shown.match(/x/g)).toHaveLength(4000);
    },
  );

  test('words in very deep items do not fill the screen with blanks', async () => {
    const marker = '123456789. '.repeat(10);
    const items = Array.from({ length: 20 }, (_, depth) => `${' '.repeat(depth * marker.length)}${marker}a\n`).join('');
    const indent = ' '.repeat(20 * marker.length);
    const text = `${items}${indent}\`\`\`\n${indent}\`\`\`\n${`${indent}${'a '.repeat(2000)}\n`.repeat(5)}`;
    expect((await laidOut(text)).length).toBeLessThan(5 * text.length);
  });

  test('what the lexer cannot take is shown as it is', async () => {
    for (const depth of [50, 1_000, 3_000, 9_000])
      expect(await laidOut(`${'>'.repeat(depth)} deep`)).toMatch(/deep\n$/);
    const deep = '>'.repeat(9_000);
    expect(await laidOut(`${deep} deep`)).toBe(`${deep} deep\n`);
    const long = '_a'.repeat(50_000);
    expect((await laidOut(long)).replaceAll('\n', '')).toBe(long);
  });
});
