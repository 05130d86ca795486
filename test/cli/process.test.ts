import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, openSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { gate } from '../support/gate.ts';
import { call, chunk, END, endless, fakeGemini, finish, reply, type Scripted, stream } from '../support/gemini.ts';
import {
  GMN,
  GMN_LINE,
  gmnCommand,
  isStandalone,
  parseLines,
  place,
  runGmn,
  runGmnIn,
  runShell,
  startGmn,
} from '../support/gmn.ts';
import { fifo, isWindows, linuxTest, posixTest, systemMode } from '../support/posix.ts';

/** An answer that begins and then stays silent; `closed` resolves when the client lets go. */
function stalled(text: string) {
  const { opened: closed, open } = gate();
  const scripted: Scripted = (response, request) => stream(text)(response.on('close', open), request);
  return { scripted, closed };
}

test.skipIf(isWindows)('signals that come together are one: the last line is still an error', async (t) => {
  const { scripted } = stalled('Once upon a time');
  const gmn = await startGmn(t, ['-o', 'stream-json', 'story'], {
    script: [scripted],
    onStdout(text, child) {
      if (!/"content"/.test(text) || child.killed) return;
      // Of two equal signals, the system may deliver only one.
      child.kill('SIGINT');
      child.kill('SIGTERM');
    },
  });
  const { exitCode, stdout } = await gmn.ended;
  expect(parseLines(stdout).at(-1)).toMatchObject({
    type: 'error',
    error: { code: exitCode, partialResponse: 'Once upon a time' },
  });
});

describe.skipIf(isWindows).each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const)('%s in the middle of an answer', (signal, code) => {
  test('stops the request, ends the line and exits with its code', async (t) => {
    const { scripted, closed } = stalled('Once upon a time');
    const gmn = await startGmn(t, ['story'], {
      script: [scripted],
      onStdout: (text, child) => void (text === 'Once upon a time' && child.kill(signal)),
    });
    const [{ exitCode, stdout, stderr }] = await Promise.all([gmn.ended, closed]);
    expect(stderr).toContain(
      `Interrupted (${signal}).\nWhat had arrived is kept. Run it again for the whole answer.\n`,
    );
    expect({ exitCode, stdout }).toEqual({ exitCode: code, stdout: 'Once upon a time\n' });
  });

  test('before anything arrived, nothing is reported as saved', async (t) => {
    let stop = (): void => {};
    const { child, ended } = await startGmn(t, ['story'], { script: [() => stop()] });
    stop = () => void child.kill(signal);
    const stderr = `Interrupted (${signal}).\nNothing had arrived yet. Run it again for the answer.\n`;
    expect(await ended).toMatchObject({ exitCode: code, stderr });
  });

  test('in stream-json the last line is an error that keeps what came', async (t) => {
    const { scripted } = stalled('Once upon a time');
    const gmn = await startGmn(t, ['-o', 'stream-json', 'story'], {
      script: [scripted],
      // Once: a second signal may meet a process that has already taken its handlers down.
      onStdout: (text, child) => void (/"content"/.test(text) && !child.killed && child.kill(signal)),
    });
    const { exitCode, stdout } = await gmn.ended;
    expect(exitCode).toBe(code);
    expect(parseLines(stdout).at(-1)).toMatchObject({
      type: 'error',
      error: { code, type: 'Interrupted', partialResponse: 'Once upon a time', sessionId: expect.any(String) },
    });
  });
});

test('a reader that goes away ends the request quietly, with 0', async (t) => {
  const script = [endless(chunk([{ text: 'line\n'.repeat(200) }]))];
  const { ended } = await startGmn(t, ['count'], { script, onStdout: (_, child) => void child.stdout?.destroy() });
  expect(await ended).toMatchObject({ exitCode: 0, stderr: '' });
});

linuxTest.for(['text', 'json', 'stream-json'])('a full disk is an error with a next step', async (format, t) => {
  const stdout = openSync('/dev/full', 'w');
  const { ended } = await startGmn(t, ['-o', format, 'hi'], { script: [reply('hello')], stdout });
  const stderr = expect.stringMatching(/^Error: cannot write the output: .*ENOSPC.*\n\S.*\n$/);
  expect(await ended).toMatchObject({ exitCode: 1, stderr });
});

linuxTest('a disk that has room for a part of the last write is an error, too', async (t) => {
  const gemini = await fakeGemini(t, [reply(`${'x'.repeat(100_000)}\n`)]);
  const at = place(t, { gemini, env: { GMN_NO_SESSION: '1' } });
  const stderr = expect.stringMatching(/^Error: cannot write the output: .*EFBIG.*\n\S.*\n$/);
  const line = `ulimit -f 64; exec ${GMN_LINE} hi > answer.txt`;
  expect(await runShell(t, at, line)).toMatchObject({ exitCode: 1, stderr });
});

test.skipIf(isWindows || isStandalone)('Ctrl+C does not wait for a host name that is being looked up', async (t) => {
  // Lookups wait for a free thread of Node's pool: each of them is busy opening a pipe that nobody writes to.
  const { cwd, env } = place(t, { env: { GEMINI_API_KEY: 'x', GOOGLE_GEMINI_BASE_URL: 'http://localhost:9' } });
  fifo(join(cwd, 'pipe'));
  writeFileSync(join(cwd, 'busy.cjs'), `for (let i = 0; i < 4; i += 1) require('fs').open('pipe', 'r', () => {});`);
  const { ended } = await startGmn(t, ['--debug', 'hi'], {
    at: { cwd, env: { ...env, NODE_OPTIONS: '--require ./busy.cjs' } },
    onStderr: (text, child) => void (text.includes('POST localhost') && !child.killed && child.kill('SIGINT')),
  });
  const stderr = expect.stringContaining('Interrupted (SIGINT).');
  expect(await ended).toMatchObject({ exitCode: null, signal: 'SIGINT', stderr });
});

test('an answer of 3 MB arrives whole through a pipe', async (t) => {
  const text = `${'0123456789abcdef'.repeat(4096)}\n`.repeat(48);
  const gmn = await runGmn(t, ['-o', 'json', 'big'], { gemini: await fakeGemini(t, [reply(text)]) });
  expect(gmn.exitCode).toBe(0);
  expect(JSON.parse(gmn.stdout).response === text).toBe(true);
});

test('--timeout ends a silent answer, and what came stays', async (t) => {
  const { scripted } = stalled('Once');
  const gmn = await runGmn(t, ['-t', '700ms', 'story'], { gemini: await fakeGemini(t, [scripted]) });
  expect(gmn).toMatchObject({ exitCode: 3, stdout: 'Once\n' });
  expect(gmn.stderr).toMatch(/^Error: timed out after 700 ms\n\S/);
});

test('an idle line ends the answer by its own timer', async (t) => {
  const { scripted } = stalled('Once');
  const gmn = await runGmn(t, ['story'], {
    gemini: await fakeGemini(t, [scripted]),
    env: { GMN_IDLE_TIMEOUT: '300ms' },
  });
  expect(gmn).toMatchObject({ exitCode: 3, stdout: 'Once\n' });
});

test('a pipe that nobody writes to does not hang a run that has a prompt', async (t) => {
  const gemini = await fakeGemini(t, [reply('hi')]);
  const { ended } = await startGmn(t, ['hello'], { gemini, env: { GMN_STDIN_WAIT: '300ms' }, stdin: 'open' });
  expect(await ended).toMatchObject({ stdout: 'hi\n', stderr: expect.stringMatching(/stdin/), exitCode: 0 });
  expect(gemini.requests[0]?.parts).toEqual([{ text: 'hello' }]);
});

test('--debug shows the request on stderr without the key, and stdout stays the answer', async (t) => {
  const gmn = await runGmn(t, ['--debug', 'hi'], { gemini: await fakeGemini(t, [reply('hello')]) });
  expect(gmn).toMatchObject({ stdout: 'hello\n', stderr: expect.stringContaining('POST'), exitCode: 0 });
  expect(gmn.stderr).toContain(':streamGenerateContent');
  expect(gmn.stderr).not.toContain('test-key-0123456789');
});

test('a home that cannot be written to costs the cache and the session, not the answer', async (t) => {
  const gmn = await runGmn(t, ['hi'], {
    gemini: await fakeGemini(t, [reply('hello')]),
    files: { taken: '' },
    env: { GMN_HOME: 'taken/gmn' },
  });
  const stderr = 'gmn: this run was not saved: a file is where a directory should be\n';
  expect(gmn).toMatchObject({ stdout: 'hello\n', stderr, exitCode: 0 });
});

posixTest('in one pipe with the answer, messages have lines of their own', async (t) => {
  const gemini = await fakeGemini(t, [reply('hello')]);
  const at = place(t, { gemini, files: { taken: '' }, env: { GMN_HOME: 'taken/gmn' } });
  const stdout = 'hello\ngmn: this run was not saved: a file is where a directory should be\n';
  expect(await runShell(t, at, `${GMN_LINE} hi 2>&1`)).toMatchObject({ stdout, stderr: '' });
});

test('--version prints the version and --help prints the help, whatever the home looks like', () => {
  const run = (flag: string) => spawnSync(...gmnCommand([flag]), { env: { PATH: process.env.PATH }, encoding: 'utf8' });
  expect(run('--version').stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  expect(run('-v').stdout).toBe(run('--version').stdout);
  expect(run('--help')).toMatchObject({ status: 0, stderr: '' });
  expect(run('--help').stdout).toContain('Usage:\n  gmn [prompt...] [flags]\n');
});

test.runIf(process.platform !== 'win32').each(['--help', '--version'])('%s into a closed pipe is quiet', (flag) => {
  const script = `${GMN_LINE} ${flag} | true; echo "\${PIPESTATUS[0]}"`;
  const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', script], {
    env: { PATH: process.env.PATH },
    encoding: 'utf8',
  });
  expect({ stdout, stderr }).toEqual({ stdout: '0\n', stderr: '' });
});

const NOBODY = { uid: 54_321, gid: 54_321 };
/** As a user without an entry in the password file, which only root can become; the program must be readable for them. */
const canBeNobody =
  process.platform === 'linux' &&
  process.getuid?.() === 0 &&
  spawnSync(...gmnCommand(['--version']), { ...NOBODY, cwd: '/' }).status === 0;

test.runIf(canBeNobody).for(['a one-shot', 'a chat'])(
  'without a home, %s answers, saves nothing and says so',
  async (what, t) => {
    const gemini = await fakeGemini(t, [reply('hello')]);
    const { PATH, ...rest } = place(t, { gemini }).env;
    const { HOME: _, TMPDIR: __, ...env } = { PATH, ...rest };
    const args = what === 'a chat' ? ['chat', 'hi'] : ['hi'];
    const { ended } = await startGmn(t, args, { at: { cwd: '/', env }, ...NOBODY });
    const { stdout, stderr, exitCode } = await ended;
    expect([stdout, exitCode]).toEqual(['hello\n', 0]);
    expect(
      stderr.match(/there is no home directory: no settings are read and nothing is saved; set HOME/g),
    ).toHaveLength(1);
    expect(stderr).not.toMatch(/not saved|Resume/);
    const chat = what === 'a chat' ? ['chat'] : [];
    for (const words of [
      ['sessions', 'list'],
      [...chat, '-c', 'hi'],
      [...chat, '-r', 'last', 'hi'],
    ]) {
      const { status, stderr } = spawnSync(...gmnCommand(words), { ...NOBODY, cwd: '/', env, encoding: 'utf8' });
      const refused = expect.stringMatching(/^Error: there is no home directory(, so no session is saved)?\nSet HOME/);
      expect([words, status, stderr]).toEqual([words, 4, refused]);
    }
  },
);

/** gmn without a home directory. */
function runHomeless(words: readonly string[], input = '') {
  const child = { ...NOBODY, cwd: '/', env: { PATH: process.env.PATH }, input, encoding: 'utf8' } as const;
  const { status, stdout, stderr } = spawnSync(...gmnCommand(words), child);
  return { status, stdout, stderr };
}

const NO_SESSIONS =
  'Error: there is no home directory, so no session is saved\nSet HOME, or GMN_HOME and GEMINI_CLI_HOME.\n';

test
  .runIf(canBeNobody)
  .for([[['--list-sessions']], [['--delete-session', 'x']], [['--demo', '-r', 'x', 'hi']]] as const)(
  'without a home, %j says that no session is saved',
  ([words]) => {
    expect(runHomeless(words)).toEqual({ status: 4, stdout: '', stderr: NO_SESSIONS });
  },
);

test
  .runIf(canBeNobody)
  .for([
    [['--demo', '--session-name', 'x', 'hi']],
    [['--demo', '--session-id', '11111111-1111-4111-8111-111111111111', 'hi']],
    [['--demo', '--session-name', 'x', '--tools', 'read', 'hi']],
    [['chat', '--demo', '--session-name', 'x', 'hi']],
  ] as const)('without a home, %j is answered, with one notice and no inner path', ([words]) => {
  const { status, stdout, stderr } = runHomeless(words);
  expect([status, stdout]).toEqual([0, 'Hi! What are we building today?\n']);
  expect(stderr).toMatch(/^(gmn: )?there is no home directory: .* nothing is saved; set HOME/);
  expect(stderr).not.toMatch(/dev.null|no longer being saved/);
});

test.runIf(canBeNobody).for(['/resume last', '/load x', '/save x', '/sessions'])(
  'without a home, %s in a chat says that no session is saved',
  (entry) => {
    const { status, stdout, stderr } = runHomeless(['chat', '--demo'], `hi\n${entry}\n`);
    expect([status, stdout]).toEqual([4, 'Hi! What are we building today?\n']);
    expect(stderr).toContain(NO_SESSIONS);
    expect(stderr).not.toContain('/dev/null');
  },
);

test.runIf(canBeNobody)('without a home there is nothing to undo, and no sign-in', () => {
  const undo = runHomeless(['chat', '--demo'], 'hi\n/undo\n');
  expect([undo.status, undo.stderr]).toEqual([
    1,
    expect.stringMatching(/Error: there is nothing to undo in this session/),
  ]);
  expect(runHomeless(['--auth', 'oauth-personal', 'hi'])).toEqual({
    status: 2,
    stdout: '',
    stderr: 'Error: --auth asks for a Google sign-in, but there is no home directory to have one in\nSet HOME.\n',
  });
});

test.runIf(canBeNobody)('without a home no file is changed, since the change could not be undone', async (t) => {
  const made = call('write_file', { file_path: 'new.txt', content: 'x' });
  const gemini = await fakeGemini(t, [reply(made), reply('tried')]);
  const at = place(t, { gemini });
  const { HOME: _, TMPDIR: __, ...env } = at.env;
  for (const directory of [join(at.cwd, '..'), at.cwd]) chmodSync(directory, 0o777);
  const { ended } = await startGmn(t, ['--tools', 'edit', '-y', 'x'], { at: { cwd: at.cwd, env }, ...NOBODY });
  const { stderr } = await ended;
  expect(stderr).toContain('there is no home directory, so a change could not be undone and is not made');
  expect(stderr).not.toContain('/dev/null');
  expect(existsSync(join(at.cwd, 'new.txt'))).toBe(false);
});

const BUN_WORDS = /^Error: Node 20\.18\.1 or later is needed, and this is Bun \S+\nInstall Node/;

// Bun takes the place of Node where `bunx` finds none. Its own name for itself is all that gmn looks at.
test.skipIf(isStandalone)('a runtime that calls itself Bun is refused before piped text is lost', (t) => {
  const { env } = place(t);
  const named = "data:text/javascript,Object.defineProperty(process.versions,'bun',{value:'1.4.4'})";
  const run = (...words: readonly string[]) =>
    spawnSync(process.execPath, ['--import', named, GMN, ...words], { env, input: 'piped', encoding: 'utf8' });
  const { stdout, stderr, status } = run('--demo', 'summarise');
  expect([stdout, status]).toEqual(['', 4]);
  expect(stderr).toMatch(BUN_WORDS);
  expect(run('--version').status).toBe(0);
});

const bun = process.env.GMN_TEST_BUN ?? 'bun';
const hasBun = spawnSync(bun, ['--version']).status === 0;

test.skipIf(isStandalone || !hasBun)('Bun itself is refused, and nothing is lost without a word', (t) => {
  const { env } = place(t);
  const run = spawnSync(bun, [GMN, '--demo', 'summarise'], { env, input: 'piped', encoding: 'utf8' });
  expect([run.stdout, run.status]).toEqual(['', 4]);
  expect(run.stderr).toMatch(BUN_WORDS);
});

test('a debug file that cannot be written is an error before anything is sent', async (t) => {
  const gmn = await runGmn(t, ['--debug-file', 'missing/trace.log', 'hi'], { gemini: await fakeGemini(t, []) });
  expect(gmn).toMatchObject({ stdout: '', exitCode: 1 });
  expect(gmn.stderr).toMatch(/^Error: cannot write the debug file missing\/trace\.log\n\S/);
});

test('a failed run leaves no half-warm code cache behind', async (t) => {
  const { cwd, env, home } = place(t, { isFirstRun: true });
  const { status } = spawnSync(...gmnCommand(['hi']), { cwd, env, stdio: 'ignore' });
  expect(status).toBe(2);
  expect(existsSync(join(home, '.gmn', 'cache'))).toBe(false);
});

test('the compiled code is kept for the next start, for nobody else to read, and a spoilt one does no harm', async (t) => {
  const gemini = await fakeGemini(t, [reply('one'), reply('two'), reply('three')]);
  const at = place(t, { gemini, isFirstRun: true });
  const { home } = at;
  const answer = () => runGmnIn(t, at, ['hi']);
  expect(await answer()).toMatchObject({ stdout: 'one\n', exitCode: 0 });
  const cache = join(home, '.gmn', 'cache', readdirSync(join(home, '.gmn', 'cache'))[0] ?? '');
  const files = readdirSync(cache);
  expect(files).toEqual([expect.stringMatching(/^pack-[0-9a-f]+\.js\.cache$/)]);
  expect(files.map((name) => statSync(join(cache, name)).mode & 0o777)).toEqual(files.map(() => systemMode(0o600)));
  expect(statSync(cache).mode & 0o777).toBe(systemMode(0o700));
  const stamps = () => files.map((name) => statSync(join(cache, name)).mtimeMs);
  const before = stamps();
  expect(await answer()).toMatchObject({ stdout: 'two\n', exitCode: 0 });
  expect(stamps()).toEqual(before);
  for (const name of files) writeFileSync(join(cache, name), 'spoilt');
  expect(await answer()).toMatchObject({ stdout: 'three\n', exitCode: 0 });
  expect(readdirSync(cache).sort()).toEqual([...files].sort());
});

test('an answer is on stdout before the next one is asked for', async (t) => {
  const { open, opened } = gate();
  const gmn = await startGmn(t, ['hi'], {
    script: [stream('first', opened, finish('STOP', [{ text: ' second' }]), END)],
    onStdout: (text) => void (text === 'first' && open()),
  });
  expect((await gmn.ended).stdout).toBe('first second\n');
});

test('a server that has finished but keeps the line open is not waited for', async (t) => {
  // The idle timer would be the only other way out, and it is off.
  const script = [stream(finish('STOP', [{ text: 'done' }]))];
  const gmn = await runGmn(t, ['-t', '0', 'hi'], { script, env: { GMN_IDLE_TIMEOUT: '0' } });
  expect(gmn).toMatchObject({ stdout: 'done\n', stderr: '', exitCode: 0 });
});
