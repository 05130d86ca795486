import { posix, sep, win32 } from 'node:path';
import { expect, test } from 'vitest';
import {
  contains,
  isRemotePath,
  isWindowsDevice,
  leadsAway,
  shortenPath,
  toSlashes,
} from '../../../src/core/text/path.ts';

test('a folder contains itself and everything in it, but not a path that only begins with its name', () => {
  expect(['/a/b', '/a/b/c', '/a/b/..c', '/a/bc', '/a', '/'].map((path) => contains('/a/b', path))).toEqual([
    true,
    true,
    true,
    false,
    false,
    false,
  ]);
});

test('an unknown directory is in no folder, wherever the program runs', () => {
  expect(['', '.', 'src'].map((path) => contains(process.cwd(), path))).toEqual([false, false, false]);
});

test('a path in the home directory is shown from there, and no other', () => {
  expect(shortenPath('/home/me/a/b', '/home/me')).toBe('~/a/b');
  expect(shortenPath('/home/me/a/b', '/home/me/')).toBe('~/a/b');
  expect(shortenPath('/home/me', '/home/me')).toBe('~');
  for (const home of ['/home/you', '/home/m', '', undefined])
    expect(shortenPath('/home/me/a', home)).toBe('/home/me/a');
});

test('only the separator of the system becomes a slash', () => {
  expect(toSlashes(['a', 'b', 'c'].join(sep))).toBe('a/b/c');
  expect(toSlashes('a\\b')).toBe(sep === '/' ? 'a\\b' : 'a/b');
});

test.for([
  ['nul', true],
  ['NUL', true],
  ['con.txt', true],
  ['con :x', true],
  ['aux  ', true],
  ['conin$', true],
  ['com1', true],
  ['com¹.log', true],
  ['lpt9', true],
  ['lpt³', true],
  ['com', false],
  ['coma', false],
  ['lpta', false],
  ['comic', false],
  ['icon', false],
  ['a.nul', false],
  ['nul  x', false],
] as const)('the name %j is a device of Windows: %j', ([name, isDevice]) => {
  expect(isWindowsDevice(name)).toBe(isDevice);
});

test.for([
  ['\\\\server\\share', true],
  ['//server/share', true],
  ['\\/server', true],
  ['\\\\?\\C:\\a', true],
  ['a\\nul', true],
  ['C:/dir/con.txt', true],
  ['\\a', false],
  ['C:\\\\a', false],
  ['a//b', false],
  ['C:\\dir\\a.txt', false],
] as const)('looking up %j on Windows reaches out: %j, and nowhere else', ([path, isRemote]) => {
  expect([isRemotePath(path, win32), isRemotePath(path, posix)]).toEqual([isRemote, false]);
});

test.for([
  ['//evil/share/x', true],
  ['\\\\evil\\c$\\app\\x', true],
  ['//?/C:/app/x', true],
  ['\\\\.\\pipe\\x', true],
  ['//nas/home/app/../../x', true],
  ['//nas/home/application', true],
  ['//nas/home/app/src/x', false],
  ['\\\\NAS\\home\\app\\x', false],
  ['//nas/home/app/nul', true],
  ['sub/aux.h', true],
  ['src/x', false],
  ['C:\\Windows', false],
] as const)('in a folder of the server nas, somebody’s %j leads away: %j', ([path, isAway]) => {
  expect([leadsAway(path, ['\\\\nas\\home\\app'], win32), leadsAway(path, ['/app'], posix)]).toEqual([isAway, false]);
});
