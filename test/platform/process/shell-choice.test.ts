import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { shellEnvironment } from '../../../src/platform/process/environment.ts';
import { cappedText } from '../../../src/platform/process/shell.ts';
import { chooseShell, listShellArguments } from '../../../src/platform/process/shell-choice.ts';
import { windowsProgram } from '../../../src/platform/process/windows-command.ts';
import { posixTest } from '../../support/posix.ts';

test('head and tail keep what they say, for any cut into chunks', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme' })), fc.integer({ min: 2, max: 40 }), (chunks, max) => {
      const text = cappedText(max);
      for (const chunk of chunks) text.add(chunk);
      const whole = chunks.join('');
      const { head, tail, omitted } = text.read();
      expect(head.length + tail.length).toBeLessThanOrEqual(max);
      expect(head.length + tail.length + omitted).toBe(whole.length);
      expect(whole.startsWith(head) && whole.endsWith(tail)).toBe(true);
      expect(head.isWellFormed() && tail.isWellFormed()).toBe(true);
      if (omitted === 0) expect(tail).toBe('');
      if (omitted > 0) expect(head.length + tail.length).toBeGreaterThanOrEqual(max - 3);
    }),
  );
});

test('docs/tools.md names every variable that a command gets', () => {
  // Asked for whatever it might want to pass on.
  const all = new Proxy<Record<string, string>>({}, { get: () => 'x', ownKeys: () => ['LC_ALL'] });
  const given = shellEnvironment(all, { path: '/bin/sh', args: ['-c'], isVerbatim: false }, 'linux');
  const page = readFileSync(new URL('../../../docs/tools.md', import.meta.url), 'utf8');
  const fixed = Object.entries(given).filter(([name]) => !/^(?:SHELL|LC_ALL)$/.test(name));
  const written = new Set(page.match(/[A-Z][A-Z_]+(?:=\w+)?/g));
  const missing = fixed.filter(([name, value]) => !written.has(value === 'x' ? name : `${name}=${value}`));
  expect(missing).toEqual([]);
  expect(fixed.length).toBeGreaterThan(12);
});

posixTest('the shell is the one asked for, else the own one if it is known, else the system one', () => {
  const path = (wanted: string | undefined, SHELL: string | undefined) => chooseShell(wanted, { SHELL }, 'linux').path;
  expect(path('/bin/sh', '/bin/bash')).toBe('/bin/sh');
  expect(chooseShell('sh', { PATH: '/usr/bin:/bin' }, 'linux').path).toMatch(/^(?:\/usr)?\/bin\/sh$/);
  for (const wanted of ['/nope', '/', '/etc/passwd', 'no-such-shell', '']) {
    expect(() => path(wanted, '/bin/bash')).toThrow(`--shell: ${wanted} is not a program that can be run`);
  }
  expect(path(undefined, '/bin/bash')).toBe('/bin/bash');
  expect(path(undefined, '/usr/bin/fish')).toBe('/bin/sh');
  expect(path(undefined, '/nowhere/bash')).toBe('/bin/sh');
  expect(path(undefined, 'bash')).toBe('/bin/sh');
  expect(path(undefined, undefined)).toBe('/bin/sh');
});

/** On a Windows that has these programs. */
const onWindows = (env: Record<string, string>, ...installed: readonly string[]) =>
  chooseShell(undefined, env, 'win32', (name) => installed.find((path) => path.includes(name)));

test('on Windows PowerShell is the shell: the newer one if it is installed; cmd.exe where there is none', () => {
  const [pwsh, old] = ['C:\\Program Files\\PowerShell\\7\\pwsh.exe', windowsProgram('powershell', {})];
  expect(onWindows({}, old, pwsh).path).toBe(pwsh);
  expect(onWindows({}, old)).toMatchObject({ path: old, isVerbatim: false });
  expect(onWindows({}, old).args.at(-1)).toBe('-Command');
  expect(onWindows({}).path).toBe('C:\\Windows\\System32\\cmd.exe');
  expect(onWindows({ ComSpec: 'cmd.exe' }).path).toBe('C:\\Windows\\System32\\cmd.exe');
  expect(onWindows({ ComSpec: 'C:\\Windows\\cmd.exe' }).args).toEqual(['/d', '/s', '/c']);
  expect(onWindows({ ComSpec: 'C:\\x\\bash.exe' }).args).toEqual(['-c']);
});

test.each([
  ['dir', 'dir'],
  ['cd sub\r\ndir "a b"\n', 'cd sub& dir "a b"'],
  ['if exist a (\n  echo b\n  echo c\n)', 'if exist a ( echo b& echo c )'],
  ['a ^\n  b &&\nc', 'a b && c'],
  ['REM first\nset A=1\n:: then\n@rem\nremove x', 'set A=1& remove x'],
])('all lines of %j run in cmd.exe, with output in UTF-8', (command, line) => {
  expect(listShellArguments(onWindows({}), command)).toEqual([
    ...['/d', '/s', '/c'],
    `"C:\\Windows\\System32\\chcp.com 65001 >nul & ${line}"`,
  ]);
});

test('PowerShell is given the command as it is, between the encoding and the exit code', () => {
  const command = 'git status\nif ($?) { "a`nb" }';
  const script = listShellArguments(onWindows({}, windowsProgram('powershell', {})), command).at(-1);
  expect(script?.split('\n').slice(2, -1).join('\n')).toBe(command);
  expect(script).toMatch(/^\$OutputEncoding = \[Console\]::OutputEncoding = .*UTF8/);
  expect(script).toMatch(/exit \$LASTEXITCODE/);
});

test('the environment on Windows has what programs there need, and no more', () => {
  const env = { Path: 'C:\\x', SystemRoot: 'C:\\Windows', GEMINI_API_KEY: 'canary' };
  const given = shellEnvironment(env, onWindows({}), 'win32');
  expect(given).toMatchObject({ Path: 'C:\\x', SystemRoot: 'C:\\Windows', SHELL: 'C:\\Windows\\System32\\cmd.exe' });
  expect(Object.values(given)).not.toContain('canary');
  // Else cmd.exe runs what a project calls git.bat.
  expect(given).toMatchObject({ NoDefaultCurrentDirectoryInExePath: '1' });
});

test('variables of Windows are passed on however their names are written', () => {
  const given = shellEnvironment(
    { COMSPEC: 'C:\\x\\cmd.exe', programfiles: 'C:\\P', OS: 'Windows_NT' },
    onWindows({}),
    'win32',
  );
  expect(given).toMatchObject({ ComSpec: 'C:\\x\\cmd.exe', ProgramFiles: 'C:\\P', OS: 'Windows_NT' });
});
