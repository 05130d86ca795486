import { basename, delimiter, dirname, isAbsolute, join } from 'node:path';
import type { App } from '../../../core/app.ts';
import { AppError } from '../../../core/error.ts';
import { contains } from '../../../core/text/path.ts';
import { isSensitivePath, listStateDirectories } from '../../../core/text/secrets.ts';
import { sanitize } from '../../../core/text/terminal.ts';
import { findFileKind, isDirectory, isReadableByOthers, pathExists, realPath } from '../../../platform/files/path.ts';
import { listPaths } from '../../../platform/files/read.ts';
import { findUserHomes } from '../../../platform/host.ts';
import { isRoot, runtimePath, systemPlatform } from '../../../platform/runtime/system.ts';
import { listBoundSockets } from '../../../platform/sandbox/bound-sockets.ts';
import type { SandboxNetwork, SandboxProfile } from '../../../platform/sandbox/profile.ts';
import type { Watched } from './watched.ts';

/** Where people and other programs keep what is theirs. */
const HIDDEN: Readonly<Record<string, readonly string[]>> = {
  linux: ['/home', '/root', '/run', '/var/run', '/tmp', '/var/tmp', '/mnt', '/media'],
  darwin: ['/Users', '/Volumes', '/tmp', '/var/tmp', '/var/folders', '/var/root', '/var/run'],
};

/** The same, where it is named by the environment. */
const HIDDEN_VARIABLES = ['TMPDIR', 'XDG_RUNTIME_DIR'];

/** Keys and the ways to those who keep them, where the environment names their places. */
const SECRET_VARIABLES = [
  ...['SSH_AUTH_SOCK', 'GNUPGHOME', 'CLOUDSDK_CONFIG', 'GOOGLE_APPLICATION_CREDENTIALS', 'AWS_SHARED_CREDENTIALS_FILE'],
  ...[
    'AWS_CONFIG_FILE',
    'AZURE_CONFIG_DIR',
    'KUBECONFIG',
    'DOCKER_CONFIG',
    'NETRC',
    'PGPASSFILE',
    'NPM_CONFIG_USERCONFIG',
  ],
  ...['XAUTHORITY', 'PASSWORD_STORE_DIR', 'VAULT_TOKEN_FILE'],
];

/** Of the directories above, what systems and programs that run there need. */
const SHOWN = ['/run/current-system', '/run/booted-system', '/run/opengl-driver', '/Users/Shared'];

/** Toolchains of a home, without the files in them that hold keys. */
const TOOLCHAINS = [
  ...['.asdf', '.bun', '.deno', '.dotnet', '.elan', '.fnm', '.ghcup', '.go', '.jenv', '.juliaup', '.n', '.nix-profile'],
  ...['.nodenv', '.nvm', '.opam', '.proto', '.pyenv', '.rbenv', '.rustup', '.rvm', '.sdkman', '.swiftly', '.volta'],
  ...['.cargo/bin', '.cargo/env', '.cargo/git', '.cargo/registry', '.gem/ruby', '.gradle/wrapper', '.gradle/caches'],
  ...[
    '.julia/packages',
    '.julia/artifacts',
    '.m2/repository',
    '.m2/wrapper',
    '.npm-global',
    '.nuget/packages',
    '.pub-cache',
  ],
  ...['.local/bin', '.local/lib', '.local/pipx', '.local/state/nix', '.local/share/fnm', '.local/share/mise'],
  ...['.local/share/pnpm', '.local/share/rtx', '.local/share/uv', '.local/share/virtualenvs', '.config/yarn/global'],
  ...['anaconda3', 'flutter', 'go', 'mambaforge', 'miniconda3', 'miniforge3', 'sdk/go', 'bin'],
  ...['Library/pnpm', 'Library/Python', 'Library/Developer/Toolchains'],
];

/** Inside of those, what is not shown. */
const TOOLCHAIN_SECRETS = [
  ...['.pub-cache/credentials.json', '.local/share/uv/credentials', '.dotnet/corefx', '.opam/plugins/opam-publish'],
  ...['.config/yarn/global/.npmrc', '.bun/install/global/.npmrc', '.npm-global/.npmrc'],
];

/** Beside a directory of programs, what they are made of. */
const BESIDE_PROGRAMS = ['lib', 'lib64', 'libexec', 'share', 'include', 'etc'];

/** Files of the system that only root can read; as root, commands could. */
const SYSTEM_SECRETS = [
  ...[
    '/etc/shadow',
    '/etc/shadow-',
    '/etc/gshadow',
    '/etc/gshadow-',
    '/etc/sudoers',
    '/etc/sudoers.d',
    '/etc/krb5.keytab',
  ],
  ...[
    '/etc/ssl/private',
    '/etc/pki/tls/private',
    '/etc/letsencrypt',
    '/etc/wireguard',
    '/etc/docker',
    '/etc/kubernetes',
  ],
  ...['/etc/NetworkManager/system-connections', '/etc/rancher', '/var/lib/docker', '/var/lib/containerd', '/var/spool'],
  ...['/var/lib/kubelet', '/var/lib/NetworkManager', '/var/backups', '/var/mail'],
];

/** Each takes some mounts. */
const MAX_PROTECTED = 200;

export interface ProfileQuestion {
  readonly app: App;
  /** What commands may write, apart from what is protected there. */
  readonly roots: readonly string[];
  readonly network: SandboxNetwork;
  /** What instructs models or other programs run; asked anew for each command. */
  readonly listWatched: () => readonly Watched[];
}

/** What lies in the home may change, but not while a run goes on; only what is protected is listed anew for each command. */
export function createProfileReader({ app, roots, network, listWatched }: ProfileQuestion): () => SandboxProfile {
  const platform = systemPlatform();
  const homes = [...new Set(findUserHomes(app.env).map((home) => realPath(home) ?? home))];
  const writable = omitNested(roots.map(requireRealDirectory));
  for (const root of writable) checkBreadth(root, homes);
  const named = HIDDEN_VARIABLES.flatMap((name) => app.env[name] ?? []);
  const hidden = omitNested([...(HIDDEN[platform] ?? []), ...homes, ...named].flatMap(toRealDirectory));
  const isHidden = (path: string): boolean => hidden.some((each) => contains(each, path));
  const isSecret = (path: string): boolean => secrets.some((each) => contains(each, path));
  const states = listStateDirectories(app.homes(), homes).flatMap((path) => realPath(path) ?? []);
  const places = [
    ...[...SYSTEM_SECRETS, ...listClosed('/etc', 2), ...listClosed('/var/lib', 2)],
    ...[...homes.flatMap((home) => TOOLCHAIN_SECRETS.map((name) => join(home, name))), ...listProgramSecrets(app)],
    ...SECRET_VARIABLES.flatMap((name) => app.env[name] ?? []),
  ];
  const known = places.filter((path) => isAbsolute(path)).flatMap((path) => realPath(path) ?? []);
  const secrets = [...states, ...homes.flatMap(listSecrets), ...known];
  const wanted = [...SHOWN, ...homes.flatMap(listToolchains), ...listPrograms(app), ...listNetworkFiles(network)];
  const shown = [...new Set(wanted.flatMap((path) => realPath(path) ?? []))].filter(
    (path) =>
      isHidden(path) &&
      ![...hidden, ...homes].some((each) => contains(path, each)) &&
      !isSecret(path) &&
      !writable.some((root) => contains(root, path)),
  );
  // What is in a hidden directory cannot be seen anyway.
  const isVisible = (path: string): boolean =>
    !isHidden(path) || [...shown, ...writable].some((each) => contains(each, path));
  const masked = omitNested(secrets).filter(isVisible);
  for (const root of writable) checkSecret(root, states);
  return () => {
    const sockets = listBoundSockets().filter(
      (path) => isVisible(path) && isSocket(path) && !masked.some((each) => contains(each, path)),
    );
    // At its real path, so that a mount there keeps it; nearest to a root first.
    const closed = listWatched().filter(({ path, isOpen }) => !isOpen && realPath(path) === path);
    const kept = omitNested(closed.map(({ path }) => path)).slice(0, MAX_PROTECTED);
    return {
      writable,
      pinned: listBetween(writable, kept),
      protected: kept.filter((path) => !masked.some((each) => contains(each, path))),
      hidden,
      shown: omitNested(shown),
      secretDirectories: masked.filter(isDirectory),
      secretFiles: [...masked.filter((path) => !isDirectory(path)), ...sockets],
      network,
    };
  };
}

function requireRealDirectory(path: string): string {
  const real = realPath(path);
  if (real !== undefined && isDirectory(real)) return real;
  throw new AppError('config', `${sanitize(path)} is not a directory`, { hint: 'Run gmn in a directory that exists.' });
}

/** A sandbox in which everything may be written is none; nor is one in a home, where programs begin with what they find. Throws AppError `config`. */
function checkBreadth(root: string, homes: readonly string[]): void {
  const isAround = ['/usr', '/etc', '/tmp', '/var/tmp', '/private/tmp', '/dev', '/proc'].some((path) =>
    contains(root, path),
  );
  if (!isAround && !homes.some((home) => contains(root, home))) return;
  throw new AppError('config', `a sandbox cannot be made for ${sanitize(root)}: commands could write too much there`, {
    hint: 'Go to the directory of the project, or name it with -C.',
  });
}

/** Throws AppError `config` for a directory inside those of gmn and the official CLI, which no command may see. */
function checkSecret(root: string, states: readonly string[]): void {
  if (!states.some((state) => contains(state, root))) return;
  throw new AppError(
    'config',
    `a sandbox cannot be made for ${sanitize(root)}: keys and conversations are kept there`,
    {
      hint: 'Go to the directory of a project.',
    },
  );
}

/** At its real path, so that a mount there hides it. */
function isSocket(path: string): boolean {
  return findFileKind(path) === 'other' && realPath(path) === path;
}

function toRealDirectory(path: string): readonly string[] {
  const real = realPath(path);
  return real !== undefined && real !== '/' && isDirectory(real) ? [real] : [];
}

/** Sorted, so that what is around comes before what is inside. */
function omitNested(paths: readonly string[]): readonly string[] {
  const sorted = [...new Set(paths)].sort((one, other) => one.length - other.length || (one < other ? -1 : 1));
  return sorted.filter((path, index) => !sorted.slice(0, index).some((each) => contains(each, path)));
}

function listToolchains(home: string): readonly string[] {
  return TOOLCHAINS.map((name) => join(home, name));
}

/** Keys and passwords of a home, by their names; matters where the home itself may be seen. */
function listSecrets(home: string): readonly string[] {
  return ['', '.config', '.local/share'].flatMap((directory) =>
    listPaths(join(home, directory)).flatMap((path) => {
      const real = isSensitivePath(join(directory, basename(path))) ? realPath(path) : undefined;
      // A link leads to something that is not this home's.
      return real === path ? [real] : [];
    }),
  );
}

/** The directories of PATH, what belongs to the programs there, and the one that runs gmn. */
function listPrograms({ env }: App): readonly string[] {
  const directories = (env.PATH ?? '').split(delimiter).filter((path) => isAbsolute(path));
  const beside = [...directories, dirname(runtimePath())]
    .filter((path) => basename(path) === 'bin' && !isUserDirectory(dirname(path)))
    .flatMap((path) => BESIDE_PROGRAMS.map((name) => join(dirname(path), name)));
  return [...directories, ...beside, runtimePath()];
}

/** The settings of npm for all users of a Node may hold a token. */
function listProgramSecrets({ env }: App): readonly string[] {
  return [...(env.PATH ?? '').split(delimiter), dirname(runtimePath())].map((path) => join(path, '../etc/npmrc'));
}

/** As root a command could read what others may not. */
function listClosed(directory: string, depth: number): readonly string[] {
  if (!isRoot()) return [];
  return listPaths(directory).flatMap((path) => {
    const kind = findFileKind(path);
    if (kind !== 'file' && kind !== 'directory') return [];
    if (!isReadableByOthers(path)) return [path];
    return kind === 'directory' && depth > 1 ? listClosed(path, depth - 1) : [];
  });
}

/** `~` and `~/.local` have directories of such names that are not only about programs. */
function isUserDirectory(path: string): boolean {
  return (
    ['.local', '.config'].includes(basename(path)) ||
    pathExists(join(path, '.profile')) ||
    pathExists(join(path, '.config'))
  );
}

/** How names are resolved may be told by a file in a directory that is hidden. */
function listNetworkFiles({ kind }: SandboxNetwork): readonly string[] {
  return kind === 'all' ? ['/etc/resolv.conf'] : [];
}

/** Directories between a root and these, from above: a mount on each keeps its name from being given to another one. */
function listBetween(roots: readonly string[], paths: readonly string[]): readonly string[] {
  const found = new Set<string>();
  for (const path of paths)
    for (let parent = dirname(path); !roots.includes(parent) && parent !== dirname(parent); parent = dirname(parent))
      found.add(parent);
  return [...found].sort((one, other) => one.length - other.length);
}
