import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, expect } from 'vitest';
import { buildFixture, resultOf, startFixture } from '../../input/support.ts';
import { posixTest } from '../../support/posix.ts';
import { temporary } from '../../support/temporary.ts';

let fixture: Awaited<ReturnType<typeof buildFixture>>;
beforeAll(async () => {
  fixture = await buildFixture();
});
afterAll(() => fixture.remove());

const textParts = (text: string) => [{ text }];

posixTest('a shell pipe is a pipe and comes before the prompt, byte for byte', async () => {
  const { result } = startFixture(fixture.path, `printf 'a\\r\\n b \\n' | FIXTURE`, { PROMPT: 'review' });
  expect(await result).toMatchObject({
    exitCode: 0,
    output: { kind: 'pipe', notices: [], parts: textParts('a\r\n b \n\n\nreview') },
  });
});

posixTest('a redirected file is read, from where it stands', async () => {
  const cwd = temporary({ 'in.txt': 'one\ntwo\n' });
  const { result } = startFixture(fixture.path, `{ read line; FIXTURE; } < '${cwd}/in.txt'`, { PROMPT: 'x' });
  // A shell may read ahead, but must step back for its children.
  expect(await result).toMatchObject({ exitCode: 0, output: { kind: 'file', parts: textParts('two\n\n\nx') } });
});

posixTest.each(['< /dev/null', '<&-'])('with stdin %s there is none', async (redirection) => {
  const { result } = startFixture(fixture.path, `FIXTURE ${redirection}`, { PROMPT: 'x' });
  expect(await result).toEqual({
    exitCode: 0,
    stderr: '',
    output: { kind: 'none', notices: [], parts: textParts('x') },
  });
});

posixTest.each(['< /dev/null', '<&-'])('--stdin with stdin %s reads nothing and ends', async (redirection) => {
  const { result } = startFixture(fixture.path, `FIXTURE ${redirection}`, { PROMPT: 'x', MODE: 'always' });
  expect(await result).toMatchObject({ exitCode: 0, output: { kind: 'none', notices: [], parts: textParts('x') } });
});

posixTest('a directory as stdin is refused with the way to send it', async () => {
  const { result } = startFixture(fixture.path, 'FIXTURE < .', { PROMPT: 'x' });
  expect(await result).toMatchObject({
    exitCode: 1,
    output: {
      kind: 'directory',
      error: { message: 'stdin is a directory', hint: 'Send its files: gmn -f <directory> "…"', fault: 'usage' },
    },
  });
});

posixTest('a stdin that is only open for writing is refused in words', async () => {
  const { result } = startFixture(fixture.path, `FIXTURE 0> '${temporary()}/out'`, { PROMPT: 'x' });
  expect(await result).toMatchObject({
    exitCode: 1,
    output: { error: { message: 'cannot read stdin: EBADF', hint: 'Use --no-stdin to go without it.' } },
  });
});

posixTest('a child of another Node has a socket, which is read to its end once a byte came', async () => {
  const child = spawn(process.execPath, [fixture.path], { env: { PROMPT: 'x', GMN_STDIN_WAIT: '1h' } });
  child.stdin.write('a');
  child.stderr.once('data', () => child.stdin.end('b'));
  expect(await resultOf(child)).toMatchObject({ exitCode: 0, output: { kind: 'socket', parts: textParts('ab\n\nx') } });
});

const GIVEN_UP = {
  notices: ['no stdin within 1 ms: continuing without it (--stdin waits for its end)'],
  parts: textParts('x'),
};

posixTest('a silent socket is given up, and nothing keeps the process alive', async () => {
  const child = spawn(process.execPath, [fixture.path], { env: { PROMPT: 'x', GMN_STDIN_WAIT: '1ms' } });
  const { exitCode, output } = await resultOf(child);
  expect({ exitCode, output }).toEqual({ exitCode: 0, output: { kind: 'socket', ...GIVEN_UP } });
});

posixTest('a silent pipe is given up, and nothing keeps the process alive', async (t) => {
  const cwd = temporary();
  const holder = spawn('sh', ['-c', 'mkfifo fifo && exec 3<>fifo && echo ready && read line'], { cwd });
  t.onTestFinished(() => void holder.stdin.end());
  await once(holder.stdout, 'data');
  const { result } = startFixture(fixture.path, `FIXTURE < '${cwd}/fifo'`, { PROMPT: 'x', GMN_STDIN_WAIT: '1ms' });
  const { exitCode, output } = await result;
  expect({ exitCode, output }).toEqual({ exitCode: 0, output: { kind: 'pipe', ...GIVEN_UP } });
});

posixTest('an interrupt while stdin is awaited ends the process at once', async () => {
  const child = spawn(process.execPath, [fixture.path], { env: {} });
  child.stderr.once('data', () => child.kill('SIGINT'));
  const { exitCode, output } = await resultOf(child);
  expect({ exitCode, output }).toMatchObject({ exitCode: 130, output: { error: { message: 'Interrupted.' } } });
});

posixTest('a pipe that does not end is cut off with an error as soon as it is too long', async () => {
  const { result } = startFixture(fixture.path, 'yes | FIXTURE', { PROMPT: 'x' });
  expect(await result).toMatchObject({
    exitCode: 1,
    output: { error: { message: 'stdin is longer than 20 MB, the most that can be sent', fault: 'usage' } },
  });
});
