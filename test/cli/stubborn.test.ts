import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, type TestContext, test } from 'vitest';
import { chunk, endless, failure, fakeGemini, reply } from '../support/gemini.ts';
import { GMN_LINE, type GmnOptions, gmnCommand, place, runGmn, startGmn } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';

/** More than any pipe holds, and never an end. */
const ENDLESS = endless(chunk([{ text: 'line\n'.repeat(2000) }]));

/** Starts gmn with a stdout that nobody reads, once the first bytes stand in the pipe. */
async function unread(t: TestContext, args: readonly string[], options: GmnOptions) {
  const { cwd, env } = place(t, options);
  const child = spawn(...gmnCommand(args), { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  t.onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'readable');
  return child;
}

describe('a reader that does not read', () => {
  posixTest.for([
    { signal: 'SIGINT', code: 130, format: 'text' },
    { signal: 'SIGTERM', code: 143, format: 'stream-json' },
  ] as const)('does not keep gmn from ending on one $signal', async ({ signal, code, format }, t) => {
    const child = await unread(t, ['-o', format, 'hi'], { gemini: await fakeGemini(t, [ENDLESS]) });
    child.kill(signal);
    const [exitCode] = await once(child, 'exit');
    expect(exitCode).toBe(code);
  });

  // On Windows Node itself waits in a write to a pipe that is full, and no timer fires: docs/windows.md.
  posixTest('does not keep --timeout from ending the run', async (t) => {
    const child = await unread(t, ['-t', '700ms', 'hi'], { gemini: await fakeGemini(t, [ENDLESS]) });
    const [exitCode] = await once(child, 'exit');
    expect(exitCode).toBe(3);
  });
});

describe.runIf(process.platform === 'linux')('a full disk', () => {
  const full = (): number => openSync('/dev/full', 'w');

  test.each(['--help', '--version'])('under %s is an error, not a stack', (flag) => {
    const { status, stderr } = spawnSync(...gmnCommand([flag]), {
      env: { PATH: process.env.PATH },
      stdio: ['ignore', full(), 'pipe'],
      encoding: 'utf8',
    });
    expect(status).toBe(1);
    expect(stderr).toMatch(/^Error: ENOSPC.*\n\S.*\n$/);
  });

  test('under stderr does not spoil an answer that has arrived', async (t) => {
    const script = [failure(503, 'UNAVAILABLE'), reply('hello')];
    const { ended } = await startGmn(t, ['-u', 'hi'], { script, stderr: full() });
    expect(await ended).toMatchObject({ stdout: 'hello\n', exitCode: 0 });
  });

  test('is not made of a home where nothing can be made', async (t) => {
    const gmn = await runGmn(t, ['hi'], { script: [reply('hello')], env: { GMN_HOME: '/proc/nowhere/gmn' } });
    const stderr = expect.stringMatching(/^gmn: this run was not saved: .+\n$/);
    expect(gmn).toMatchObject({ stdout: 'hello\n', stderr, exitCode: 0 });
  });
});

describe.runIf(process.platform !== 'win32')('strange places', () => {
  test('a FIFO as debug file is refused, not waited for', async (t) => {
    const { cwd, env } = place(t, { gemini: await fakeGemini(t, []) });
    spawnSync('mkfifo', [join(cwd, 'fifo')]);
    const { status, stderr } = spawnSync(...gmnCommand(['--debug-file', 'fifo', 'hi']), {
      cwd,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      encoding: 'utf8',
    });
    expect(status).toBe(1);
    expect(stderr).toMatch(/^Error: cannot write the debug file fifo\n\S/);
  });

  test('a directory that is gone is reported as gone', async (t) => {
    const { cwd, env } = place(t, { gemini: await fakeGemini(t, []) });
    const gone = join(cwd, 'gone');
    mkdirSync(gone);
    const script = `cd gone && rmdir ../gone && exec ${GMN_LINE} hi`;
    const { status, stderr } = spawnSync('sh', ['-c', script], {
      cwd,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      encoding: 'utf8',
    });
    expect(status).toBe(1);
    expect(stderr).toMatch(/^Error: the directory gmn was started in is gone\n\S/);
  });
});

test('a preview that fails is shown in the format that was asked for', async (t) => {
  const gmn = await runGmn(t, ['-o', 'json', '--dry-run', '-f', 'nope', 'hi'], { gemini: await fakeGemini(t, []) });
  expect(gmn).toMatchObject({ stderr: '', exitCode: 1 });
  expect(JSON.parse(gmn.stdout).error.message).toContain('nope');
});

test('without a credential, or with an empty one, nothing is sent', async (t) => {
  const { url } = await fakeGemini(t, []);
  for (const key of [undefined, '', '  ']) {
    const env = { GOOGLE_GEMINI_BASE_URL: url, ...(key === undefined ? {} : { GEMINI_API_KEY: key }) };
    expect(await runGmn(t, ['hi'], { env })).toMatchObject({ stdout: '', exitCode: 2 });
  }
});
