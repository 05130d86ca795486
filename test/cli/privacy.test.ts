import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { expect, test } from 'vitest';
import { SELF_SIGNED } from '../api/certificates.ts';
import { call, fakeGemini, reply } from '../support/gemini.ts';
import { GMN, GMN_LINE, gmnCommand, isStandalone, place, runGmn } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';

posixTest.for(['000', '077'])(
  'with umask %s nobody else can read what runs keep, and nothing lies beside it',
  async (umask, t) => {
    const made = call('write_file', { file_path: 'new.txt', content: 'x' });
    const gemini = await fakeGemini(t, [reply(made), reply('done'), reply('again')]);
    const { home, cwd, root, env } = place(t, { gemini });
    const first = `${GMN_LINE} --tools edit --yolo --session-name a x`;
    const line = `umask ${umask}; ${first} && echo hi | ${GMN_LINE} chat -r a`;
    const child = spawn('/bin/sh', ['-c', line], { cwd, env, stdio: 'ignore' });
    t.onTestFinished(() => void child.kill('SIGKILL'));
    expect(await once(child, 'close')).toEqual([0, null]);
    const kept = readdirSync(join(home, '.gmn'), { recursive: true, encoding: 'utf8' });
    // The executable keeps no code cache.
    expect(kept.length).toBeGreaterThan(isStandalone ? 4 : 5);
    const isOpen = (path: string): boolean => (statSync(path).mode & 0o077) !== 0;
    expect(kept.filter((name) => isOpen(join(home, '.gmn', name)))).toEqual([]);
    expect([isOpen(join(home, '.gmn')), readdirSync(home), readdirSync(root).sort()]).toEqual([
      false,
      ['.gmn'],
      ['home', 'work'],
    ]);
  },
);

const hasStrace = spawnSync('strace', ['-V']).status === 0;

test.skipIf(!hasStrace)('a run connects to the server it was given, and to nobody else', async (t) => {
  const gemini = await fakeGemini(t, [reply('one'), reply('two')]);
  const { cwd, env, root } = place(t, { gemini });
  const connects = (args: readonly string[], input: string): Promise<readonly string[]> => {
    const log = join(root, 'connects');
    const traced = ['-f', '-qq', '-e', 'trace=connect,sendto', '-o', log, ...gmnCommand(args).flat()];
    const child = spawn('strace', traced, { cwd, env, stdio: ['pipe', 'ignore', 'ignore'] });
    t.onTestFinished(() => void child.kill('SIGKILL'));
    child.stdin.end(input);
    return once(child, 'close').then(() => readFileSync(log, 'utf8').match(/sin6?_port=htons\(\d+\)/g) ?? []);
  };
  const own = [`sin_port=htons(${new URL(gemini.url).port})`];
  expect(await connects(['hello'], '')).toEqual(own);
  expect(await connects(['chat'], 'hello\n/stats\n')).toEqual(own);
  for (const args of [['models'], ['auth', 'status'], ['doctor'], ['sessions', 'list'], ['mcp', 'list']]) {
    expect(await connects(args, ''), args.join(' ')).toEqual([]);
  }
});

test.for(['text', 'json', 'stream-json'])(
  'NODE_TLS_REJECT_UNAUTHORIZED=0 is told of and not obeyed, as %s',
  async (format, t) => {
    let seen = '';
    const server = createTlsServer(SELF_SIGNED, (socket) => {
      socket.on('error', () => {}).on('data', (data) => (seen += data));
    });
    server.on('tlsClientError', () => {}).listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.onTestFinished(() => void server.close());
    const address = server.address();
    const url = `https://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
    const env = { NODE_TLS_REJECT_UNAUTHORIZED: '0' };
    const gmn = await runGmn(t, ['-o', format, 'hello'], { gemini: { url }, env });
    const notice =
      'NODE_TLS_REJECT_UNAUTHORIZED=0 is ignored: certificates are always checked. To trust more of them, use NODE_EXTRA_CA_CERTS';
    const what = `certificate of ${url.slice(8)} refused: it is self-signed`;
    expect([gmn.exitCode, seen]).toEqual([3, '']);
    if (format === 'text') {
      expect([gmn.stdout, gmn.stderr]).toEqual(['', expect.stringContaining(`gmn: ${notice}\nError: ${what}\n`)]);
      return;
    }
    expect([
      JSON.parse(format === 'json' ? gmn.stdout : (gmn.stdout.trim().split('\n').at(-1) ?? '')),
      gmn.stderr,
    ]).toMatchObject([{ error: { message: what, warnings: [notice] } }, '']);
  },
);

posixTest('a run that Node itself gives up leaves no report and no dump behind', async (t) => {
  const gemini = await fakeGemini(t, []);
  const { cwd, env, root } = place(t, { gemini, files: { 'big.txt': 'a'.repeat(15_000_000) } });
  // With less memory, Node 22 and 24 crash before gmn begins.
  const line = 'ulimit -c 0; exec "$0" --max-old-space-size=16 "$1" -f big.txt x';
  const child = spawn('/bin/sh', ['-c', line, process.execPath, GMN], { cwd, env, stdio: 'ignore' });
  t.onTestFinished(() => void child.kill('SIGKILL'));
  expect(await once(child, 'close')).toEqual([null, 'SIGABRT']);
  const left = readdirSync(root, { recursive: true, encoding: 'utf8' });
  expect(left.filter((name) => /report\.|\.heapsnapshot$|core/.test(name))).toEqual([]);
});
