import { describe, expect, test } from 'vitest';
import { AppError } from '../../src/core/error.ts';
import type { TurnEvent } from '../../src/core/event.ts';
import { openRenderer } from '../../src/render/renderers.ts';
import { emulator } from '../support/emulator.ts';
import { fakeOut, fakeTime, renderAll, renderOn, renderOptions, sharedScreen } from './fakes.ts';
import { begin, cutOff, end, failure, GUIDE, hello, interrupted, texts, unauthenticated, withTools } from './runs.ts';

describe('below the lines of tools', () => {
  const said = async (deltas: readonly string[], { isPiped = false } = {}): Promise<readonly string[]> => {
    const screen = emulator({ columns: 40, rows: 12 });
    const out = isPiped ? fakeOut() : screen;
    const render = await openRenderer('text', { out, err: screen }, renderOptions());
    for (const event of withTools.filter(({ type }) => type !== 'text' && type !== 'end')) await render(event);
    for (const delta of deltas) await render({ type: 'text', delta });
    await render(end);
    return (await screen.shown()).lines;
  };
  const tools = [
    'gmn: settings.json: unknown key "modle"',
    '✓ read_file a.txt',
    '✗ read_file b.txt: b.txt does not exist',
  ];

  test('an answer begins after one empty line, however it begins', async () => {
    for (const deltas of [['It says hello.'], ['\n', '\n\nIt says', ' hello.'], ['', ' \nIt says hello.']])
      expect(await said(deltas)).toEqual([...tools, '', 'It says hello.']);
  });

  test('there is none where no answer follows, or it goes elsewhere', async () => {
    expect(await said([])).toEqual(tools);
    expect(await said(['It says hello.'], { isPiped: true })).toEqual(tools);
  });
});

describe('text into a pipe', () => {
  test('is the text as it comes, with one newline at its end', async () => {
    const { out, err, writes } = await renderAll('text', hello);
    expect({ out, err }).toEqual({ out: 'Hello! How can I help you today?\n', err: '' });
    expect(writes).toEqual(['Hello', '! How can', ' I help you today?', '\n']);
  });

  test('adds no newline to a text that has one', async () => {
    expect((await renderAll('text', [begin, ...texts('a\n\n'), end])).out).toBe('a\n\n');
  });

  test('is empty if there was no text', async () => {
    expect((await renderAll('text', [begin, end])).out).toBe('');
  });

  test('keeps control sequences and carriage returns', async () => {
    expect((await renderAll('text', [begin, ...texts('\u001b[31m\r# x\r\n'), end])).out).toBe('\u001b[31m\r# x\r\n');
  });

  test('tool results and notices are lines on stderr', async () => {
    const { out, err } = await renderAll('text', withTools);
    expect(out).toBe('It says hello.\n');
    expect(err.split('\n')).toEqual([
      'gmn: settings.json: unknown key "modle"',
      '✓ read_file a.txt',
      '✗ read_file b.txt: b.txt does not exist',
      '',
    ]);
  });

  test('a tool result does not split a line of the answer, since both outputs may be the same pipe', async () => {
    const shared = fakeOut();
    const [, , call, , answer] = withTools;
    if (call === undefined || answer === undefined) throw new Error('withTools has changed');
    const events = [begin, ...texts('Let me look.'), call, answer, ...texts('\n', 'It says hello.'), end];
    await renderOn({ out: shared, err: shared }, 'text', events);
    expect(shared.text).toBe('Let me look.\n✓ read_file a.txt\nIt says hello.\n');
  });

  test('quiet drops notices and the usage line, not errors', async () => {
    expect((await renderAll('text', withTools, { quiet: true, showUsage: true })).err).toBe('');
    expect((await renderAll('text', unauthenticated, { quiet: true })).err).toMatch(/^Error: /);
  });

  test('an error is a line and its next step on stderr', async () => {
    const { out, err } = await renderAll('text', unauthenticated);
    expect(out).toBe('');
    expect(err).toBe(`Error: no Gemini credentials found\n${GUIDE}\n`);
  });

  test('partial text stays, and its line is ended', async () => {
    const { out, err } = await renderAll('text', cutOff);
    expect(out).toBe('Once upon a time\n');
    expect(err).toBe(
      'gmn: answered after 2 tries\nError: API error: the stream ended without a finish reason\nTry again.\n',
    );
  });

  test('an interruption ends the line without alarm', async () => {
    expect(await renderAll('text', interrupted)).toMatchObject({ out: 'Once\n', err: 'Interrupted.\n' });
  });

  test('thoughts go to stderr, and only when asked for', async () => {
    expect((await renderAll('text', hello, { showThoughts: true })).err).toBe('They greet me.\n');
    expect((await renderAll('text', hello)).err).toBe('');
  });

  test('the usage line comes last', async () => {
    const time = fakeTime();
    const err = fakeOut();
    const render = await openRenderer('text', { out: fakeOut(), err }, renderOptions({ showUsage: true, ...time }));
    const usage = { promptTokenCount: 48, candidatesTokenCount: 31, totalTokenCount: 79 };
    const events: readonly TurnEvent[] = [begin, ...texts('x'), { ...endOf(end), usage }];
    for (const event of events) {
      await time.pass(40);
      await render(event);
    }
    expect(err.text).toBe('gemini-2.5-flash · 48 in · 31 out · 79 tokens · 0.1s\n');
  });

  test('the usage line names cached and thought tokens, and leaves out what is unknown', async () => {
    const usage = { promptTokenCount: 9, cachedContentTokenCount: 4, thoughtsTokenCount: 7 };
    const { err } = await renderAll('text', [begin, { ...endOf(end), usage }], { showUsage: true });
    expect(err).toBe('gemini-2.5-flash · 9 in · 4 cached · 7 thoughts · 0.0s\n');
  });

  test('Markdown is laid out if asked for always', async () => {
    const { out } = await renderAll('text', [begin, ...texts('* a\n* b\u001b[31m\n'), end], { render: 'always' });
    expect(out).toBe('• a\n• b\n');
  });
});

describe('text on a terminal', () => {
  const terminal = { isTerminal: true, isStyled: true };

  test('Markdown is laid out and the model cannot send escapes', async () => {
    const out = emulator({ columns: 80, rows: 24, isStyled: true });
    await renderOn({ out, err: fakeOut() }, 'text', [begin, ...texts('**bo', 'ld** \u001b]0;x', '\u0007y\n'), end]);
    expect((await out.shown()).lines).toEqual(['bold y']);
    expect(out.output).not.toContain('\u001b]0');
  });

  test('words appear as they come, and marks go when they are closed', async () => {
    const out = emulator({ columns: 80, rows: 24 });
    const render = await openRenderer('text', { out, err: fakeOut() }, renderOptions());
    for (const event of [begin, ...texts('one\n\n_tw')]) await render(event);
    expect((await out.shown()).lines).toEqual(['one', '', '_tw']);
    for (const event of [...texts('o_'), end]) await render(event);
    expect((await out.shown()).lines).toEqual(['one', '', 'two']);
  });

  test('what came before a tool call is complete before the call is made', async () => {
    const out = emulator({ columns: 80, rows: 24 });
    const render = await openRenderer('text', { out, err: fakeOut() }, renderOptions());
    for (const event of [begin, ...texts('Let me look')]) await render(event);
    await render({ type: 'call', id: '1', name: 'x', args: {} });
    await out.write('(a question)\n');
    for (const event of [...texts('\nFound it'), end]) await render(event);
    expect((await out.shown()).lines).toEqual(['Let me look', '(a question)', '', 'Found it']);
  });

  test.each([
    [80, 24],
    [120, 40],
  ])('the reason of a failed call ends with a whole word at %i columns', async (columns, rows) => {
    const screen = emulator({ columns, rows });
    const error =
      'the text to be replaced is not in the file any more because somebody else has changed its surroundings since then';
    const outcome = { ok: false, response: { error } };
    const args = { file_path: 'src/harbour.ts' };
    await renderOn({ out: screen, err: screen }, 'text', [
      begin,
      { type: 'call', id: '1', name: 'edit_file', args },
      { type: 'answer', id: '1', name: 'edit_file', outcome },
      end,
    ]);
    expect((await screen.shown()).lines.map((row) => row.trim()).join(' ')).toBe(
      `✗ edit_file src/harbour.ts: ${error.slice(0, error.indexOf(' surroundings'))}…`,
    );
  });

  test.each([
    ['render never', { render: 'never' }],
    ['a dumb terminal', { isDumb: true }],
  ] as const)('with %s the text streams as it is, made harmless', async (_name, options) => {
    const out = fakeOut(terminal);
    await renderOn({ out, err: fakeOut() }, 'text', [begin, ...texts('**a', '** \u001b[', '31mb'), end], options);
    expect(out.text).toBe('**a** b\n');
    expect(out.writes[0]).toBe('**a');
  });

  test('raw output is passed as it is', async () => {
    const out = fakeOut(terminal);
    await renderOn({ out, err: fakeOut() }, 'text', [begin, ...texts('**a** \u001b[31mb'), end], { rawOutput: true });
    expect(out.text).toBe('**a** \u001b[31mb\n');
  });

  test('errors, notices and thoughts that quote the outside are harmless on a terminal', async () => {
    const err = fakeOut({ isTerminal: true });
    const bad = '\u001b[2Jx\u009b1m';
    const events: readonly TurnEvent[] = [
      { type: 'notice', message: bad },
      begin,
      { type: 'thought', delta: bad },
      failure(new AppError('api', bad, { hint: `${bad}\nand more` })),
    ];
    await renderOn({ out: fakeOut(), err }, 'text', events, { showThoughts: true });
    expect(err.text).toBe('gmn: x\nx\nError: x\nx\nand more\n');
  });

  test('styles: thoughts and usage are dim, errors red', async () => {
    const err = fakeOut(terminal);
    await renderOn({ out: fakeOut(), err }, 'text', hello, { showThoughts: true, showUsage: true });
    await renderOn({ out: fakeOut(), err }, 'text', unauthenticated);
    expect(err.text).toBe(
      [
        '\u001b[2mThey greet me.\u001b[22m\n',
        '\u001b[2mgemini-2.5-flash · 5 in · 12 out · 17 tokens · 0.0s\u001b[22m\n',
        '\u001b[31mError: no Gemini credentials found\u001b[39m\n',
        `${GUIDE}\n`,
      ].join(''),
    );
  });

  test('in a pipe a notice waits for the end of the line that the answer is in', async () => {
    const pipe = fakeOut();
    const notice = (message: string): TurnEvent => ({ type: 'notice', message });
    const run = [
      begin,
      notice('a'),
      ...texts('one'),
      notice('b'),
      ...texts(' two\n', 'three'),
      notice('c'),
      notice('d'),
    ];
    await renderOn({ out: pipe, err: pipe }, 'text', [...run, end], {});
    expect(pipe.text).toBe('gmn: a\none two\ngmn: b\nthree\ngmn: c\ngmn: d\n');
  });

  test('a notice that waits comes before the error', async () => {
    const pipe = fakeOut();
    const error = new AppError('api', 'It broke.');
    const run: readonly TurnEvent[] = [begin, ...texts('half'), { type: 'notice', message: 'cut' }, failure(error)];
    await renderOn({ out: pipe, err: pipe }, 'text', run, {});
    expect(pipe.text).toBe('half\ngmn: cut\nError: It broke.\n');
  });

  test('on a shared screen a notice begins on a line of its own and no empty line follows', async () => {
    const io = sharedScreen();
    const events: readonly TurnEvent[] = [begin, ...texts('half'), { type: 'notice', message: 'cut short' }, end];
    await renderOn(io, 'text', events, { render: 'never' });
    expect(io.screen.text).toBe('half\ngmn: cut short\n');
  });
});

function endOf(event: TurnEvent): Extract<TurnEvent, { type: 'end' }> {
  if (event.type !== 'end') throw new Error('not an end');
  return event;
}
