import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { sharedHome } from '../support/chat.ts';
import { chatInTerminal, screenOf } from '../support/chat-terminal.ts';
import { fakeGemini, reply, stream } from '../support/gemini.ts';
import { parseLines } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';

const CTRL_C = '\u0003';
const CTRL_D = '\u0004';
const ESC = '\u001b';

/** A paragraph, and then nothing until the client leaves. */
const begun = stream('half of it\n\nAnd');

function historyIn(home: string): readonly unknown[] {
  const file = join(home, 'history');
  if (!existsSync(file)) return [];
  return parseLines(readFileSync(file, 'utf8'));
}

posixTest.for([
  ['Esc', ESC],
  ['Ctrl+C', CTRL_C],
] as const)('%s during a turn sends nothing that was typed before it: it stands in the line', async ([, key], t) => {
  const gemini = await fakeGemini(t, [begun, reply('both')]);
  const chat = chatInTerminal(t, [], { gemini });
  await chat.until(/❯ /);
  chat.enter('one');
  await chat.until(/half of it/);
  chat.type(`two\rthree\r${CTRL_D}`);
  chat.type(key);
  await chat.until(/partial answer kept[\s\S]*three/);
  chat.type('\r');
  await chat.until(/both[\s\S]*❯ /);
  chat.type(CTRL_D);
  expect((await chat.ended).exitCode).toBe(0);
  expect(gemini.requests[1]?.parts).toEqual([{ text: 'two\nthree' }]);
});

posixTest('a command to leave that was typed before Esc does not leave', async (t) => {
  const gemini = await fakeGemini(t, [begun]);
  const chat = chatInTerminal(t, [], { gemini });
  await chat.until(/❯ /);
  chat.enter('one');
  await chat.until(/half of it/);
  chat.type(`/q\r${ESC}`);
  await chat.until(/partial answer kept[\s\S]*❯ [\s\S]*\/q/);
  chat.type('\r');
  const { output, exitCode } = await chat.ended;
  expect(exitCode).toBe(0);
  expect(screenOf(output)).toMatch(/\n❯ \/q\n1 turn · /);
});

posixTest.for([
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const)('what was typed and not sent is in the history after %s', async ([signal, code], t) => {
  const { env, path } = sharedHome(t);
  const chat = chatInTerminal(t, ['--demo'], { env });
  await chat.until(/❯ /);
  chat.type('half a thought');
  await chat.until(/half a thought/);
  chat.kill(signal);
  expect((await chat.ended).exitCode).toBe(code);
  expect(historyIn(path)).toEqual(['half a thought']);
});

posixTest('what was typed and not sent is in the history after the window is closed', async (t) => {
  const { env, path } = sharedHome(t);
  const chat = chatInTerminal(t, ['--demo'], { env });
  await chat.until(/❯ /);
  chat.type('half a thought');
  await chat.until(/half a thought/);
  chat.hangUp();
  expect((await chat.ended).exitCode).toBe(129);
  expect(historyIn(path)).toEqual(['half a thought']);
});

posixTest('what was typed during a turn is in the history after Ctrl+C twice', async (t) => {
  const { env, path } = sharedHome(t);
  const gemini = await fakeGemini(t, [begun]);
  const chat = chatInTerminal(t, [], { env, gemini });
  await chat.until(/❯ /);
  chat.enter('one');
  await chat.until(/half of it/);
  // Ctrl+C twice in a row is read after what was typed before it.
  chat.type(`two${CTRL_C}${CTRL_C}`);
  expect((await chat.ended).exitCode).toBe(130);
  expect(historyIn(path)).toEqual(['one', 'two']);
});

posixTest('what Ctrl+C twice cleared and left is in the history', async (t) => {
  const { env, path } = sharedHome(t);
  const chat = chatInTerminal(t, ['--demo'], { env });
  await chat.until(/❯ /);
  chat.type(`half a thought${CTRL_C}${CTRL_C}`);
  expect((await chat.ended).exitCode).toBe(130);
  expect(historyIn(path)).toEqual(['half a thought']);
});
