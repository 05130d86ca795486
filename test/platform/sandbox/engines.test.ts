import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ProgramStart } from '../../../src/core/confine.ts';
import { confineByBubblewrap, listBubblewrapOptions } from '../../../src/platform/sandbox/bubblewrap.ts';
import { confineByContainer } from '../../../src/platform/sandbox/container.ts';
import { chooseEngine } from '../../../src/platform/sandbox/engine.ts';
import { checkMounts, identifyPaths } from '../../../src/platform/sandbox/mount-check.ts';
import type { SandboxProfile } from '../../../src/platform/sandbox/profile.ts';
import { createSeatbeltText } from '../../../src/platform/sandbox/seatbelt.ts';
import { createScript, parseMounts } from '../../../src/platform/sandbox/unshare.ts';

const PROFILE: SandboxProfile = {
  writable: ['/home/ada/work'],
  protected: ['/home/ada/work/.git'],
  hidden: ['/home', '/run', '/tmp'],
  shown: ['/home/ada/.nvm'],
  secretDirectories: ['/etc/ssl/private'],
  secretFiles: ['/etc/shadow'],
  network: { kind: 'none' },
};
const NO_KERNEL_FILES = { readOnly: [], hidden: [] };
const START: ProgramStart = { command: 'make', args: ['all'], cwd: '/home/ada/work', env: { LANG: 'C', SECRET: 'x' } };
const USER = { uid: 1000, gid: 1000 };

/** Where each of them stands; -1 if one is missing. */
function findOrder(options: readonly string[], wanted: readonly (readonly string[])[]): readonly number[] {
  return wanted.map((words) =>
    options.findIndex((_, index) => words.every((word, at) => options[index + at] === word)),
  );
}

test('bubblewrap mounts what is around before what is inside, and hides secrets last', () => {
  const options = listBubblewrapOptions(PROFILE, '/home/ada/work', {
    readOnly: ['/proc/sys'],
    hidden: ['/proc/kcore'],
  });
  const order = findOrder(options, [
    ['--ro-bind', '/', '/'],
    ['--proc', '/proc'],
    ['--ro-bind', '/proc/sys', '/proc/sys'],
    ['--ro-bind', '/dev/null', '/proc/kcore'],
    ['--tmpfs', '/home'],
    ['--ro-bind', '/home/ada/.nvm', '/home/ada/.nvm'],
    ['--bind', '/home/ada/work', '/home/ada/work'],
    ['--ro-bind', '/home/ada/work/.git', '/home/ada/work/.git'],
    ['--tmpfs', '/etc/ssl/private', '--remount-ro', '/etc/ssl/private'],
    ['--ro-bind', '/dev/null', '/etc/shadow'],
    ['--chdir', '/home/ada/work'],
  ]);
  expect(order).not.toContain(-1);
  expect(order).toEqual([...order].sort((one, other) => one - other));
  for (const flag of ['--unshare-all', '--unshare-user', '--disable-userns', '--new-session', '--die-with-parent'])
    expect(options).toContain(flag);
  expect(findOrder(options, [['--cap-drop', 'ALL']])).not.toContain(-1);
  expect(options).not.toContain('--share-net');
});

test('bubblewrap gets its options and the filter by descriptors', () => {
  const filter = Buffer.from('filter');
  const parts = { program: '/usr/bin/bwrap', profile: PROFILE, identified: [], stat: '/usr/bin/stat' };
  const { command, args, cwd, inputs } = confineByBubblewrap({ ...parts, filter, kernelFiles: NO_KERNEL_FILES }, START);
  expect([command, ...args.slice(0, 3), cwd]).toEqual(['/usr/bin/bwrap', '--args', '3', '--', '/']);
  expect(args.slice(-2)).toEqual(['make', 'all']);
  const [options = Buffer.of(), passed] = inputs;
  const words = Buffer.from(options).toString().split('\0');
  expect(findOrder(words, [['--seccomp', '4', '']])).not.toContain(-1);
  expect(passed).toBe(filter);
});

test('the network is shared only if all of it is allowed; a proxy is a socket and a relay', () => {
  const all = listBubblewrapOptions({ ...PROFILE, network: { kind: 'all' } }, '/', NO_KERNEL_FILES);
  expect(all).toContain('--share-net');
  const network = { kind: 'proxy', socket: '/tmp/x/proxy.sock', port: 0 } as const;
  const parts = { program: '/usr/bin/bwrap', identified: [], stat: '/usr/bin/stat', filter: undefined };
  const profile = { ...PROFILE, network };
  const { args, inputs } = confineByBubblewrap({ ...parts, profile, kernelFiles: NO_KERNEL_FILES }, START);
  const words = Buffer.from(inputs[0] ?? [])
    .toString()
    .split('\0');
  expect(words).not.toContain('--share-net');
  expect(findOrder(words, [['--ro-bind', network.socket, network.socket]])).not.toContain(-1);
  expect(args.slice(-3)).toEqual([network.socket, 'make', 'all']);
  expect(args).toContain(process.execPath);
});

test('unshare makes every mount read-only for itself, with the flags it must keep', () => {
  const mounts = parseMounts(
    [
      '22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw',
      '23 22 8:2 / /data rw,nosuid,noexec,noatime - ext4 /dev/sda2 rw',
      '24 22 8:3 / /home rw,relatime - ext4 /dev/sda3 rw',
      '25 22 8:4 / /with\\040space rw - ext4 /dev/sda4 rw',
    ].join('\n'),
  );
  const programs = {
    ...{ unshare: 'u', setpriv: 'p', setsid: 's', mount: '/bin/mount', umount: 'um', stat: 'st' },
    ip: 'ip',
  };
  const script = createScript({ programs, profile: PROFILE, identified: [], mounts, user: USER }, '/home/ada/work');
  const lines = script.split('\n');
  expect(lines).toContain("'/bin/mount' -o remount,bind,ro,nosuid,nodev,relatime '/'");
  expect(lines).toContain("'/bin/mount' -o remount,bind,ro,nosuid,nodev,noexec,noatime '/data'");
  expect(lines).toContain("'/bin/mount' -o remount,bind,ro,nosuid,nodev '/with space'");
  // It is hidden as a whole.
  expect(script).not.toMatch(/remount[^\n]* '\/home'\n/);
  expect(lines[0]).toBe('set -e');
  // Nothing of what was mounted first may stay where a command could find it.
  expect(lines.indexOf("'um' -l '/run'")).toBeGreaterThan(lines.findIndex((line) => line.includes('--rbind')));
  expect(script).toContain('--map-user=1000 --map-group=1000');
});

test('unshare drops the capabilities of root, which others do not have', () => {
  const programs = {
    ...{ unshare: 'u', setpriv: 'p', setsid: 's', mount: 'm', umount: 'um', stat: 'st' },
    ip: undefined,
  };
  const parts = { programs, profile: PROFILE, identified: [], mounts: [] };
  expect(createScript({ ...parts, user: { uid: 0, gid: 0 } }, '/')).toContain('--bounding-set=-all');
  expect(createScript({ ...parts, user: USER }, '/')).not.toContain('--bounding-set');
});

test('Seatbelt denies by default, and what must not be seen in its last rule about files', () => {
  const text = createSeatbeltText({ ...PROFILE, secretFiles: ['/Users/ada/a "b\\'] });
  const lines = text.split('\n');
  expect(lines.slice(0, 2)).toEqual(['(version 1)', '(deny default)']);
  const order = [
    '(allow file-read*)',
    '(deny file-read* (subpath "/home") (subpath "/run") (subpath "/tmp"))',
    '(allow file-read* (subpath "/home/ada/.nvm") (subpath "/home/ada/work"))',
    '(allow file-write* (subpath "/home/ada/work"))',
    '(deny file-write* (subpath "/home/ada/work/.git"))',
    '(deny file-read* file-write* (subpath "/etc/ssl/private") (literal "/Users/ada/a \\"b\\\\"))',
  ].map((line) => lines.indexOf(line));
  expect(order).not.toContain(-1);
  expect(order).toEqual([...order].sort((one, other) => one - other));
  expect(text).not.toContain('network');
});

test.each([
  [{ kind: 'all' } as const, '(allow network-outbound (remote ip))'],
  [{ kind: 'proxy', socket: '', port: 4321 } as const, '(allow network-outbound (remote ip "localhost:4321"))'],
])('Seatbelt with the network %j', (network, line) => {
  expect(createSeatbeltText({ ...PROFILE, network }).split('\n')).toContain(line);
});

test('a container has the workspace, no capabilities, and no value of a variable on its command line', () => {
  const parts = { program: '/usr/bin/docker', name: 'docker', image: 'node:20', user: USER } as const;
  const { args } = confineByContainer({ ...parts, profile: PROFILE }, START);
  const order = findOrder(args, [
    ['run', '--rm'],
    ['--cap-drop', 'ALL'],
    ['--network', 'none'],
    ['--mount', 'type=bind,source=/home/ada/work,target=/home/ada/work'],
    ['--mount', 'type=bind,source=/home/ada/work/.git,target=/home/ada/work/.git,readonly'],
    ['--env', 'LANG'],
    ['--', 'node:20', 'make', 'all'],
  ]);
  expect(order).not.toContain(-1);
  expect(args.join(' ')).not.toContain('SECRET');
  expect(() =>
    confineByContainer({ ...parts, profile: { ...PROFILE, network: { kind: 'proxy', socket: '', port: 1 } } }, START),
  ).toThrow('--sandbox-net with hosts does not work with docker');
});

test('a path with a comma is one field of a mount', () => {
  const parts = { program: 'p', name: 'podman', image: 'i', user: USER } as const;
  const { args } = confineByContainer({ ...parts, profile: { ...PROFILE, writable: ['/w,x'], protected: [] } }, START);
  expect(args).toContain('type=bind,"source=/w,x","target=/w,x"');
});

test.skipIf(process.platform === 'win32')('a link in place of a directory is refused before the start', (t) => {
  const place = realpathSync(mkdtempSync(join(tmpdir(), 'gmn-check-')));
  t.onTestFinished(() => rmSync(place, { recursive: true }));
  mkdirSync(join(place, 'real'));
  symlinkSync('real', join(place, 'link'));
  expect(identifyPaths([join(place, 'real')])).toHaveLength(1);
  expect(() => identifyPaths([join(place, 'link')])).toThrow('was replaced');
  expect(() => identifyPaths([join(place, 'none')])).toThrow('was replaced');
});

test('what runs inside first compares what is there, and quotes every path', () => {
  const check = { identified: [{ path: "/it's", id: '1:2' }], readOnly: ['/a b'], stat: '/usr/bin/stat' };
  const [shell, flag, script] = checkMounts(check, START);
  expect([shell, flag]).toEqual(['/bin/sh', '-c']);
  expect(script).toContain(`[ "$('/usr/bin/stat' -c %d:%i -- '/it'\\''s')" = '1:2' ]`);
  expect(script).toContain("[ ! -w '/a b' ]");
  expect(checkMounts({ ...check, identified: [], readOnly: [] }, START)).toEqual(['make', 'all']);
});

test.each([
  ['auto', 'win32', /no sandbox can be made: there is none for win32/],
  ['seatbelt', 'linux', /seatbelt: it is for darwin only/],
  ['bwrap', 'darwin', /bwrap: it is for linux only/],
  ['docker', 'linux', /it needs an image with your tools: GMN_SANDBOX_IMAGE/],
] as const)('--sandbox %s on %s is an error of the configuration', async (name, platform, message) => {
  const chosen = chooseEngine(name, { env: { PATH: '/nowhere' }, roots: [], platform });
  await expect(chosen).rejects.toMatchObject({ fault: 'config', message: expect.stringMatching(message) });
});

test('without an engine the package to install is named', async () => {
  const chosen = chooseEngine('bwrap', { env: { PATH: '/nowhere' }, roots: [], platform: 'linux' });
  await expect(chosen).rejects.toMatchObject({ exitCode: 4, hint: expect.stringContaining('apt install bubblewrap') });
});
