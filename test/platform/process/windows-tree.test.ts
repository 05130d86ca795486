import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runShell } from '../../../src/platform/process/shell.ts';
import { chooseShell } from '../../../src/platform/process/shell-choice.ts';
import { findDescendants, parseProcesses } from '../../../src/platform/process/windows-tree.ts';
import { isWindows } from '../../support/posix.ts';
import { temporary } from '../../support/temporary.ts';

test('processes are read from UTF-16 and from the code page of the console, whatever their names are', () => {
  const table =
    'Name              ParentProcessId  ProcessId\r\r\na b 3.exe         12               345\r\r\n                  0                4\r\r\n';
  const expected = [
    { command: 'a b 3.exe', parent: 12, pid: 345 },
    { command: '', parent: 0, pid: 4 },
  ];
  expect(parseProcesses(table)).toEqual(expected);
  expect(parseProcesses(Buffer.from(`\ufeff${table}`, 'utf16le').toString('latin1'))).toEqual(expected);
  expect(parseProcesses('')).toEqual([]);
});

test('what a process had started is found, and nothing if its number is another’s now, in any table', () => {
  const row = fc.record({ command: fc.constant('x'), parent: fc.nat(12), pid: fc.nat(12) });
  fc.assert(
    fc.property(fc.uniqueArray(row, { selector: ({ pid }) => pid }), fc.nat(12), (rows, leader) => {
      const found = findDescendants(rows, leader).map(({ pid }) => pid);
      const isBelow = (pid: number, seen: readonly number[] = []): boolean => {
        const parent = rows.find((each) => each.pid === pid)?.parent;
        return parent !== undefined && !seen.includes(pid) && (parent === leader || isBelow(parent, [...seen, pid]));
      };
      const isReused = rows.some(({ pid }) => pid === leader);
      const expected = isReused ? [] : rows.map(({ pid }) => pid).filter((pid) => isBelow(pid));
      expect(found.toSorted()).toEqual(expected.toSorted());
    }),
  );
});

test.runIf(isWindows)('what a command starts with start /b is ended and reported', async () => {
  const shell = chooseShell('cmd', process.env);
  const command = `start /b "" "${process.execPath}" -e "setInterval(() => {}, 1000)"`;
  const run = { shell, command, cwd: temporary(), env: process.env, timeoutMs: 30_000, maxChars: 1000 };
  const { strays } = await runShell(run, new AbortController().signal);
  expect(strays.map(({ command: name }) => name)).toContain('node.exe');
  const isAlive = (pid: number): boolean => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  await expect.poll(() => strays.some(({ pid }) => isAlive(pid)), { timeout: 10_000 }).toBe(false);
});
