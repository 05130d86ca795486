import { expect, test } from 'vitest';
import { formatAssignment, formatWithVariables, isStandalone } from '../../../src/platform/runtime/system.ts';

test.for<[string, readonly string[], boolean]>([
  ['a script run by Node', ['/usr/bin/node', '/usr/lib/gmn/bin/gmn.js', 'hi'], false],
  ['an executable that names itself twice', ['/usr/bin/node', '/usr/bin/node', 'hi'], true],
  ['an executable without a script', ['/usr/bin/node'], true],
  ['an executable with its script inside', ['bun', '/$bunfs/root/gmn', 'hi'], true],
  ['the same on Windows', ['bun', 'B:\\~BUN\\root\\gmn.exe', 'hi'], true],
])('%s: standalone is %o', ([, argv, expected]) => {
  expect(isStandalone({ argv: [...argv], execPath: '/usr/bin/node' })).toBe(expected);
});

test('what is to be typed is in the words of the shell that the system has', () => {
  const variables = { A: '1', B: '$(two)' };
  expect(formatAssignment('A', '1', 'darwin')).toBe('export A=1');
  expect(formatAssignment('A', '1', 'win32')).toBe('$env:A = "1"');
  expect(formatWithVariables(variables, 'gmn hi', 'linux')).toBe('A=1 B=$(two) gmn hi');
  expect(formatWithVariables(variables, 'gmn hi', 'win32')).toBe('$env:A = "1"; $env:B = "$(two)"; gmn hi');
});
