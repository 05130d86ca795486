import { expect, test } from 'vitest';
import { chunk, fakeGemini, finish, reply, type Scripted, sse } from '../support/gemini.ts';
import { place, runGmn, runGmnIn } from '../support/gmn.ts';
import { runInTerminal } from '../support/pty.ts';

const NO_SESSION = { GMN_NO_SESSION: '1' };

test('--no-stream shows the answer when it is complete', async (t) => {
  let finishIt = (): void => {};
  const gate = new Promise<void>((resolve) => {
    finishIt = resolve;
  });
  const halting: Scripted = async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(sse(chunk([{ text: '# Half\n\n' }])));
    await gate;
    response.end(sse(finish('STOP', [{ text: 'whole' }])));
  };
  const gemini = await fakeGemini(t, [halting]);
  const terminal = runInTerminal(t, ['--no-stream', 'x'], { gemini, env: NO_SESSION });
  const before = await terminal.until(/gemini-2\.5-flash/);
  finishIt();
  const { output, exitCode } = await terminal.ended;
  expect([exitCode, before.includes('Half'), /Half[\s\S]*whole/.test(output)]).toEqual([0, false, true]);
});

test('--no-stream shows what had come before a failure, and leaves json as it is', async (t) => {
  const cut: Scripted = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(sse(chunk([{ text: 'half' }])));
  };
  const gemini = await fakeGemini(t, [cut, reply('whole')]);
  const at = place(t, { gemini, env: NO_SESSION });
  const failed = await runGmnIn(t, at, ['--no-stream', 'x']);
  expect([failed.exitCode, failed.stdout]).toEqual([3, 'half\n']);
  const json = await runGmnIn(t, at, ['--no-stream', '-o', 'json', 'x']);
  expect(JSON.parse(json.stdout)).toMatchObject({ response: 'whole' });
});

test('--no-stream and stream-json contradict each other', async (t) => {
  const { stdout } = await runGmn(t, ['--demo', '--no-stream', '-o', 'stream-json', 'x']);
  expect(JSON.parse(stdout).error).toMatchObject({ message: '--no-stream cannot be combined with -o stream-json' });
});
