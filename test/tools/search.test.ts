import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findRipgrep } from '../../src/platform/search-ripgrep.ts';
import { marker, place, put, temporary } from './place.ts';

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
const ENGINES: readonly (readonly [name: string, env: Readonly<Record<string, string>>])[] = [
  ['our own engine', {}],
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
          `${path} is left out by .geminiignore. The user keeps it from models. Go on without it, or ask the user for what you need to know.`,
        );
      }
    }
  },
);

test('what a .geminiignore that cannot be asked may leave out is not shown', async () => {
  const here = await place({ '.geminiignore': 'x*\n'.repeat(3000), 'sub/a.txt': 'canary\n' });
  expect(await here.error('glob', { pattern: '*', path: 'sub' })).toContain('sub is left out by .geminiignore');
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
