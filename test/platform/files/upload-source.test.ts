import { createHash } from 'node:crypto';
import { renameSync, statSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { FileSource } from '../../../src/platform/files/upload-source.ts';
import { createLocalSource, openFileSource } from '../../../src/platform/files/upload-source.ts';
import { posixTest } from '../../support/posix.ts';
import { temporary } from '../../support/temporary.ts';

const { signal } = new AbortController();
const CONTENT = Buffer.alloc(3_000_000, 'some content; ');
const HASH = createHash('sha256').update(CONTENT).digest('hex');

function file(content: Uint8Array = CONTENT): string {
  return join(temporary({ 'a.mp4': content }), 'a.mp4');
}

async function open(path: string, more: Partial<Parameters<typeof openFileSource>[1]> = {}): Promise<FileSource> {
  const source = await openFileSource(path, { name: 'a.mp4', signal, ...more });
  onTestFinished(() => source.close().catch(() => {}));
  return source;
}

async function readAll(source: FileSource): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const buffer = new Uint8Array(1_000_000);
  for (let offset = 0; offset < source.bytes; offset += buffer.length) {
    chunks.push(Buffer.from(await source.read(offset, buffer)));
  }
  return Buffer.concat(chunks);
}

const changed = { fault: 'usage', message: 'a.mp4 changed while it was being read' };

test('a file is read in pieces, and may be read again', async () => {
  const source = await open(file());
  expect([source.bytes, source.sha256]).toEqual([CONTENT.length, HASH]);
  expect((await readAll(source)).equals(CONTENT)).toBe(true);
  expect((await readAll(source)).equals(CONTENT)).toBe(true);
});

posixTest('a file that takes its place is not read', async () => {
  const path = file();
  const source = await open(path);
  renameSync(file(Buffer.alloc(CONTENT.length, 'x')), path);
  expect((await readAll(source)).equals(CONTENT)).toBe(true);
});

test('a file that shrinks, grows or is written to is an error', async () => {
  for (const change of [
    (path: string) => truncateSync(path, 10),
    (path: string) => truncateSync(path, CONTENT.length + 1),
    (path: string) => utimesSync(path, 1, 1),
  ]) {
    const path = file();
    const source = await open(path);
    change(path);
    await expect(source.read(0, new Uint8Array(100))).rejects.toMatchObject(changed);
  }
});

test('other content with the old size and time is noticed before the end is sent', async () => {
  const path = file();
  const { atime, mtime } = statSync(path);
  utimesSync(path, atime, mtime);
  const source = await open(path);
  writeFileSync(path, Buffer.alloc(CONTENT.length, 'other content '));
  utimesSync(path, atime, mtime);
  await expect(readAll(source)).rejects.toMatchObject(changed);
});

test('a link is followed unless it must not be; what is no file is refused', async () => {
  const path = file();
  symlinkSync(path, `${path}.link`);
  expect((await open(`${path}.link`)).sha256).toBe(HASH);
  await expect(open(`${path}.link`, { links: 'never' })).rejects.toMatchObject({ fault: 'usage' });
  await expect(open('/dev/null')).rejects.toMatchObject({ message: 'a.mp4 is not a regular file' });
  await expect(open(`${path}.none`)).rejects.toMatchObject({ message: 'no such file: a.mp4' });
});

test('a file of a session is what it was, or an error', async () => {
  const path = file();
  const { modifiedAt } = await open(path);
  const local = { name: 'a.mp4', path, bytes: CONTENT.length, sha256: HASH, modifiedAt };
  const same = createLocalSource(local);
  await same.open?.(signal);
  expect(await same.read(0, new Uint8Array(4))).toEqual(new Uint8Array(CONTENT.subarray(0, 4)));
  await same.close();
  // Written to since, but with the same content.
  utimesSync(path, 5, 5);
  const touched = createLocalSource(local);
  await touched.open?.(signal);
  await touched.close();
  writeFileSync(path, 'short');
  await expect(createLocalSource(local).open?.(signal)).rejects.toThrow(`a.mp4 is not the file that it was: ${path}`);
});
