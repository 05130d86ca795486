import { lstatSync, readdirSync } from 'node:fs';

/** Of those that each sandbox has anew in /proc. Absolute, and there. */
export interface KernelFiles {
  readonly readOnly: readonly string[];
  readonly hidden: readonly string[];
}

const HIDDEN = ['kcore', 'keys', 'key-users', 'kpagecgroup', 'kpagecount', 'kpageflags', 'timer_list', 'sched_debug'];

/** One of its settings names a program that the kernel runs outside. */
const SETTINGS = 'sys';

/**
 * As root, files of the kernel could be written even in a namespace: what is not about a process is made read-only for root, and the settings for
 * everybody.
 */
export function listKernelFiles({ uid }: { readonly uid: number }, proc = '/proc'): KernelFiles {
  const toPaths = (names: readonly string[]): readonly string[] => names.map((name) => `${proc}/${name}`);
  const names = readdirSync(proc).filter((name) => !/^\d+$/.test(name));
  const hidden = names.filter((name) => HIDDEN.includes(name));
  const changing = names.filter((name) => {
    const status = lstatSync(`${proc}/${name}`);
    return (
      name === SETTINGS || (uid === 0 && (status.isDirectory() || (status.isFile() && (status.mode & 0o222) !== 0)))
    );
  });
  return { readOnly: toPaths(changing), hidden: toPaths(hidden) };
}
