import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fifo, posixTest } from '../support/posix.ts';
import { temporary } from '../support/temporary.ts';
import { contentOf } from './support.ts';

const sendMentions = async (cwd: string, prompt: string, over: object = {}) => {
  const { content, notices } = await contentOf({ cwd, prompt, ...over });
  return { parts: content.parts, notices };
};

test('a mentioned file is attached with a notice; the prompt stays as typed', async () => {
  const cwd = temporary({ 'src/a.ts': 'x'.repeat(3100), 'my notes.txt': 'n' });
  expect(await sendMentions(cwd, 'compare @src/a.ts, (@"my notes.txt") and @my\\ notes.txt')).toEqual({
    parts: [
      {
        text: `=== src/a.ts ===\n${'x'.repeat(3100)}\n\n=== my notes.txt ===\nn\n\ncompare @src/a.ts, (@"my notes.txt") and @my\\ notes.txt`,
      },
    ],
    notices: ['+ src/a.ts (3.1 kB)', '+ my notes.txt (1 B)'],
  });
});

test('mentioned media is attached', async () => {
  const png = Buffer.from('\x89PNG\r\n\x1a\n\0', 'latin1');
  expect(await sendMentions(temporary({ 'a.png': png }), 'what is @a.png?')).toEqual({
    parts: [{ inlineData: { mimeType: 'image/png', data: png.toString('base64') } }, { text: 'what is @a.png?' }],
    notices: ['+ a.png (PNG, 9 B)'],
  });
});

test('a mentioned directory is its files', async () => {
  const cwd = temporary({ '.gitignore': '*.log', 'd/a': '1', 'd/b': '22', 'd/c.log': '' });
  expect(await sendMentions(cwd, '@d')).toEqual({
    parts: [{ text: '=== d/a ===\n1\n\n=== d/b ===\n22\n\n@d' }],
    notices: ['+ d (2 files, 3 B)'],
  });
});

test('an unknown resource stays text, with a notice; other words with a colon get none', async () => {
  const cwd = temporary();
  const words = 'see @notes://1, @notes:memo://2 and @https://x.org/y @a:b @me:// @x@y.org:8080 @std::io';
  const parts = [{ text: words }];
  const without = (server: string): string =>
    `names an MCP server, and none is in use (--allowed-mcp-server-names ${server} uses it)`;
  expect(await sendMentions(cwd, words)).toEqual({
    parts,
    notices: [`not attached: @notes://1 ${without('notes')}`, `not attached: @notes:memo://2 ${without('notes')}`],
  });
  const readResource = async () => undefined;
  expect(await sendMentions(cwd, words, { readResource })).toEqual({
    parts,
    notices: [
      'not attached: @notes://1 is not a resource of an MCP server in use here',
      'not attached: @notes:memo://2 is not a resource of an MCP server in use here',
    ],
  });
});

test('a file given with -f is not attached again', async () => {
  const cwd = temporary({ a: 'x' });
  expect(await sendMentions(cwd, 'see @a', { files: ['a'] })).toEqual({
    parts: [{ text: '=== a ===\nx\n\nsee @a' }],
    notices: [],
  });
});

test('what stands for nothing is text, without a word', async () => {
  const cwd = temporary({ a: 'x', file: '' });
  symlinkSync('loop', join(cwd, 'loop'));
  const prompt = `me@a.com @handle @types/node @docs:a @ @file/x @loop @${'n'.repeat(300)} "@a"`;
  expect(await sendMentions(cwd, prompt)).toEqual({ parts: [{ text: prompt }], notices: [] });
});

test('the search for a file of that name ends with the run', async () => {
  const controller = new AbortController();
  const readResource = async () => controller.abort(new Error('ended'));
  const over = { readResource, signal: controller.signal };
  await expect(sendMentions(temporary({ 'src/main.ts': '' }), '@main.ts', over)).rejects.toThrow('ended');
});

test('what looks like a path but is no file stays text, with a notice that names the nearest file', async () => {
  const cwd = temporary({ 'src/main.ts': 'x', 'README.md': '' });
  const prompt =
    'see @src/mian.ts, @scr/main.ts @READNE.md (@notes.txt) @main.ts @./zzz @../x.md @app.get @example.com';
  expect(await sendMentions(cwd, prompt)).toEqual({
    parts: [{ text: prompt }],
    notices: [
      'not attached: there is no file src/mian.ts; did you mean @src/main.ts?',
      'not attached: there is no file scr/main.ts; did you mean @src/main.ts?',
      'not attached: there is no file READNE.md; did you mean @README.md?',
      'not attached: there is no file notes.txt',
      'not attached: there is no file main.ts; did you mean @src/main.ts?',
      'not attached: there is no file ./zzz',
      'not attached: there is no file ../x.md',
    ],
  });
});

test('an escaped mention loses its backslash and nothing else', async () => {
  const cwd = temporary({ a: 'x' });
  expect(await sendMentions(cwd, '\\@a b\\@a \\n')).toEqual({ parts: [{ text: '@a b\\@a \\n' }], notices: [] });
});

test('with mentions off the prompt is sent as it is', async () => {
  const cwd = temporary({ a: 'x' });
  expect(await sendMentions(cwd, '\\@a @a', { allowsMentions: false })).toEqual({
    parts: [{ text: '\\@a @a' }],
    notices: [],
  });
});

test('nothing outside the working directory is attached, by whatever way', async () => {
  const root = temporary({ 'outside.txt': 'secret', 'w/a': '', 'outdir/b': 'secret', 'workspace2/c': 'secret' });
  const cwd = join(root, 'w');
  symlinkSync('../outside.txt', join(cwd, 'link'));
  symlinkSync('../outdir', join(cwd, 'dir'));
  const prompt = `@../outside.txt @${root}/outside.txt @link @dir @dir/b @../workspace2/c`;
  const { parts, notices } = await sendMentions(cwd, prompt);
  expect(parts).toEqual([{ text: prompt }]);
  expect(notices).toEqual(
    prompt
      .split(' ')
      .map((mention) => `not attached: ${mention} is outside the working directory (-f or /file attaches it)`),
  );
});

test('a working directory that is reached through a link is still one', async () => {
  const root = temporary({ 'real/a': 'x' });
  symlinkSync('real', join(root, 'link'));
  expect((await sendMentions(join(root, 'link'), '@a')).notices).toEqual(['+ a (1 B)']);
});

posixTest('what is ignored, secret or no file stays text, with a notice', async () => {
  const cwd = temporary({
    '.git/config': '',
    '.gitignore': 'dist\n*.log',
    'dist/a.js': '',
    'b.log': '',
    '.env': 'KEY=1',
    '.npmrc': '',
    'certs/Site.PEM': '',
    id_ed25519: '',
    'a.out': '\0',
  });
  symlinkSync('.env', join(cwd, 'notes.txt'));
  fifo(join(cwd, 'fifo'));
  const refusals = {
    'dist/a.js': 'is left out by an ignore file (-f or /file attaches it)',
    dist: 'is left out by an ignore file (-f or /file attaches it)',
    'b.log': 'is left out by an ignore file (-f or /file attaches it)',
    '.git/config': 'may hold secrets (-f or /file attaches it)',
    '.env': 'may hold secrets (-f or /file attaches it)',
    '.npmrc': 'may hold secrets (-f or /file attaches it)',
    'certs/Site.PEM': 'may hold secrets (-f or /file attaches it)',
    id_ed25519: 'may hold secrets (-f or /file attaches it)',
    'notes.txt': 'may hold secrets (-f or /file attaches it)',
    fifo: 'is not a regular file',
    'a.out': 'is neither text nor media that can be sent',
  };
  const prompt = Object.keys(refusals)
    .map((name) => `@${name}`)
    .join(' ');
  expect(await sendMentions(cwd, prompt)).toEqual({
    parts: [{ text: prompt }],
    notices: Object.entries(refusals).map(([name, why]) => `not attached: @${name} ${why}`),
  });
});

test('a mentioned directory without files gets a notice, and one that is attached already gets none', async () => {
  const cwd = temporary({ 'd/a': '1' });
  mkdirSync(join(cwd, 'empty'));
  expect(await sendMentions(cwd, '@empty @d @d @d/a')).toEqual({
    parts: [{ text: '=== d/a ===\n1\n\n@empty @d @d @d/a' }],
    notices: ['not attached: @empty has no files to send', '+ d (1 file, 1 B)'],
  });
});

test('inside an ignored directory, what is above it does not count', async () => {
  const root = temporary({
    '.git/config': '',
    '.gitignore': 'scratch\n*.md',
    'scratch/.gitignore': '*.log',
    'scratch/a.md': '',
    'scratch/b.log': '',
  });
  expect((await sendMentions(join(root, 'scratch'), '@a.md @b.log')).notices).toEqual([
    '+ a.md (0 B)',
    'not attached: @b.log is left out by an ignore file (-f or /file attaches it)',
  ]);
});
