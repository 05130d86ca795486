import { expect, test } from 'vitest';
import { AppError } from '../../src/core/error.ts';
import { openLive } from '../../src/render/live.ts';
import { openRenderer } from '../../src/render/renderers.ts';
import { withoutSpinner } from '../../src/render/spinner.ts';
import { emulator } from '../support/emulator.ts';
import { fakeTime, renderOptions } from './fakes.ts';
import { begin, end, failure } from './runs.ts';

function stage(columns = 20, rows = 8) {
  const screen = emulator({ columns, rows });
  return { screen, live: openLive({ out: screen, err: screen }) };
}

const window = async ({ shown }: { shown(): Promise<{ window: readonly string[] }> }) => (await shown()).window;

test('live rows are replaced, printed ones stay above them, the footer is below', async () => {
  const { screen, live } = stage();
  live.setFooter(['status']);
  await live.show([], ['one', 'two']);
  expect(await window(screen)).toEqual(['one', 'two', 'status']);
  await live.show(['ONE'], ['two and', 'three']);
  expect(await window(screen)).toEqual(['ONE', 'two and', 'three', 'status']);
  live.setFooter(['queued', 'status']);
  await live.show(['TWO', 'THREE'], []);
  expect(await window(screen)).toEqual(['ONE', 'TWO', 'THREE', 'queued', 'status']);
  await live.close();
  expect(await window(screen)).toEqual(['ONE', 'TWO', 'THREE']);
});

test('only what changed is written, in one write', async () => {
  const { screen, live } = stage();
  await live.show([], ['one two', 'three']);
  const before = screen.output.length;
  await live.show(['one two'], ['three four']);
  expect(screen.output.slice(before)).toBe('\r\u001b[K\r\u001b[1A\u001b[5C four\r\u001b[1B');
  await live.show([], ['three four']);
  expect(screen.output.slice(before)).toMatch(/\u001b\[1B$/);
  expect(await window(screen)).toEqual(['one two', 'three four']);
});

test('the window less two rows are live, and the end of what is taller is shown', async () => {
  const { screen, live } = stage(20, 6);
  expect(live.room).toBe(4);
  live.setFooter(['status']);
  expect(live.room).toBe(3);
  await live.show([], ['a', 'b', 'c', 'd', 'e']);
  expect(await window(screen)).toEqual(['c', 'd', 'e', 'status']);
  await live.show(['a', 'b', 'c', 'd', 'e'], ['f']);
  expect((await screen.shown()).lines).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'status']);
});

test('a line wider than the window is whole when it is copied', async () => {
  const { screen, live } = stage(10);
  const line = 'https://example.com/日本語/long';
  await live.show([], [line.slice(0, 25)]);
  await live.show([], [line, 'next']);
  expect((await window(screen)).join('')).toBe(`${line}next`);
  await live.show([line], ['next\tend']);
  expect((await screen.shown()).lines).toEqual([line, 'next    en', 'd']);
  await live.show(['next\tend'], []);
  expect((await screen.shown()).lines.join('|')).toBe(`${line}|next    end`);
});

test('what is typed, or drawn below it, does not stay', async () => {
  const { screen, live } = stage();
  await live.show([], ['text']);
  await screen.write('^C');
  await live.show([], ['text more']);
  expect(await window(screen)).toEqual(['text more']);
});

test('a question suspends it', async () => {
  const { screen, live } = stage();
  live.setFooter(['status']);
  await live.show([], ['text']);
  await withoutSpinner(screen, async () => {
    expect(await window(screen)).toEqual([]);
    await screen.write('May I? y\n');
    live.setFooter(['other']);
    await live.show(['TEXT'], ['more']);
    expect(await window(screen)).toEqual(['May I? y']);
  });
  expect(await window(screen)).toEqual(['May I? y', 'TEXT', 'more', 'other']);
});

test('a narrower and a wider window leave no remains', async () => {
  const { screen, live } = stage(20, 12);
  const printed = Array.from({ length: 12 }, (_, index) => `printed ${index}`);
  await live.show(printed, ['live text of one row', '日本語のテキストです', 'end']);
  live.setFooter(['a status line of 20.']);
  await screen.resize(9, 12);
  const wrapped = ['live text', ' of one r', 'ow', '日本語の', 'テキスト', 'です', 'end'];
  expect((await screen.shown()).lines.slice(11)).toEqual(['printed 11', ...wrapped, 'a status']);
  await screen.resize(30, 12);
  await live.show([], ['done']);
  expect((await screen.shown()).lines).toEqual([...printed, 'done', 'a status line of 20.']);
});

test('a lower window drops the rows below the cursor, and gets them again', async () => {
  const { screen, live } = stage(20, 9);
  const printed = Array.from({ length: 9 }, (_, index) => `printed ${index}`);
  live.setFooter(['❯ ', 'status'], { row: 0, column: 2 });
  await live.show(printed, ['one']);
  await screen.resize(20, 8);
  await live.show([], ['one', 'two']);
  expect((await screen.shown()).lines).toEqual([...printed, 'one', 'two', '❯', 'status']);
  await screen.resize(20, 3);
  expect(live.countScrolled()).toBe(1);
  await live.leave(1);
  await live.show(['two', 'three'], []);
  expect((await screen.shown()).lines).toEqual([...printed, 'one', 'two', 'three', '❯', 'status']);
});

test('what a smaller window pushed away is left, once', async () => {
  const { screen, live } = stage(20, 8);
  live.setFooter(['status']);
  await live.show(['printed'], ['1', '2', '3', '4', '5']);
  expect(live.countScrolled()).toBe(0);
  await screen.resize(20, 4);
  expect(live.countScrolled()).toBe(3);
  await live.leave(4);
  expect(live.countScrolled()).toBe(0);
  await live.show(['5', '6'], ['7']);
  expect((await screen.shown()).lines).toEqual(['printed', '1', '2', '3', '4', '5', '6', '7', 'status']);
});

test.each([true, false])(
  'what was pushed away when others write is not shown again: text comes before that ends: %s',
  async (isEarly) => {
    const { screen, live } = stage(20, 12);
    const rows = Array.from({ length: 8 }, (_, index) => `row ${index}`);
    await live.show(['printed'], rows);
    await screen.resize(20, 5);
    await live.suspend();
    await screen.write('message\n');
    if (!isEarly) live.resume();
    const scrolled = live.countScrolled();
    expect(scrolled).toBeGreaterThan(0);
    await live.leave(scrolled + 1);
    await live.show([], rows.slice(scrolled + 1));
    if (isEarly) live.resume();
    const shown = [...rows.slice(0, scrolled), 'message', ...rows.slice(scrolled)];
    expect((await screen.shown()).lines).toEqual(['printed', ...shown]);
  },
);

test('a renderer that is given one keeps its footer below everything it writes', async () => {
  const { screen, live } = stage(40, 12);
  live.setFooter(['status']);
  const options = renderOptions({ live, showThoughts: true, isChat: true });
  const render = await openRenderer('text', { out: screen, err: screen }, options);
  for (const event of [begin, { type: 'thought', delta: 'Hm' }, { type: 'thought', delta: 'm.' }] as const) {
    await render(event);
  }
  expect(await window(screen)).toEqual(['Hmm.', 'status']);
  await render({ type: 'text', delta: 'The an' });
  expect(await window(screen)).toEqual(['Hmm.', 'The an', 'status']);
  await render({ type: 'notice', message: 'slow' });
  expect(await window(screen)).toEqual(['Hmm.', 'slow', 'The an', 'status']);
  await render({ type: 'text', delta: 'swer.' });
  await render(failure(new AppError('api', 'It broke.')));
  expect(await window(screen)).toEqual(['Hmm.', 'slow', 'The answer.', 'Error: It broke.', 'status']);
});

test('a thought streams above the footer, is dim, and keeps its rows when the answer begins', async () => {
  const screen = emulator({ columns: 20, rows: 12, isStyled: true });
  const live = openLive({ out: screen, err: screen });
  live.setFooter(['❯ typed', 'status'], { row: 0, column: 7 });
  const options = renderOptions({ live, showThoughts: true, isChat: true });
  const render = await openRenderer('text', { out: screen, err: screen }, options);
  await render(begin);
  const thought = '**Plan**\n\n日本語の長い文 and a row of words';
  for (const delta of thought.match(/[\s\S]{1,3}/g) ?? []) {
    await render({ type: 'thought', delta });
    expect((await window(screen)).slice(-2)).toEqual(['❯ typed', 'status']);
  }
  const rows = ['Plan', '', '日本語の長い文 and a', 'row of words'];
  expect(await window(screen)).toEqual([...rows, '❯ typed', 'status']);
  await render({ type: 'text', delta: 'So' });
  expect(await window(screen)).toEqual([...rows, 'So', '❯ typed', 'status']);
  expect(screen.output).toContain('\u001b[2mrow of words\u001b[22m');
});

test.each([
  [8, 0, '\n'],
  [8, 9, '\n'],
  [12, 0, '\n\n\n'],
  [12, 20, '\n\n\n'],
])(
  'Enter, and words typed at an answer of one run, leave the screen as it was (%i rows, %i above)',
  async (rows, above, enter) => {
    const screen = emulator({ columns: 30, rows });
    const printed = Array.from({ length: above }, (_, index) => `printed ${index}`);
    await screen.write(printed.map((line) => `${line}\n`).join(''));
    const time = fakeTime();
    const options = renderOptions({ ...time, showThoughts: true });
    const render = await openRenderer('text', { out: screen, err: screen }, options);
    const see = async (lines: readonly string[]) => {
      const shown = (await screen.shown()).lines.map((line) => line.replace(/^[⠋-⠿] /, '* '));
      expect(shown).toEqual([...printed, ...lines]);
    };
    await render({ type: 'wait', what: 'a model' });
    await time.pass(500);
    await screen.write(`ls${enter}`);
    await time.pass(200);
    await see(['* a model']);
    await screen.write(enter);
    await render({ type: 'thought', delta: 'Hm' });
    await screen.write(`pwd${enter}x`);
    await render({ type: 'thought', delta: 'm.' });
    await see(['Hmm.']);
    await screen.write(enter);
    await render({ type: 'text', delta: 'One\n\ntw' });
    for (let tenth = 0; tenth < 5; tenth += 1) {
      await screen.write(enter);
      await time.pass(100);
    }
    await see(['Hmm.', 'One', '', 'tw', '* a model · 1 s']);
    await screen.write(enter);
    await render({ type: 'text', delta: 'o\n\n# Three\n\n' });
    await screen.write(`x${enter}`);
    await render({ type: 'text', delta: 'four' });
    await screen.write(`y${enter}`);
    await render(end);
    await see(['Hmm.', 'One', '', 'two', '', '# Three', '', 'four']);
    expect(time.isTicking).toBe(false);
  },
);

test('a shell that had the terminal keeps what it wrote, and text goes on below it', async () => {
  const screen = emulator({ columns: 30, rows: 8 });
  const time = fakeTime();
  const render = await openRenderer('text', { out: screen, err: screen }, renderOptions({ ...time }));
  const see = async (lines: readonly string[]) => {
    expect((await screen.shown()).lines.map((line) => line.replace(/^[⠋-⠿] /, '* '))).toEqual(lines);
  };
  await render({ type: 'wait', what: 'a model' });
  await time.pass(500);
  await screen.suspend('[1] stopped\n$ fg\n');
  await see(['[1] stopped', '$ fg']);
  await time.pass(500);
  await see(['[1] stopped', '$ fg', '* a model · 1 s']);
  await render({ type: 'text', delta: 'One\n\ntw' });
  await time.pass(500);
  await screen.suspend('$ clear; fg\n');
  await see(['[1] stopped', '$ fg', 'One', '$ clear; fg', '', 'tw']);
  await screen.resize(12, 8);
  await withoutSpinner(screen, () => screen.suspend('May I?\n'));
  await render({ type: 'text', delta: 'o\n' });
  await render(end);
  await see(['[1] stopped', '$ fg', 'One', '$ clear; fg', 'May I?', '', 'two']);
});
