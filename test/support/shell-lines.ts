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

/** Prints any text. */
export function print(text: string): string {
  return isWindows ? nodeLine(`process.stdout.write(${bytesOf(text)})`) : `printf %s '${text}'`;
}

export function complain(error: string, exitCode: number): string {
  return isWindows
    ? nodeLine(`console.error('${error}'); process.exitCode = ${exitCode}`)
    : `echo '${error}' >&2; exit ${exitCode}`;
}

/** Complains about an input with this text in it, or about one without. */
export function complainIfInput(has: 'has' | 'lacks', text: string, error: string, exitCode: number): string {
  if (!isWindows) return `grep -q '${text}' ${has === 'has' ? '&&' : '||'} { ${complain(error, exitCode)}; }; exit 0`;
  const found = `${has === 'has' ? '' : '!'}Buffer.concat(all).includes(${bytesOf(text)})`;
  return nodeLine(
    `const all = []; process.stdin.on('data', (data) => all.push(data)).on('end', () => { if (${found}) { console.error('${error}'); process.exitCode = ${exitCode} } })`,
  );
}

/** Keeps what it is given in a file, and its environment in another. */
export function keepInput(file: string): string {
  if (!isWindows) return `cat > ${file}; env > ${file}.env`;
  const env = `Object.entries(process.env).map((pair) => pair.join('=')).join(${bytesOf('\n')})`;
  return nodeLine(
    `const fs = require('node:fs'); process.stdin.pipe(fs.createWriteStream('${file}')); fs.writeFileSync('${file}.env', ${env})`,
  );
}

export const WAIT_LONG = isWindows ? nodeLine('setTimeout(() => {}, 600000)') : 'sleep 600';

const bytesOf = (text: string): string => `Buffer.from('${Buffer.from(text).toString('base64')}', 'base64')`;

/** The script must have no double quotes, and nothing that PowerShell or cmd would expand in them. */
function nodeLine(script: string): string {
  const isPowerShell = /(?:powershell|pwsh)\.exe$/i.test(chooseShell(undefined, process.env).path);
  return `${isPowerShell ? '& ' : ''}"${process.execPath}" -e "${script}"`;
}
