import { expect, test } from 'vitest';
import { gate } from '../support/gate.ts';
import { END, fakeGemini, finish, reply, stream } from '../support/gemini.ts';
import { callGmn, callGmnIn, place } from '../support/gmn.ts';
import { runInTerminal } from '../support/pty.ts';

const NO_SESSION = { GMN_NO_SESSION: '1' };

test('--no-stream shows the answer when it is complete', async (t) => {
  const { open, opened } = gate();
  const halting = stream('# Half\n\n', opened, finish('STOP', [{ text: 'whole' }]), END);
  const gemini = await fakeGemini(t, [halting]);
  const terminal = runInTerminal(t, ['--no-stream', 'x'], { gemini, env: NO_SESSION });
  const before = await terminal.until(/gemini-2\.5-flash/);
  open();
  const { output, exitCode } = await terminal.ended;
  expect([exitCode, before.includes('Half'), /Half[\s\S]*whole/.test(output)]).toEqual([0, false, true]);
});

test('--no-stream shows what had come before a failure, and leaves json as it is', async (t) => {
  const cut = stream('half', END);
  const gemini = await fakeGemini(t, [cut, reply('whole')]);
  const at = place(t, { gemini, env: NO_SESSION });
  const failed = await callGmnIn(t, at, ['--no-stream', 'x']);
  expect([failed.exitCode, failed.stdout]).toEqual([3, 'half\n']);
  const json = await callGmnIn(t, at, ['--no-stream', '-o', 'json', 'x']);
  expect(JSON.parse(json.stdout)).toMatchObject({ response: 'whole' });
});

test('--no-stream and stream-json contradict each other', async (t) => {
  const { stdout } = await callGmn(t, ['--demo', '--no-stream', '-o', 'stream-json', 'x']);
  expect(JSON.parse(stdout).error).toMatchObject({ message: '--no-stream cannot be combined with -o stream-json' });
});
