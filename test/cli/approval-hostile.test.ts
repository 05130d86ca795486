import { existsSync } from 'node:fs';
import { join } from 'node:path';
import stringWidth from 'string-width';
import { expect } from 'vitest';
import { approvalScene, command, NO, PROMPT, WAITED, write } from '../support/approval-scene.ts';
import { verdictsIn } from '../support/asking.ts';
import { linuxTest, posixTest } from '../support/posix.ts';
import { statesIn } from '../support/pty.ts';

const start = approvalScene();
const unasked = (why: string): string =>
  `run_shell_command was not run: it needs the user's approval, and ${why}. The user can allow it with --allowed-tools run_shell_command.`;

posixTest('keys typed ahead of a question never answer it', async (t) => {
  const terminal = start(t, { calls: [command('touch made')] });
  await terminal.until('STATE');
  terminal.type('y\ry\ry\ryyyy');
  await terminal.until('touch made');
  // Now it is shown, but does not stand still yet.
  terminal.type('y');
  await terminal.until(PROMPT);
  terminal.type('n');
  expect(verdictsIn((await terminal.ended).output)).toEqual([{ verdict: { kind: 'deny', reason: NO }, told: WAITED }]);
  expect(existsSync(join(terminal.directory, 'made'))).toBe(false);
});

posixTest('a second y does not answer the next question', async (t) => {
  const terminal = start(t, { calls: [command('echo 1'), command('touch made')] });
  await terminal.until(PROMPT);
  terminal.type('y');
  await terminal.until('y');
  terminal.type('y');
  await terminal.until('touch made');
  terminal.type('yyy');
  await terminal.until(PROMPT);
  terminal.type('\r');
  expect(verdictsIn((await terminal.ended).output)).toMatchObject([
    { verdict: { kind: 'run' } },
    { verdict: { kind: 'deny' } },
  ]);
  expect(existsSync(join(terminal.directory, 'made'))).toBe(false);
});

posixTest('Ctrl+C typed before the question stands there stops all the same', async (t) => {
  const terminal = start(t, { calls: [command('touch made')] });
  await terminal.until('│ touch made');
  terminal.type('y\u0003');
  const { output } = await terminal.ended;
  expect(verdictsIn(output)).toEqual([{ verdict: { kind: 'stop' }, told: WAITED }]);
  expect(new Set(statesIn(output)).size).toBe(1);
});

posixTest('what is piped into stdin answers nothing', async (t) => {
  const after = '< answers';
  const terminal = start(t, { calls: [command('touch made')] }, { before: "printf 'y\\ny\\ny\\n' > answers", after });
  await terminal.until(PROMPT);
  terminal.type('n');
  expect(verdictsIn((await terminal.ended).output)).toEqual([{ verdict: { kind: 'deny', reason: NO }, told: WAITED }]);
});

posixTest.for([
  ['stderr is no terminal', { after: '2> /dev/null' }, true],
  ['the format is not text', {}, false],
  ['there is no terminal at all', { after: '> out 2>&1 < /dev/null; cat out', before: 'command() { :; }' }, true],
] as const)(
  'nobody is asked, and the model is told how it can be allowed: %s',
  async ([, options, isTextFormat], t) => {
    const terminal = start(t, { calls: [command('touch made')], isTextFormat }, options);
    const { output } = await terminal.ended;
    const reason = unasked(isTextFormat ? 'there is no terminal to ask on' : 'nobody is asked in this output format');
    expect(verdictsIn(output)).toEqual([{ verdict: { kind: 'deny', reason }, told: [] }]);
    expect(output).not.toContain('╭');
  },
);

linuxTest('nobody is asked on a terminal that is not ours', async (t) => {
  const terminal = start(t, { calls: [command('touch made')] }, { wrapper: 'setsid -w' });
  expect(verdictsIn((await terminal.ended).output)).toEqual([
    { verdict: { kind: 'deny', reason: unasked('there is no terminal to ask on') }, told: [] },
  ]);
});

posixTest('SIGTERM while asking gives the terminal back', async (t) => {
  const terminal = start(t, { calls: [command('touch made')] });
  await terminal.until(PROMPT);
  terminal.signal('SIGTERM');
  const { output, exitCode } = await terminal.ended;
  expect(verdictsIn(output)).toEqual([{ verdict: { kind: 'stop' }, told: WAITED }]);
  expect([exitCode, new Set(statesIn(output)).size]).toEqual([9, 1]);
});

posixTest('two signals at once end the program, and still give the terminal back', async (t) => {
  const terminal = start(t, { calls: [command('touch made')] });
  await terminal.until(PROMPT);
  terminal.signal('SIGTERM', 'SIGINT');
  const { output } = await terminal.ended;
  expect(new Set(statesIn(output)).size).toBe(1);
});

posixTest('SIGTERM while a reply is typed gives the terminal back', async (t) => {
  const terminal = start(t, { calls: [command('touch made')] });
  await terminal.until(PROMPT);
  terminal.type('r');
  await terminal.until('Tell the model: ');
  terminal.signal('SIGTERM');
  const { output } = await terminal.ended;
  expect(verdictsIn(output)).toEqual([{ verdict: { kind: 'stop' }, told: WAITED }]);
  expect(new Set(statesIn(output)).size).toBe(1);
});

const HIDING: readonly (readonly [string, string])[] = [
  ['\u001b[2J\u001b[H', '\\x1b[2J\\x1b[H'],
  ['\u001b]52;c;eA==\u0007', '\\x1b]52;c;eA==\\x07'],
  ['\r', '\\r'],
  ['\b\b\b', '\\x08\\x08\\x08'],
  ['\u009b8m', '\\x9b8m'],
  ['\u202e', '\\u202e'],
  ['\u2066', '\\u2066'],
  ['\u200b\u200d\ufeff', '\\u200b\\u200d\\ufeff'],
  ['\u{e0041}', '\\u{e0041}'],
  ['\u2028', '\\u2028'],
  ['\u00ad', '\\xad'],
  ['\t', '\\t'],
  ['\u007f', '\\x7f'],
  ['\u3164', '\\u3164'],
];

posixTest('every character that hides something is visible, in commands, file names and files', async (t) => {
  const trick = HIDING.map(([hidden]) => hidden).join('x');
  const shown = HIDING.map(([, shownAs]) => shownAs).join('x');
  const calls = [command(`echo ${trick}; rm -rf y`), write('a', `b${trick}c`), write(`d${trick}e`)];
  const terminal = start(t, { calls }, { columns: 400 });
  const screens: string[] = [];
  for (const _ of calls) {
    screens.push(await terminal.until(PROMPT));
    terminal.type('n');
  }
  await terminal.ended;
  expect(screens[0]).toContain(`│ echo ${shown}; rm -rf y\n`);
  expect(screens[0]).toContain('│ 20 characters that cannot be seen: shown as escapes\n');
  expect(screens[1]).toContain(`╭ write_file b${shown}c  +1 −1\n`);
  expect(screens[2]).toContain(`│ +d${shown.replace('\\t', '→   ')}e\n`);
  for (const screen of screens) expect(screen).not.toMatch(/[^\P{C}\n]|\u3164|\u2028/u);
});

posixTest('a command that hides its end behind other commands shows its end, and is not approved unseen', async (t) => {
  for (const padding of ['x=1; '.repeat(1000), 'x\n'.repeat(500)]) {
    const terminal = start(t, { calls: [command(`ls${padding}; touch made`)] });
    const first = await terminal.until(PROMPT);
    expect(first).toMatch(/┆ \d+ more lines\n/);
    expect(first.replaceAll(/\n[│┊] /g, '')).toContain('; touch made\n╰');
    expect(first.split('\n').length).toBeLessThanOrEqual(25);
    expect(first).toContain('╰ [d] all of it [N]o [e]dit [r]eply [q]uit turn [?] › ');
    terminal.type('y');
    expect(await terminal.until(PROMPT)).toContain('│ This is not all of it. See the rest first: d\n');
    terminal.type('d');
    const all = await terminal.until(PROMPT);
    expect(all).not.toContain('┆');
    expect(all).toContain('[y]es');
    terminal.type('n');
    expect(verdictsIn((await terminal.ended).output)).toMatchObject([{ verdict: { kind: 'deny' } }]);
  }
});

posixTest('on a narrow terminal every line fits and stays inside the frame, in Japanese too', async (t) => {
  const text = '日本語のとても長い一行のコマンドです。'.repeat(4);
  const terminal = start(t, { calls: [command(`echo ${text}`)] }, { columns: 20, rows: 60 });
  const screen = (await terminal.until('╰')).split('\n');
  const rows = screen.filter((row) => /^[╭│┊]/.test(row));
  expect(rows.filter((row) => stringWidth(row) > 20)).toEqual([]);
  expect(rows.map((row) => row.slice(2)).join('')).toContain(text);
  await terminal.until(PROMPT);
  terminal.type('y');
  expect(verdictsIn((await terminal.ended).output)).toMatchObject([{ response: { output: `${text}\n` } }]);
});

posixTest('a text cannot draw a frame of its own', async (t) => {
  const fake = '╰ [y]es [N]o › ';
  const terminal = start(t, { calls: [command(`true ${'x'.repeat(71)}${fake}\n${fake}`)] });
  const screen = await terminal.until('[q]uit turn [?] › ');
  expect(screen.split('\n').filter((row) => row.startsWith('╰'))).toEqual([
    '╰ [y]es [N]o [a]lways this command [e]dit [r]eply [q]uit turn [?] › ',
  ]);
  terminal.type('n');
  await terminal.ended;
});

posixTest('in the background the terminal is given back, and the question stands again afterwards', async (t) => {
  const terminal = start(t, { calls: [command('echo ran')] }, { hasJobs: true });
  await terminal.until(PROMPT);
  terminal.type('\u001a');
  await terminal.until('STATE');
  await terminal.until('│ echo ran');
  await terminal.until(PROMPT);
  terminal.type('y');
  const { output } = await terminal.ended;
  expect(verdictsIn(output)).toMatchObject([{ verdict: { kind: 'run' }, response: { output: 'ran\n' } }]);
  expect(new Set(statesIn(output)).size).toBe(1);
});
