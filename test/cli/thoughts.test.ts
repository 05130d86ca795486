import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { chatInTerminal, screenOf } from '../support/chat-terminal.ts';
import { gate } from '../support/gate.ts';
import { chunk, END, type FakeGemini, fakeGemini, finish, reply, type Scripted, stream } from '../support/gemini.ts';
import { callGmn, place } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';
import { runInTerminal } from '../support/pty.ts';

const think = (text: string): object => chunk([{ text, thought: true }]);

function thinking(second: ReturnType<typeof gate>, answer: ReturnType<typeof gate>): Scripted {
  return stream(
    think('**Reading \u001b[2J\u001b]0;owned\u0007the**'),
    think('\n\nSecret thoughts.\n\n**設計を'),
    second.opened,
    think('見直す**\n\nMore.'),
    answer.opened,
    'The answer',
    finish('STOP', [{ text: '.' }]),
    END,
  );
}

function wasAsked({ requests }: FakeGemini): boolean | undefined {
  return requests[0]?.body.generationConfig.thinkingConfig?.includeThoughts;
}

posixTest('a terminal shows what the model is thinking about, and nothing of it stays', async (t) => {
  const [second, answer] = [gate(), gate()];
  const gemini = await fakeGemini(t, [thinking(second, answer)]);
  const run = runInTerminal(t, ['hi'], { gemini });
  await run.until((output) => /. gemini-2\.5-flash · Reading \S*the/.test(screenOf(output)));
  second.open();
  await run.until((output) => /gemini-2\.5-flash · 設計を見直す/.test(screenOf(output)));
  run.resize(30, 24);
  await run.until((output) => /^. 設計を見直す( · \d+ s)?$/m.test(screenOf(output.slice(-200), 30)));
  answer.open();
  const { exitCode, output } = await run.ended;
  expect(exitCode).toBe(0);
  expect(screenOf(output).trim()).toMatch(/^The answer\.$/m);
  expect(screenOf(output)).not.toMatch(/Reading|設計|Secret|More/);
  expect(output).not.toContain('owned\u0007');
  expect(wasAsked(gemini)).toBe(true);
});

posixTest('a chat shows it too, and keeps no thoughts that were not to be shown', async (t) => {
  const [second, answer] = [gate(), gate()];
  const gemini = await fakeGemini(t, [thinking(second, answer), reply('again')]);
  const at = place(t, { gemini });
  const chat = chatInTerminal(t, ['--session-name', 'kept'], { at, columns: 40 });
  await chat.ready(1);
  chat.enter('hi');
  await chat.shows(/❯ hi\n. Reading \S*the( · \d+ s)?\n\ngemini/);
  second.open();
  await chat.shows(/❯ hi\n. (?:gemini-2\.5-flash · )?設計を見直す( · \d+ s)?\n\ngemini/);
  answer.open();
  await chat.shows(/❯ hi\nThe answer\.\n\n❯\n/);
  chat.enter('and?');
  await chat.shows(/again\n\n❯\n/);
  chat.type('\u0004');
  expect((await chat.ended).exitCode).toBe(0);
  expect(gemini.requests[1]?.body.contents).toMatchObject([{}, { parts: [{ text: 'The answer.' }] }, {}]);
  const sessions = join(at.home, '.gmn/sessions');
  const [file = ''] = readdirSync(sessions).filter((name) => name.endsWith('.jsonl'));
  expect(readFileSync(join(sessions, file), 'utf8')).not.toContain('Secret');
});

posixTest.for([
  ['quiet', ['-q']],
  ['json', ['-o', 'json']],
  ['stream-json', ['-o', 'stream-json']],
  ['a model that is not to think', ['--thinking-budget', '0']],
  ['a model that does not think unless it is told to', ['-m', 'gemini-2.5-flash-lite']],
  ['a screen reader', ['--screen-reader']],
] as const)('thoughts are not asked for on a terminal: %s', async ([, flags], t) => {
  const gemini = await fakeGemini(t, [reply('fine')]);
  expect((await runInTerminal(t, [...flags, 'hi'], { gemini }).ended).exitCode).toBe(0);
  expect(wasAsked(gemini)).toBeUndefined();
});

test('in a pipe thoughts are not asked for', async (t) => {
  const gemini = await fakeGemini(t, [reply('fine')]);
  await callGmn(t, ['hi'], { gemini });
  expect(wasAsked(gemini)).toBeUndefined();
});
