import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  decodeAppleData,
  encodeForClipboard,
  findClipboardWriter,
  listClipboardReaders,
  readClipboard,
} from '../../../src/platform/process/clipboard.ts';
import { posixTest } from '../../support/posix.ts';
import { temporary } from '../../support/temporary.ts';

const programs = (env: Record<string, string>, platform: string) =>
  listClipboardReaders(env, platform).map(({ holds, command: [program] }) => `${holds}: ${program}`);

test('text and pictures are read by the programs of the system', () => {
  expect(programs({}, 'darwin')).toEqual(['text: pbpaste', 'picture: pngpaste', 'picture: osascript']);
  expect(programs({ WAYLAND_DISPLAY: 'w', DISPLAY: ':0' }, 'linux')).toEqual(['text: wl-paste', 'picture: wl-paste']);
  expect(programs({ DISPLAY: ':0' }, 'linux')).toEqual(['text: xclip', 'picture: xclip']);
  expect(programs({}, 'linux')).toEqual([]);
  const powershell = 'C:\\Windows\\System32\\WindowsPowerShell\\v1.0\\powershell.exe';
  expect(programs({}, 'win32')).toEqual([`text: ${powershell}`, `picture: ${powershell}`]);
});

test('data as AppleScript prints it', () => {
  expect(Buffer.from(decodeAppleData(Buffer.from('«data PNGf89504E47»\n'))).toString('latin1')).toBe('\x89PNG');
  expect(decodeAppleData(Buffer.from('nothing')).length).toBe(0);
});

posixTest('a program that never answers is given up', async (t) => {
  const [bin, cwd] = [temporary({ 'wl-paste': '#!/bin/sh\nexec sleep 60\n' }), temporary()];
  chmodSync(join(bin, 'wl-paste'), 0o755);
  const env = { PATH: `${bin}:${process.env.PATH}`, WAYLAND_DISPLAY: 'w' };
  await expect(readClipboard({ env, cwd, maxMs: 100 }, t.signal)).rejects.toMatchObject({
    fault: 'usage',
    message: 'the clipboard does not answer: wl-paste took longer than 0.1 s',
  });
});

test('clip.exe gets UTF-16, which it reads whatever the code page is; other programs get the text', () => {
  const [program = ''] = findClipboardWriter({}, 'win32') ?? [];
  expect(Buffer.from(encodeForClipboard('é日', program)).toString('hex')).toBe('fffee900e565');
  for (const other of ['xclip', 'wl-copy', 'pbcopy']) expect(encodeForClipboard('é日', other)).toBe('é日');
});
