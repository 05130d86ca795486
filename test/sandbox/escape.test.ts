import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  connectCommand,
  ENGINE,
  HOME,
  hasProgram,
  isRoot,
  LEFT_OPEN,
  listen,
  OUTSIDE,
  PLACE,
  runBare,
  runConfined,
  SECRET,
  WORK,
  writeSecrets,
} from './scene.ts';

/**
 * Each attempt is a command that succeeds without the sandbox, or the test says nothing, and fails in it. Names in capitals are variables.
 */
const closers: (() => void)[] = [];
let port = 0;
let victim = 0;

beforeAll(async () => {
  writeSecrets();
  const web = await listen(0);
  port = (web.address() as AddressInfo).port;
  const paths = ['run/docker.sock', 'run/bus', 'outside/service.sock'].map((name) => join(PLACE, name));
  const sockets = await Promise.all([...paths, `\0gmn-sandbox-${process.pid}`].map(listen));
  for (const server of [web, ...sockets]) closers.push(() => server.close());
  const sleeper = spawn('sleep', ['1000']);
  victim = sleeper.pid ?? 0;
  closers.push(() => sleeper.kill('SIGKILL'));
});

afterAll(() => {
  for (const close of closers) close();
});

const PTRACE = `python3 -c 'import ctypes,os,sys
libc = ctypes.CDLL(None, use_errno=True)
pid = int(sys.argv[1])
sys.exit(0 if libc.ptrace(16, pid, 0, 0) == 0 and os.waitpid(pid, 0x40000000) and libc.ptrace(17, pid, 0, 0) == 0 else 1)'`;

/** The numbers of system calls that perl makes without a library between. */
const CALLS = {
  x64: { mknodat: 259, openat: 257, openat2: 437 },
  arm64: { mknodat: 33, openat: 56, openat2: 437 },
}[process.arch as 'x64' | 'arm64'] as Readonly<Record<string, number | undefined>> | undefined;
const noPerl = !hasProgram('perl') && 'there is no perl';

/** Succeeds if the file has one of the two bits then. */
const privileged = (command: string): string => `rm -f bits; ${command}; test -u bits || test -g bits`;

/** With the path `bits`; in `FD` it is open. */
const callFromPerl = (name: string, args: string): string =>
  privileged(`perl -e 'my $p = "bits"; syscall(${CALLS?.[name] ?? -1}, ${args})'`);

interface Attempt {
  readonly name: string;
  readonly command: () => string;
  /** Why it cannot be tried here. */
  readonly obstacle?: string | false;
}

const ATTEMPTS: readonly Attempt[] = [
  { name: 'writing outside of the workspace', command: () => `echo x > "${OUTSIDE}/new"` },
  { name: 'writing over a file outside', command: () => `echo x >> "${OUTSIDE}/file"` },
  {
    name: 'writing through a link out of the workspace',
    command: () => `ln -sfn "${OUTSIDE}" out && echo x > out/new2`,
  },
  { name: 'removing a file outside', command: () => `touch "${OUTSIDE}/gone" 2>/dev/null; rm "${OUTSIDE}/gone"` },
  { name: 'reading a key of ssh', command: () => `grep -q ${SECRET} ~/.ssh/id_ed25519` },
  { name: 'reading what is in the home', command: () => `grep -q ${SECRET} ~/private/diary` },
  { name: "reading gmn's own key", command: () => `grep -q ${SECRET} ~/.gmn/key.json` },
  { name: 'reading the login of the official CLI', command: () => `grep -q ${SECRET} ~/.gemini/oauth_creds.json` },
  {
    name: 'reading a key by its whole path, and by ..',
    command: () => `cat "${HOME}/.aws/credentials" || cat "../home/.aws/credentials"`,
  },
  {
    name: 'reading a key in the environment of gmn',
    command: () => `cat /proc/[0-9]*/environ 2>/dev/null | grep -q GEMINI_API_KEY=${SECRET}`,
  },
  {
    name: 'reading by a directory that gmn was started with',
    command: () => `grep -q ${SECRET} /proc/self/fd/${LEFT_OPEN}/.ssh/id_ed25519`,
  },
  {
    name: 'writing by a directory that gmn was started with',
    command: () => `echo x > /proc/self/fd/${LEFT_OPEN}/planted`,
  },
  {
    name: 'the host of a virtual machine',
    command: () => `python3 -c 'import socket; socket.socket(40, socket.SOCK_STREAM)'`,
    obstacle: !hasProgram('python3') && 'there is no python3',
  },
  { name: 'changing a hook of git', command: () => 'echo x > .git/hooks/pre-commit' },
  { name: 'changing a hook of a repository in the workspace', command: () => 'echo x > sub/.git/hooks/pre-commit' },
  { name: 'moving what is around that one', command: () => 'mv sub sub2 && mv sub2 sub' },
  { name: 'moving .git away to make another', command: () => 'mv .git .git2 && mv .git2 .git' },
  { name: 'the socket of docker', command: () => connectCommand(`"${PLACE}/run/docker.sock"`) },
  { name: 'the socket of D-Bus', command: () => connectCommand(`"${PLACE}/run/bus"`) },
  { name: 'the socket of a service anywhere', command: () => connectCommand(`"${OUTSIDE}/service.sock"`) },
  {
    name: '/proc/1/root',
    command: () => `cat "/proc/1/root${HOME}/.ssh/id_ed25519"`,
    obstacle: !isRoot && 'only root may look there at all',
  },
  { name: '/proc/<gmn>/root', command: () => `cat "/proc/${process.pid}/root${HOME}/.ssh/id_ed25519"` },
  { name: '/proc/<gmn>/cwd', command: () => `cat "/proc/${victim}/cwd/test/sandbox/run.mjs"` },
  { name: 'a signal to a process outside', command: () => `kill -0 ${victim}` },
  {
    name: 'ptrace of a process outside',
    command: () => `${PTRACE} ${victim}`,
    obstacle: !hasProgram('python3') && 'there is no python3',
  },
  { name: 'the loopback of the machine', command: () => connectCommand(`{host:"127.0.0.1",port:${port}}`) },
  {
    name: 'the loopback of the machine, over IPv6',
    command: () => connectCommand(`{host:"::ffff:127.0.0.1",port:${port}}`),
  },
  { name: 'an abstract socket', command: () => connectCommand(`"\\0gmn-sandbox-${process.pid}"`) },
  {
    name: 'a set-user-id program',
    command: () => `test "$("${PLACE}/whoami" -u)" != ${process.getuid?.()}`,
    obstacle: !existsSync(join(PLACE, 'whoami')) && 'only root can make one',
  },
  { name: 'the set-user-id bit by chmod', command: () => privileged('touch bits; chmod u+s bits') },
  { name: 'the set-group-id bit by install', command: () => privileged('install -m 2755 /bin/true bits') },
  {
    name: 'the bit of a copy',
    command: () => `rm -f bits; cp -p "${PLACE}/whoami" bits; test -u bits`,
    obstacle: !isRoot && 'only root can make one',
  },
  {
    name: 'the bit by fchmod',
    command: () => privileged(`perl -e 'open F, ">bits"; chmod 04755, *F'`),
    obstacle: noPerl,
  },
  {
    name: 'the bit by creating a file',
    command: () => privileged(`perl -MFcntl -e 'sysopen F, "bits", O_CREAT | O_WRONLY, 04755'`),
    obstacle: noPerl,
  },
  { name: 'the bit by openat', command: () => callFromPerl('openat', '-100, $p, 0x41, 04755'), obstacle: noPerl },
  {
    name: 'the bit by openat2',
    command: () => callFromPerl('openat2', '-100, $p, pack("QQQ", 0x41, 04755, 0), 24'),
    obstacle: noPerl,
  },
  { name: 'the bit by mknodat', command: () => callFromPerl('mknodat', '-100, $p, 0104755, 0'), obstacle: noPerl },
  {
    name: 'the bit by fchmodat2',
    command: () => privileged(`touch bits; perl -e 'my $p = "bits"; syscall(452, -100, $p, 04755, 0)'`),
    obstacle: noPerl,
  },
  {
    name: 'the bit on a directory',
    command: () => 'rm -rf bitsdir; mkdir bitsdir && chmod g+s bitsdir && test -g bitsdir',
  },
  {
    name: 'the capabilities of root',
    command: () => "! grep -q '^CapEff:\\s*0*$' /proc/self/status",
    obstacle: !isRoot && 'others have none',
  },
  {
    name: 'a kernel setting, opened to be written',
    command: () => 'exec 3>>/proc/sys/kernel/core_pattern',
    obstacle: !isRoot && 'only root can',
  },
  {
    name: 'any file of the kernel, opened to be written',
    command: () =>
      "for f in $(find /proc -maxdepth 5 ! -path '/proc/[0-9]*' -type f -perm -u+w); do test -f $f && (exec 3>>$f) && exit 0; done 2>/dev/null; exit 1",
    obstacle: !isRoot && 'only root can',
  },
  {
    name: 'the disk itself',
    command: () => `head -c 1 ${findDisk()} > /dev/null`,
    obstacle: (!isRoot || findDisk() === undefined) && 'only root can, and there must be one',
  },
  {
    name: 'the passwords of the system',
    command: () => 'test -s /etc/shadow && cat /etc/shadow',
    obstacle: !isRoot && 'only root can',
  },
  {
    name: 'mounting something',
    command: () => 'unshare -Urm sh -c "mount -t tmpfs x /mnt"',
    obstacle: !hasProgram('unshare') && 'there is no unshare',
  },
  {
    name: 'undoing a mount',
    command: () => `umount -l .git 2>/dev/null; unshare -Urm umount -l . || echo x > "${OUTSIDE}/new3"`,
  },
];

function findDisk(): string | undefined {
  return readdirSync('/dev')
    .map((name) => `/dev/${name}`)
    .find((path) => /^\/dev\/(?:[sv]da|nvme0n1)$/.test(path));
}

describe(`${ENGINE}`, () => {
  test.for(ATTEMPTS)('$name', async ({ command, obstacle }, t) => {
    if (obstacle) t.skip(obstacle);
    const bare = await runBare(command());
    if (bare.status !== 0)
      t.skip(`cannot be tried here: it fails without a sandbox, too (${bare.output.trim().slice(0, 100)})`);
    const before = readFileSync(join(OUTSIDE, 'file'), 'utf8');
    const confined = await runConfined(command());
    expect(confined.status, confined.output).not.toBe(0);
    expect(confined.output).not.toContain(SECRET);
    expect(readFileSync(join(OUTSIDE, 'file'), 'utf8')).toBe(before);
  });

  test('what is allowed works: the workspace, /tmp, the home that is gone afterwards, a server of its own', async () => {
    const command = `echo made > made && cat a.txt && echo x > /tmp/x && echo x > ~/x && echo x > /dev/null && test -z "$(ls -A /run | grep -v mount)" &&
      "$NODE" -e 'const s=require("net").createServer((c)=>c.end()).listen(0,"127.0.0.1",()=>require("net").connect(s.address().port,"127.0.0.1").on("connect",()=>process.exit(0)).on("error",()=>process.exit(1)))'`;
    const { status, output } = await runConfined(command.replace('"$NODE"', `"${process.execPath}"`));
    expect({ status, output }).toEqual({ status: 0, output: SECRET });
    expect(readFileSync(join(WORK, 'made'), 'utf8')).toBe('made\n');
    expect(existsSync(join(HOME, 'x'))).toBe(false);
  });

  test('a signal to all processes reaches none outside', async () => {
    await runConfined('kill -9 -1');
    expect(() => process.kill(victim, 0)).not.toThrow();
  });

  test('with the whole network the machine is reached, and abstract sockets are not', async (t) => {
    if (ENGINE === 'unshare' && !hasProgram('perl')) t.skip('without perl there is no filter of system calls');
    const web = connectCommand(`{host:"127.0.0.1",port:${port}}`);
    expect((await runConfined(web, '--net', 'all')).status).toBe(0);
    const abstract = connectCommand(`"\\0gmn-sandbox-${process.pid}"`);
    expect((await runConfined(abstract, '--net', 'all')).status).not.toBe(0);
  });

  test('with hosts, only the proxy of gmn is reached, and it refuses all others', async (t) => {
    if (!hasProgram('curl')) t.skip('there is no curl');
    const curl = (url: string): string => `curl -sS -o /dev/null -m 20 -w '%{http_connect} %{http_code}' ${url}`;
    const net = ['--net', 'allowed.example'];
    expect((await runConfined(curl('https://other.example/'), ...net)).output).toContain('403');
    expect((await runConfined(curl(`http://127.0.0.1:${port}/ -x "$HTTP_PROXY"`), ...net)).output).not.toContain('200');
    expect((await runConfined(`${curl(`http://127.0.0.1:${port}/`)} --noproxy '*'`, ...net)).status).not.toBe(0);
    expect((await runConfined('exit 5', ...net)).status).toBe(5);
  });
});
