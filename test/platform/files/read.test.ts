import { chmodSync, mkdirSync, symlinkSync, truncateSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { AppError } from '../../../src/core/error.ts';
import { inspectPath, readBytes, readDirectory } from '../../../src/platform/files/read.ts';
import { fifo, isWindows, linuxTest, posixTest } from '../../support/posix.ts';
import { temporary } from '../../support/temporary.ts';

const options = (name: string, maxBytes = 100) => ({
  name,
  maxBytes,
  tooLarge: (bytes: number) => new AppError('usage', `${name} has ${bytes} bytes`),
});

test('a file is read whole, up to and including the limit', async () => {
  const root = temporary({ a: 'x'.repeat(100), empty: '' });
  expect(Buffer.from(await readBytes(join(root, 'a'), options('a'))).toString()).toBe('x'.repeat(100));
  expect(await readBytes(join(root, 'empty'), options('empty'))).toHaveLength(0);
});

linuxTest('a file that claims to be empty but is not is read to its end', async () => {
  const bytes = await readBytes('/proc/self/status', options('status', 100_000));
  expect(Buffer.from(bytes).toString()).toMatch(/^Name:.*\n$/s);
});

test('a file past the limit is refused by its size', async () => {
  const root = temporary({ huge: '' });
  truncateSync(join(root, 'huge'), 3_000_000_000);
  await expect(readBytes(join(root, 'huge'), options('huge'))).rejects.toThrow('huge has 3000000000 bytes');
});

linuxTest('a file past the limit that lies about its size is refused by what it gives', async () => {
  await expect(readBytes('/proc/self/status', options('status', 10))).rejects.toThrow(/^status has \d+ bytes$/);
});

posixTest('what is not a regular file is refused at once', async (t) => {
  const root = temporary();
  fifo(join(root, 'fifo'));
  mkdirSync(join(root, 'directory'));
  const server = createServer().listen(join(root, 'socket'));
  t.onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  const refusal = { fault: 'usage', hint: 'Pipe it in instead: … | gmn "…"' };
  for (const name of ['fifo', 'socket', '/dev/zero']) {
    const path = name.startsWith('/') ? name : join(root, name);
    await expect(readBytes(path, options(name))).rejects.toMatchObject({
      ...refusal,
      message: `${name} is not a regular file`,
    });
  }
  await expect(readBytes(join(root, 'directory'), options('directory'))).rejects.toMatchObject({
    fault: 'usage',
    message: 'directory is a directory',
  });
});

posixTest('four FIFOs do not keep a file from being read', async () => {
  const root = temporary({ a: 'hello' });
  const fifos = ['1', '2', '3', '4'].map((name) => join(root, name));
  fifo(...fifos);
  const [file, ...refused] = await Promise.allSettled([
    readBytes(join(root, 'a'), options('a')),
    ...fifos.map((path) => readBytes(path, options('fifo'))),
  ]);
  expect(file).toMatchObject({ status: 'fulfilled', value: Buffer.from('hello') });
  expect(refused.map(({ status }) => status)).toEqual(Array(4).fill('rejected'));
});

posixTest('every reason not to read has its words', async () => {
  const root = temporary({ a: 'x' });
  symlinkSync('loop', join(root, 'loop'));
  symlinkSync('a', join(root, 'link'));
  const faultOf = (name: string, links: 'follow' | 'never' = 'follow') =>
    readBytes(join(root, name), { ...options(name), links }).then(
      () => 'none',
      (error: AppError) => `${error.exitCode} ${error.message}`,
    );
  expect(await faultOf('gone')).toBe('1 no such file: gone');
  expect(await faultOf('a/b')).toBe('1 no such file: a/b');
  expect(await faultOf('loop')).toBe('1 too many symbolic links: loop');
  expect(await faultOf('n'.repeat(300))).toBe(`1 file name too long: ${'n'.repeat(80)}…`);
  expect(await faultOf('link')).toBe('none');
  expect(await faultOf('link', 'never')).toBe('1 too many symbolic links: link');
});

test.skipIf(isWindows || process.getuid?.() === 0)('a file without permission is refused in words', async () => {
  const root = temporary({ a: 'x' });
  chmodSync(join(root, 'a'), 0);
  await expect(readBytes(join(root, 'a'), options('a'))).rejects.toMatchObject({ message: 'permission denied: a' });
});

posixTest('a path is looked up through its links, and what is not there is undefined', async () => {
  const root = temporary({ 'real/a.txt': 'x' });
  symlinkSync('real', join(root, 'link'));
  symlinkSync('gone', join(root, 'dangling'));
  symlinkSync('loop', join(root, 'loop'));
  fifo(join(root, 'fifo'));
  expect(await inspectPath(join(root, 'link/a.txt'))).toEqual({ path: join(root, 'real/a.txt'), kind: 'file' });
  expect(await inspectPath(join(root, 'link'))).toEqual({ path: join(root, 'real'), kind: 'directory' });
  expect(await inspectPath(join(root, 'fifo'))).toEqual({ path: join(root, 'fifo'), kind: 'other' });
  for (const name of ['gone', 'dangling', 'real/a.txt/b', 'a\0b'])
    expect(await inspectPath(join(root, name))).toBeUndefined();
  await expect(inspectPath(join(root, 'loop'), 'loop')).rejects.toThrow('too many symbolic links: loop');
});

test('a directory is listed by name, links as links', async () => {
  const root = temporary({ b: '', 'a/x': '', D: '' });
  symlinkSync('a', join(root, 'c'));
  expect(await readDirectory(root)).toEqual([
    { name: 'D', kind: 'file' },
    { name: 'a', kind: 'directory' },
    { name: 'b', kind: 'file' },
    { name: 'c', kind: 'link' },
  ]);
  await expect(readDirectory(join(root, 'gone'), 'gone')).rejects.toThrow('no such file: gone');
});
