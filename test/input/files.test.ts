import { mkdirSync, symlinkSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { toSlashes } from '../../src/core/text/path.ts';
import { fifo, posixTest } from '../support/posix.ts';
import { temporary } from '../support/temporary.ts';
import { contentOf, fakeStdin } from './support.ts';

const PNG = Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1');
const PNG_PART = { inlineData: { mimeType: 'image/png', data: PNG.toString('base64') } };

const textOf = async (cwd: string, ...files: string[]) => {
  const { content, notices } = await contentOf({ cwd, files, prompt: 'go' });
  return { parts: content.parts, notices };
};
/** The names over the blocks, in order. */
const namesOf = async (cwd: string, ...files: string[]) => {
  const { parts, notices } = await textOf(cwd, ...files);
  const text = parts.flatMap((part) => ('text' in part ? [part.text] : [])).join('');
  return { names: [...text.matchAll(/^=== (.*) ===$/gm)].map(([, name]) => name), notices };
};
const faultOf = (cwd: string, ...files: string[]) =>
  textOf(cwd, ...files).then(
    () => 'none',
    (error: { message: string; hint: string; exitCode: number; fault: string }) =>
      `${error.fault} ${error.exitCode}: ${error.message} | ${error.hint}`,
  );

test('text files come under their paths, in the order given, before the prompt', async () => {
  const cwd = temporary({ 'a.txt': 'one\n', 'src/b.ts': 'two\r\n' });
  expect(await textOf(cwd, 'src/b.ts', './a.txt')).toEqual({
    parts: [{ text: '=== src/b.ts ===\ntwo\r\n\n\n=== ./a.txt ===\none\n\n\ngo' }],
    notices: [],
  });
});

test('media is attached before the text, by content, whatever it is called', async () => {
  const cwd = temporary({ 'picture.txt': PNG, 'a.png': 'not a picture' });
  expect(await textOf(cwd, 'a.png', 'picture.txt')).toEqual({
    parts: [PNG_PART, { text: '=== a.png ===\nnot a picture\n\ngo' }],
    notices: [],
  });
});

test('the same file is sent once, by whatever way it is named', async () => {
  const cwd = temporary({ 'd/a.txt': 'x' });
  symlinkSync('d/a.txt', join(cwd, 'link'));
  expect(await namesOf(cwd, 'd/a.txt', 'link', './d/../d/a.txt', 'd', '**/*.txt', join(cwd, 'd/a.txt'))).toEqual({
    names: ['d/a.txt'],
    notices: [],
  });
});

test('a file outside the working directory, ignored or secret, is the choice of the user', async () => {
  const cwd = temporary({ '.gitignore': '*.log', 'a.log': 'x', '.env': 'KEY=1', 'sub/b': '' });
  expect((await namesOf(join(cwd, 'sub'), '../a.log', '../.env')).names).toEqual(['../a.log', '../.env']);
});

test('a missing file is named, with what may have been meant', async () => {
  const cwd = temporary({ 'README.md': '', 'src/index.ts': '' });
  symlinkSync('nowhere', join(cwd, 'dangling'));
  expect(await faultOf(cwd, 'readme.dm')).toBe('usage 1: no such file: readme.dm | Did you mean README.md?');
  expect(await faultOf(cwd, 'src/idnex.ts')).toBe('usage 1: no such file: src/idnex.ts | Did you mean src/index.ts?');
  expect(await faultOf(cwd, 'other.bin')).toBe(`usage 1: no such file: other.bin | Paths start at ${cwd}.`);
  expect(await faultOf(cwd, 'lib/a')).toBe(
    `usage 1: no such file: lib/a | There is no directory lib either. Paths start at ${cwd}.`,
  );
  expect(await faultOf(cwd, 'dangling')).toBe(
    'usage 1: no such file: dangling | It is a symbolic link to a file that does not exist.',
  );
  expect(await faultOf(cwd, '~/a')).toBe(
    'usage 1: no such file: ~/a | gmn does not expand ~: leave out the quotes, or write "$HOME/…".',
  );
  expect(await faultOf(cwd, '')).toBe('usage 1: -f was given an empty path | Name a file: -f <path>');
});

test('a missing file is found out before stdin is waited for', async () => {
  const { stdin, state } = fakeStdin('pipe');
  await expect(contentOf({ cwd: temporary(), files: ['-', 'gone'], stdin })).rejects.toThrow('no such file: gone');
  expect(state.opened).toBe(0);
});

test('an address is refused with the way around', async () => {
  expect(await faultOf(temporary(), 'https://example.com/a')).toBe(
    `usage 1: -f does not fetch addresses yet: https://example.com/a | Fetch it yourself: curl -fsSL 'https://example.com/a' | gmn "…"`,
  );
});

posixTest('what cannot be sent is refused with its reason', async () => {
  const cwd = temporary({ 'a.out': '\x7fELF\0', 'latin.txt': Buffer.from('caf\xe9', 'latin1'), huge: '' });
  truncateSync(join(cwd, 'huge'), 2_000_000_000);
  fifo(join(cwd, 'fifo'));
  expect(await faultOf(cwd, 'a.out')).toMatch(
    /^usage 1: a\.out is neither text nor media that can be sent \(NUL at byte 4\) \| /,
  );
  expect(await faultOf(cwd, 'latin.txt')).toMatch(/^usage 1: latin\.txt is not valid UTF-8 \(at byte 3\) \| .*iconv/);
  expect(await faultOf(cwd, 'huge')).toMatch(/^usage 1: huge is 2\.0 GB; at most 20 MB can be sent \| /);
  expect(await faultOf(cwd, 'fifo')).toMatch(/^usage 1: fifo is not a regular file \| /);
});

test('files that are too much together are refused, and the largest is named', async () => {
  const cwd = temporary({
    'a.txt': 'a'.repeat(9_000_000),
    'b.txt': 'b'.repeat(12_000_000),
    'c.png': Buffer.concat([PNG, Buffer.alloc(16e6)]),
  });
  expect(await faultOf(cwd, 'a.txt', 'b.txt')).toMatch(
    /^usage 1: the input is larger than 20 MB, the most that can be sent; the largest is b\.txt \(12\.0 MB\) \| /,
  );
  expect(await faultOf(cwd, 'c.png')).toMatch(/the largest is c\.png \(16\.0 MB\)/);
});

test('a directory is its files, in order, without .git and what ignore files leave out', async () => {
  const cwd = temporary({
    '.git/config': '',
    '.gitignore': '*.log\n/build/\nnode_modules\n',
    '.geminiignore': 'private.md\n',
    'build/x.js': '',
    'node_modules/p/index.js': '',
    'sub/.gitignore': '!keep.log\n*.tmp\n',
    'sub/keep.log': '',
    'sub/drop.log': '',
    'sub/a.tmp': '',
    'sub/build/y.js': '',
    'sub/private.md': '',
    'a.tmp': '',
    'z.ts': '',
    '.hidden': '',
  });
  const kept = [
    '.geminiignore',
    '.gitignore',
    '.hidden',
    'a.tmp',
    'sub/.gitignore',
    'sub/build/y.js',
    'sub/keep.log',
    'z.ts',
  ];
  expect(await namesOf(cwd, '.')).toEqual({ names: kept, notices: [] });
  expect((await namesOf(cwd, 'sub/')).names).toEqual(['sub/.gitignore', 'sub/build/y.js', 'sub/keep.log']);
  expect((await namesOf(join(cwd, 'sub'), '.')).names).toEqual(['.gitignore', 'build/y.js', 'keep.log']);
  expect((await namesOf(cwd, 'node_modules')).names).toEqual(['node_modules/p/index.js']);
});

test('no .gitignore lifts what a .geminiignore leaves out, in the same directory or below', async () => {
  const cwd = temporary({
    '.git/HEAD': '',
    '.geminiignore': 'private.md\nhidden/\n*.draft\n!shared.draft\n',
    '.gitignore': '!private.md\n',
    'private.md': 'PRIVATE',
    'sub/.gitignore': '!private.md\n!hidden\n!*.draft\n',
    'sub/private.md': 'PRIVATE',
    'sub/hidden/a.md': 'PRIVATE',
    'sub/b.draft': 'PRIVATE',
    'sub/shared.draft': 'shared',
    'sub/own/.geminiignore': '!private.md\n',
    'sub/own/private.md': 'released by the user',
    'sub/z.md': '',
  });
  const below = ['sub/.gitignore', 'sub/own/.geminiignore', 'sub/own/private.md', 'sub/shared.draft', 'sub/z.md'];
  expect((await namesOf(cwd, '.')).names).toEqual(['.geminiignore', '.gitignore', ...below]);
  expect((await namesOf(cwd, 'sub')).names).toEqual(below);
  expect((await namesOf(cwd, 'sub/**/*.{md,draft}')).names).toEqual(below.filter((name) => /md$|draft$/.test(name)));
  const mentions = '@private.md @sub @sub/private.md @sub/hidden @sub/hidden/a.md @sub/b.draft';
  const { content, notices } = await contentOf({ prompt: mentions, cwd });
  expect(JSON.stringify(content)).not.toContain('PRIVATE');
  expect(
    notices.filter((notice) => notice.endsWith('is left out by an ignore file (-f or /file attaches it)')).length,
  ).toBe(5);
});

posixTest('what a directory cannot or should not send is skipped, with a notice', async () => {
  const cwd = temporary({
    'd/a.txt': 'x',
    'd/p.png': PNG,
    'd/a.o': '\0',
    'd/b.o': '\0',
    'd/latin.txt': Buffer.from([0xe9]),
    'd/z.o': '\0',
    'd/.env.local': 'KEY=1',
    'd/id_rsa': 'k',
    'outside.txt': 'secret',
  });
  symlinkSync('../outside.txt', join(cwd, 'd/link'));
  symlinkSync('.', join(cwd, 'd/loop'));
  fifo(join(cwd, 'd/fifo'));
  expect(await textOf(cwd, 'd')).toEqual({
    parts: [PNG_PART, { text: '=== d/a.txt ===\nx\n\ngo' }],
    notices: [
      'left out 4 files (neither text nor media that can be sent): d/a.o, d/b.o, d/latin.txt, …',
      'left out 2 files (may hold secrets; to send one, name it with -f): d/.env.local, d/id_rsa',
      'left out 2 files (symbolic links): d/link, d/loop',
    ],
  });
});

test('a link to a directory is followed when it is named', async () => {
  const cwd = temporary({ 'real/a.txt': '' });
  symlinkSync('real', join(cwd, 'link'));
  expect((await namesOf(cwd, 'link')).names).toEqual(['link/a.txt']);
});

test('an empty directory is an error, and so is one with too many files', async () => {
  const many = Object.fromEntries(Array.from({ length: 1001 }, (_, index) => [`many/${index}.txt`, '']));
  const cwd = temporary(many);
  mkdirSync(join(cwd, 'empty'));
  expect(await faultOf(cwd, 'empty')).toMatch(/^usage 1: no files to send in empty \| /);
  expect(await faultOf(cwd, 'many')).toMatch(/^usage 1: more than 1000 files in many \| /);
});

test('a glob is expanded in order, ignore files honoured', async () => {
  const cwd = temporary({
    '.gitignore': 'gen',
    'src/b.ts': '',
    'src/a.ts': '',
    'src/c.js': '',
    'src/deep/d.ts': '',
    'src/gen/e.ts': '',
    'src/.hidden.ts': '',
    'top.ts': '',
    'id_rsa.pem': '',
  });
  expect((await namesOf(cwd, 'src/*.ts')).names).toEqual(['src/a.ts', 'src/b.ts']);
  expect((await namesOf(cwd, '**/*.ts')).names).toEqual(['src/a.ts', 'src/b.ts', 'src/deep/d.ts', 'top.ts']);
  expect((await namesOf(cwd, '{src/deep/*,top}.ts')).names).toEqual(['src/deep/d.ts', 'top.ts']);
  expect((await namesOf(cwd, 's?c/[bc].*')).names).toEqual(['src/b.ts', 'src/c.js']);
  expect((await namesOf(cwd, './src/*.js')).names).toEqual(['src/c.js']);
  expect((await namesOf(join(cwd, 'src'), '../t*.ts')).names).toEqual(['../top.ts']);
  expect((await namesOf(cwd, join(cwd, 'src/*.js'))).names).toEqual([toSlashes(join(cwd, 'src/c.js'))]);
  expect((await namesOf(cwd, 'src/**')).names).toEqual(['src/a.ts', 'src/b.ts', 'src/c.js', 'src/deep/d.ts']);
  expect((await namesOf(cwd, 'src/**/@(b|d).ts')).names).toEqual(['src/b.ts', 'src/deep/d.ts']);
  expect(await namesOf(cwd, '*.pem')).toEqual({
    names: [],
    notices: ['left out 1 file (may hold secrets; to send one, name it with -f): id_rsa.pem'],
  });
  expect(await faultOf(cwd, '*.py')).toMatch(/^usage 1: no file matches \*\.py \| /);
  expect(await faultOf(cwd, 'nowhere/*.py')).toMatch(/^usage 1: no file matches nowhere\/\*\.py \| /);
});

test('names that begin with a dot are found only by patterns that do, too', async () => {
  const cwd = temporary({ 'a.md': 'a', '.b.md': 'b', '.d/c.md': 'c', 'e/.f/g.md': 'g', 'e/.h.md': 'h' });
  expect((await namesOf(cwd, '*.md')).names).toEqual(['a.md']);
  expect((await namesOf(cwd, '**/*.md')).names).toEqual(['a.md']);
  expect((await namesOf(cwd, '.*.md')).names).toEqual(['.b.md']);
  expect((await namesOf(cwd, '.d/*')).names).toEqual(['.d/c.md']);
  expect((await namesOf(cwd, 'e/.[f]/*')).names).toEqual(['e/.f/g.md']);
  expect((await namesOf(cwd, '**/.h*')).names).toEqual(['e/.h.md']);
  expect(await faultOf(cwd, 'e/**')).toMatch(/^usage 1: no file matches e/);
});

test('an ignore file that cannot be read is an error, not skipped', async () => {
  const cwd = temporary({ 'd/.gitignore': '*x\n'.repeat(3000), 'd/a.txt': 'a' });
  expect(await faultOf(cwd, 'd')).toMatch(/^usage 1: the ignore files of .* cannot be read, or have too much in them/);
});

test('a file whose name is a glob is that file', async () => {
  const cwd = temporary({ '[a].txt': 'x', 'a.txt': 'y' });
  expect((await namesOf(cwd, '[a].txt')).names).toEqual(['[a].txt']);
});

posixTest('a name with a line end cannot pretend to be another file', async () => {
  const cwd = temporary({ 'a\n=== b': 'x' });
  expect((await namesOf(cwd, '.')).names).toEqual(['a?=== b']);
});
