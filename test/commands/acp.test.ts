import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openEditor, startEditor } from '../acp/support.ts';
import { gate } from '../support/gate.ts';
import { answerEach, call, fakeGemini, reply, type Scripted, stream } from '../support/gemini.ts';
import { callGmnIn, gmnCommand, place, runGmnIn, startProgram } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';

/** A process that has ended may wait for its parent. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return false;
  }
}

const WRITE = call('write_file', { file_path: 'x.txt', content: 'x' }, { thoughtSignature: 'c2ln' });

/** Where the process is killed, and what the model has been told about that turn when the session goes on. */
const STEPS: readonly (readonly [name: string, script: (reached: () => void) => readonly Scripted[], known: string])[] =
  [
    ['before the first byte of an answer', (reached) => [reply('One.'), stream(reached)], ''],
    ['in the middle of an answer', (reached) => [reply('One.'), stream('So', reached)], ''],
    ['while a question waits', () => [reply('One.'), reply(WRITE)], 'x.txt'],
    ['after a tool has run', (reached) => [reply('One.'), reply(WRITE), stream('Wri', reached)], 'x.txt'],
  ];

test.for(STEPS)('killed %s, a session loads again and goes on', async ([, script, known], t) => {
  const reached = gate();
  const isAsked = known !== '' && script(() => {}).length === 2;
  const first = await startEditor(t, [], {
    script: script(reached.open),
    answer: () => {
      if (!isAsked) return 'once';
      reached.open();
      return new Promise<string>(() => {});
    },
  });
  const { sessionId } = await first.begin();
  expect(await first.say(sessionId, 'first')).toBe('end_turn');
  const prompt = first.say(sessionId, 'second').catch(() => 'gone');
  await reached.opened;
  first.child.kill('SIGKILL');
  await first.ended;
  void prompt;

  const gemini = await fakeGemini(t, [reply('On.')]);
  const second = await openEditor(t, { at: first.at, gemini });
  await second.agent.request('session/load', { sessionId, cwd: first.at.cwd, mcpServers: [] });
  const texts = second.updates.map((update) => ('content' in update ? JSON.stringify(update.content) : ''));
  for (const text of ['first', 'One.', 'second']) expect(texts.join('')).toContain(text);
  expect(await second.say(sessionId, 'third')).toBe('end_turn');
  expect(gemini.requests[0]?.text).toContain('One.');
  if (known !== '') expect(gemini.requests[0]?.text).toContain(known);
});

test('a session in which nothing was asked yet is there after a kill, too, and has its title afterwards', async (t) => {
  const first = await startEditor(t, [], { script: [] });
  const { sessionId } = await first.begin();
  first.child.kill('SIGKILL');
  await first.ended;
  const second = await openEditor(t, { at: first.at, script: [reply('x')] });
  expect((await second.agent.request('session/list', {})).sessions).toEqual([]);
  await second.agent.request('session/load', { sessionId, cwd: first.at.cwd, mcpServers: [] });
  await second.say(sessionId, 'the question');
  expect((await second.agent.request('session/list', {})).sessions).toMatchObject([
    { sessionId, title: 'the question' },
  ]);
});

test('without an account the demo model answers; stdout has nothing but the protocol, and the end of input ends it', async (t) => {
  const editor = await startEditor(t, ['--demo']);
  expect(await editor.say((await editor.begin()).sessionId, 'hello')).toBe('end_turn');
  expect(editor.text()).toContain('Hello');
  await editor.close();
  expect(await editor.ended).toMatchObject({ exitCode: 0, stderr: '' });
});

posixTest('an editor that goes away in mid-tool leaves no command behind', async (t) => {
  const command = 'sleep 300 & echo $! > below; sleep 301 & echo $! > pid; wait';
  const script = [reply(call('run_shell_command', { command }))];
  const editor = await startEditor(t, [], { script, answer: () => 'once' });
  const { sessionId } = await editor.begin();
  void editor.say(sessionId, 'run it').catch(() => {});
  const readPids = () =>
    ['below', 'pid'].map((name) => {
      const path = join(editor.at.cwd, name);
      return existsSync(path) ? Number(readFileSync(path, 'utf8')) : 0;
    });
  await expect.poll(() => readPids().every((pid) => pid > 0), { timeout: 10_000 }).toBe(true);
  await editor.close();
  expect(await editor.ended).toMatchObject({ exitCode: 0, stderr: '' });
  await expect.poll(() => readPids().filter(isRunning), { timeout: 10_000 }).toEqual([]);
});

posixTest('it ends with the editor that started it, even if its input stays open', async (t) => {
  const at = place(t);
  const [file, args] = gmnCommand(['acp', '--demo']);
  const starter = `const { spawn } = require('node:child_process');
const child = spawn(${JSON.stringify(file)}, ${JSON.stringify(args)}, { stdio: [3, 'pipe', 'ignore'], detached: true });
require('node:fs').writeSync(3, JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params: { protocolVersion: 1 } }) + '\\n');
child.stdout.once('data', () => process.stdout.write(String(child.pid), () => process.kill(process.pid, 'SIGKILL')));`;
  const line = `mkfifo input; exec 3<>input; ${JSON.stringify(process.execPath)} -e '${starter.replaceAll("'", `'"'"'`)}'`;
  const { stdout } = await startProgram(t, ['/bin/bash', ['-c', line]], at).ended;
  const pid = Number(stdout);
  t.onTestFinished(() => {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended, as it should.
    }
  });
  expect(pid).toBeGreaterThan(0);
  await expect.poll(() => isRunning(pid), { timeout: 20_000, interval: 100 }).toBe(false);
});

test('the words that an editor adds to sign in ask for a key; other words are refused', async (t) => {
  const at = place(t, { env: { GMN_NO_KEYRING: '1' } });
  const signedIn = await runGmnIn(t, at, ['acp', 'auth', 'set-key'], `${'AIza'.padEnd(39, 'x')}\n`);
  expect(signedIn).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('Stored the API key') });
  expect(await callGmnIn(t, at, ['acp', 'now'])).toMatchObject({ exitCode: 1, stdout: '' });
  expect(await callGmnIn(t, at, ['--acp', 'hello'])).toMatchObject({ exitCode: 1, stdout: '' });
});

test('--acp of the official CLI is the same', async (t) => {
  const gemini = await fakeGemini(
    t,
    answerEach(() => 'x'),
  );
  const editor = await startEditor(t, [], { gemini, args: ['--acp', '-m', 'pro'] });
  const { configOptions } = await editor.begin();
  expect(configOptions?.[1]).toMatchObject({ id: 'model', currentValue: expect.stringContaining('pro') });
});
