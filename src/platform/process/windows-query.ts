import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Env } from '../../core/io.ts';
import { helperEnvironment } from './environment.ts';
import { windowsProgram } from './windows-command.ts';

const MAX_MS = 5000;

/** What a script prints. Throws if PowerShell fails or takes too long. */
export function runPowerShell(script: string, variables: Env = {}): Promise<string> {
  const args = ['-NoLogo', '-NoProfile', '-NonInteractive', '-Command', script];
  return readProgram(windowsProgram('powershell', process.env), args, variables);
}

/** A table of all processes with these fields. Throws as above; newer systems have no wmic. */
export function listWithWmic(fields: string): Promise<string> {
  return readProgram(windowsProgram('wmic', process.env), ['process', 'get', fields], {});
}

async function readProgram(program: string, args: readonly string[], variables: Env): Promise<string> {
  const env = { ...helperEnvironment(process.env, []), ...variables };
  const options = { env, timeout: MAX_MS, windowsHide: true, encoding: 'latin1' } as const;
  const asked = promisify(execFile)(program, args, options);
  // wmic, and older PowerShells, wait for the end of an input that is a pipe.
  asked.child.stdin?.on('error', () => {}).end();
  return (await asked).stdout;
}
