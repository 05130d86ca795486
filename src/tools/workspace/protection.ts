import { basename, dirname } from 'node:path';
import { contains } from '../../core/text/path.ts';
import { foldName, hasSteps, stepsOf } from '../../core/text/secrets.ts';
import { textBefore } from '../../core/text/trim.ts';
import { PROTECTED_DIRECTORIES, PROTECTED_FILES, PROTECTED_PAIRS, PROTECTED_PATTERNS } from './protected-lists.ts';

/** Examples are for people, not for programs. */
const PLANTED_NAMES = /^(?:\.env(?!\.(?:example|sample|template|dist)$)|id_(?:[^.]+$|rsa|dsa|ecdsa|ed25519))/;

const SYSTEM_DIRECTORIES = ['/proc', '/sys', '/dev'];

/** https://learn.microsoft.com/en-us/windows/win32/fileio/naming-a-file */
const DEVICE_NAME = /^(?:con|prn|aux|nul|conin\$|conout\$|com[\d¹²³]|lpt[\d¹²³])$/;

/** A short name that Windows gave to one of them: `GIT~1`. */
function isShortForm(segment: string): boolean {
  const stem = /^([^~]{1,6})~\d+$/.exec(segment)?.[1];
  return stem !== undefined && PROTECTED_DIRECTORIES.some((name) => name.slice(1).startsWith(stem.slice(0, 6)));
}

/**
 * Whether nothing may be written there, in whatever mode: other programs would run it or believe it, or it would hold
 * keys. `above` is what the path begins in; of that only the directories count. `names` are protected besides.
 */
export function isProtected(path: string, above = '', names: readonly string[] = []): boolean {
  const segments = stepsOf(path);
  const added = names.map(foldName);
  const all = [...stepsOf(above), ...segments];
  return (
    all.some((segment) => PROTECTED_DIRECTORIES.includes(segment)) ||
    hasSteps(all, PROTECTED_PAIRS) ||
    segments.some(
      (segment) =>
        PROTECTED_FILES.includes(segment) ||
        added.includes(segment) ||
        PROTECTED_PATTERNS.some((pattern) => pattern.test(segment)) ||
        isShortForm(segment),
    )
  );
}

/** Whether a file of that name, if it is new, would be taken for the user's own settings or keys by other programs. */
export function isPlanted(path: string): boolean {
  return PLANTED_NAMES.test(foldName(basename(path)));
}

/** Whether a path is the kernel's: what is there is no file of anybody. */
export function isSystemPath(path: string): boolean {
  return SYSTEM_DIRECTORIES.some((directory) => contains(directory, path));
}

/** Whether Windows takes a step of the path for a device, or for a stream of another file. */
export function isWindowsTrap(path: string): boolean {
  const steps = path.replace(/^[a-z]:/i, '').split(/[\\/]/);
  return steps.some((step) => step.includes(':') || DEVICE_NAME.test(foldName(textBefore(step, '.'))));
}

/** Whether a root is no project but everything one has: `/`, the home directory, or what that lies in. */
export function isTooBroad(root: string, home: string): boolean {
  return dirname(root) === root || contains(root, home);
}
