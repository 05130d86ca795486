import { basename, dirname } from 'node:path';
import { contains } from '../core/containment.ts';
import { isSecretName } from '../core/secret-files.ts';
import { SENSITIVE_DIRECTORIES, SENSITIVE_PAIRS } from '../core/secret-lists.ts';
import { PROTECTED_DIRECTORIES, PROTECTED_FILES, PROTECTED_PAIRS, PROTECTED_PATTERNS } from './protected-lists.ts';

/** Examples are for people, not for programs. */
const PLANTED_NAMES = /^(?:\.env(?!\.(?:example|sample|template|dist)$)|id_(?:[^.]+$|rsa|dsa|ecdsa|ed25519))/;

/** Where this program and the official one keep credentials and sessions, below whatever home. */
const STATE =
  /\/\.(?:gmn\/(?:key\.json|oauth-client\.json|code-assist\.json|tokens|sessions|undo|locks)|gemini\/(?:\.env|oauth_creds\.json|gemini-credentials\.json|google_accounts\.json|mcp-oauth-tokens[^/]*|tmp|history))\//;

const SYSTEM_DIRECTORIES = ['/proc', '/sys', '/dev'];

/** https://learn.microsoft.com/en-us/windows/win32/fileio/naming-a-file */
const DEVICE_NAME = /^(?:con|prn|aux|nul|conin\$|conout\$|com[\d¹²³]|lpt[\d¹²³])$/;

/**
 * A name as the most forgiving file system might read it: no case, no compatibility forms, no invisible characters, no
 * dots and spaces at its end, no stream behind a colon.
 */
function folded(name: string): string {
  // Most names are plain, and walks ask for many.
  if (/^[\w-]*$/.test(name)) return name.toLowerCase();
  const shown = name
    .replace(/%([0-7][\da-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}|\p{Cc}/gu, '')
    .toLowerCase()
    .replace(/:.*$/s, '');
  return shown.replace(/[. ]+$/, '');
}

function segmentsOf(path: string): readonly string[] {
  return path.split(/[\\/]/).map(folded);
}

function hasPair(segments: readonly string[], pairs: readonly string[]): boolean {
  return pairs.some((pair) => `/${segments.join('/')}/`.includes(`/${pair}/`));
}

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
  const segments = segmentsOf(path);
  const added = names.map(folded);
  const all = [...segmentsOf(above), ...segments];
  return (
    all.some((segment) => PROTECTED_DIRECTORIES.includes(segment)) ||
    hasPair(all, PROTECTED_PAIRS) ||
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
  return PLANTED_NAMES.test(folded(basename(path)));
}

/** Whether a file of this name, however a file system might read it, is likely to hold keys or passwords. */
export function isSecretFile(name: string): boolean {
  return isSecretName(name) || isSecretName(folded(name));
}

/**
 * Whether the file is likely to hold keys or passwords: it is read only after a person said so. `above` is what the path
 * begins in.
 */
export function isSensitivePath(path: string, above = ''): boolean {
  const segments = [...segmentsOf(above), ...segmentsOf(path)];
  return (
    isSecretFile(basename(path)) ||
    segments.some((segment) => SENSITIVE_DIRECTORIES.includes(segment)) ||
    hasPair(segments, SENSITIVE_PAIRS)
  );
}

/** Whether credentials or sessions of this program or the official one are there: no tool sees them, asked or not. */
export function isStatePath(path: string): boolean {
  return STATE.test(`/${segmentsOf(path).join('/')}/`);
}

/** Whether a path is the kernel's: what is there is no file of anybody. */
export function isSystemPath(path: string): boolean {
  return SYSTEM_DIRECTORIES.some((directory) => contains(directory, path));
}

/** Whether Windows takes a step of the path for a device, or for a stream of another file. */
export function isWindowsTrap(path: string): boolean {
  const steps = path.replace(/^[a-z]:/i, '').split(/[\\/]/);
  return steps.some((step) => step.includes(':') || DEVICE_NAME.test(folded(step.replace(/\..*$/s, ''))));
}

/** Whether a root is no project but everything one has: `/`, the home directory, or what that lies in. */
export function isTooBroad(root: string, home: string): boolean {
  return dirname(root) === root || contains(root, home);
}
