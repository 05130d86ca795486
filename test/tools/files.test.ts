import { readFileSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
import { systemMode } from '../support/posix.ts';
import { chmod, place, put } from './place.ts';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

test('the call of the specification, list_directory with "path", works', async () => {
  const here = await place({ 'b.txt': '12345', 'a/x': '', '.gitignore': 'out\n', 'out/x': '', '.env': 'K=1' });
  symlinkSync('b.txt', join(here.root, 'link'));
  expect(await here.call('list_directory', { path: '.' })).toEqual({
    ok: true,
    response: {
      output: {
        entries: [
          { name: 'a/' },
          { name: '.gitignore', bytes: 4 },
          { name: 'b.txt', bytes: 5 },
          { name: 'link', kind: 'symbolic link' },
        ],
        note: '2 not listed: left out by ignore files, or likely to hold secrets',
      },
    },
    summary: '4 entries',
  });
  expect(await here.output('list_directory', { dir_path: 'a', ignore: ['x'] })).toMatchObject({
    entries: [],
  });
  expect(await here.error('list_directory', { dir_path: 'b.txt' })).toBe(
    'b.txt: it is a file, not a directory. Read it with read_file, or name the directory it is in.',
  );
  expect(await here.error('list_directory', { dir_path: 'nope' })).toContain(
    'nope: there is no such file or directory',
  );
});

test('a file is read whole, or by lines, and says how to read on', async () => {
  const text = Array.from({ length: 2500 }, (_, index) => `line ${index + 1}`).join('\n');
  const here = await place({
    'short.txt': 'one\r\ntwo\n',
    'long.txt': text,
    'empty.txt': '',
    'wide.txt': 'w'.repeat(3000),
  });
  expect(await here.output('read_file', { file_path: 'short.txt' })).toBe('one\ntwo');
  expect(await here.output('read_file', { file_path: 'empty.txt' })).toBe('');
  const first = String(await here.output('read_file', { file_path: 'long.txt' })).split('\n');
  expect([first[0], first[1], first.at(-1)]).toEqual([
    '[lines 1 to 2000 of 2500; to continue, set start_line to 2001]',
    'line 1',
    'line 2000',
  ]);
  expect(await here.output('read_file', { file_path: 'long.txt', start_line: 2499 })).toBe(
    '[lines 2499 to 2500 of 2500]\nline 2499\nline 2500',
  );
  expect(await here.output('read_file', { file_path: 'long.txt', start_line: 3, end_line: 4 })).toBe(
    '[lines 3 to 4 of 2500; to continue, set start_line to 5]\nline 3\nline 4',
  );
  expect(await here.error('read_file', { file_path: 'long.txt', start_line: 9000 })).toBe(
    'it has no such line. It has 2500 lines.',
  );
  expect(await here.error('read_file', { file_path: 'long.txt', start_line: 4, end_line: 3 })).toContain('before');
  expect(await here.output('read_file', { file_path: 'wide.txt' })).toBe(
    `[the line is cut; to continue in it, set start_column to 2001]\n${'w'.repeat(2000)}… [line cut, 3000 characters]`,
  );
  expect(await here.error('read_file', { file_path: 'nope.txt' })).toBe(
    'nope.txt: there is no such file. Look with list_directory or glob.',
  );
  expect(await here.error('read_file', { file_path: '.' })).toContain('.: it is a directory');
});

test('a line that is too long is read alone, and from any of its characters on', async () => {
  const line = Array.from({ length: 30_000 }, (_, index) => `${index}`.padStart(5)).join('');
  const here = await place({ 'wide.txt': `a\n${line}\nb\n` });
  const read = async (args: object) => String(await here.output('read_file', { file_path: 'wide.txt', ...args }));
  expect((await read({})).split('\n')).toEqual([
    '[lines are cut after 2000 characters; to read one, set start_line and end_line to it]',
    'a',
    `${line.slice(0, 2000)}… [line cut, 150000 characters]`,
    'b',
  ]);
  expect(await read({ start_line: 2, end_line: 2 })).toBe(
    `[lines 2 to 2 of 3; to continue, set start_line to 3; the line is cut; to continue in it, set start_column to 100001]\n${line.slice(0, 100_000)}… [line cut, 150000 characters]`,
  );
  expect(await read({ start_line: 2, end_line: 2, start_column: 100_001 })).toBe(
    `[lines 2 to 2 of 3; to continue, set start_line to 3]\n${line.slice(100_000)}`,
  );
  expect(await here.error('read_file', { file_path: 'wide.txt', start_column: 150_001 })).toBe(
    'no line that was asked for is that long. Leave start_column out to see how long they are.',
  );
});

test('a file of which only a part of a line was read may not be overwritten', async () => {
  const here = await place({ 'wide.txt': 'w'.repeat(3000) });
  await here.output('read_file', { file_path: 'wide.txt', start_column: 2001 });
  expect(await here.error('write_file', { file_path: 'wide.txt', content: 'x' })).toContain('wide.txt');
});

test('much text is cut at a line, and the next read continues there', async () => {
  const here = await place({ 'big.txt': `${'x'.repeat(1900)}\n`.repeat(400) });
  const output = String(await here.output('read_file', { path: 'big.txt' }));
  expect(output.length).toBeLessThan(257_000);
  expect(output.split('\n')[0]).toBe('[lines 1 to 134 of 400; to continue, set start_line to 135]');
});

test('a file of more than 20 MB is read by lines', async () => {
  const here = await place({
    'huge.txt': 'line of the file\n'.repeat(1_500_000),
    'huge.bin': Buffer.alloc(21_000_000),
  });
  const output = String(
    await here.output('read_file', { path: 'huge.txt', start_line: 1_400_000, end_line: 1_400_001 }),
  );
  expect(output).toBe(
    '[lines 1400000 to 1400001 of more; to continue, set start_line to 1400002]\nline of the file\nline of the file',
  );
  expect(await here.error('read_file', { path: 'huge.txt', start_line: 2_000_000 })).toContain('it has no such line');
  expect(await here.output('read_file', { path: 'huge.bin' })).toBe(
    'It is a binary file of 21.0 MB and cannot be shown.',
  );
  expect(await here.error('write_file', { path: 'huge.txt', content: 'x' })).toContain('larger than 20 MB');
}, 30_000);

test('UTF-16 is read as text, pictures are attached, other bytes are not shown', async () => {
  const here = await place({
    'wide.txt': Buffer.from('\uFEFFhé\n', 'utf16le'),
    'dot.png': PNG,
    'data.bin': Buffer.from([1, 2, 0, 3]),
    'fat.png': Buffer.concat([PNG, Buffer.alloc(15_000_000)]),
  });
  expect(await here.output('read_file', { path: 'wide.txt' })).toBe('hé');
  expect(await here.call('read_file', { path: 'dot.png' })).toEqual({
    ok: true,
    response: { output: `Attached: image/png, ${PNG.length} B.` },
    media: [{ inlineData: { mimeType: 'image/png', data: PNG.toString('base64') } }],
    summary: `image/png, ${PNG.length} B`,
  });
  expect(await here.output('read_file', { path: 'data.bin' })).toBe('It is a binary file of 4 B and cannot be shown.');
  expect(await here.output('read_file', { path: 'fat.png' })).toContain('too large to be attached');
});

test('a new file is made with its directories, and shown first as a diff', async () => {
  const here = await place();
  const args = { file_path: 'a/b/new.txt', content: 'one\ntwo\n' };
  const signal = new AbortController().signal;
  expect(await here.tools.get('write_file')?.preview?.(args, signal)).toEqual({
    kind: 'diff',
    path: 'a/b/new.txt',
    diff: '--- /dev/null\n+++ b/a/b/new.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n',
    added: 2,
    removed: 0,
    texts: { path: join(here.root, 'a/b/new.txt'), before: undefined, after: 'one\ntwo\n' },
  });
  expect(await here.output('write_file', args)).toBe('Created.');
  expect(readFileSync(join(here.root, 'a/b/new.txt'), 'utf8')).toBe('one\ntwo\n');
  expect(await here.output('write_file', { ...args, content: 'three\n' })).toBe('Replaced.');
});

test('a change that leaves less than half of a file is shown with what it had and would have', async () => {
  const here = await place({ 'a.txt': 'one\ntwo\n', 'b.txt': 'x\n' });
  const signal = new AbortController().signal;
  for (const path of ['a.txt', 'b.txt']) await here.output('read_file', { path });
  const preview = (name: string, args: JsonObject) => here.tools.get(name)?.preview?.(args, signal);
  const write = (content: string) => preview('write_file', { file_path: 'a.txt', content });
  expect(await write('one')).toMatchObject({ shrinks: { from: 8, to: 3 } });
  expect(await write('one\n')).toMatchObject({ shrinks: undefined });
  expect(await preview('write_file', { file_path: 'new.txt', content: '' })).toMatchObject({ shrinks: undefined });
  const edit = { file_path: 'b.txt', old_string: 'x\n', new_string: '' };
  expect(await preview('edit_file', edit)).toMatchObject({ shrinks: { from: 2, to: 0 } });
});

test('a file that exists is overwritten only after its content was read', async () => {
  const here = await place({ 'a.txt': 'old\n' });
  const args = { file_path: 'a.txt', content: 'new\n' };
  const signal = new AbortController().signal;
  expect(await here.error('write_file', args)).toContain('it exists and was not read in this run');
  expect(await here.tools.get('write_file')?.preview?.(args, signal)).toMatchObject({ ok: false });
  await here.output('read_file', { path: 'a.txt' });
  put(here.root, { 'a.txt': 'other\n' });
  expect(await here.error('write_file', args)).toContain('it was changed since it was read');
  expect(await here.error('edit_file', { path: 'a.txt', old_string: 'old', new_string: 'x' })).toContain(
    'changed since',
  );
  expect(readFileSync(join(here.root, 'a.txt'), 'utf8')).toBe('other\n');
  await here.output('read_file', { path: 'a.txt' });
  expect(await here.output('write_file', args)).toBe('Replaced.');
});

test('a file is replaced only after all of it was read; for an edit a part is enough', async () => {
  const text = Array.from({ length: 2500 }, (_, index) => `line ${index + 1}\n`).join('');
  const here = await place({ 'a.txt': 'one\ntwo\n', 'long.txt': text, 'wide.txt': `${'w'.repeat(3000)}\n` });
  const replaced = (path: string): Promise<string> => here.error('write_file', { path, content: 'new\n' });
  await here.error('read_file', { path: 'a.txt', start_line: 900 });
  expect(await replaced('a.txt')).toContain('it exists and was not read in this run');
  await here.output('read_file', { path: 'a.txt', start_line: 2 });
  expect(await replaced('a.txt')).toBe(
    'a.txt was not written: only a part of it was read. Change that part with edit_file, or read all of it first.',
  );
  await here.output('edit_file', { path: 'a.txt', old_string: 'two', new_string: 'three' });
  expect(await replaced('a.txt')).toContain('only a part of it was read');
  await here.output('read_file', { path: 'wide.txt' });
  expect(await replaced('wide.txt')).toContain('only a part of it was read');
  await here.output('read_file', { path: 'long.txt' });
  expect(await replaced('long.txt')).toContain('only a part of it was read');
  await here.output('read_file', { path: 'long.txt', start_line: 2001 });
  await here.output('read_file', { path: 'long.txt', start_line: 7, end_line: 8 });
  expect(await here.output('write_file', { path: 'long.txt', content: 'new\n' })).toBe('Replaced.');
  expect(readFileSync(join(here.root, 'a.txt'), 'utf8')).toBe('one\nthree\n');
});

test('a replaced file keeps its mode, its byte order mark and its line endings', async () => {
  const here = await place({ 'run.sh': '\uFEFFone\r\ntwo\r\n' });
  const path = join(here.root, 'run.sh');
  chmod(path, 0o751);
  await here.output('read_file', { path: 'run.sh' });
  await here.output('write_file', { path: 'run.sh', content: 'three\nfour\n' });
  expect(readFileSync(path, 'utf8')).toBe('\uFEFFthree\r\nfour\r\n');
  expect(statSync(path).mode & 0o7777).toBe(systemMode(0o751));
});

test('an edit is shown as a diff, made literally, and refused where it cannot be', async () => {
  const here = await place({ 'a.txt': 'one\ntwo\nthree\n', 'empty.txt': '' });
  const args = { file_path: 'a.txt', old_string: 'two', new_string: "$& $1 $' $$", instruction: 'test' };
  const signal = new AbortController().signal;
  await here.output('read_file', { path: 'a.txt' });
  expect(await here.tools.get('edit_file')?.preview?.(args, signal)).toEqual({
    kind: 'diff',
    path: 'a.txt',
    diff: "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+$& $1 $' $$\n three\n",
    added: 1,
    removed: 1,
    texts: {
      path: join(here.root, 'a.txt'),
      before: 'one\ntwo\nthree\n',
      after: "one\n$& $1 $' $$\nthree\n",
    },
  });
  expect(await here.output('edit_file', args)).toBe('Changed.');
  expect(readFileSync(join(here.root, 'a.txt'), 'utf8')).toBe("one\n$& $1 $' $$\nthree\n");
  expect(
    await here.output('edit_file', { path: 'a.txt', old_string: 'e', new_string: 'E', allow_multiple: true }),
  ).toBe('Changed in 3 places.');
  expect(await here.output('edit_file', { path: 'a.txt', old_string: 'onE \n', new_string: 'one\n' })).toBe(
    'Changed. White space differed from old_string and was disregarded.',
  );
  expect(await here.error('edit_file', { path: 'a.txt', old_string: '', new_string: 'x' })).toContain(
    'the file exists',
  );
  expect(await here.error('edit_file', { path: 'b.txt', old_string: 'x', new_string: 'y' })).toContain(
    'there is no such file',
  );
  expect(await here.output('edit_file', { path: 'b.txt', old_string: '', new_string: 'y' })).toBe('Created.');
  await here.output('read_file', { path: 'empty.txt' });
  expect(await here.output('edit_file', { path: 'empty.txt', old_string: '', new_string: 'y' })).toContain('Changed');
  expect(await here.error('edit_file', { path: 'c.txt', old_string: '', new_string: '\ud800' })).toContain(
    'half a character',
  );
});

test('files are found by glob, with and without what is left out', async () => {
  const here = await place({ '.gitignore': 'out/\n', 'a.ts': '', 'src/B.TS': '', 'src/c.js': '', 'out/d.ts': '' });
  expect(await here.output('glob', { pattern: '*.ts' })).toEqual({ files: ['a.ts', 'src/B.TS'] });
  expect(await here.output('glob', { pattern: '*.ts', case_sensitive: true })).toEqual({ files: ['a.ts'] });
  expect(await here.output('glob', { pattern: 'src/*.{js,ts}' })).toEqual({ files: ['src/B.TS', 'src/c.js'] });
  expect(await here.output('glob', { pattern: '*.js', dir_path: 'src' })).toEqual({ files: ['src/c.js'] });
  expect(await here.output('glob', { pattern: '**/*.ts', respect_git_ignore: false })).toEqual({
    files: ['a.ts', 'out/d.ts', 'src/B.TS'],
  });
  expect(await here.error('glob', { pattern: '*', dir_path: 'a.ts' })).toContain('is a file');
  put(here.root, Object.fromEntries(Array.from({ length: 1100 }, (_, index) => [`many/${index}.x`, ''])));
  expect(await here.output('glob', { pattern: '*.x' })).toMatchObject({
    note: 'the first 1000 of 1100; use a narrower pattern',
  });
});
