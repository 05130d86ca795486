import { expect, test } from 'vitest';
import { decodeAppleData, listClipboardReaders } from '../../../src/platform/process/clipboard.ts';

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
