import { expect } from 'vitest';
import { editing } from '../support/editing.ts';
import { emulator } from '../support/emulator.ts';
import { type Gate, gate } from '../support/gate.ts';
import { END, fakeGemini, finish, stream } from '../support/gemini.ts';
import { GMN, place } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';
import { statesIn } from '../support/pty.ts';

const CTRL_Z = '\u001a';

const haltedAnswer = (rest: Gate) =>
  stream('First.\n\nHalf of a 文', rest.opened, finish('STOP', [{ text: '章 and the rest.' }]), END);

async function linesOf(output: string): Promise<readonly string[]> {
  const screen = emulator({ columns: 80, rows: 24 });
  await screen.write(output.replace(/^STATE .*$/gm, 'STATE'));
  return (await screen.shown()).lines.filter((line) => !/^\^Z|^\[1\]/.test(line));
}

posixTest.for([
  { what: 'a one-shot', args: ['go'], keys: '' },
  { what: 'a chat', args: ['chat'], keys: 'go\r' },
])('Ctrl+Z in the answer of $what leaves each text once, and the terminal as it was', async ({ args, keys }, t) => {
  const rest = gate();
  const { env } = place(t, { gemini: await fakeGemini(t, [haltedAnswer(rest)]) });
  const it = editing(t, GMN, { args, env, hasJobs: true });
  const isChat = keys !== '';
  if (isChat) await it.until(() => it.output.includes('❯'));
  it.type(keys);
  await it.until(() => it.output.includes('a 文'));
  if (isChat) {
    it.type('typed');
    await it.until(() => it.screen.rows.includes('❯ typed'));
  }
  it.type(CTRL_Z);
  await it.until(() => /STATE.*STATE.*a 文/s.test(it.output));
  expect(statesIn(it.output)[1]).toBe(statesIn(it.output)[0]);
  rest.open();
  if (isChat) {
    await it.shows('❯ typed|', 'gemini-2.5-flash · edits ask first · 100 % of the window left');
    it.type('\u0015\u0004');
  }
  await it.ended;
  expect(statesIn(it.output).at(-1)).toBe(statesIn(it.output)[0]);
  const lines = await linesOf(it.output);
  const start = lines.indexOf('First.');
  // The shell begins a row of its own.
  expect(lines.slice(start, start + 5)).toEqual(['First.', '', 'STATE', '', 'Half of a 文章 and the rest.']);
  expect(lines.join('\n')).not.toMatch(/typed|window left|Half.*Half/s);
});
