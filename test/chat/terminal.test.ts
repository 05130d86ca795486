import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { wrapText } from '../../src/core/text/width.ts';
import { bundledProgram } from '../support/asking.ts';
import { editing } from '../support/editing.ts';
import { isWindows, posixTest } from '../support/posix.ts';
import { statesIn } from '../support/pty.ts';

const ESC = '\u001b';
const place = mkdtempSync(join(tmpdir(), 'gmn-editor-'));
let program = '';

beforeAll(async () => {
  if (!isWindows) program = await bundledProgram(place, 'editor-program');
});
afterAll(() => rmSync(place, { recursive: true, force: true }));

/** The modes are as they were, pastes are no longer marked, and the cursor was never hidden. */
function expectRestored(output: string): void {
  const [before, after] = [statesIn(output).at(0), statesIn(output).at(-1)];
  expect(before).toBeDefined();
  expect(after).toBe(before);
  expect(output.lastIndexOf(`${ESC}[?2004l`)).toBeGreaterThan(output.lastIndexOf(`${ESC}[?2004h`));
  expect(output).not.toContain(`${ESC}[?25l`);
  expect(output).not.toContain(`${ESC}[?1049`);
}

describe.each([40, 80, 200])('at %i columns', (columns) => {
  posixTest('Japanese and Korean are edited by characters, with the cursor at the caret', async (t) => {
    const it = editing(t, program, { columns });
    await it.shows('› |');
    it.type('東京は한국');
    await it.shows('› 東京は한국|');
    it.type(`${ESC}[D${ESC}[D\u007f`);
    await it.shows('› 東京|한국');
    it.type('と');
    await it.shows('› 東京と|한국');
    it.type('\r');
    expect(await it.said()).toEqual({ kind: 'text', text: '東京と한국' });
    it.type('\u0004');
    expect(await it.said()).toEqual({ kind: 'end' });
    expect(await it.ended).toBe(0);
    expectRestored(it.output);
  });

  posixTest('a text wider than the window is wrapped and edited in all its rows', async (t) => {
    const it = editing(t, program, { columns });
    const room = (columns - 2) / 2;
    await it.shows('› |');
    it.type('あ'.repeat(room + 1));
    await it.shows(`› ${'あ'.repeat(room)}`, '  あ|');
    it.type(`${ESC}[A`);
    await it.shows(`› あ|${'あ'.repeat(room - 1)}`, '  あ');
    it.type('한');
    await it.shows(`› あ한|${'あ'.repeat(room - 2)}`, '  ああ');
    it.type('\u0003');
    await it.shows('› |', ...wrapText('Cleared. Ctrl+_ brings it back, Ctrl+C again leaves.', columns - 1).split('\n'));
    it.type('\u0003');
    expect(await it.said()).toEqual({ kind: 'leave' });
    await it.ended;
    expectRestored(it.output);
  });

  posixTest('every key does what it is for', async (t) => {
    const it = editing(t, program, {
      columns,
      history: ['古いもの', '/hello old'],
      editor: 'printf "%s!" "$(cat "$1")" > "$1"',
    });
    await it.shows('› |');
    // Four ways to a new line.
    it.type(`一\n二${ESC}\r三\\\r四${ESC}[13;2u五`);
    await it.shows('› 一', '  二', '  三', '  四', '  五|');
    it.type('\r');
    expect(await it.said()).toEqual({ kind: 'text', text: '一\n二\n三\n四\n五' });
    // Search, with the cursor behind the query.
    it.type('\u0012古い');
    await it.shows('› 古いもの', 'search: 古い|');
    it.type('\r');
    await it.shows('› |古いもの');
    // The editor.
    it.type('\u0007');
    await it.shows('› 古いもの!|');
    it.type('\u0015/he\t');
    await it.shows('› /hel|', '› /help   a word', '  /hello  a word');
    it.type(`${ESC}[Z`);
    await it.shows('› /hel|', '  /help   a word', '› /hello  a word');
    it.type(`${ESC}[B\t`);
    await it.shows('› /help|');
    it.type(`${ESC}[Z`);
    expect(await it.said()).toEqual({ kind: 'next-mode' });
    await it.shows('› /help|');
    it.type('\u000c');
    await it.until(() => it.screen.rows.at(-1) === '› /help' && it.output.endsWith(`${ESC}[H${ESC}[2J› /help`));
    it.type(`\u0015/hello${ESC}[A`);
    await it.shows('› /hello old|');
    it.type(`\u0015${ESC}[200~a\rb${ESC}[201~\r`);
    expect(await it.said()).toEqual({ kind: 'text', text: 'a\nb' });
    it.type('\u0004');
    expect(await it.said()).toEqual({ kind: 'end' });
    expect(await it.ended).toBe(0);
    expectRestored(it.output);
    expect(readFileSync(join(it.directory, 'history'), 'utf8')).toBe(
      '"古いもの"\n"/hello old"\n"一\\n二\\n三\\n四\\n五"\n"a\\nb"\n',
    );
  });
});

posixTest('Esc and Ctrl+C cancel a turn, and what else was typed stands in the next line', async (t) => {
  for (const key of [ESC, '\u0003']) {
    const it = editing(t, program);
    await it.shows('› |');
    it.type('turn\r');
    expect(await it.said()).toEqual({ kind: 'text', text: 'turn' });
    expect(await it.said()).toBe('turn');
    it.type(`下書き${ESC}[D`);
    it.type(key);
    await it.shows('› 下書|き');
    it.type('\r');
    expect(await it.said()).toEqual({ kind: 'text', text: '下書き' });
    it.type('\u0004');
    await it.ended;
    expectRestored(it.output);
  }
});

posixTest('Ctrl+C twice during a turn leaves', async (t) => {
  const it = editing(t, program);
  await it.shows('› |');
  it.type('turn\r');
  expect(await it.said()).toEqual({ kind: 'text', text: 'turn' });
  expect(await it.said()).toBe('turn');
  it.type('\u0003\u0003');
  expect(await it.said()).toEqual({ kind: 'leave' });
  await it.ended;
  expectRestored(it.output);
});

posixTest('while the terminal is lent, the borrower gets every key', async (t) => {
  const it = editing(t, program);
  await it.shows('› |');
  it.type('ask\r');
  await it.until(() => it.output.includes('ASK '));
  it.type('y');
  expect(await it.said()).toEqual({ kind: 'text', text: 'ask' });
  expect(await it.said()).toBe('y');
  it.type('after');
  await it.shows('› after|');
  it.type('\r\u0004');
  expect(await it.said()).toEqual({ kind: 'text', text: 'after' });
  await it.ended;
  expectRestored(it.output);
});

posixTest('Ctrl+Z gives the terminal back, and fg takes it again with the line as it was', async (t) => {
  const it = editing(t, program, { hasJobs: true });
  await it.shows('› |');
  it.type('下書き');
  await it.shows('› 下書き|');
  it.type('\u001a');
  await it.until(() => statesIn(it.output).length === 2);
  expect(statesIn(it.output)[1]).toBe(statesIn(it.output)[0]);
  await it.until(() => it.screen.rows.filter((row) => row === '› 下書き').length === 2);
  it.type('!');
  await it.shows('› 下書き!|');
  it.type('\r\u0004');
  expect(await it.said()).toEqual({ kind: 'text', text: '下書き!' });
  await it.ended;
  expectRestored(it.output);
});

posixTest('a storm of resizes leaves one prompt', async (t) => {
  const it = editing(t, program, { columns: 80 });
  await it.shows('› |');
  it.type('あ'.repeat(30));
  await it.shows(`› ${'あ'.repeat(30)}|`);
  for (let step = 0; step < 1000; step += 1) it.resize(40 + (step % 41), 24);
  it.resize(40, 24);
  await it.shows(`› ${'あ'.repeat(19)}`, `  ${'あ'.repeat(11)}|`);
  expect(it.screen.rows.filter((row) => row.includes('›'))).toHaveLength(1);
  it.type('\r\u0004');
  expect(await it.said()).toEqual({ kind: 'text', text: 'あ'.repeat(30) });
  await it.ended;
  expectRestored(it.output);
});

posixTest('a signal ends the reading, and the terminal is as it was', async (t) => {
  for (const name of ['SIGTERM', 'SIGHUP', 'SIGINT'] as const) {
    const it = editing(t, program);
    await it.shows('› |');
    it.type('draft');
    await it.shows('› draft|');
    it.signal(name);
    expect(await it.said()).toContain(name);
    expect(await it.ended).toBe(9);
    expectRestored(it.output);
  }
});

posixTest('a failure nobody foresaw leaves the terminal as it was', async (t) => {
  const it = editing(t, program);
  await it.shows('› |');
  it.type('boom\r');
  // It ends the reading as a signal does.
  expect(await it.ended).toBe(9);
  expectRestored(it.output);
});

posixTest('a terminal that goes away ends the reading with the reason', async (t) => {
  const it = editing(t, program, { isAlone: true });
  await it.shows('› |');
  it.hangUp();
  // The kernel and the pseudo-terminal may each send a signal, and the second one ends the program at once.
  expect([9, 129]).toContain(await it.ended);
});

posixTest('a terminal that knows the kitty protocol is asked for its keys, until it is given back', async (t) => {
  const it = editing(t, program);
  await it.shows('› |');
  it.type(`${ESC}[?0u`);
  await it.until(() => it.output.includes(`${ESC}[>5u`));
  it.type(`a${ESC}[13;2ub${ESC}[99;5u`);
  it.type(`${ESC}[99;5u`);
  expect(await it.said()).toEqual({ kind: 'leave' });
  await it.ended;
  expect(it.output.lastIndexOf(`${ESC}[<u`)).toBeGreaterThan(it.output.lastIndexOf(`${ESC}[>5u`));
  expectRestored(it.output);
});

posixTest('a terminal that can only print gets no escapes', async (t) => {
  const it = editing(t, program, { env: { TERM: 'dumb' } });
  await it.shows('› |');
  it.type('東京x\u007f');
  await it.shows('› 東京|');
  it.type(`${ESC}[D!\r`);
  expect(await it.said()).toEqual({ kind: 'text', text: '東京!' });
  it.type('"""\rone\r"""\r');
  expect(await it.said()).toEqual({ kind: 'text', text: 'one' });
  it.type('\u0004');
  await it.ended;
  expect(it.output).not.toContain(ESC);
  expect(statesIn(it.output)[1]).toBe(statesIn(it.output)[0]);
});

posixTest('one column is enough', async (t) => {
  const it = editing(t, program, { columns: 1 });
  await it.until(() => it.screen.rows.includes('›'));
  it.type('あa\r');
  expect(await it.said()).toEqual({ kind: 'text', text: 'あa' });
  it.type('\u0004');
  expect(await it.ended).toBe(0);
});
