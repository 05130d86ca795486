import type { ConfinedStart, ProgramStart } from '../../core/confine.ts';
import { AppError } from '../../core/error.ts';
import { contains } from '../../core/text/path.ts';
import type { SandboxProfile } from './profile.ts';

export interface ContainerParts {
  readonly program: string;
  readonly name: 'docker' | 'podman';
  readonly image: string;
  readonly profile: SandboxProfile;
  readonly user: { readonly uid: number; readonly gid: number };
  /** Of docker or podman itself. */
  readonly env: Readonly<Record<string, string>>;
}

/** Of the environment of a command, what means something in another system. */
const PASSED = /^(?:LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|NO_COLOR|PAGER|GIT_PAGER|GIT_TERMINAL_PROMPT|GMN_[A-Z_]+)$/;

/**
 * A container has a system of its own, so nothing need be hidden: it gets the directories that may be written, and nothing else of this
 * machine. Throws AppError `config` for hosts by name, for which the image would need a program.
 */
export function confineByContainer(parts: ContainerParts, start: ProgramStart): ConfinedStart {
  const { program, name, image, profile, user, env } = parts;
  const passed = Object.entries(start.env).filter(([variable]) => PASSED.test(variable));
  const { network, writable, secretDirectories, secretFiles } = profile;
  if (network.kind === 'proxy') {
    throw new AppError('config', `--sandbox-net with hosts does not work with ${name}`, {
      hint: 'Use --sandbox bwrap, or --sandbox-net all.',
    });
  }
  // What else there is on this machine is not in the container.
  const isMounted = (path: string): boolean => writable.some((root) => contains(root, path));
  const bind = (path: string, how: string): readonly string[] => [
    '--mount',
    `type=bind,${toMountField('source', path)},${toMountField('target', path)}${how}`,
  ];
  return {
    command: program,
    args: [
      ...['run', '--rm', '--init', '--interactive', '--read-only', '--cap-drop', 'ALL'],
      ...['--security-opt', 'no-new-privileges', '--pids-limit', '4096', '--tmpfs', '/tmp:exec,mode=1777'],
      ...['--network', network.kind === 'all' ? 'bridge' : 'none', '--workdir', start.cwd],
      // Podman maps a user who is not root to the container's root, unless told otherwise.
      ...(name === 'podman' && user.uid !== 0 ? ['--userns', 'keep-id'] : ['--user', `${user.uid}:${user.gid}`]),
      ...[...writable, ...profile.pinned].flatMap((path) => bind(path, '')),
      ...profile.protected.flatMap((path) => bind(path, ',readonly')),
      ...secretDirectories
        .filter(isMounted)
        .flatMap((path) => ['--mount', `type=tmpfs,${toMountField('target', path)}`]),
      ...secretFiles
        .filter(isMounted)
        .flatMap((path) => ['--mount', `type=bind,source=/dev/null,${toMountField('target', path)},readonly`]),
      // By name only: values are in no list of processes.
      ...passed.flatMap(([variable]) => ['--env', variable]),
      ...['--env', 'HOME=/tmp', '--env', 'TMPDIR=/tmp', '--', image, start.command, ...start.args],
    ],
    ...{ cwd: '/', env: { ...env, ...Object.fromEntries(passed) }, inputs: [] },
  };
}

/** Fields are those of CSV: https://docs.docker.com/engine/storage/bind-mounts */
function toMountField(key: string, path: string): string {
  return /[",\r\n]/.test(path) ? `"${key}=${path.replaceAll('"', '""')}"` : `${key}=${path}`;
}
