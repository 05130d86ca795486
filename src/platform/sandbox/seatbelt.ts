import { dirname } from 'node:path';
import type { ConfinedStart, ProgramStart } from '../../core/confine.ts';
import type { SandboxProfile } from './profile.ts';
import { proxyVariables } from './relay.ts';

/** By its full path: a program of this name elsewhere could do anything. */
export const SANDBOX_EXEC = '/usr/bin/sandbox-exec';

/** macOS. There is no /tmp of its own: `scratch` is where temporary files go, and must be among what may be written. */
export function confineBySeatbelt(profile: SandboxProfile, start: ProgramStart, scratch: string): ConfinedStart {
  const { command, args, cwd, env } = start;
  const proxied = profile.network.kind === 'proxy' ? proxyVariables(profile.network.port) : {};
  return {
    ...{ command: SANDBOX_EXEC, args: ['-p', createSeatbeltText(profile), '--', command, ...args] },
    ...{ cwd, env: { ...env, ...proxied, TMPDIR: scratch }, inputs: [] },
  };
}

/** Services that the system's libraries ask in every program. */
const SERVICES = [
  'com.apple.system.opendirectoryd.libinfo',
  'com.apple.system.opendirectoryd.membership',
  'com.apple.system.notification_center',
  'com.apple.system.logger',
  'com.apple.logd',
  'com.apple.bsd.dirhelper',
  'com.apple.PowerManagement.control',
];

/** Not that of the keychain, com.apple.SecurityServer: it gives keys of the user to whoever asks. */
const NETWORK_SERVICES = [
  'com.apple.SystemConfiguration.configd',
  'com.apple.SystemConfiguration.DNSConfiguration',
  'com.apple.networkd',
  'com.apple.dnssd.service',
  'com.apple.mDNSResponder',
  'com.apple.ocspd',
  'com.apple.trustd',
  'com.apple.trustd.agent',
];

const DEVICES = ['null', 'zero', 'random', 'urandom', 'tty', 'dtracehelper', 'ptmx', 'stdin', 'stdout', 'stderr'];

/** The language of Seatbelt, of whose rules the last that fits counts. */
export function createSeatbeltText(profile: SandboxProfile): string {
  const { writable, hidden, shown, secretDirectories, secretFiles, network } = profile;
  const isProxy = network.kind === 'proxy';
  const lookups = [...SERVICES, ...(network.kind === 'all' ? NETWORK_SERVICES : [])];
  return [
    '(version 1)',
    '(deny default)',
    ...['(allow process-exec)', '(allow process-fork)', '(allow process-info* (target same-sandbox))'],
    ...['(allow signal (target same-sandbox))', '(allow sysctl-read)', '(allow ipc-posix-sem)', '(allow pseudo-tty)'],
    '(allow iokit-open (iokit-registry-entry-class "RootDomainUserClient"))',
    rule(
      'allow mach-lookup',
      lookups.map((name) => `(global-name ${quoteForSeatbelt(name)})`),
    ),
    '(allow file-read*)',
    rule('deny file-read*', hidden.map(toSubpath)),
    // The way to what is shown: names of directories, not what is in them.
    rule('allow file-read-metadata', listAncestors([...shown, ...writable]).map(toLiteral)),
    rule('allow file-read*', [...shown, ...writable].map(toSubpath)),
    rule('allow file-write*', writable.map(toSubpath)),
    rule('deny file-write-unlink', profile.pinned.map(toLiteral)),
    rule('deny file-write*', profile.protected.map(toSubpath)),
    rule(
      'allow file-read* file-write* file-ioctl',
      DEVICES.map((name) => `(literal "/dev/${name}")`),
    ),
    rule('allow file-read* file-write* file-ioctl', ['(regex #"^/dev/(ttys[0-9]+|fd/[0-9]+)$")']),
    rule('deny file-read* file-write*', [...secretDirectories.map(toSubpath), ...secretFiles.map(toLiteral)]),
    ...(network.kind === 'all' ? ['(allow network-outbound (remote ip))', '(allow network-inbound (local ip))'] : []),
    ...(network.kind === 'all' ? ['(allow network-bind (local ip))', '(allow system-socket)'] : []),
    ...(isProxy ? [`(allow network-outbound (remote ip "localhost:${network.port}"))`, '(allow system-socket)'] : []),
  ]
    .filter((line) => line !== '')
    .join('\n');
}

function rule(what: string, filters: readonly string[]): string {
  return filters.length === 0 ? '' : `(${what} ${filters.join(' ')})`;
}

function toSubpath(path: string): string {
  return `(subpath ${quoteForSeatbelt(path)})`;
}

function toLiteral(path: string): string {
  return `(literal ${quoteForSeatbelt(path)})`;
}

function quoteForSeatbelt(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}

function listAncestors(paths: readonly string[]): readonly string[] {
  const parents = new Set<string>();
  for (const path of paths)
    for (let parent = dirname(path); parent !== dirname(parent); parent = dirname(parent)) parents.add(parent);
  return [...parents];
}
