import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { findRequiredLiteral } from '../../../src/core/text/pattern-literal.ts';
import { findRipgrep } from '../../../src/tools/search/ripgrep.ts';
import { createLineCollector, foldBytes, searchFile } from '../../../src/tools/search/worker.ts';
import { fuzz } from '../../support/fuzz.ts';
import { marker, place, put, temporary } from '../place.ts';

const FILES = {
  '.gitignore': 'out/\n*.log\n!keep.log\n',
  'a.txt': 'one\ntwo Needle\nthree\nfour\nneedle five\n',
  'out/b.txt': 'needle\n',
  'c.log': 'needle\n',
  'keep.log': 'needle\n',
  'src/.geminiignore': 'secret.ts\n',
  'src/secret.ts': 'needle\n',
  'src/d.ts': 'const needle = 1;\r\n',
  'src/deep/e.md': '# needle\n',
  'node_modules/x/index.js': 'needle\n',
  '.git/HEAD': 'needle\n',
  '.hidden/f.txt': 'needle\n',
  '.env': 'needle\n',
  'bin.dat': Buffer.from([110, 101, 101, 100, 108, 101, 0, 10]),
} as const;

/** Both engines, where the other one is installed. */
const ENGINES: readonly (readonly [name: string, env: Readonly<Record<string, string>> | undefined])[] = [
  ['our own engine', undefined],
  ...(findRipgrep(process.env, []) === undefined ? [] : [['ripgrep', { PATH: process.env.PATH ?? '' }] as const]),
];

test.each(ENGINES)('%s finds lines in files that are not left out', async (_, env) => {
  const here = await place(FILES, { env });
  expect(await here.output('search_file_content', { pattern: 'needle' })).toEqual({
    matches: [
      { file: 'a.txt', lines: ['2: two Needle', '5: needle five'] },
      { file: 'keep.log', lines: ['1: needle'] },
      { file: '.hidden/f.txt', lines: ['1: needle'] },
      { file: 'src/d.ts', lines: ['1: const needle = 1;'] },
      { file: 'src/deep/e.md', lines: ['1: # needle'] },
    ],
    note: '1 binary file with a match not shown',
  });
});

/** UTF-16 with its mark. */
function wide(text: string, order: 'little' | 'big'): Buffer {
  const bytes = Buffer.from(`\ufeff${text}`, 'utf16le');
  return order === 'little' ? bytes : bytes.swap16();
}

test.each(ENGINES)('%s finds what is in UTF-16, behind a byte order mark, and behind a late NUL', async (_, env) => {
  const filler = 'ordinary line, grüße\n'.repeat(250_000);
  const here = await place(
    {
      'big-le.txt': wide(`${filler}größe needle\r\nlast`, 'little'),
      'big-be.txt': wide(`needle\n${filler}\nlast needle`, 'big'),
      'le.txt': wide('first\nneedle\r\nnéxt', 'little'),
      'be.txt': wide('needle', 'big'),
      'marked.txt': '\ufeffneedle one\nno\nneedle two\n',
      'nul.log': `needle 1\n${'x'.repeat(79)}\n`.padEnd(200_000, 'y').concat('\n\0\nneedle 2\n'),
      'plain.txt': 'a needle\n',
    },
    { env },
  );
  expect(await here.output('search_file_content', { pattern: '^(größe )?needle|last' })).toEqual({
    matches: [
      { file: 'be.txt', lines: ['1: needle'] },
      { file: 'big-be.txt', lines: ['1: needle', '250003: last needle'] },
      { file: 'big-le.txt', lines: ['250001: größe needle', '250002: last'] },
      { file: 'le.txt', lines: ['2: needle'] },
      { file: 'marked.txt', lines: ['1: needle one', '3: needle two'] },
      { file: 'nul.log', lines: ['1: needle 1', '5: needle 2'] },
    ],
  });
});

// Other systems have no such names.
if (process.platform === 'linux') {
  test.each(ENGINES)('%s says that a name which is not UTF-8 kept it from a file', async (_, env) => {
    const here = await place({ 'a.txt': 'needle\n' }, { env });
    writeFileSync(Buffer.concat([Buffer.from(`${here.root}/b`), Buffer.from([0xff])]), 'needle\n');
    expect(await here.output('search_file_content', { pattern: 'needle' })).toEqual({
      matches: [{ file: 'a.txt', lines: ['1: needle'] }],
      note: '1 could not be read',
    });
  });
}

test.each(ENGINES)('%s tells line numbers and lines around a match in a large file', async (_, env) => {
  const lines = Array.from({ length: 120_000 }, (__, index) => `line ${index + 1} of many, nothing in it`);
  for (const at of [1, 29_999, 30_000, 90_000, 120_000]) lines[at - 1] = `needle ${at}`;
  const here = await place({ 'large.txt': lines.join('\n') }, { env });
  const around = (at: number): string => `${at}- line ${at} of many, nothing in it`;
  expect(await here.output('search_file_content', { pattern: 'needle', before: 2, after: 1 })).toEqual({
    matches: [
      {
        file: 'large.txt',
        lines: [
          ...['1: needle 1', around(2)],
          ...[around(29_997), around(29_998), '29999: needle 29999', '30000: needle 30000', around(30_001)],
          ...[around(89_998), around(89_999), '90000: needle 90000', around(90_001)],
          ...[around(119_998), around(119_999), '120000: needle 120000'],
        ],
      },
    ],
  });
});

test.each(ENGINES)('%s shows lines around a match, each once', async (_, env) => {
  const here = await place(FILES, { env });
  expect(await here.output('search_file_content', { pattern: 'needle', include: 'a.*', context: 1 })).toEqual({
    matches: [{ file: 'a.txt', lines: ['1- one', '2: two Needle', '3- three', '4- four', '5: needle five'] }],
  });
});

test.each(ENGINES)('%s minds case, plain text, includes, excludes and limits', async (_, env) => {
  const here = await place(FILES, { env });
  const names = async (args: Record<string, string | number | boolean>): Promise<unknown> =>
    here.output('search_file_content', { names_only: true, ...args });
  expect(await names({ pattern: 'Needle', case_sensitive: true })).toEqual({ files: ['a.txt'] });
  expect(await names({ pattern: '(?i)NEEDLE five' })).toEqual({ files: ['a.txt'] });
  expect(await names({ pattern: '# needle', fixed_strings: true })).toEqual({ files: ['src/deep/e.md'] });
  expect(await names({ pattern: '1;$' })).toEqual({ files: ['src/d.ts'] });
  expect(await names({ pattern: 'needle', include_pattern: 'src/**/*.{ts,md}' })).toEqual({
    files: ['src/d.ts', 'src/deep/e.md'],
  });
  expect(await names({ pattern: 'needle', include_pattern: '*.md' })).toEqual({ files: ['src/deep/e.md'] });
  expect(await names({ pattern: 'needle', path: 'src', exclude_pattern: '*.md' })).toEqual({ files: ['src/d.ts'] });
  expect(await names({ pattern: 'needle', path: 'out' })).toEqual({ files: ['out/b.txt'] });
  expect(await names({ pattern: 'needle', path: 'out', no_ignore: true })).toEqual({ files: ['out/b.txt'] });
  expect(await names({ pattern: 'needle', no_ignore: true, include: '*.log' })).toEqual({
    files: ['c.log', 'keep.log'],
  });
  const some = await here.output('search_file_content', { pattern: 'needle', total_max_matches: 2 });
  expect(some).toEqual({
    matches: [{ file: 'a.txt', lines: ['2: two Needle', '5: needle five'] }],
    note: 'there may be more; use a narrower pattern or directory',
  });
});

test.each(ENGINES)('%s finds the same files by their names', async (_, env) => {
  const here = await place(FILES, { env });
  const files = async (args: Record<string, string | boolean>): Promise<unknown> => here.output('glob', args);
  expect(await files({ pattern: '*.ts' })).toEqual({ files: ['src/d.ts'] });
  expect(await files({ pattern: '**/*' })).toEqual({
    files: [
      '.gitignore',
      'a.txt',
      'bin.dat',
      'keep.log',
      '.hidden/f.txt',
      'src/.geminiignore',
      'src/d.ts',
      'src/deep/e.md',
    ],
  });
  expect(await files({ pattern: '*.{log,MD}' })).toEqual({ files: ['keep.log', 'src/deep/e.md'] });
  expect(await files({ pattern: '*.LOG', case_sensitive: true })).toEqual({ files: [] });
  expect(await files({ pattern: 'src/*' })).toEqual({ files: ['src/.geminiignore', 'src/d.ts'] });
  expect(await files({ pattern: '*.txt', path: 'out' })).toEqual({ files: ['out/b.txt'] });
  expect(await files({ pattern: '*.log', respect_git_ignore: false })).toEqual({ files: ['c.log', 'keep.log'] });
});

test.each(ENGINES)('%s understands look-around all the same', async (_, env) => {
  const here = await place(FILES, { env });
  expect(await here.output('search_file_content', { pattern: 'needle(?= five)', names_only: true })).toEqual({
    files: ['a.txt'],
  });
});

/** A program that names every file there is, as ripgrep would if nothing were left out. */
function namingAll(): string {
  const tools = temporary();
  const script =
    'case "$*" in *--files*) find . -type f -o -type l | tr "\\n" "\\0";; *) find . -type f | while read -r f; do printf "%s\\0001:1:0:x\\n" "$f"; done;; esac\n';
  marker(tools, join(tools, 'mark'), `PATH=/usr/bin:/bin\n${script}`);
  return tools;
}

test.each(['our own engine', 'ripgrep'])(
  '%s shows nothing of a sensitive directory, although it is named',
  async (engine) => {
    const env = engine === 'ripgrep' ? { PATH: namingAll() } : {};
    const files = { '.aws/credentials': 'canary\n', '.aws/sso/a.json': 'canary\n', '.config/gh/hosts.yml': 'canary\n' };
    const here = await place({ ...files, '.config/a.txt': 'canary\n', '.config/%2eenv': 'canary\n' }, { env });
    symlinkSync('../.aws/credentials', join(here.root, '.config/link'));
    for (const path of ['.aws', '.aws/sso', '.config/gh', './x/../.AWS/../.aws']) {
      expect(await here.error('search_file_content', { pattern: 'canary', path })).toContain('may hold secrets');
      expect(await here.error('glob', { pattern: '**/*', path, respect_git_ignore: false })).toContain(
        'may hold secrets',
      );
      expect(await here.error('list_directory', { path })).toContain('may hold secrets');
    }
    expect(await here.output('search_file_content', { pattern: 'canary', names_only: true })).toEqual({
      files: ['.config/a.txt'],
    });
    expect(await here.output('glob', { pattern: '*', path: '.config' })).toEqual({ files: ['.config/a.txt'] });
  },
);

test.each(['our own engine', 'ripgrep'])(
  '%s finds nothing that .geminiignore leaves out, whatever is asked',
  async (engine) => {
    const env = engine === 'ripgrep' ? { PATH: namingAll() } : {};
    const files = {
      '.geminiignore': 'private/\nkept.txt\n',
      '.gitignore': 'out/\n!kept.txt\n',
      'kept.txt': 'canary\n',
      'sub/.gitignore': '!kept.txt\n',
      'sub/kept.txt': 'canary\n',
      'sub/a.txt': 'canary\n',
      'out/b.txt': 'canary\n',
      'out/kept.txt': 'canary\n',
      'private/deep/c.txt': 'canary\n',
      'nested/.git/HEAD': '',
      'nested/private/d.txt': 'canary\n',
      'nested/kept.txt': 'canary\n',
    };
    const here = await place(files, { env });
    const names = async (args: Record<string, string | boolean>): Promise<unknown> =>
      here.output('search_file_content', { pattern: 'canary', include: '*.txt', names_only: true, ...args });
    expect(await names({})).toEqual({ files: ['sub/a.txt'] });
    expect(await names({ no_ignore: true })).toEqual({ files: ['out/b.txt', 'sub/a.txt'] });
    expect(await names({ path: 'out' })).toEqual({ files: ['out/b.txt'] });
    put(here.root, { '.gitignore': 'x*\n'.repeat(3000) });
    expect(await names({ path: 'sub' })).toEqual({ files: ['sub/a.txt'] });
    expect(await names({ path: 'nested', no_ignore: true })).toEqual({ files: [] });
    expect(await here.output('glob', { pattern: '*.txt', respect_git_ignore: false })).toEqual({
      files: ['out/b.txt', 'sub/a.txt'],
    });
    for (const path of ['private', 'private/deep', 'nested/private']) {
      for (const [tool, args] of [
        ['search_file_content', { pattern: 'canary', path, no_ignore: true }],
        ['glob', { pattern: '*', path, respect_git_ignore: false }],
        ['list_directory', { path }],
      ] as const) {
        expect(await here.error(tool, args)).toBe(
          'it is left out by .geminiignore. The user keeps it from models. Continue without it, or ask the user for what you need to know.',
        );
      }
    }
  },
);

test('what a .geminiignore that cannot be asked may leave out is not shown', async () => {
  const here = await place({ '.geminiignore': 'x*\n'.repeat(3000), 'sub/a.txt': 'canary\n' });
  expect(await here.error('glob', { pattern: '*', path: 'sub' })).toContain('it is left out by .geminiignore');
  expect(await here.output('glob', { pattern: '*', respect_git_ignore: false })).toEqual({
    files: [],
    note: '1 could not be read',
  });
});

test('case is disregarded in classes, ranges, escapes and other alphabets alike', async () => {
  const here = await place({ 'a.txt': 'ABC\nxyz_1\nÄÖ\n\tTab\n' });
  const lines = async (pattern: string): Promise<string> =>
    JSON.stringify(await here.output('search_file_content', { pattern }));
  const patterns = ['[a-c]{3}', '[A-C]{3}', 'a\\Bb', '[Z-a]BC|abc', '\\x41BC', 'äö', '\\tTAB', '^\\S{3}$', '(?<x>abc)'];
  const found = ['ABC', 'ABC', 'ABC', 'ABC', 'ABC', 'ÄÖ', 'Tab', 'ABC', 'ABC'];
  for (const [index, pattern] of patterns.entries()) expect(await lines(pattern), pattern).toContain(found[index]);
  expect(await lines('\\D_\\d')).toContain('2: xyz_1');
  expect(await lines('\\S_\\D')).toBe('{"matches":[]}');
});

test.each(ENGINES)('%s cuts long lines around the match', async (_, env) => {
  const here = await place({ 'long.txt': `${'x'.repeat(10_000)}needle${'y'.repeat(10_000)}\n` }, { env });
  const output = JSON.stringify(await here.output('search_file_content', { pattern: 'needle' }));
  expect(output).toContain('needle');
  expect(output.length).toBeLessThan(800);
});

test.each([
  ['', 'empty'],
  ['(', 'not a valid regular expression'],
  ['x'.repeat(20_000), 'too long'],
])('the pattern %j is refused', async (pattern, why) => {
  const here = await place();
  expect(await here.error('search_file_content', { pattern: pattern.slice(0, 20_000) })).toContain(why);
});

test('what .geminiignore leaves out is not read either, by whatever name; what .gitignore leaves out is', async () => {
  const here = await place({
    '.gitignore': 'built.txt\n',
    '.geminiignore': 'private/\nkept.txt\n',
    'built.txt': 'b\n',
    'kept.txt': 'canary\n',
    'private/deep/a.txt': 'canary\n',
    'sub/.geminiignore': 'own.txt\n',
    'sub/own.txt': 'canary\n',
    'sub/other.txt': 'o\n',
    'sub/.git': 'gitdir: elsewhere\n',
  });
  symlinkSync('kept.txt', join(here.root, 'link.txt'));
  for (const path of ['kept.txt', './sub/../kept.txt', 'private/deep/a.txt', 'sub/own.txt', 'link.txt']) {
    expect(await here.error('read_file', { path })).toMatch(
      / is left out by \.geminiignore\. The user keeps it from models/,
    );
  }
  expect(await here.output('read_file', { path: 'built.txt' })).toBe('b');
  expect(await here.output('read_file', { path: 'sub/other.txt' })).toBe('o');
  expect(await here.output('read_file', { path: 'sub/.git' })).toBe('gitdir: elsewhere');
});

test('however a file is cut into pieces, the lines found are those of the text as a whole', () => {
  const path = join(temporary(), 'x');
  const progress = new Int32Array(new SharedArrayBuffer(8));
  const line = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '漢', '😀', '\r', ' '), maxLength: 12 });
  fc.assert(
    fc.property(
      fc.array(line, { maxLength: 30 }),
      fc.constantFrom('utf8', 'utf16le', 'utf16be'),
      fc.record({
        size: fc.integer({ min: 28, max: 60 }),
        hasLiteral: fc.boolean(),
        before: fc.nat(3),
        after: fc.nat(3),
        perFile: fc.integer({ min: 1, max: 5 }),
      }),
      fc.boolean(),
      (lines, encoding, { size, hasLiteral, ...limits }, canSkip) => {
        const text = lines.join('\n');
        const bytes = Buffer.from(`\ufeff${text}`, encoding === 'utf8' ? 'utf8' : 'utf16le');
        writeFileSync(path, encoding === 'utf16be' ? bytes.swap16() : bytes);
        const spec = {
          source: hasLiteral ? 'ab' : 'ab|漢$',
          flags: 'm',
          isFolded: false,
          canSkip,
          progress,
          literal: new Uint8Array(),
          ...limits,
        };
        const pattern = new RegExp(spec.source, spec.flags);
        const buffer = Buffer.alloc(size * 2);
        const scratch = Buffer.alloc(size * 2 + 4);
        const found = searchFile(path, { buffer, scratch, spec, pattern });
        const whole = createLineCollector(spec, pattern);
        (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n').every((each) => text === '' || whole.take(each));
        expect(found).toMatchObject({ kind: 'text', lines: whole.lines });
      },
    ),
  );
});

test('the required literal is in every match', () => {
  const steps =
    'a b abc c+ d? (ab|c) (?:de)? [ab|] . \\. \\( \\d \\bb e{2} f{0,1} fgh{2,}g g* \\x61 \\u0061bc | ^ $ 漢字 é K i'.split(
      ' ',
    );
  const pattern = fc.array(fc.constantFrom(...steps), { maxLength: 6 }).map((parts) => parts.join(''));
  const text = fc.string({ unit: fc.constantFrom(...'abcdefghAB.(|漢字éÉK\u212aiİ1'), maxLength: 14 });
  fc.assert(
    fc.property(pattern, text, fc.boolean(), (source, line, isCaseless) => {
      let expression: RegExp;
      try {
        expression = new RegExp(source, isCaseless ? 'i' : '');
      } catch {
        return;
      }
      const literal = findRequiredLiteral(source, isCaseless);
      const lowered = new RegExp(isCaseless ? source.toLowerCase() : source);
      if (expression.test(line) || lowered.test(isCaseless ? line.toLowerCase() : line)) {
        const bytes = Buffer.from(line);
        const wanted = Buffer.from(Buffer.from(literal).map((byte) => byte | 0x20));
        expect(foldBytes(bytes, Buffer.alloc(bytes.length + 4)).includes(wanted)).toBe(true);
      }
    }),
    fuzz(200),
  );
  expect(
    ['needle_\\d+', 'a(b|c)def', 'foo|bar', 'x{3}yz', 'wörk', 'a.b', '関数\\('].map((each) =>
      findRequiredLiteral(each, true),
    ),
  ).toEqual(['needle_', 'def', '', '', '', '', '関数(']);
});
