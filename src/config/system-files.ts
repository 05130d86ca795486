import { lstatSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** Where the administrator of this machine keeps settings for the official CLI. */
export function systemSettingsDirectory(): string {
  if (process.platform === 'win32') return 'C:\\ProgramData\\gemini-cli';
  if (process.platform === 'darwin') return '/Library/Application Support/GeminiCli';
  return '/etc/gemini-cli';
}

/**
 * Why a file that speaks for the whole machine must not be believed: somebody else than its `owners` could have written
 * it. Undefined if it may be; always so on Windows, where ownership says something else. Never throws.
 */
export function distrustOf(path: string, owners: 'root' | 'root or me'): string | undefined {
  if (process.getuid === undefined) return undefined;
  const allowed = owners === 'root' ? [0] : [0, process.getuid()];
  try {
    const links = [path, dirname(path)].map((name) => [name, lstatSync(name)] as const);
    const targets = [path, dirname(path)].map((name) => [name, statSync(name)] as const);
    for (const [name, status] of [...links, ...targets]) {
      const why = weakness(status, allowed);
      if (why !== undefined) return `${name} ${why}`;
    }
    return undefined;
  } catch {
    return 'its owner cannot be told';
  }
}

function weakness(status: Stats, owners: readonly number[]): string | undefined {
  if (!owners.includes(status.uid)) return 'belongs to another user';
  // The mode of a link says nothing; its target is looked at too.
  return !status.isSymbolicLink() && (status.mode & 0o022) !== 0 ? 'can be written by others' : undefined;
}
