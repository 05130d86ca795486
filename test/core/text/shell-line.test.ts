import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { findShellKind, referToVariables } from '../../../src/core/text/shell-line.ts';
import { posixTest } from '../../support/posix.ts';

const NAMES = ['workspacePath', 'extensionPath'];

posixTest(
  'whatever a variable holds, wherever it stands in a line, a shell takes it for one word and runs nothing of it',
  (t) => {
    const place = mkdtempSync(join(tmpdir(), 'gmn-line-'));
    t.onTestFinished(() => rmSync(place, { recursive: true, force: true }));
    const piece = fc.constantFrom(
      '$(touch MARK)',
      "';touch MARK;'",
      '"',
      '`touch MARK`',
      ' ',
      '; touch MARK',
      '&',
      '\\',
      '\n',
      '*',
      'a',
      '-c',
      '#',
    );
    const values = fc.array(piece, { maxLength: 5 }).map((pieces) => `/x${pieces.join('')}`);
    const lines = fc.constantFrom(
      ...[`\${workspacePath}`, `"\${workspacePath}"`, `'\${workspacePath}'`, `"$(printf '%s|' \${workspacePath})"`],
      ...[
        `"it's \${workspacePath} (all"`,
        `"$(printf '%s|' "\${workspacePath}")"`,
        `'a "b" \${workspacePath}'`,
        `\\"\${workspacePath}`,
      ],
    );
    fc.assert(
      fc.property(lines, values, fc.constantFrom('/bin/sh', 'bash'), (line, value, shell) => {
        const written = `printf '%s|' ${referToVariables(line, NAMES, shell)} end`;
        const printed = execFileSync(shell, ['-c', written], {
          cwd: place,
          env: { workspacePath: value, PATH: process.env.PATH },
          encoding: 'utf8',
          stdio: ['ignore', 'pipe', 'inherit'],
        });
        expect(existsSync(join(place, 'MARK'))).toBe(false);
        expect(printed).toContain(value.replace(/\n+$/, ''));
        expect(printed.endsWith('|end|')).toBe(true);
      }),
      { numRuns: 60 },
    );
  },
);

test.for([
  ['sh', `\${extensionPath}\${/}a b`, `"\${extensionPath}"/a b`],
  ['/usr/bin/zsh', `node "\${extensionPath}/a" $HOME \${OTHER}`, `node "\${extensionPath}/a" $HOME \${OTHER}`],
  ['bash', `'\${extensionPath}/a'`, `''"\${extensionPath}"'/a'`],
  ['bash', `\\\${extensionPath}`, `\\\${extensionPath}`],
  ['C:\\x\\PowerShell.exe', `\${extensionPath}\${/}a.ps1 x`, `& \${env:extensionPath}\\a.ps1 x`],
  ['pwsh', `node "\${extensionPath}/a"`, `node "\${env:extensionPath}/a"`],
  [
    'C:\\Windows\\System32\\cmd.exe',
    `node \${extensionPath}\\a "\${workspacePath}"`,
    `node "%extensionPath%"\\a "%workspacePath%"`,
  ],
  ['cmd', `"^" \${extensionPath}`, `"^" "%extensionPath%"`],
  ['fish', 'echo $PATH', 'echo $PATH'],
] as const)('%s gets %s as %s', ([shell, line, written]) => {
  expect(referToVariables(line, NAMES, shell)).toBe(written);
});

test('a shell that would fill in nothing is named', () => {
  expect(() => referToVariables(`'\${extensionPath}'`, NAMES, 'pwsh')).toThrow(
    'fills in nothing between single quotes',
  );
  expect(() => referToVariables(`\${extensionPath}`, NAMES, '/usr/bin/fish')).toThrow(
    'how it fills in variables is not known',
  );
  expect(findShellKind('/usr/bin/fish')).toBeUndefined();
});
