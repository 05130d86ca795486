import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { helperEnvironment } from './environment.ts';
import { windowsProgram } from './windows-command.ts';

const MAX_MS = 5000;

const FIRST_ARGUMENTS = {
  powershell: ['-NoLogo', '-NoProfile', '-NonInteractive', '-Command'],
  wmic: ['process', 'get'],
} as const;

/** What a program of Windows prints. Throws if it fails or takes too long. */
export async function queryWindows(
  program: keyof typeof FIRST_ARGUMENTS,
  question: string,
  variables: Readonly<Record<string, string>> = {},
): Promise<string> {
  const env = { ...helperEnvironment(process.env, []), ...variables };
  const args = [...FIRST_ARGUMENTS[program], question];
  const options = { env, timeout: MAX_MS, windowsHide: true, encoding: 'latin1' } as const;
  const asked = promisify(execFile)(windowsProgram(program, process.env), args, options);
  // wmic, and older PowerShells, wait for the end of an input that is a pipe.
  asked.child.stdin?.on('error', () => {}).end();
  return (await asked).stdout;
}
