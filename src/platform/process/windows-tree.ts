import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { helperEnvironment } from './environment.ts';
import type { FoundProcess } from './identity.ts';
import { findCommandInterpreter, windowsProgram } from './windows-command.ts';

interface WindowsProcess extends FoundProcess {
  readonly parent: number;
}

const MAX_MS = 5000;
const POWERSHELL = ['-NoLogo', '-NoProfile', '-NonInteractive', '-Command'];
const LIST = 'Get-CimInstance Win32_Process | ForEach-Object { "$($_.Name) $($_.ParentProcessId) $($_.ProcessId)" }';

/** Newer systems have no wmic, but PowerShell takes half a second to start. Empty if neither answers. Never throws. */
async function listWindowsProcesses(): Promise<readonly WindowsProcess[]> {
  const wmic = windowsProgram('wmic', process.env);
  const [program, ...args] = existsSync(wmic)
    ? [wmic, 'process', 'get', 'Name,ParentProcessId,ProcessId']
    : [windowsProgram('powershell', process.env), ...POWERSHELL, LIST];
  const options = {
    env: helperEnvironment(process.env, []),
    timeout: MAX_MS,
    windowsHide: true,
    encoding: 'latin1',
  } as const;
  const { stdout } = await promisify(execFile)(program ?? '', args, options).catch(() => ({ stdout: '' }));
  return parseProcesses(stdout);
}

/**
 * wmic writes UTF-16 or the code page of the console; the numbers are the same in both, and are the last two words of a row.
 */
export function parseProcesses(text: string): readonly WindowsProcess[] {
  const rows = text.replaceAll('\0', '').replace('\xff\xfe', '').split('\n');
  return rows.flatMap((row) => {
    const words = row.trim().split(' ');
    const pid = words.pop() ?? '';
    const rest = words.join(' ').trimEnd();
    const parent = rest.slice(rest.lastIndexOf(' ') + 1);
    if (!/^\d+$/.test(pid) || !/^\d+$/.test(parent)) return [];
    return [{ command: rest.slice(0, -parent.length).trim(), parent: Number(parent), pid: Number(pid) }];
  });
}

/** What a process that has ended had started, and so on. Nothing if its number is now another's, whose children these may be. */
export function findDescendants(processes: readonly WindowsProcess[], leader: number): readonly FoundProcess[] {
  if (processes.some(({ pid }) => pid === leader)) return [];
  const found = new Map<number, FoundProcess>();
  const parents = [leader];
  for (const parent of parents) {
    for (const { pid, command, ...child } of processes) {
      // The system starts one for each console, and ends it.
      const isHost = command.toLowerCase() === 'conhost.exe';
      if (child.parent !== parent || isHost || found.has(pid)) continue;
      found.set(pid, { pid, command });
      parents.push(pid);
    }
  }
  return [...found.values()];
}

/**
 * Ends what a command has left running, as `start /b` does. A process whose parent has ended is found only as long as the process between
 * them runs: without a job object, for which Node has no call, Windows keeps no group.
 */
export async function stopStrays(leader: number): Promise<readonly FoundProcess[]> {
  const found = findDescendants(await listWindowsProcesses(), leader);
  for (const { pid } of found) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  }
  return found;
}

/** A leader that this process did not start has only got the number of ours. */
const END = `if (-not $env:GMN_LEADER) { exit }
$all = Get-CimInstance Win32_Process
$tree = @([uint32]$env:GMN_LEADER)
if ($all | Where-Object { $_.ProcessId -eq $tree[0] -and $_.ParentProcessId -ne ${process.pid} }) { exit }
for ($at = 0; $at -lt $tree.Count; $at++) { $tree += @($all | Where-Object { $_.ParentProcessId -eq $tree[$at] -and $tree -notcontains $_.ProcessId } | ForEach-Object { $_.ProcessId }) }
Stop-Process -Id $tree -Force -ErrorAction SilentlyContinue`;

/**
 * A command interpreter that waits until its input ends, as it does when this process is killed; then it ends the tree. Windows ends the
 * command itself with this process, but not what that has started.
 */
export function startWindowsWatchdog() {
  const powershell = windowsProgram('powershell', process.env);
  const end = Buffer.from(END, 'utf16le').toString('base64');
  const line = `set /p GMN_LEADER=& set /p GMN_END=& "${powershell}" -NoProfile -NonInteractive -WindowStyle Hidden -EncodedCommand ${end}`;
  return spawn(findCommandInterpreter(process.env), ['/d', '/s', '/c', `"${line}"`], {
    env: helperEnvironment(process.env, []),
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    windowsHide: true,
    windowsVerbatimArguments: true,
  });
}
