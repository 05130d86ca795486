import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { expect } from 'vitest';
import { serve } from '../mcp/server/support.ts';
import { pipedChat } from '../support/chat.ts';
import { gate } from '../support/gate.ts';
import { call, fakeGemini, reply } from '../support/gemini.ts';
import { callGmn, gmnCommand, place } from '../support/gmn.ts';
import { mcpPlace } from '../support/mcp-place.ts';
import { linuxTest, processesWith } from '../support/posix.ts';

const ALLOWED = ['--tools', 'run_shell_command', '--allowed-tools', 'run_shell_command'];

function start(command: string): object {
  return call('run_shell_command', { command, is_background: true });
}

/** Ignores what asks it to end, with a child that does, too. */
function stubborn(mark: string): object {
  return start(`trap '' TERM HUP INT; export MARK=${mark}; sh -c 'sleep 600' & echo up; wait`);
}

linuxTest('a one-shot ends what it runs in the background, even if it ignores TERM', async (t) => {
  const mark = randomUUID();
  const seen: number[] = [];
  const gemini = await fakeGemini(t, [
    reply(stubborn(mark)),
    (response, request) => {
      seen.push(processesWith(mark).length);
      return reply('done')(response, request);
    },
  ]);
  const gmn = await callGmn(t, [...ALLOWED, 'x'], { gemini });
  expect(gmn).toMatchObject({ stdout: 'done\n', exitCode: 0 });
  expect(gmn.stderr).toMatch(/^✓ run_shell_command trap .* · running in the background as 1, 1 line\n$/);
  expect(seen[0]).toBeGreaterThanOrEqual(2);
  expect(processesWith(mark)).toEqual([]);
  const [first, second] = gemini.requests;
  const names = first?.body.tools[0].functionDeclarations.map(({ name }: { name: string }) => name);
  expect(names).toEqual(['run_shell_command', 'read_output', 'stop_command']);
  expect(second?.results[0]).toEqual({
    ...{ id: 1, output: 'up\n', running: true },
  });
});

/** With a child that leaves the group, where only its mark is found. */
const detached = (mark: string): string => `export MARK=${mark}; setsid sh -c 'trap "" HUP; sleep 600' & sleep 600`;

linuxTest('a gmn that is killed takes what it runs in the background along', async (t) => {
  const mark = randomUUID();
  const { open: arrive, opened: asked } = gate();
  const gemini = await fakeGemini(t, [reply(stubborn(mark), start(detached(mark))), () => arrive()]);
  const { cwd, env } = place(t, { gemini });
  const child = spawn(...gmnCommand([...ALLOWED, 'x']), { cwd, env, stdio: 'ignore' });
  await asked;
  await expect.poll(() => processesWith(mark).length, { timeout: 10_000 }).toBeGreaterThanOrEqual(6);
  child.kill('SIGKILL');
  await once(child, 'exit');
  await expect.poll(() => processesWith(mark), { timeout: 10_000 }).toEqual([]);
});

linuxTest.for([
  ['a call', (command: string) => [ALLOWED, call('run_shell_command', { command })]],
  ['--verify', (command: string) => [['--tools', 'edit', '--verify', command], { text: 'Done.' }]],
] as const)('a gmn that is killed takes the command of %s along', async ([, scene], t) => {
  const mark = randomUUID();
  const [flags, part] = scene(detached(mark));
  const gemini = await fakeGemini(t, [reply(part as object)]);
  const { cwd, env } = place(t, { gemini });
  const child = spawn(...gmnCommand([...(flags as readonly string[]), 'x']), { cwd, env, stdio: 'ignore' });
  await expect.poll(() => processesWith(mark).length, { timeout: 10_000 }).toBeGreaterThanOrEqual(4);
  child.kill('SIGKILL');
  await once(child, 'exit');
  await expect.poll(() => processesWith(mark), { timeout: 10_000 }).toEqual([]);
});

linuxTest('a gmn that is killed takes its MCP servers along, though they ignore the end of their input', async (t) => {
  const mark = randomUUID();
  // It has read a message before there are three: the executable tells the watchdog in its next turn only.
  const args = ['-c', "trap '' TERM HUP INT; read -r _; sh -c 'sleep 600' & sleep 600"];
  const { cwd, env } = mcpPlace(t, { deaf: { command: '/bin/sh', args, env: { MARK: mark } } });
  const child = spawn(...gmnCommand(['mcp', 'tools', 'deaf']), { cwd, env, stdio: 'ignore' });
  await expect.poll(() => processesWith(mark).length, { timeout: 10_000 }).toBeGreaterThanOrEqual(3);
  child.kill('SIGKILL');
  await once(child, 'exit');
  await expect.poll(() => processesWith(mark), { timeout: 10_000 }).toEqual([]);
});

linuxTest('without approval nothing is started, and the tools beside it reach nothing', async (t) => {
  const mark = randomUUID();
  const gemini = await fakeGemini(t, [
    reply(
      start(`export MARK=${mark}; exec sleep 600`),
      call('read_output', { id: 1 }),
      call('stop_command', { id: 1 }),
    ),
    reply('done'),
  ]);
  await callGmn(t, ['--tools', 'all', '--approval-mode', 'auto_edit', 'x'], { gemini });
  expect(processesWith(mark)).toEqual([]);
  expect(gemini.requests[1]?.results.map(({ error }) => error.slice(0, 40))).toEqual([
    'run_shell_command was not run: it needs ',
    'there is no such command in the backgrou',
    'there is no such command in the backgrou',
  ]);
});

linuxTest('in a chat a command goes on from turn to turn, and ends with the chat', async (t) => {
  const mark = randomUUID();
  const gemini = await fakeGemini(t, [
    reply(start(`export MARK=${mark}; echo up; exec sleep 600`)),
    reply('one'),
    reply(call('stop_command', { id: 1 }), start(`export MARK=${mark}; echo up; exec sleep 600`)),
    reply('two'),
  ]);
  const { stdout } = await pipedChat(t, ['x', '/tools glob off', 'y'], { args: ALLOWED, gemini });
  expect(stdout).toBe('one\ntwo\n');
  const [stopped, started] = gemini.requests[3]?.parts ?? [];
  expect(stopped.functionResponse.response).toMatchObject({ running: false, signal: 'SIGTERM' });
  expect(started.functionResponse.response).toMatchObject({ id: 2, running: true });
  expect(processesWith(mark)).toEqual([]);
});

linuxTest('a delegated task ends what it runs in the background before it answers', async (t) => {
  const mark = randomUUID();
  const gemini = await fakeGemini(t, [reply(start(`export MARK=${mark}; echo up; exec sleep 600`)), reply('done')]);
  const server = await serve(t, { gemini, flags: ['--allow-shell'] });
  const { structuredContent } = await server.call('delegate', { prompt: 'x' });
  expect(structuredContent.output).toBe('done');
  expect(JSON.stringify(gemini.requests[1]?.body.contents.at(-1))).toContain('"running":true');
  expect(processesWith(mark)).toEqual([]);
});
