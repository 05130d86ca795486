import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { errnoOf } from '../runtime/system.ts';

/**
 * Makes a directory, and those above it, for our eyes only; one that exists is left as it is. One level at a time: Node's own
 * recursive mkdir never returns where nothing can be made (/proc). Throws what the system says.
 */
export function makeDirectories(path: string): void {
  try {
    // A server asks with every call, and an exception costs more than this look.
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return;
    mkdirSync(path, { mode: 0o700 });
  } catch (thrown) {
    const code = errnoOf(thrown);
    if (code === 'EEXIST') return;
    if (code !== 'ENOENT' || dirname(path) === path) throw thrown;
    makeDirectories(dirname(path));
    // One that was made meanwhile is as good.
    if (mkdirFails(path)) throw thrown;
  }
}

function mkdirFails(path: string): boolean {
  try {
    mkdirSync(path, { mode: 0o700 });
    return false;
  } catch (thrown) {
    return errnoOf(thrown) !== 'EEXIST';
  }
}
