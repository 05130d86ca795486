import { win32 } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isWindowsSpecial, resolveInside } from '../../../src/tools/workspace/protection.ts';
import { fuzz } from '../../support/fuzz.ts';

// Paths of Windows as Node reads them there, on every system.

test.each([
  ['CON', true],
  ['a/nul.txt', true],
  ['com1', true],
  ['lpt9.log', true],
  ['a.txt::$DATA', true],
  ['C:a.txt', true],
  ['C:', true],
  ['a.txt.', true],
  ['sub /a.txt', true],
  ['./a/../b.txt', false],
  ['C:/project/a.txt', false],
  ['console.ts', false],
  ['common.ts', false],
] as const)('%s is a trap on Windows: %s', (path, expected) => {
  expect(isWindowsSpecial(path)).toBe(expected);
});

const WINDOWS_ROOT = 'C:\\Work\\App';

/** What the fence makes of a spelling on Windows: where it leads, or that it is refused. */
function placeOnWindows(path: string): string | undefined {
  return isWindowsSpecial(path) ? undefined : resolveInside(path, WINDOWS_ROOT, [WINDOWS_ROOT], win32);
}

/** The same, written once more, as Windows itself reads a path: undefined unless it is an ordinary file below the root. */
function readAsWindows(path: string): readonly string[] | undefined {
  const [drive = '', rest = ''] = /^[A-Za-z]:(?=[\\/])/.test(path) ? [path.slice(0, 2), path.slice(2)] : ['', path];
  const isServer = drive === '' && /^[\\/]{2}[^\\/]/.test(rest);
  if (isServer || rest.includes(':') || (drive !== '' && drive.toUpperCase() !== 'C:')) return undefined;
  const taken = /^[\\/]/.test(rest) ? [] : ['work', 'app'];
  for (const step of rest.split(/[\\/]+/)) {
    if (step === '..') taken.pop();
    else if (step !== '' && step !== '.') taken.push(step);
    if (/^(?:con|nul|aux|com1)(?:[. ]|$)/i.test(step) || (/[. ]$/.test(step) && step !== '.' && step !== '..'))
      return undefined;
  }
  const isBelow = ['work', 'app'].every((step, at) => taken[at]?.replace(/[A-Z]/g, (it) => it.toLowerCase()) === step);
  return isBelow ? taken.slice(2) : undefined;
}

const windowsPath = fc
  .array(
    fc.constantFrom(
      ...[
        'a',
        'b.txt',
        'Work',
        'WORK',
        'App',
        'aPP',
        'wor\u212a',
        '\u0130',
        '..',
        '.',
        '...',
        '.. ',
        ' ',
        'x.',
        'x ',
        'nul',
        'CON.txt',
      ],
      ...[
        'aux .c',
        'com1',
        'GIT~1',
        'x:y',
        'a::$DATA',
        '?',
        'localhost',
        'c$',
        'GLOBALROOT',
        'C:',
        'c:',
        'D:',
        'C:a',
        'UNC',
      ],
    ),
    { maxLength: 6 },
  )
  .chain((steps) =>
    fc
      .tuple(
        fc.constantFrom(
          '',
          '\\',
          '/',
          '\\\\',
          '//',
          'C:\\',
          'c:/',
          'C:',
          'D:\\',
          '\\\\?\\',
          '\\\\.\\',
          '\\??\\',
          '//?/C:/',
          WINDOWS_ROOT,
          'c:/Work/APP/',
        ),
        fc.array(fc.constantFrom('\\', '/', '\\/'), { minLength: steps.length, maxLength: steps.length }),
      )
      .map(([start, between]) => start + steps.map((step, at) => step + between[at]).join('')),
  );

test('on Windows no spelling leads out of the workspace, and what is ordinary and inside is found', () => {
  fc.assert(
    fc.property(windowsPath, (path) => {
      const [placed, expected] = [placeOnWindows(path), readAsWindows(path)];
      if (placed === undefined)
        expect([path, expected?.filter((step) => /^(?:a|b\.txt|App)$/.test(step))]).not.toEqual([path, expected ?? []]);
      else
        expect(
          placed
            .split('\\')
            .filter((step) => step !== '')
            .slice(3),
        ).toEqual(expected);
    }),
    fuzz(3000),
  );
});

test.each([
  ...[
    'D:\\x',
    'D:x',
    'C:x',
    'c:..\\x',
    '\\\\server\\share\\x',
    '//server/share',
    '\\\\?\\C:\\Work\\App\\x',
    '\\\\.\\PhysicalDrive0',
    '\\??\\C:\\x',
  ],
  ...[
    '\\Windows\\win.ini',
    '/Work/Apple/x',
    '..\\x',
    'a\\..\\..\\x',
    'C:/Work/App/../x',
    'NUL',
    'a/con',
    'AUX.txt',
    'conin$',
    'x\\COM¹.log',
  ],
  ...['x.txt:stream', 'x::$DATA', '.:$I30', 'x.', 'x ', 'a. /x', 'C:\\wor\u212a\\App\\x'],
])('on Windows %s is refused', (path) => {
  expect(placeOnWindows(path)).toBe(undefined);
});

test.each([
  ['a/b.txt', 'C:\\Work\\App\\a\\b.txt'],
  ['a\\..\\b.txt', 'C:\\Work\\App\\b.txt'],
  ['c:\\wORK\\aPP\\a', 'c:\\wORK\\aPP\\a'],
  ['/Work/App/a', 'C:\\Work\\App\\a'],
  ['console.log', 'C:\\Work\\App\\console.log'],
])('on Windows %s is %s', (path, expected) => {
  expect(placeOnWindows(path)).toBe(expected);
});
