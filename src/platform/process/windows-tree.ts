import { spawn } from 'node:child_process';
import { helperEnvironment } from './environment.ts';
import type { FoundProcess } from './identity.ts';
import { findCommandInterpreter, windowsProgram } from './windows-command.ts';
import { listWithWmic, runPowerShell } from './windows-query.ts';

interface StartedProcess {
  readonly leader: number;
  /** The system's time just before it was started. */
  readonly sinceMs: number;
}

interface WindowsProcess extends FoundProcess {
  readonly parent: number;
  readonly startMs: number;
}

/** As wmic writes it. The first processes of the system have no date. */
const LIST = `Get-CimInstance Win32_Process | Where-Object { $_.CreationDate } | ForEach-Object {
  "$($_.CreationDate.ToUniversalTime().ToString('yyyyMMddHHmmss.ffffff'))+000 $($_.Name) $($_.ParentProcessId) $($_.ProcessId)"
}`;

/** PowerShell takes half a second to start, so it is asked last. Empty if neither answers. Never throws. */
async function listWindowsProcesses(): Promise<readonly WindowsProcess[]> {
  const listed = listWithWmic('CreationDate,Name,ParentProcessId,ProcessId');
  return parseProcesses(await listed.catch(() => runPowerShell(LIST)).catch(() => ''));
}

const ROW = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)\.(\d{3})\d{3}([+-]\d{3}) (.*) (\d+) +(\d+)$/;

/**
 * wmic writes UTF-16 or the code page of the console; the numbers are the same in both. The date is in local time, followed by how many
 * minutes that is from UTC.
 */
export function parseProcesses(text: string): readonly WindowsProcess[] {
  const rows = text.replaceAll('\0', '').replace('\xff\xfe', '').split('\n');
  return rows.flatMap((row) => {
    const fields = ROW.exec(row.trim());
    if (fields === null) return [];
    const [year = 0, month = 0, day, hour, minute = 0, second, ms, offset = 0] = fields.slice(1, 9).map(Number);
    const startMs = Date.UTC(year, month - 1, day, hour, minute - offset, second, ms);
    const [command = '', parent, pid] = fields.slice(9);
    return [{ command: command.trim(), parent: Number(parent), pid: Number(pid), startMs }];
  });
}

/** The clock of Windows ticks every 16 ms for processes, and ours more often. */
const TICK_MS = 50;

/**
 * What a process that has ended had started, and so on. Windows keeps the number of a parent that has ended, and gives numbers again: a
 * process older than the leader was started by another of that number, and if the number is in use the children are not ours either.
 */
export function findDescendants(
  processes: readonly WindowsProcess[],
  { leader, sinceMs }: StartedProcess,
): readonly FoundProcess[] {
  if (processes.some(({ pid }) => pid === leader)) return [];
  const recent = processes.filter(({ startMs }) => startMs >= sinceMs - TICK_MS);
  const found = new Map<number, FoundProcess>();
  const parents = [leader];
  for (const parent of parents) {
    for (const { pid, command, ...child } of recent) {
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
export async function stopStrays(tree: StartedProcess): Promise<readonly FoundProcess[]> {
  const found = findDescendants(await listWindowsProcesses(), tree);
  for (const { pid } of found) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  }
  return found;
}

/** The same rules as in `findDescendants`; a leader that this process did not start has only got the number of ours. */
const formatEnd = (sinceMs: number): string => `if (-not $env:GMN_LEADER) { exit }
$since = [DateTimeOffset]::FromUnixTimeMilliseconds(${sinceMs - TICK_MS}).UtcDateTime
$all = Get-CimInstance Win32_Process | Where-Object { $_.CreationDate -and $_.CreationDate.ToUniversalTime() -ge $since }
$tree = @([uint32]$env:GMN_LEADER)
if ($all | Where-Object { $_.ProcessId -eq $tree[0] -and $_.ParentProcessId -ne ${process.pid} }) { exit }
for ($at = 0; $at -lt $tree.Count; $at++) { $tree += @($all | Where-Object { $_.ParentProcessId -eq $tree[$at] -and $tree -notcontains $_.ProcessId } | ForEach-Object { $_.ProcessId }) }
Stop-Process -Id $tree -Force -ErrorAction SilentlyContinue`;

/**
 * A command interpreter that waits until its input ends, as it does when this process is killed; then it ends the tree. Windows ends the
 * command itself with this process, but not what that has started.
 */
export function startWindowsWatchdog(sinceMs: number) {
  const powershell = windowsProgram('powershell', process.env);
  const end = Buffer.from(formatEnd(sinceMs), 'utf16le').toString('base64');
  const line = `set /p GMN_LEADER=& set /p GMN_END=& "${powershell}" -NoProfile -NonInteractive -WindowStyle Hidden -EncodedCommand ${end}`;
  return spawn(findCommandInterpreter(process.env), ['/d', '/s', '/c', `"${line}"`], {
    env: helperEnvironment(process.env, []),
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    windowsHide: true,
    windowsVerbatimArguments: true,
  });
}
