import { dirname } from 'node:path';
import { runPowerShell } from '../process/windows-query.ts';

/**
 * The administrators, the system, and its installer.
 * https://learn.microsoft.com/en-us/windows-server/identity/ad-ds/manage/understand-security-identifiers
 */
const ADMINISTRATORS = [
  'S-1-5-32-544',
  'S-1-5-18',
  'S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464',
] as const;

/** Node cannot tell who owns a file. Names of accounts depend on the language of the system, their identifiers do not. */
const SCRIPT = `foreach ($path in @($env:GMN_FILE, [IO.Path]::GetDirectoryName($env:GMN_FILE))) {
  (Get-Acl -LiteralPath $path).GetOwner([Security.Principal.SecurityIdentifier]).Value
}`;

/**
 * Why a system-wide file must not be trusted: any user of a Windows machine can create folders in `C:\ProgramData`. Takes part of a second,
 * but only where there is such a file. Never throws.
 */
export async function findWindowsDistrust(path: string, readOwners = queryOwners): Promise<string | undefined> {
  try {
    const owners = (await readOwners(path)).trim().split(/\s+/);
    const place = [path, dirname(path)].find((_, at) => !ADMINISTRATORS.some((owner) => owner === owners[at]));
    return place === undefined ? undefined : `${place} does not belong to an administrator`;
  } catch {
    return 'its owner cannot be determined';
  }
}

function queryOwners(path: string): Promise<string> {
  return runPowerShell(SCRIPT, { GMN_FILE: path });
}
