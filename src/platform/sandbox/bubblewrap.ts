import type { ConfinedStart, ProgramStart } from '../../core/confine.ts';
import { type EntryPrograms, formatVariables, type IdentifiedPath, listEntryWords } from './entry.ts';
import type { KernelFiles } from './kernel-files.ts';
import type { SandboxProfile } from './profile.ts';
import { addRelay } from './relay.ts';

export interface BubblewrapParts {
  /** Absolute. */
  readonly program: string;
  readonly profile: SandboxProfile;
  /** What must be in its place when the command starts. */
  readonly identified: readonly IdentifiedPath[];
  readonly programs: EntryPrograms;
  readonly filter: Uint8Array | undefined;
  readonly kernelFiles: KernelFiles;
}

const OPTIONS_FD = 3;
const VARIABLES_FD = 4;
const FILTER_FD = 5;

/** https://github.com/containers/bubblewrap. The options go through a descriptor: there may be many, and no list of processes shows them. */
export function confineByBubblewrap(parts: BubblewrapParts, start: ProgramStart): ConfinedStart {
  const { program, profile, filter, identified, programs, kernelFiles } = parts;
  const options = [
    ...listBubblewrapOptions(profile, start.cwd, kernelFiles),
    ...(filter === undefined ? [] : ['--seccomp', String(FILTER_FD)]),
  ];
  const entry = { identified, readOnly: profile.protected, programs, variables: VARIABLES_FD };
  return {
    command: program,
    args: ['--args', String(OPTIONS_FD), '--', ...listEntryWords(entry, addRelay(profile, start))],
    // It is started where it is certain to be; the command itself begins in its own directory.
    cwd: '/',
    env: {},
    inputs: [
      Buffer.from(options.map((option) => `${option}\0`).join('')),
      formatVariables({ ...start.env, TMPDIR: '/tmp' }),
      ...(filter === undefined ? [] : [filter]),
    ],
  };
}

/** Later mounts cover earlier ones: first all that is hidden, last what must never be seen. */
export function listBubblewrapOptions(
  profile: SandboxProfile,
  cwd: string,
  kernelFiles: KernelFiles,
): readonly string[] {
  const { network, hidden, shown, writable, secretDirectories, secretFiles } = profile;
  return [
    // --disable-userns asks for --unshare-user by name.
    ...['--unshare-all', '--unshare-user', '--disable-userns', '--cap-drop', 'ALL'],
    ...['--new-session', '--die-with-parent', '--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc'],
    ...kernelFiles.readOnly.flatMap((path) => ['--ro-bind', path, path]),
    ...kernelFiles.hidden.flatMap((path) => ['--ro-bind', '/dev/null', path]),
    ...hidden.flatMap((path) => ['--tmpfs', path]),
    ...shown.flatMap((path) => ['--ro-bind', path, path]),
    ...[...writable, ...profile.pinned].flatMap((path) => ['--bind', path, path]),
    ...profile.protected.flatMap((path) => ['--ro-bind', path, path]),
    ...secretDirectories.flatMap((path) => ['--tmpfs', path, '--remount-ro', path]),
    ...secretFiles.flatMap((path) => ['--ro-bind', '/dev/null', path]),
    ...(network.kind === 'all' ? ['--share-net'] : []),
    ...(network.kind === 'proxy' ? ['--ro-bind', network.socket, network.socket] : []),
    ...['--chdir', cwd],
  ];
}
