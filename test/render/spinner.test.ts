import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AppError } from '../../src/core/error.ts';
import type { TurnEvent } from '../../src/core/event.ts';
import type { Renderer, RenderOptions } from '../../src/render/renderer.ts';
import { openRenderer } from '../../src/render/renderers.ts';
import { addOutput, createSubjectReader, withoutSpinner } from '../../src/render/spinner.ts';
import { testScreen } from '../support/screen.ts';
import { type FakeOut, type FakeTime, fakeOut, fakeTime, renderOptions } from './fakes.ts';
import { begin, end, failure, texts } from './runs.ts';

/** The end of what takes it off the screen. */
const GONE = /\u001b8\r\u001b\[J$/;
const wait: TurnEvent = { type: 'wait', what: 'gemini-2.5-flash' };

interface Stage {
  readonly out: FakeOut;
  readonly err: FakeOut;
  readonly time: FakeTime;
  readonly render: Renderer;
}

async function stage(err: FakeOut, options: Partial<RenderOptions> = {}, format = 'text'): Promise<Stage> {
  const time = fakeTime();
  const out = fakeOut();
  return { out, err, time, render: await openRenderer(format, { out, err }, renderOptions({ ...options, ...time })) };
}

describe('on a terminal', () => {
  const terminal = (): FakeOut => fakeOut({ isTerminal: true, columns: 40 });

  test('nothing is drawn before 400 ms', async () => {
    const { err, time, render } = await stage(terminal());
    await render(wait);
    await time.pass(399);
    expect(err.text).toBe('');
    await time.pass(1);
    expect(screenOf(err.text)).toBe('⠋ gemini-2.5-flash');
  });

  test('while a person is asked it is off the screen, then comes back', async () => {
    const { err, time, render } = await stage(terminal());
    await render(wait);
    await time.pass(500);
    await withoutSpinner(err, async () => {
      expect(err.writes.at(-1)).toMatch(GONE);
      const before = err.writes.length;
      await time.pass(60_000);
      expect(err.writes).toHaveLength(before);
    });
    await time.pass(500);
    expect(err.writes.at(-1)).toContain('gemini-2.5-flash · 61 s');
  });

  test('says what is awaited and for how long, and is gone before the first byte', async () => {
    const { out, err, time, render } = await stage(terminal());
    await render(wait);
    await time.pass(12_000);
    expect(err.writes.at(-1)).toContain('gemini-2.5-flash · 12 s');
    expect(out.text).toBe('');
    await render(begin);
    for (const event of texts('Hi')) await render(event);
    expect(screenOf(err.text)).toBe('');
    expect(err.writes.at(-1)).toMatch(GONE);
  });

  test('stands below text that has stopped coming', async () => {
    const { out, err, time, render } = await stage(terminal(), { render: 'always' });
    await render(begin);
    for (const event of texts('It was a dark and stormy')) await render(event);
    expect(out.text).toBe('');
    await time.pass(500);
    expect(screenOf(err.text)).toMatch(/^\S gemini-2.5-flash$/);
    for (const event of texts(' night.\n\nNext')) await render(event);
    expect(err.writes.at(-1)).toMatch(GONE);
    expect(out.text).toContain('stormy');
  });

  test('what Ctrl+C leaves behind it is taken away with it', async () => {
    const { err, time, render } = await stage(terminal());
    await render(wait);
    await time.pass(500);
    const screen = testScreen({ columns: 40, rows: 5 });
    screen.write(`${err.text}^C`);
    const before = err.writes.length;
    await render(failure(new AppError('interrupted', 'Interrupted.')));
    screen.write(err.writes.slice(before).join(''));
    expect(screen.rows[0]).not.toContain('^C');
  });

  test('a shorter line covers a longer one', async () => {
    const { err, time, render } = await stage(terminal());
    await render({ type: 'wait', what: 'a long thing to wait for' });
    await time.pass(500);
    await render({ type: 'wait', what: 'short' });
    await time.pass(100);
    expect(screenOf(err.text).trimEnd()).toMatch(/^. short$/);
  });

  test('a window that becomes narrower keeps nothing of it', async () => {
    const traits = { isTerminal: true, columns: 60 };
    const err = fakeOut(traits);
    const screen = testScreen({ columns: 60, rows: 24 });
    screen.write('before\n');
    let seen = 0;
    const look = (): readonly string[] => {
      for (const text of err.writes.slice(seen)) screen.write(text);
      seen = err.writes.length;
      return screen.rows;
    };
    const sized = Object.defineProperty(err, 'columns', { get: () => traits.columns });
    const { time, render } = await stage(sized);
    await render({ type: 'wait', what: 'gemini-2.5-flash and so much more that it fills the line' });
    await time.pass(500);
    expect(look()).toHaveLength(2);
    for (const columns of [45, 20, 70, 13]) {
      traits.columns = columns;
      screen.resize(columns);
      await time.pass(100);
      expect(look().length, `${columns}`).toBe(2);
      expect(screen.rows[0]).toBe('before');
    }
    traits.columns = 6;
    screen.resize(6);
    for (const event of [begin, ...texts('Hi')]) await render(event);
    expect(look()).toEqual(['before']);
  });

  test('the line fits the window, whatever is awaited', async () => {
    const { err, time, render } = await stage(terminal());
    await render({ type: 'wait', what: `\u001b[31m${'日本'.repeat(40)}` });
    await time.pass(400);
    expect(screenOf(err.text)).toBe(`⠋ \\x1b[31m${'日本'.repeat(6)}日本…`);
    await time.pass(11_600);
    expect(screenOf(err.text)).toMatch(/^. \\x1b\[31m[日本]+… · 12 s$/);
  });

  test('is not drawn into the middle of a line of text', async () => {
    const screen = fakeOut({ isTerminal: true });
    const time = fakeTime();
    const render = await openRenderer(
      'text',
      { out: screen, err: screen },
      renderOptions({ render: 'never', ...time }),
    );
    for (const event of [wait, begin, ...texts('half a line')]) await render(event);
    await time.pass(5_000);
    expect(screen.text).toBe('half a line');
    for (const event of texts('\n')) await render(event);
    await time.pass(5_000);
    expect(screen.text).toContain('⠋ gemini-2.5-flash');
    await render(end);
    expect(screen.text).toMatch(GONE);
  });

  test('is not drawn while a call waits for approval', async () => {
    const { err, time, render } = await stage(terminal());
    await render(wait);
    await render({ type: 'call', id: '1', name: 'run_shell_command', args: {} });
    await time.pass(60_000);
    expect(err.text).toBe('');
    await render({ type: 'wait', what: 'run_shell_command' });
    await time.pass(1_500);
    expect(err.writes.at(-1)).toContain('run_shell_command · 1 s');
  });

  describe('with a running command', () => {
    const call: TurnEvent = { type: 'call', id: '1', name: 'make', args: {} };
    const running: TurnEvent = { type: 'wait', what: 'make', calls: ['1'] };
    const ended: TurnEvent = { type: 'answer', id: '1', name: 'make', outcome: { ok: true, response: {} } };

    test('it is seen at once, with the last lines of what it prints; when it ends, nothing of that is left', async () => {
      const { err, time, render } = await stage(terminal());
      const screen = testScreen({ columns: 40, rows: 24 });
      for (const event of [call, running]) await render(event);
      await time.pass(100);
      expect(screenOf(err.text)).toBe('⠋ make');
      addOutput(err, '1\n2\n3\n4\n\u001b[31m五\tred\u001b[0m\n');
      addOutput(err, `10%\r20%${'x'.repeat(100)}`);
      await time.pass(1000);
      screen.write(`before\n${err.text}`);
      expect(screen.rows).toEqual(['before', '⠋ make · 1 s', '  4', '  五    red', '  10%', `  20%${'x'.repeat(31)}…`]);
      const drawn = err.writes.length;
      await render(ended);
      screen.write(err.writes.slice(drawn).join(''));
      expect(screen.rows).toEqual(['before', '✓ make']);
    });

    test('a low window keeps room for more than the output', async () => {
      const err = Object.assign(terminal(), { rows: 6 });
      const { time, render } = await stage(err);
      for (const event of [call, running]) await render(event);
      addOutput(err, '1\n2\n3\n4\n');
      await time.pass(100);
      expect(screenOf(err.text)).toBe('⠋ make\n  3\n  4');
    });

    test('whatever it prints and however wide the window becomes, only the end of it is left', async () => {
      const line = fc.string({ unit: fc.constantFrom(...'ab é日本語한글\t\r'), maxLength: 99 });
      const step = fc.oneof(
        fc.record({ text: fc.array(line, { maxLength: 6 }).map((lines) => lines.join('\n')) }),
        fc.record({ columns: fc.integer({ min: 10, max: 90 }) }),
      );
      const property = fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const traits = { columns: 40 };
        const err = Object.defineProperty(fakeOut({ isTerminal: true }), 'columns', { get: () => traits.columns });
        const { time, render } = await stage(err);
        const screen = testScreen({ columns: 40, rows: 24 });
        let seen = 0;
        const look = (): void => {
          screen.write(err.writes.slice(seen).join(''));
          seen = err.writes.length;
        };
        for (const event of [call, running]) await render(event);
        for (const next of steps) {
          if ('text' in next) addOutput(err, next.text);
          else {
            look();
            screen.resize(next.columns);
            traits.columns = next.columns;
          }
          await time.pass(100);
        }
        await render(ended);
        look();
        expect(screen.rows).toEqual(['✓ make']);
      });
      // The terminal leaves a column free where a wide character does not fit.
      await fc.assert(property, { examples: [[[{ text: 'a한\t글日글a語글' }, { columns: 10 }]]] });
    });

    test('on a terminal that cannot be redrawn a slow one is announced once', async () => {
      const { err, time, render } = await stage(terminal(), { isDumb: true });
      for (const event of [call, running]) await render(event);
      addOutput(err, '1\n2\n');
      await time.pass(300);
      expect(err.text).toBe('');
      await time.pass(5000);
      await render(ended);
      expect(err.text).toBe('Running make\n✓ make\n');
    });
  });

  test('a stderr that is gone harms nobody', async () => {
    const broken: FakeOut = { ...terminal(), write: () => Promise.reject(new AppError('pipe', 'gone')) };
    const { out, time, render } = await stage(broken);
    await render(wait);
    await time.pass(2_000);
    for (const event of [...texts('Hi'), end]) await render(event);
    expect(out.text).toBe('Hi\n');
  });
});

describe('elsewhere', () => {
  test.each([
    ['a file', fakeOut()],
    ['a dumb terminal', fakeOut({ isTerminal: true })],
  ])('on %s there is one line for every 30 s of silence', async (_name, sink) => {
    const { err, time, render } = await stage(sink, { isDumb: true });
    await render(wait);
    await time.pass(29_900);
    expect(err.text).toBe('');
    await time.pass(60_100);
    expect(err.text).toBe(
      'gmn: waiting for gemini-2.5-flash · 30 s\ngmn: waiting for gemini-2.5-flash · 60 s\ngmn: waiting for gemini-2.5-flash · 90 s\n',
    );
  });

  test('text ends a silence', async () => {
    const { err, time, render } = await stage(fakeOut());
    await render(wait);
    for (let count = 0; count < 10; count += 1) {
      await time.pass(20_000);
      for (const event of texts('x')) await render(event);
    }
    expect(err.text).toBe('');
  });

  test.each([['json'], ['stream-json']])('%s never says a word', async (format) => {
    const { err, time, render } = await stage(fakeOut({ isTerminal: true }), {}, format);
    await render(wait);
    await time.pass(100_000);
    expect(err.text).toBe('');
    expect(time.isTicking).toBe(false);
  });

  test('quiet never says a word', async () => {
    const { err, time, render } = await stage(fakeOut({ isTerminal: true }), { quiet: true });
    await render(wait);
    await time.pass(100_000);
    expect(err.text).toBe('');
  });
});

test.each([
  ['an end', end],
  ['an error', failure(new AppError('api', 'x'))],
  ['a closed pipe', failure(new AppError('pipe', 'x'))],
])('nothing ticks after %s', async (_name, ending) => {
  const { time, render } = await stage(fakeOut({ isTerminal: true }));
  await render(wait);
  expect(time.isTicking).toBe(true);
  await render(ending);
  expect(time.isTicking).toBe(false);
});

function screenOf(text: string): string {
  const screen = testScreen({ columns: 40, rows: 24 });
  screen.write(text);
  return screen.rows.join('\n');
}

function readSubject(...deltas: readonly string[]): string {
  const read = createSubjectReader();
  return deltas.map(read).at(-1) ?? '';
}

test.each([
  ['a heading and what follows', ['**Reading the code**\n\nI look at it.'], 'Reading the code'],
  ['the last of several', ['**One**\n\nx\n\n', '**Two**\n\ny **bold** z'], 'Two'],
  ['one that is not complete yet', ['**One**\n\nx\n\n**Tw'], 'One'],
  ['Japanese', ['**設計を見直す**'], '設計を見直す'],
  ['bold words inside a line', ['I think **this** is it'], ''],
  ['nothing', ['no heading at all'], ''],
  ['an empty heading', ['****\n** **'], ''],
  ['a line without end', [`**${'x'.repeat(1000)}**`], ''],
])('the subject of %s', (_, deltas, subject) => {
  expect(readSubject(...deltas)).toBe(subject);
});

test('however a thought is cut, its subject is the same', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[^*\n]{1,40}$/u), fc.array(fc.nat(120), { maxLength: 6 }), (heading, cuts) => {
      fc.pre(heading.trim() !== '');
      const text = `before\n\n**${heading}**\n\nafter it`;
      const places = [0, ...cuts.toSorted((one, other) => one - other), text.length];
      const deltas = places.map((start, index) => text.slice(start, places[index + 1] ?? text.length));
      expect(readSubject(...deltas)).toBe(heading.trim());
    }),
  );
});
