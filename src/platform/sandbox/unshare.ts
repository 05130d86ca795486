import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { ConfinedStart, ProgramStart } from '../../core/confine.ts';
import { AppError } from '../../core/error.ts';
import { contains } from '../../core/text/path.ts';
import { quoteForShell as quote } from '../../core/text/quote.ts';
import { type EntryPrograms, formatVariables, type IdentifiedPath, listEntryWords } from './entry.ts';
import type { KernelFiles } from './kernel-files.ts';
import type { SandboxProfile } from './profile.ts';
import { addRelay } from './relay.ts';

/** Of util-linux, which every distribution has; `ip` and `perl` are others'. All absolute. */
export interface UnsharePrograms extends EntryPrograms {
  readonly unshare: string;
  readonly setpriv: string;
  readonly setsid: string;
  readonly mount: string;
  readonly umount: string;
  readonly ip: string | undefined;
  readonly perl: string | undefined;
}

export interface UnshareParts {
  readonly programs: UnsharePrograms;
  readonly profile: SandboxProfile;
  readonly identified: readonly IdentifiedPath[];
  readonly mounts: readonly Mount[];
  readonly kernelFiles: KernelFiles;
  /** Needs perl. */
  readonly filter: Uint8Array | undefined;
  readonly user: { readonly uid: number; readonly gid: number };
}

export interface Mount {
  readonly path: string;
  /** Those that a remount must repeat, since they may not be taken away. */
  readonly flags: readonly string[];
}

const KEPT_FLAGS = ['noexec', 'noatime', 'nodiratime', 'relatime'];

/** In the order in which they lie on each other. https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html */
export function parseMounts(text: string): readonly Mount[] {
  return text.split('\n').flatMap((line) => {
    const [, , , , path, options] = line.split(' ');
    if (path === undefined || options === undefined) return [];
    const plain = path.replace(/\\(\d{3})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8)));
    return [{ path: plain, flags: options.split(',').filter((flag) => KEPT_FLAGS.includes(flag)) }];
  });
}

export function readMounts(): readonly Mount[] {
  return parseMounts(readFileSync('/proc/self/mountinfo', 'utf8'));
}

const VARIABLES_FD = 3;

/**
 * The same as bubblewrap, with the programs of util-linux and a script: each mount is made read-only for itself, since that of `/` does not
 * reach those below it.
 */
export function confineByUnshare(parts: UnshareParts, start: ProgramStart): ConfinedStart {
  const { programs, profile, identified } = parts;
  const { unshare, setpriv } = programs;
  const entry = { identified, readOnly: profile.protected, programs, variables: VARIABLES_FD };
  const inner = listEntryWords(entry, addRelay(profile, start));
  const namespaces = ['--user', '--map-root-user', '--mount', '--pid', '--ipc', '--uts', '--cgroup'];
  return {
    command: setpriv,
    args: [
      // The kernel ends it together with this process, and --kill-child what is inside together with it.
      ...['--pdeathsig', 'KILL', '--', unshare, ...namespaces, ...(profile.network.kind === 'all' ? [] : ['--net'])],
      ...['--fork', '--kill-child=KILL', '--', '/bin/sh', '-c', createScript(parts, start.cwd), 'sh', ...inner],
    ],
    cwd: '/',
    // The script runs outside of what it makes, so none of its programs may come from a directory that commands can write: a virtual environment's.
    env: { PATH: `${dirname(programs.stat)}:/usr/bin:/bin` },
    inputs: [formatVariables({ ...start.env, TMPDIR: '/tmp' })],
  };
}

/**
 * Makes the kernel take a filter, which no program of util-linux does before 2.42, and runs what follows. Words: the number of the system
 * call prctl, the filter in hexadecimal, the command.
 */
const FILTERING = `my ($prctl, $bytes) = (0 + shift, pack('H*', shift));
syscall($prctl, 22, 2, pack('S x6 P', length($bytes) / 8, $bytes)) == 0 or exit 126;
exec { $ARGV[0] } @ARGV; exit 126`;

function listFilterWords({ programs: { perl }, filter }: UnshareParts): readonly string[] {
  if (perl === undefined || filter === undefined) return [];
  const prctl = process.arch === 'arm64' ? 167 : 157;
  return [perl, '-e', FILTERING, '--', String(prctl), Buffer.from(filter).toString('hex')];
}

const KERNEL_MOUNTS = ['/sys/fs', '/sys/kernel'];
const DEVICES = ['null', 'zero', 'full', 'random', 'urandom', 'tty'];

export function createScript(parts: UnshareParts, cwd: string): string {
  const { programs, profile, mounts, kernelFiles, user } = parts;
  const { network, hidden, shown, writable, secretDirectories, secretFiles } = profile;
  const stage = findStage(profile);
  const whole = join(stage, 'gmn');
  const mount = quote(programs.mount);
  const socket = network.kind === 'proxy' ? [network.socket] : [];
  const bindWhole = (path: string): string => `${mount} --rbind ${quote(`${whole}${path}`)} ${quote(path)}`;
  const remount = (path: string, flags: readonly string[] = []): string =>
    `${mount} -o ${['remount', 'bind', 'ro', 'nosuid', 'nodev', ...flags].join(',')} ${quote(path)}`;
  const bindNull = (path: string): string => `${mount} --bind ${quote(`${whole}/dev/null`)} ${quote(path)}`;
  /** In a directory that is empty by now. */
  const makePlace = (path: string): string =>
    `if [ -d ${quote(`${whole}${path}`)} ]; then mkdir -p ${quote(path)}; else mkdir -p ${quote(dirname(path))}; [ -e ${quote(path)} ] || : > ${quote(path)}; fi`;
  const covered = [...hidden, ...KERNEL_MOUNTS, '/proc', '/dev'];
  const left = mounts.filter(({ path }) => ![...covered, ...writable].some((each) => contains(each, path)));
  return [
    'set -e',
    // Everything as it was, to take from what is shown.
    `${mount} -t tmpfs gmn ${quote(stage)}`,
    `mkdir ${quote(whole)}`,
    `${mount} --rbind / ${quote(whole)}`,
    // Many mounts of the kernel's own; nothing that a command needs.
    ...KERNEL_MOUNTS.map((path) => `if [ -d ${path} ]; then ${mount} -t tmpfs -o ro gmn ${path}; fi`),
    ...[...new Map(left.map((each) => [each.path, each])).values()].map(({ path, flags }) => remount(path, flags)),
    ...[`${mount} -t tmpfs -o nosuid,mode=755 gmn /dev`, 'mkdir /dev/pts /dev/shm', 'chmod 1777 /dev/shm'],
    ...DEVICES.flatMap((name) => [`: > /dev/${name}`, bindWhole(`/dev/${name}`)]),
    `${mount} -t devpts -o newinstance,nosuid,noexec,ptmxmode=0666,mode=620 devpts /dev/pts`,
    ...['ln -s pts/ptmx /dev/ptmx', 'ln -s /proc/self/fd /dev/fd'],
    ...['stdin', 'stdout', 'stderr'].map((name, fd) => `ln -s /proc/self/fd/${fd} /dev/${name}`),
    `${mount} -t proc -o nosuid,nodev,noexec proc /proc`,
    // One more user namespace, for the last step; none inside of that.
    'echo 1 > /proc/sys/user/max_user_namespaces',
    ...kernelFiles.readOnly.flatMap((path) => [`${mount} --bind ${path} ${path}`, remount(path, ['noexec'])]),
    ...kernelFiles.hidden.map(bindNull),
    // The stage comes last: it is where all others are taken from.
    ...hidden
      .filter((path) => path !== stage)
      .map((path) => `${mount} -t tmpfs -o nosuid,nodev,mode=1777 gmn ${quote(path)}`),
    ...shown.flatMap((path) => [makePlace(path), bindWhole(path), remount(path, flagsOf(mounts, path))]),
    ...writable.flatMap((path) => [makePlace(path), bindWhole(path)]),
    ...profile.pinned.map(bindWhole),
    ...profile.protected.flatMap((path) => [bindWhole(path), remount(path, flagsOf(mounts, path))]),
    ...secretDirectories.map((path) => `${mount} -t tmpfs -o ro,nosuid,nodev,mode=000 gmn ${quote(path)}`),
    ...secretFiles.map(bindNull),
    ...socket.flatMap((path) => [makePlace(path), bindWhole(path)]),
    `${quote(programs.umount)} -l ${quote(stage)}`,
    `${mount} -t tmpfs -o nosuid,nodev,mode=1777 gmn ${quote(stage)}`,
    ...(network.kind === 'all' || programs.ip === undefined ? [] : [`${quote(programs.ip)} link set lo up`]),
    `cd ${quote(cwd)}`,
    // Not exec: the shell stays the first process, to which signals of its own would do nothing.
    `${quote(programs.setsid)} -w ${quote(programs.unshare)} --user --map-user=${user.uid} --map-group=${user.gid} -- ${quote(programs.setpriv)} --no-new-privs${user.uid === 0 ? ' --bounding-set=-all --inh-caps=-all --ambient-caps=-all' : ''} -- ${listFilterWords(parts).map(quote).join(' ')} "$@"`,
    'exit $?',
  ].join('\n');
}

function flagsOf(mounts: readonly Mount[], path: string): readonly string[] {
  const around = mounts.filter((each) => contains(each.path, path));
  return (
    around.reduce<Mount | undefined>(
      (best, each) => (best && best.path.length > each.path.length ? best : each),
      undefined,
    )?.flags ?? []
  );
}

/** A hidden directory from which nothing is shown. */
function findStage({ hidden, shown, writable, network }: SandboxProfile): string {
  const needed = [...shown, ...writable, ...(network.kind === 'proxy' ? [network.socket] : [])];
  const stage = hidden.find((path) => !needed.some((each) => contains(path, each)));
  if (stage !== undefined) return stage;
  throw new AppError('config', 'unshare has no free directory to make the sandbox in', {
    hint: 'Install bubblewrap, which needs none.',
  });
}
