import { spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ProgramStart } from '../../../src/core/confine.ts';
import { confineByBubblewrap, listBubblewrapOptions } from '../../../src/platform/sandbox/bubblewrap.ts';
import { confineByContainer } from '../../../src/platform/sandbox/container.ts';
import { chooseEngine } from '../../../src/platform/sandbox/engine.ts';
import { formatVariables, identifyPaths, listEntryWords } from '../../../src/platform/sandbox/entry.ts';
import type { SandboxProfile } from '../../../src/platform/sandbox/profile.ts';
import { createSeatbeltText } from '../../../src/platform/sandbox/seatbelt.ts';
import { confineByUnshare, createScript, parseMounts } from '../../../src/platform/sandbox/unshare.ts';

const PROFILE: SandboxProfile = {
  writable: ['/home/ada/work'],
  pinned: ['/home/ada/work/sub'],
  protected: ['/home/ada/work/.git', '/home/ada/work/sub/.git'],
  hidden: ['/home', '/run', '/tmp'],
  shown: ['/home/ada/.nvm'],
  secretDirectories: ['/etc/ssl/private'],
  secretFiles: ['/etc/shadow'],
  network: { kind: 'none' },
};
const NO_KERNEL_FILES = { readOnly: [], hidden: [] };
const START: ProgramStart = { command: 'make', args: ['all'], cwd: '/home/ada/work', env: { LANG: 'C', SECRET: 'x' } };
const USER = { uid: 1000, gid: 1000 };
const ENTRY_PROGRAMS = { stat: '/usr/bin/stat', cat: '/bin/cat' };
const PROGRAMS = {
  ...{ unshare: 'u', setpriv: 'p', setsid: 's', mount: '/bin/mount', umount: 'um', ip: 'ip', perl: undefined },
  ...ENTRY_PROGRAMS,
};
const UNSHARE = {
  ...{ programs: PROGRAMS, profile: PROFILE, identified: [], mounts: [], user: USER },
  ...{ filter: undefined, kernelFiles: NO_KERNEL_FILES },
};

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
    ['--bind', '/home/ada/work/sub', '/home/ada/work/sub'],
    ['--ro-bind', '/home/ada/work/.git', '/home/ada/work/.git'],
    ['--ro-bind', '/home/ada/work/sub/.git', '/home/ada/work/sub/.git'],
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
  const parts = { program: '/usr/bin/bwrap', programs: ENTRY_PROGRAMS, profile: PROFILE, identified: [] };
  const start = confineByBubblewrap({ ...parts, filter, kernelFiles: NO_KERNEL_FILES }, START);
  const { command, args, cwd, env, inputs } = start;
  expect([command, ...args.slice(0, 3), cwd]).toEqual(['/usr/bin/bwrap', '--args', '3', '--', '/']);
  expect(args.slice(-2)).toEqual(['make', 'all']);
  const [options = Buffer.of(), variables = Buffer.of(), passed] = inputs;
  const words = Buffer.from(options).toString().split('\0');
  expect(findOrder(words, [['--seccomp', '5', '']])).not.toContain(-1);
  expect(passed).toBe(filter);
  // The variables are for the command; what runs outside gets none.
  expect(env).toEqual({});
  expect(String(variables)).toContain("command export SECRET='x'\ncommand export TMPDIR='/tmp'\n");
  expect(JSON.stringify(args)).not.toContain('SECRET');
});

test('the network is shared only if all of it is allowed; a proxy is a socket and a relay', () => {
  const all = listBubblewrapOptions({ ...PROFILE, network: { kind: 'all' } }, '/', NO_KERNEL_FILES);
  expect(all).toContain('--share-net');
  const network = { kind: 'proxy', socket: '/tmp/x/proxy.sock', port: 0 } as const;
  const parts = { program: '/usr/bin/bwrap', programs: ENTRY_PROGRAMS, identified: [], filter: undefined };
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
  const script = createScript({ ...UNSHARE, mounts }, '/home/ada/work');
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
  expect(createScript({ ...UNSHARE, user: { uid: 0, gid: 0 } }, '/')).toContain('--bounding-set=-all');
  expect(createScript(UNSHARE, '/')).not.toContain('--bounding-set');
});

test('unshare runs its own programs outside, and hands the variables in', () => {
  const { env, args, inputs } = confineByUnshare(UNSHARE, {
    ...START,
    env: { PATH: '/home/ada/work/.venv/bin', LD_PRELOAD: '/home/ada/work/x.so' },
  });
  expect(env).toEqual({ PATH: '/usr/bin:/usr/bin:/bin' });
  expect(JSON.stringify(args)).not.toContain('x.so');
  expect(String(inputs[0])).toContain("command export LD_PRELOAD='/home/ada/work/x.so'");
});

test('unshare has a filter of system calls where there is perl', () => {
  const filtered = { ...UNSHARE, filter: Buffer.from([1, 255]) };
  expect(createScript(filtered, '/')).not.toContain('01ff');
  const last = createScript({ ...filtered, programs: { ...PROGRAMS, perl: '/usr/bin/perl' } }, '/').split(
    '--no-new-privs',
  )[1];
  expect(last).toMatch(/ '\/usr\/bin\/perl' '-e' '[^']*prctl[\s\S]*' '--' '\d+' '01ff' "\$@"\nexit \$\?$/);
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
    '(deny file-write-unlink (literal "/home/ada/work/sub"))',
    '(deny file-write* (subpath "/home/ada/work/.git") (subpath "/home/ada/work/sub/.git"))',
    '(deny file-read* file-write* (subpath "/etc/ssl/private") (literal "/Users/ada/a \\"b\\\\"))',
  ].map((line) => lines.indexOf(line));
  expect(order).not.toContain(-1);
  expect(order).toEqual([...order].sort((one, other) => one - other));
  expect(text).not.toContain('network');
});

/** The text as nested lists of words, as a reader of the language has it; texts in quotes are one word. */
function readLists(text: string): unknown {
  const stack: unknown[][] = [[]];
  for (const [token] of text.matchAll(/[()]|#?"(?:[^"\\]|\\[\s\S])*"|[^\s()"]+/g)) {
    if (token === '(') stack.push([]);
    else if (token === ')') stack.at(-2)?.push(stack.pop());
    else stack.at(-1)?.push(token.startsWith('"') ? token.slice(1, -1).replace(/\\(["\\])/g, '$1') : token);
  }
  return stack.length === 1 ? stack[0] : 'not closed';
}

test('no path is more than one text of the language of Seatbelt, or one field of a mount', () => {
  const parts = { program: 'p', name: 'docker', image: 'i', user: USER, env: {} } as const;
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'a"\\()\n\r,;:=# \t\'日') }), (name) => {
      const path = `/w/${name}`;
      const paths = { writable: [path], pinned: [path], protected: [path], hidden: [path], shown: [path] };
      const profile = { ...PROFILE, ...paths, secretDirectories: [path], secretFiles: [path] };
      const lists = readLists(createSeatbeltText(profile)) as unknown[][];
      expect(lists.map(([verb]) => verb)).toEqual([
        'version',
        'deny',
        ...lists.slice(2).map(() => expect.stringMatching(/^(?:allow|deny)$/)),
      ]);
      expect(lists).toContainEqual(['allow', 'file-write*', ['subpath', path]]);
      expect(lists).toContainEqual(['deny', 'file-read*', 'file-write*', ['subpath', path], ['literal', path]]);
      const { args } = confineByContainer({ ...parts, profile }, START);
      const [, mount = ''] = args.slice(args.indexOf('--mount'));
      expect(readFields(mount)).toEqual(['type=bind', `source=${path}`, `target=${path}`]);
    }),
    { numRuns: 200 },
  );
});

/** As https://pkg.go.dev/encoding/csv reads one record, which docker and podman use. */
function readFields(record: string): readonly string[] {
  return Array.from(record.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^",\r\n]*))(?=,|$)/g), ([, quoted, plain]) =>
    quoted === undefined ? (plain ?? '') : quoted.replaceAll('""', '"'),
  );
}

test.each([
  [{ kind: 'all' } as const, '(allow network-outbound (remote ip))'],
  [{ kind: 'proxy', socket: '', port: 4321 } as const, '(allow network-outbound (remote ip "localhost:4321"))'],
])('Seatbelt with the network %j', (network, line) => {
  expect(createSeatbeltText({ ...PROFILE, network }).split('\n')).toContain(line);
});

test('a container has the workspace, no capabilities, and no value of a variable on its command line', () => {
  const client = { PATH: '/usr/bin', DOCKER_HOST: 'unix:///run/x' };
  const parts = { program: '/usr/bin/docker', name: 'docker', image: 'node:20', user: USER, env: client } as const;
  const { args, env } = confineByContainer({ ...parts, profile: PROFILE }, START);
  expect(env).toEqual({ ...client, LANG: 'C' });
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
  const parts = { program: 'p', name: 'podman', image: 'i', user: USER, env: {} } as const;
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
  const identified = [{ path: "/it's", id: '1:2' }];
  const entry = { identified, readOnly: ['/a b'], programs: ENTRY_PROGRAMS, variables: 3 };
  const [shell, flag, script, ...rest] = listEntryWords(entry, START);
  expect([shell, flag, ...rest]).toEqual(['/bin/sh', '-c', 'sh', 'make', 'all']);
  expect(script).toContain(`[ "$('/usr/bin/stat' -c %d:%i -- '/it'\\''s')" = '1:2' ]`);
  expect(script).toContain("[ ! -w '/a b' ]");
});

test.skipIf(process.platform === 'win32')('variables arrive as they are, but for those that no shell can set', () => {
  const wanted = { A: "it's $(no) `x` \\ \n line\n\n", EMPTY: '', JP: '日本', PPID: '1', 'not a name': 'x' };
  const entry = { identified: [], readOnly: [], programs: ENTRY_PROGRAMS, variables: 3 };
  const words = [process.execPath, '-e', 'console.log(JSON.stringify(process.env))'];
  const [shell = '', ...args] = listEntryWords(entry, { ...START, command: words[0] ?? '', args: words.slice(1) });
  const place = mkdtempSync(join(tmpdir(), 'gmn-variables-'));
  writeFileSync(join(place, 'v'), formatVariables(wanted));
  const fd = openSync(join(place, 'v'), 'r');
  const { stdout } = spawnSync(shell, args, { env: {}, stdio: ['ignore', 'pipe', 'inherit', fd], encoding: 'utf8' });
  closeSync(fd);
  rmSync(place, { recursive: true });
  const { A, EMPTY, JP, PPID, ...others } = JSON.parse(stdout);
  expect({ A, EMPTY, JP }).toEqual({ A: wanted.A, EMPTY: '', JP: '日本' });
  expect(Object.keys(others)).not.toContain('not a name');
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
