import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, type TestContext } from 'vitest';
import { AppError } from '../../src/core/error.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { createBackgroundCommands } from '../../src/platform/process/background.ts';
import { readOutput } from '../../src/tools/read-output.ts';
import { runShellCommand } from '../../src/tools/run-shell-command.ts';
import { stopCommand } from '../../src/tools/stop-command.ts';
import { linuxTest, posixTest, processesWith } from '../support/posix.ts';

const CALM = new AbortController().signal;

function shell(t: TestContext) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'gmn-background-')));
  const background = createBackgroundCommands();
  t.onTestFinished(async () => {
    await background.close();
    rmSync(root, { recursive: true, force: true });
  });
  const kept: string[] = [];
  const storeOutput = async (text: string) => `kept-${kept.push(text)}`;
  const run = runShellCommand.create({
    ...{ shell: { path: '/bin/sh', args: ['-c'], isVerbatim: false }, env: { PATH: process.env.PATH }, storeOutput },
    resolveDirectory: async (path) => {
      if (path.startsWith('..')) throw new AppError('usage', `${path} is outside of the workspace`);
      return join(root, path);
    },
    background,
  });
  const companions = [readOutput, stopCommand].map((tool) => tool.create({ background, storeOutput }));
  const tools = new Map([run, ...companions].map((tool) => [tool.name, tool]));
  const call = async (name: string, args: JsonObject, signal = CALM) => {
    const { ok, response } = await tools.get(name)!.invoke(args, signal);
    return { ok, response };
  };
  const start = (command: string, signal = CALM) => call('run_shell_command', { command, is_background: true }, signal);
  return { root, run, tools, background, kept, call, start };
}

posixTest('a command in the background is read as it goes on, and ends when it is stopped', async (t) => {
  const { root, tools, call, start } = shell(t);
  const waiting = (file: string) => `while [ ! -e ${file} ]; do sleep 0.02; done`;
  expect(await start(`echo one; ${waiting('go')}; echo two >&2; ${waiting('never')}`)).toEqual({
    ...{ ok: true, response: { id: 1, output: 'one\n', running: true } },
  });
  const toKey = () => tools.get('read_output')?.plain?.({ id: 1 });
  const key = toKey();
  const next = call('read_output', { id: 1 });
  // Or the third look would pass for a model that is stuck.
  expect(toKey()).not.toEqual(key);
  writeFileSync(join(root, 'go'), '');
  expect(await next).toEqual({ ok: true, response: { output: 'two\n', running: true } });
  expect(await call('stop_command', { id: 1 })).toEqual({
    ...{ ok: true, response: { output: '', running: false, exit_code: null, signal: 'SIGTERM' } },
  });
  expect(await call('read_output', { id: 1 })).toMatchObject({ response: { output: '', running: false } });
  expect(await call('stop_command', { id: 7 })).toEqual({
    ...{ ok: false, response: { error: 'there is no such command in the background; there is 1' } },
  });
});

posixTest('one that ends is answered with how it ended, and what it left running is stopped', async (t) => {
  const { call, start } = shell(t);
  const runToEnd = async (command: string) => {
    let { response } = await start(command);
    let output = response.output;
    // A slow machine may answer before it has ended.
    while (response.running) {
      ({ response } = await call('read_output', { id: Number(response.id) }));
      output = `${output}${response.output}`;
    }
    return { ...response, output };
  };
  expect(await runToEnd('echo no >&2; exit 3')).toEqual({ id: 1, output: 'no\n', running: false, exit_code: 3 });
  expect(await runToEnd('sleep 600 & echo left')).toEqual({
    ...{ id: 2, output: 'left\n', running: false, exit_code: 0, note: expect.stringContaining('sleep 600') },
  });
});

posixTest('eight run at most; those that have ended make room', async (t) => {
  const { call, start } = shell(t);
  await start('true');
  for (let id = 2; id <= 9; id += 1)
    expect(await start('echo up; exec sleep 600')).toMatchObject({ response: { id, running: true } });
  expect(await start('echo up')).toEqual({
    ok: false,
    response: {
      error: '8 commands are running in the background. End one with stop_command first: 2, 3, 4, 5, 6, 7, 8, 9.',
    },
  });
  expect(await call('read_output', { id: 1 })).toMatchObject({ ok: false });
  await call('stop_command', { id: 5 });
  expect(await start('echo up; exec sleep 600')).toMatchObject({ response: { id: 10, running: true } });
});

posixTest('of what is not read a megabyte is kept, its beginning and its end', async (t) => {
  const { root, kept, call, start } = shell(t);
  const line = `line $i ${'of a long text that is not read '.repeat(6)}`;
  await start(
    `echo up; while [ ! -e go ]; do sleep 0.02; done; i=0; while [ $i -lt 8000 ]; do echo "${line}"; i=$((i+1)); done; echo last; touch done`,
  );
  writeFileSync(join(root, 'go'), '');
  await expect.poll(() => existsSync(join(root, 'done')), { timeout: 30_000 }).toBe(true);
  const { response } = await call('stop_command', { id: 1 });
  expect(response.output).toMatch(/read_file kept-\d+ shows \d+ of them, the others were not kept …/);
  expect(response.output).toMatch(/last\n$/);
  expect(String(response.output).length).toBeLessThan(41_000);
  expect(kept.at(-1)?.length).toBeGreaterThan(990_000);
  expect(kept.at(-1)?.length).toBeLessThan(1_000_100);
});

posixTest('what is shown before it is approved says that it runs in the background; the fence holds', async (t) => {
  const { root, run, call } = shell(t);
  const args = { command: 'sleep 1', is_background: true };
  expect(await run.preview?.(args, CALM)).toEqual({
    ...{ kind: 'command', command: 'sleep 1', directory: join(root, '.'), isBackground: true },
  });
  const outside = { ...args, command: 'touch made', dir_path: '..' };
  expect(await run.preview?.(outside, CALM)).toMatchObject({ ok: false });
  expect(await call('run_shell_command', outside)).toMatchObject({ ok: false });
  expect(existsSync(join(root, '../made'))).toBe(false);
});

linuxTest('a group that ignores TERM, and what left the group, do not outlive the run', async (t) => {
  const { background, start } = shell(t);
  const mark = randomUUID();
  const stubborn = `trap '' TERM HUP INT; export MARK=${mark}; setsid sh -c 'sleep 600' & sh -c 'sleep 600' & echo up; wait`;
  await Promise.all([start(stubborn), start(stubborn)]);
  await expect.poll(() => processesWith(mark).length, { timeout: 10_000 }).toBeGreaterThanOrEqual(6);
  await background.close();
  expect(processesWith(mark)).toEqual([]);
  expect(await start('echo late')).toEqual({ ok: false, response: { error: 'the run is over' } });
});

linuxTest('a call that is aborted while it starts leaves nothing', async (t) => {
  const { start } = shell(t);
  const mark = randomUUID();
  const abort = new AbortController();
  const started = start(`export MARK=${mark}; exec sleep 600`, abort.signal);
  abort.abort(new AppError('interrupted', 'Interrupted.'));
  await expect(started).rejects.toThrow('Interrupted.');
  expect(processesWith(mark)).toEqual([]);
});

linuxTest('one that gets away and prints without end does not hold up the end', async (t) => {
  const { call, start } = shell(t);
  const mark = randomUUID();
  await start(`env -i setsid yes ${mark} & wait`);
  expect(await call('stop_command', { id: 1 })).toMatchObject({ ok: true, response: { running: false } });
  // Nobody reads its output any more.
  await expect.poll(() => processesWith(mark), { timeout: 10_000 }).toEqual([]);
});
