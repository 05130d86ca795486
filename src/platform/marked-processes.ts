import { readdir, readFile } from 'node:fs/promises';

/** A process that was found running. */
export interface FoundProcess {
  readonly pid: number;
  /** Its command line, arguments separated by spaces. Untrusted text. */
  readonly command: string;
}

/**
 * The processes whose environment was started with this text in it, zombies left out. Only Linux tells; elsewhere, and
 * for processes of other users, there are none. Never throws.
 */
export async function processesMarked(marker: string): Promise<readonly FoundProcess[]> {
  const pids = await readdir('/proc').catch(() => []);
  const found: FoundProcess[] = [];
  for (const pid of pids) {
    if (!/^\d+$/.test(pid)) continue;
    const environment = await readProcess(pid, 'environ');
    if (!environment.includes(marker)) continue;
    const command = (await readProcess(pid, 'cmdline')).replaceAll('\0', ' ').trim();
    found.push({ pid: Number(pid), command });
  }
  return found;
}

/** Empty if the process is gone, a zombie, or not ours to look at. */
async function readProcess(pid: string, file: 'environ' | 'cmdline'): Promise<string> {
  return readFile(`/proc/${pid}/${file}`, 'latin1').catch(() => '');
}
