import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, type TestContext, vi } from 'vitest';
import { AppError } from '../../src/core/error.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { createBackgroundCommands } from '../../src/platform/process/background.ts';
import { runShell } from '../../src/platform/process/shell.ts';
import { runShellCommand, type ShellContext } from '../../src/tools/run-shell-command.ts';
import { fifo, linuxTest, posixTest, processesWith } from '../support/posix.ts';
import { standStill } from '../support/stopped.ts';

const SH = { path: '/bin/sh', args: ['-c'], isVerbatim: false } as const;

function workspace(t: TestContext): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'gmn-shell-')));
  t.onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  return root;
}

function shellTool(t: TestContext, options: Partial<ShellContext> = {}) {
  const root = workspace(t);
  const background = createBackgroundCommands();
  t.onTestFinished(() => background.close());
  const tool = runShellCommand.create({
    shell: SH,
    env: { PATH: process.env.PATH },
    resolveDirectory: async (path) => {
      if (path.startsWith('..'))
        throw new AppError('usage', `${path} is outside of the workspace`, { hint: 'Stay in.' });
      return join(root, path);
    },
    storeOutput: async () => undefined,
    background,
    ...options,
  });
  const run = (args: JsonObject, signal = new AbortController().signal) => tool.invoke(args, signal);
  return { tool, root, run };
}

posixTest('a command gives both its outputs and its exit code', async (t) => {
  const { run } = shellTool(t);
  expect(await run({ command: 'echo out; echo err >&2; exit 3' })).toEqual({
    ok: true,
    response: { output: expect.toSatisfy((text) => [...text.split('\n')].sort().join() === ',err,out'), exit_code: 3 },
    exit: { code: 3, signal: null },
    summary: '2 lines',
  });
});

posixTest('a command ended by a signal says which', async (t) => {
  const { run } = shellTool(t);
  expect(await run({ command: 'kill -9 $$' })).toEqual({
    ok: true,
    response: { output: '', exit_code: null, signal: 'SIGKILL' },
    exit: { code: null, signal: 'SIGKILL' },
    summary: 'no output',
  });
});

posixTest('the preview is the literal command and the directory it would run in', async (t) => {
  const { tool, root } = shellTool(t);
  const { signal } = new AbortController();
  expect(await tool.preview?.({ command: 'echo \u001b[2Jhi\n', dir_path: 'sub' }, signal)).toEqual({
    kind: 'command',
    command: 'echo \u001b[2Jhi\n',
    directory: join(root, 'sub'),
  });
  expect(await tool.preview?.({ command: 'ls', dir_path: '../x' }, signal)).toEqual({
    ok: false,
    response: { error: '../x is outside of the workspace. Stay in.' },
  });
});

posixTest('a directory outside of the workspace is refused when it runs, too', async (t) => {
  const { run } = shellTool(t);
  expect(await run({ command: 'touch made', dir_path: '..' })).toEqual({
    ok: false,
    response: { error: '.. is outside of the workspace. Stay in.' },
  });
});

posixTest('a command runs in its directory', async (t) => {
  const { run, root } = shellTool(t);
  expect(await run({ command: 'pwd' })).toMatchObject({
    ok: true,
    response: { output: `${root}/\n`.replace('/\n', '\n'), exit_code: 0 },
  });
});

posixTest('a command sees nothing of the environment but the few names it needs', async (t) => {
  const env = {
    PATH: process.env.PATH,
    HOME: '/home/x',
    LANG: 'C.UTF-8',
    LC_ALL: 'C.UTF-8',
    LC_evil: 'x',
    TZ: 'UTC',
    GEMINI_API_KEY: 'canary',
    GOOGLE_APPLICATION_CREDENTIALS: 'canary',
    NODE_OPTIONS: '--require canary',
    LD_PRELOAD: 'canary',
    BASH_ENV: 'canary',
    ENV: 'canary',
    USER: '() { :;}; echo canary',
  };
  const { run } = shellTool(t, { env });
  const { response } = await run({ command: 'env' });
  const names = String(response.output)
    .trim()
    .split('\n')
    .map((line) => line.split('=')[0])
    .filter((name) => !['PWD', 'OLDPWD', 'SHLVL', '_'].includes(name ?? ''));
  expect(names.sort()).toEqual(
    [
      'GIT_PAGER',
      'GIT_TERMINAL_PROMPT',
      'GMN_COMMAND',
      'HOME',
      'LANG',
      'LC_ALL',
      'NO_COLOR',
      'PAGER',
      'PATH',
      'SHELL',
      'TERM',
      'TZ',
    ].sort(),
  );
  expect(JSON.stringify(response)).not.toContain('canary');
});

posixTest('a command has no input and no terminal', async (t) => {
  const { run } = shellTool(t);
  const command = 'cat; read line; echo "read: $?"; (: < /dev/tty) 2>/dev/null || echo no terminal';
  expect(await run({ command })).toMatchObject({
    ok: true,
    response: { output: 'read: 1\nno terminal\n', exit_code: 0 },
  });
});

posixTest('a command that cannot be started is an error for the model', async (t) => {
  const { run } = shellTool(t, { shell: { ...SH, path: '/nowhere/sh' } });
  expect((await run({ command: 'ls' })).response.error).toMatch(
    /^cannot start \/nowhere\/sh in .*: ENOENT\. Check that both are there, and may be used\.$/,
  );
  expect((await shellTool(t).run({ command: 'ls\0' })).response.error).toMatch(
    /^cannot start \/bin\/sh in .*: ERR_INVALID_ARG_VALUE\./,
  );
  expect((await shellTool(t).run({ command: `: ${'x'.repeat(3_000_000)}` })).response.error).toMatch(/: E2BIG\./);
  expect((await shellTool(t).run({ command: 'ls', dir_path: 'gone' })).response.error).toMatch(/: ENOENT\./);
});

linuxTest('a command that ignores TERM is killed when its time is up', async (t) => {
  const { run } = shellTool(t, { timeoutMs: 300 });
  const mark = `mark-${Math.random()}`;
  const outcome = await run({ command: `trap '' TERM; while :; do echo ${mark}; sleep 0.05; done` });
  expect(outcome).toMatchObject({
    ok: false,
    response: {
      error: 'It was stopped after 300 ms, the limit for a command.',
      output: expect.stringContaining(mark),
      exit_code: null,
      signal: 'SIGKILL',
    },
  });
  expect(processesWith(mark)).toEqual([]);
});

linuxTest('aborting ends the command with all it has started, and throws the reason', async (t) => {
  const { run, root } = shellTool(t);
  const controller = new AbortController();
  const reason = new AppError('interrupted', 'Interrupted.');
  const mark = `mark-${Math.random()}`;
  const running = run(
    { command: `sh -c 'sleep 100; : ${mark}' & setsid sh -c 'sleep 100; : ${mark}' & touch ready; wait` },
    controller.signal,
  );
  while (!readdirSync(root).includes('ready') || processesWith(mark).length < 3) await new Promise(setImmediate);
  controller.abort(reason);
  await expect(running).rejects.toBe(reason);
  expect(processesWith(mark)).toEqual([]);
});

posixTest('an aborted signal starts nothing', async (t) => {
  const { run, root } = shellTool(t);
  await expect(run({ command: 'touch made' }, AbortSignal.abort(new AppError('interrupted', 'x')))).rejects.toThrow(
    'x',
  );
  expect(readdirSync(root)).toEqual([]);
});

linuxTest('two hundred forks end with their command, and are reported', async (t) => {
  const { run } = shellTool(t);
  const mark = `mark-${Math.random()}`;
  const outcome = await run({ command: `for i in $(seq 200); do sh -c 'sleep 100; : ${mark}' & done; echo started` });
  expect(outcome).toMatchObject({ ok: true, response: { output: 'started\n', exit_code: 0 } });
  expect(String(outcome.response.note)).toMatch(/^Stopped what it had left running: \d+ \(/);
  expect(processesWith(mark)).toEqual([]);
});

linuxTest('a process that left the session is found by its marker, stopped and reported', async (t) => {
  const { run, root } = shellTool(t);
  const mark = `mark-${Math.random()}`;
  const daemon = `setsid sh -c "trap \\"\\" TERM HUP; touch ready; while :; do sleep 0.05; done; : ${mark}" > /dev/null 2>&1 < /dev/null &`;
  const outcome = await run({ command: `${daemon} while ! [ -e ready ]; do sleep 0.01; done; echo done` });
  expect(readdirSync(root)).toEqual(['ready']);
  expect(outcome).toMatchObject({ ok: true, response: { output: 'done\n', exit_code: 0 } });
  expect(String(outcome.response.note)).toContain(mark);
  expect(processesWith(mark)).toEqual([]);
});

linuxTest('a command that leaves a process holding its output does not make gmn wait for it', async (t) => {
  const { run } = shellTool(t);
  const outcome = await run({ command: 'sleep 100 & echo first' });
  expect(outcome).toMatchObject({ ok: true, response: { output: 'first\n', exit_code: 0 } });
  expect(String(outcome.response.note)).toMatch(/^Stopped what it had left running: \d+ \([^(]*sleep 100[^)]*\)$/);
});

posixTest('of a hundred megabytes the model gets the beginning and the end', async (t) => {
  const { run } = shellTool(t);
  const { ok, response } = await run({
    command: 'echo begin; head -c 100000000 /dev/zero | tr "\\0" x; echo; echo end',
  });
  const output = String(response.output);
  expect(ok).toBe(true);
  expect(output.length).toBeLessThan(40_200);
  expect(output).toMatch(/^begin\nx{7000}/);
  expect(output).toMatch(/x{30000}\nend\n$/);
  const missing = Number(
    /\[… (\d+) characters are left out here; they are lost, and a command that changes things/.exec(output)?.[1],
  );
  expect(missing).toBeGreaterThan(99_950_000);
  expect(missing).toBeLessThan(100_000_000);
});

posixTest('of an output too long to be stored, the model learns how much is', async (t) => {
  const { run } = shellTool(t, { storeOutput: async () => '.out/1.txt' });
  const { response } = await run({ command: 'head -c 3000000 /dev/zero | tr "\\0" x' });
  const [, missing, kept] =
    /\[… (\d+) characters are left out here; read_file \.out\/1\.txt shows (\d+) of them, the others were not kept …\]/.exec(
      String(response.output),
    ) ?? [];
  expect(Number(missing)).toBeGreaterThan(2_950_000);
  expect(Number(kept)).toBeLessThan(1_000_000);
});

posixTest('a long output can be stored, and the model learns where', async (t) => {
  const kept: string[] = [];
  const { run } = shellTool(t, {
    storeOutput: async (text) => {
      kept.push(text);
      return '.out/1.txt';
    },
  });
  const { response } = await run({ command: 'seq 20000' });
  expect(kept).toEqual([Array.from({ length: 20000 }, (_, index) => `${index + 1}\n`).join('')]);
  expect(response.output).toContain('read_file .out/1.txt shows them');
});

posixTest('characters are whole however the output is cut', async (t) => {
  const { run } = shellTool(t);
  const command = String.raw`printf '\343'; printf '\343' >&2; sleep 0.05; printf '\201\202'; sleep 0.05; printf '\201\204' >&2; printf '\377'`;
  const { response } = await run({ command });
  expect([...String(response.output)].sort()).toEqual(['あ', 'い', '\ufffd'].sort());
});

posixTest('a silent command that timed out is reported as waiting for input', async (t) => {
  const { run } = shellTool(t, { timeoutMs: 200 });
  const { response } = await run({ command: 'sleep 60' });
  expect(response.error).toMatch(
    /^It was stopped after 200 ms, the limit for a command\. It had written nothing for \d+ ms: it may have waited for input, which it cannot get\.$/,
  );
});

linuxTest(
  'a command that leaves something behind that cannot be found, and never stops writing, ends all the same',
  async (t) => {
    const { root, run } = shellTool(t);
    const pidFile = join(root, 'pid');
    t.onTestFinished(() => void process.kill(Number(readFileSync(pidFile, 'utf8')), 'SIGKILL'));
    const command = `env -i setsid sh -c 'trap "" PIPE; echo $$ > ${pidFile}; while :; do echo x; done' & sleep 0.5`;
    expect(await run({ command })).toMatchObject({ ok: true, response: { exit_code: 0 } });
  },
);

posixTest('a command that ended while gmn was stopped has not run out of time', async (t) => {
  const { run, root } = shellTool(t, { timeoutMs: 400 });
  fifo(join(root, 'go'));
  const running = run({ command: 'touch up; read _ < go; echo done' });
  await vi.waitUntil(() => existsSync(join(root, 'up')));
  writeFileSync(join(root, 'go'), 'now\n');
  await standStill(600);
  expect(await running).toMatchObject({ ok: true, response: { output: 'done\n', exit_code: 0 } });
});

posixTest('an abort while the shell is being started is not missed', async (t) => {
  const controller = new AbortController();
  const command = 'while :; do sleep 1; done';
  const limits = { timeoutMs: 60_000, maxChars: 1000 };
  const running = runShell({ shell: SH, command, cwd: workspace(t), env: process.env, ...limits }, controller.signal);
  controller.abort(new Error('enough'));
  await expect(running).rejects.toThrow('enough');
});
