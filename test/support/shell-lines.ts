import { chooseShell } from '../../src/platform/process/shell-choice.ts';
import { isWindows } from './posix.ts';

/** A shell that is on every machine of this system, by its full path. */
export const SYSTEM_SHELL = isWindows ? `${process.env.SystemRoot}\\System32\\cmd.exe` : '/bin/sh';

// Lines for the shell that gmn chooses, which do the same on every system.

/** Passes on what it is given. */
export const CAT = isWindows ? nodeLine('process.stdin.pipe(process.stdout)') : 'cat';

export const TO_UPPER_CASE = isWindows
  ? nodeLine("process.stdin.on('data', (text) => process.stdout.write(String(text).toUpperCase()))")
  : 'tr a-z A-Z';

export function showFile(name: string): string {
  return isWindows ? `type ${name}` : `cat ${name}`;
}

export function removeFile(name: string): string {
  return isWindows ? `del ${name}` : `rm ${name}`;
}

export function copyFile(from: string, to: string): string {
  return isWindows ? `copy ${from} ${to}` : `cp ${from} ${to}`;
}

export function sayIfGone(name: string): string {
  return isWindows
    ? nodeLine(`require('node:fs').existsSync('${name}') || console.log('gone')`)
    : `test -e ${name} || echo gone`;
}

export function printAndFail(output: string, error: string, exitCode: number): string {
  return isWindows
    ? nodeLine(`console.log('${output}'); console.error('${error}'); process.exitCode = ${exitCode}`)
    : `echo ${output}; echo ${error} >&2; exit ${exitCode}`;
}

/** The script must have no double quotes, and nothing that PowerShell or cmd would expand in them. */
function nodeLine(script: string): string {
  const isPowerShell = /(?:powershell|pwsh)\.exe$/i.test(chooseShell(undefined, process.env).path);
  return `${isPowerShell ? '& ' : ''}"${process.execPath}" -e "${script}"`;
}
