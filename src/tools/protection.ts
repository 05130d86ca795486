import { basename, dirname } from 'node:path';
import { contains } from '../core/containment.ts';
import { isSecretName } from '../core/secret-files.ts';

/** Directories whose content is run, believed or kept secret by other programs. */
const PROTECTED_DIRECTORIES = [
  '.git',
  '.hg',
  '.svn',
  '.gemini',
  '.gmn',
  '.claude',
  '.codex',
  '.cursor',
  '.vscode',
  '.idea',
  '.zed',
  '.devcontainer',
  '.husky',
  '.circleci',
  '.direnv',
  '.ssh',
  '.gnupg',
  '.aws',
  '.azure',
  '.kube',
  '.docker',
];

/** The same, in a directory of that name only. */
const PROTECTED_PAIRS = ['.github/workflows', '.github/actions', '.config/git', '.config/fish', '.config/autostart'];

/** Files that other programs run or believe as soon as they start. */
const PROTECTED_FILES = [
  '.npmrc',
  '.yarnrc',
  '.yarnrc.yml',
  '.pnpmfile.cjs',
  '.netrc',
  '.pypirc',
  '.gitconfig',
  '.gitmodules',
  '.git-credentials',
  '.gitlab-ci.yml',
  '.pre-commit-config.yaml',
  '.envrc',
  '.mcp.json',
  '.profile',
  '.inputrc',
  '.login',
  '.logout',
  '.vimrc',
  '.exrc',
  '.gdbinit',
  '.lldbinit',
  '.screenrc',
  '.tmux.conf',
  '.curlrc',
  '.wgetrc',
  '.ripgreprc',
  '.xinitrc',
  '.xprofile',
  '.xsessionrc',
  '.pam_environment',
];

const SHELL_FILES = /^\.(?:bash|zsh|z|csh|tcsh|ksh|mksh)_?(?:rc|env|profile|login|logout|aliases|history)$/;

/** Directories full of credentials, besides files whose names say so. */
const SENSITIVE_DIRECTORIES = ['.ssh', '.gnupg', '.aws', '.azure', '.kube', '.docker', '.password-store', '.gmn'];
const SENSITIVE_PAIRS = ['.config/gcloud', '.config/gh', '.config/op', '.local/share/keyrings'];

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

/** Whether nothing may be written there, in whatever mode: other programs would run it or believe it. */
export function isProtected(path: string): boolean {
  const segments = segmentsOf(path);
  return (
    segments.some(
      (segment) =>
        PROTECTED_DIRECTORIES.includes(segment) ||
        PROTECTED_FILES.includes(segment) ||
        SHELL_FILES.test(segment) ||
        isShortForm(segment),
    ) || hasPair(segments, PROTECTED_PAIRS)
  );
}

/** Whether the file is likely to hold keys or passwords: it is read only after a person said so. */
export function isSensitivePath(path: string): boolean {
  const segments = segmentsOf(path);
  return (
    isSecretName(basename(path)) ||
    isSecretName(folded(basename(path))) ||
    segments.some((segment) => SENSITIVE_DIRECTORIES.includes(segment)) ||
    hasPair(segments, SENSITIVE_PAIRS)
  );
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
