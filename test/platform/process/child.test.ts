import { expect, test } from 'vitest';
import { findClipboardWriter } from '../../../src/platform/process/clipboard.ts';
import { windowsCommand, windowsProgram } from '../../../src/platform/process/windows-command.ts';

const FILES = ['C:\\node\\node.exe', 'C:\\node\\npx.cmd', 'C:\\tools\\npx.exe', 'D:\\work\\bin\\serve.bat'];
const around = (env: Record<string, string> = {}) => ({
  env: { Path: 'C:\\node;C:\\tools', ComSpec: 'C:\\Windows\\system32\\cmd.exe', ...env },
  cwd: 'D:\\work',
  isFile: (path: string) => FILES.includes(path),
});
const shell = (line: string) => ({
  command: 'C:\\Windows\\system32\\cmd.exe',
  args: ['/e:ON', '/v:OFF', '/d', '/s', '/c', `"${line}"`],
  isVerbatim: true,
});

test('npx is a batch file, and runs in the command interpreter', () => {
  expect(windowsCommand('npx', ['-y', 'some-server', 'a b'], around())).toEqual(
    shell('"C:\\node\\npx.cmd" "-y" "some-server" "a b"'),
  );
  expect(windowsCommand('npx.cmd', [], around())).toEqual(shell('"C:\\node\\npx.cmd"'));
});

test('a real program is started as it is, with its arguments', () => {
  expect(windowsCommand('node', ['a "b" %c%'], around())).toEqual({
    command: 'C:\\node\\node.exe',
    args: ['a "b" %c%'],
    isVerbatim: false,
  });
});

test('the first directory of the path counts, and the endings in their order', () => {
  expect(windowsCommand('npx', [], around({ Path: 'C:\\tools;C:\\node' })).command).toBe('C:\\tools\\npx.exe');
  expect(windowsCommand('npx', [], around({ PATHEXT: '.EXE' })).command).toBe('C:\\tools\\npx.exe');
});

test('a path is looked for from the directory of the program, not on the path', () => {
  expect(windowsCommand('bin\\serve', [], around())).toEqual(shell('"D:\\work\\bin\\serve.bat"'));
});

test('a directory of the path that depends on where gmn is started is not searched', () => {
  expect(() => windowsCommand('serve', [], around({ Path: ';.;bin;D:bin;\\work\\bin;C:\\node' }))).toThrow(
    'no program serve',
  );
});

test.for(['git', 'git.exe', 'node', 'uvx', 'GIT.BAT', 'npx'])(
  '%s is never the one that a project has planted',
  (name) => {
    // A file of every name is in the working directory, on its drive, and in the directories that PATH names from there.
    const isFile = (path: string): boolean => /^D:/i.test(path) || FILES.includes(path);
    const paths = ['', '.', '.\\', 'bin', '..', 'D:', 'D:bin', '\\bin', '/bin', '%CD%', '"D:\\work"', '~\\bin'];
    const env = { Path: [...paths, 'C:\\node', ...paths].join(';'), ComSpec: 'cmd.exe', SystemRoot: '\\work' };
    const resolve = () => windowsCommand(name, [], { env, cwd: 'D:\\work', isFile });
    if (name === 'node' || name === 'npx') expect(JSON.stringify(resolve())).not.toMatch(/"D:|work/i);
    else expect(resolve).toThrow(expect.objectContaining({ code: 'ENOENT' }));
  },
);

test('what is not there is not left to Windows, which would look in the current directory', () => {
  for (const command of ['nothing', '.\\npx']) {
    expect(() => windowsCommand(command, ['x'], around())).toThrow(expect.objectContaining({ code: 'ENOENT' }));
  }
});

test.for([
  ['', '""'],
  ['& calc', '"& calc"'],
  ['" & calc "', '""" & calc """'],
  ['a\\"b', '"a\\\\""b"'],
  ['C:\\dir\\', '"C:\\dir\\\\"'],
  ['%PATH%', '"%%cd:~,%PATH%%cd:~,%"'],
])('the argument %j reaches a batch file as one: %s', ([argument = '', line = '']) => {
  expect(windowsCommand('npx', [argument], around()).args.at(-1)).toBe(`""C:\\node\\npx.cmd" ${line}"`);
});

test('the programs of Windows itself are started by their full path, never one from the current directory', () => {
  expect(windowsProgram('taskkill', { SYSTEMROOT: 'D:\\WinNT' })).toBe('D:\\WinNT\\System32\\taskkill.exe');
  expect(windowsProgram('powershell', { windir: 'C:\\Windows' })).toBe(
    'C:\\Windows\\System32\\WindowsPowerShell\\v1.0\\powershell.exe',
  );
  for (const root of [undefined, '', '.', 'sub\\dir']) {
    expect(windowsProgram('notepad', { SystemRoot: root })).toBe('C:\\Windows\\System32\\notepad.exe');
  }
  expect(findClipboardWriter({}, 'win32')).toEqual(['C:\\Windows\\System32\\clip.exe']);
  expect(windowsCommand('npx', [], { ...around(), env: { Path: 'C:\\node' } }).command).toBe(
    'C:\\Windows\\System32\\cmd.exe',
  );
});
