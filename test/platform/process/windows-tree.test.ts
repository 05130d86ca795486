import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runShell } from '../../../src/platform/process/shell.ts';
import { chooseShell } from '../../../src/platform/process/shell-choice.ts';
import { findDescendants, parseProcesses } from '../../../src/platform/process/windows-tree.ts';
import { isWindows } from '../../support/posix.ts';
import { temporary } from '../../support/temporary.ts';

test('processes are read from UTF-16 and from the code page of the console, whatever their names are', () => {
  const table = [
    'CreationDate               Name              ParentProcessId  ProcessId',
    '                           System Idle       0                0',
    '20261118113005.250000+060  a b 3.exe         12               345',
    '20261118053005.999999-300  x                 0                4',
    '20261118103005.000000+000 from PowerShell.exe 7 8',
  ].join('\r\r\n');
  const startMs = Date.UTC(2026, 10, 18, 10, 30, 5);
  const expected = [
    { command: 'a b 3.exe', parent: 12, pid: 345, startMs: startMs + 250 },
    { command: 'x', parent: 0, pid: 4, startMs: startMs + 999 },
    { command: 'from PowerShell.exe', parent: 7, pid: 8, startMs },
  ];
  expect(parseProcesses(table)).toEqual(expected);
  expect(parseProcesses(Buffer.from(`\ufeff${table}`, 'utf16le').toString('latin1'))).toEqual(expected);
  expect(parseProcesses('')).toEqual([]);
});

const SINCE_MS = 1_000_000;

test('what a process had started is found; nothing that is older, nothing if its number is another’s now, in any table', () => {
  const row = fc.record({
    command: fc.constant('x'),
    parent: fc.nat(12),
    pid: fc.nat(12),
    startMs: fc.constantFrom(SINCE_MS - 1000, SINCE_MS, SINCE_MS + 1000),
  });
  fc.assert(
    fc.property(fc.uniqueArray(row, { selector: ({ pid }) => pid }), fc.nat(12), (rows, leader) => {
      const found = findDescendants(rows, { leader, sinceMs: SINCE_MS }).map(({ pid }) => pid);
      const isBelow = (pid: number, seen: readonly number[] = []): boolean => {
        const { parent, startMs } = rows.find((each) => each.pid === pid) ?? { startMs: 0 };
        if (parent === undefined || startMs < SINCE_MS || seen.includes(pid)) return false;
        return parent === leader || isBelow(parent, [...seen, pid]);
      };
      const isReused = rows.some(({ pid }) => pid === leader);
      const expected = isReused ? [] : rows.map(({ pid }) => pid).filter((pid) => isBelow(pid));
      expect(found.toSorted()).toEqual(expected.toSorted());
    }),
  );
});

test('a desktop that an earlier process of the same number had started is not ended', () => {
  const explorer = { command: 'explorer.exe', parent: 4242, pid: 100, startMs: SINCE_MS - 86_400_000 };
  const stray = { command: 'node.exe', parent: 4242, pid: 200, startMs: SINCE_MS - 10 };
  const found = findDescendants([explorer, { ...explorer, parent: 100, pid: 101 }, stray], {
    leader: 4242,
    sinceMs: SINCE_MS,
  });
  expect(found).toEqual([{ command: 'node.exe', pid: 200 }]);
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
