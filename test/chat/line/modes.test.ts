import { expect, test } from 'vitest';
import type { Completion } from '../../../src/chat/line/source.ts';
import { ESC, typing } from '../typing.ts';

test('Up and Down walk through entries that begin alike, and lead back to the draft', () => {
  const it = typing({ entries: ['git a', 'ls', 'git b', 'git b', 'pwd'] });
  expect(it.type(`gi${ESC}[A`)).toBe('git b|');
  expect(it.type(`${ESC}[A`)).toBe('git a|');
  expect(it.type(`${ESC}[A`)).toBe('git a|');
  expect(it.type(`${ESC}[B`)).toBe('git b|');
  expect(it.type(`${ESC}[B`)).toBe('gi|');
  expect(it.type(`${ESC}[B`)).toBe('gi|');
});

test('a draft that was left for an earlier entry comes back with undo', () => {
  const it = typing({ entries: ['old one'] });
  it.type(`o${ESC}[A changed`);
  expect(it.line).toBe('old one changed|');
  expect(it.type('\u001f\u001f\u001f')).toBe('o|');
});

test('a search shows what it finds, and the caret is at the end of the query', () => {
  const it = typing({ entries: ['東京の天気', 'hello', '東京タワー'] });
  it.type('draft\u0012東京');
  expect(it.screen).toEqual(['> 東京タワー', 'search: 東京|']);
  it.type('\u0012');
  expect(it.screen).toEqual(['> 東京の天気', 'search: 東京|']);
  it.type('\u0012');
  expect(it.screen).toEqual(['> 東京の天気', 'not found: 東京|']);
  it.type('\u0013');
  expect(it.screen).toEqual(['> 東京タワー', 'search: 東京|']);
  expect(it.type('\r')).toBe('|東京タワー');
  expect(it.requests).toEqual([]);
});

test('a search that is given up leaves the draft', () => {
  for (const key of ['\u0007', '\u0003']) {
    const it = typing({ entries: ['hello'] });
    it.type('draft\u0012hel');
    expect(it.screen).toEqual(['> hello', 'search: hel|']);
    expect(it.type(key)).toBe('draft|');
    expect(it.requests).toEqual([]);
  }
});

test('a query gets shorter, and another key takes what is found and does its work', () => {
  const it = typing({ entries: ['alpha', 'beta'] });
  it.type('\u0012alx');
  expect(it.screen).toEqual(['> |'.replace('|', ''), 'not found: alx|']);
  it.type('\u007f');
  expect(it.screen).toEqual(['> alpha', 'search: al|']);
  expect(it.type('\u0005!')).toBe('alpha!|');
});

const WORDS = { start: 0, candidates: [{ insert: '/help', hint: 'what there is' }, { insert: '/hello' }] };

test('Tab completes what is certain and lists the rest, of which it fills in the marked row', () => {
  const it = typing();
  it.type('/h\t');
  expect(it.requests).toEqual([{ kind: 'complete' }]);
  it.editor.showCompletion(WORDS);
  expect(it.screen).toEqual(['> /hel|', '› /help   what there is', '  /hello']);
  it.type(`${ESC}[Z`);
  expect(it.screen).toEqual(['> /hel|', '  /help   what there is', '› /hello']);
  it.type('\t');
  expect(it.screen).toEqual(['> /hello|']);
  expect(it.requests).toEqual([{ kind: 'complete' }]);
});

test('Esc closes the list, whatever is marked, and leaves what was typed', () => {
  const it = typing();
  it.type('/h\t');
  it.editor.showCompletion(WORDS);
  it.type(`${ESC}[B${ESC}`);
  expect(it.screen).toEqual(['> /hel|']);
  expect(it.requests).toEqual([{ kind: 'complete' }]);
});

test('the only way to go on is taken at once, in the middle of a line too', () => {
  const it = typing();
  it.type(`see @sr now${ESC}b\u0002\t`);
  it.editor.showCompletion({ start: 4, candidates: [{ insert: '@src/' }] });
  expect(it.line).toBe('see @src/| now');
});

test('a long list is cut and says so; control characters in it are seen', () => {
  const it = typing();
  it.type('a\t');
  it.editor.showCompletion({
    start: 0,
    candidates: Array.from({ length: 20 }, (_, index) => ({ insert: `a${index}`, hint: '\u001b[2J' })),
  });
  expect(it.screen).toHaveLength(10);
  expect(it.screen[1]).toBe('› a0  \\x1b[2J');
  expect(it.screen[9]).toBe('  … 12 more');
  it.type(`${ESC}[Z`);
  expect(it.screen[8]).toBe('› a19  \\x1b[2J');
});

test('Esc twice on an empty line asks for an earlier prompt, with nothing else in between and not too late', () => {
  const it = typing({ status: 'ready' });
  it.type(ESC);
  expect(it.screen).toEqual(['> |', 'Esc again goes back to an earlier prompt.']);
  it.type(ESC);
  expect(it.requests).toEqual([{ kind: 'rewind' }]);
  for (const other of ['x\u007f', `x${ESC}${ESC}${ESC}\u0015`, '\u0012\u0007']) it.type(`${ESC}${ESC}[D${other}`);
  it.wait(2001);
  it.type(ESC);
  it.wait(2001);
  it.type(ESC);
  expect(it.requests).toHaveLength(1);
});

test('Shift+Tab with no list asks for the next mode, and what was typed stays', () => {
  const it = typing();
  it.type(`abc${ESC}[Z`);
  expect(it.requests).toEqual([{ kind: 'next-mode' }]);
  expect(it.line).toBe('abc|');
});

const COMMANDS = {
  start: 0,
  candidates: [
    { insert: '/model ', hint: 'which model', isWhole: true as const },
    { insert: '/mcp ', isWhole: true as const },
    { insert: '/pipe ', hint: 'to a command' },
  ],
};

/** Types, and answers the lookup that follows with these candidates. */
function suggesting(keys: string, completion: Parameters<ReturnType<typeof typing>['editor']['showCompletion']>[0]) {
  const it = typing();
  it.type(keys);
  it.editor.showSuggestions(it.editor.suggestible ?? 'nothing', completion);
  return it;
}

test('a menu opens as a command is typed, narrows with it, and is gone when the word is no command', () => {
  const it = suggesting('/', COMMANDS);
  expect(it.screen).toEqual(['> /|', '› /model  which model', '  /mcp', '  /pipe   to a command']);
  it.type('m');
  expect(it.screen).toEqual(['> /m|', '› /model  which model', '  /mcp']);
  it.type('\u007f');
  expect(it.editor.suggestible).toBe('/');
  it.type('xyz');
  expect(it.screen).toEqual(['> /xyz|']);
});

test.each([
  ['a path', 'see @', 'see @'],
  ['an argument', '/model ge', '/model ge'],
  ['an argument of which nothing is typed', '/model ', undefined],
  ['a text that begins with a slash', '//m', undefined],
  ['an address', 'me@home', undefined],
  ['a command in the second line', 'see\n/m', undefined],
  ['where the caret was only moved', `/m${ESC}[D`, undefined],
])('what is looked up for %s', (_, keys, wanted) => {
  const it = typing();
  it.type(keys);
  expect(it.editor.suggestible).toBe(wanted);
});

test('arrows move the mark, and Enter runs the marked command if it needs nothing more', () => {
  const it = suggesting('/m', { ...COMMANDS, candidates: COMMANDS.candidates.slice(0, 2) });
  it.type(`${ESC}[B`);
  expect(it.screen).toEqual(['> /m|', '  /model  which model', '› /mcp']);
  it.type(`${ESC}[B\r`);
  expect(it.requests).toEqual([{ kind: 'text', text: '/model' }]);
});

const PATHS = { start: 4, candidates: [{ insert: '@src/' }, { insert: '@src/a.ts ' }, { insert: '@"my src.ts" ' }] };

type Taken = { readonly requests?: readonly string[]; readonly line?: string };

test.each<[string, string, Completion, string, Taken]>([
  ['the first row, without an arrow', '/m', COMMANDS, '', { requests: ['/model'] }],
  ['one that needs an argument', '/', COMMANDS, `${ESC}[A`, { line: '/pipe |' }],
  ['a path', 'see @sr', PATHS, `${ESC}[B`, { line: 'see @src/a.ts |' }],
  ['a directory', 'see @s', PATHS, '', { line: 'see @src/|' }],
  ['a path with a space', 'see @my', PATHS, `${ESC}[A`, { line: 'see @"my src.ts" |' }],
  ['a path before other words', `see @a now${ESC}b\u0002`, PATHS, `${ESC}[B`, { line: 'see @src/a.ts |now' }],
  ['what was typed in full', '/mcp', COMMANDS, '', { requests: ['/mcp'] }],
  ['what was typed in full and needs an argument', '/pipe', COMMANDS, '', { requests: ['/pipe'] }],
  ['a directory that was typed in full', 'see @src', PATHS, '', { requests: ['see @src'] }],
  ['another than was typed in full', 'see @src/', PATHS, `${ESC}[B`, { line: 'see @src/a.ts |' }],
])('Enter takes %s', (_, keys, completion, arrows, { requests = [], line = '|' }) => {
  const it = typing();
  it.type(keys);
  it.editor.showSuggestions(it.editor.suggestible ?? it.editor.before, completion);
  if (it.editor.menu === undefined) it.editor.showCompletion(completion);
  it.type(`${arrows}\r`);
  expect(it.requests).toEqual(requests.map((text) => ({ kind: 'text', text })));
  expect(it.line).toBe(line);
  expect(it.editor.menu).toBeUndefined();
});

test('a mark that was moved starts at the first row again when more is typed', () => {
  const it = suggesting('/', COMMANDS);
  it.type(`${ESC}[B${ESC}[Bm`);
  expect(it.screen).toEqual(['> /m|', '› /model  which model', '  /mcp']);
});

test('a menu that is looked up while the mark moves does not replace what is marked', () => {
  const it = suggesting('/', COMMANDS);
  it.type('m');
  const before = it.editor.suggestible ?? '';
  it.type(`${ESC}[B`);
  it.editor.showSuggestions(before, { start: 0, candidates: [{ insert: '/memory' }] });
  expect(it.screen).toEqual(['> /m|', '  /model  which model', '› /mcp']);
});

test('Tab fills in the marked row, and goes on to the next row if that is there already', () => {
  const it = suggesting('see @s', PATHS);
  it.type('\t');
  expect(it.screen).toEqual(['> see @src/|']);
  it.editor.showSuggestions(it.editor.suggestible ?? '', PATHS);
  it.type('\t');
  expect(it.screen).toEqual(['> see @src/|', '  @src/', '› @src/a.ts', '  @"my src.ts"']);
  it.type('\t');
  expect(it.line).toBe('see @src/a.ts |');
});

test('Esc closes the menu for this word, and the next word has one again', () => {
  const it = suggesting('/m', COMMANDS);
  it.type(ESC);
  expect(it.screen).toEqual(['> /m|']);
  it.type('o');
  expect(it.editor.suggestible).toBeUndefined();
  it.type(' x');
  expect(it.editor.suggestible).toBe('/mo x');
  it.type('\u0015/');
  expect(it.editor.suggestible).toBe('/');
});

test('candidates that come late for another text are not shown', () => {
  const it = typing();
  it.type('/m');
  it.editor.showSuggestions('/', COMMANDS);
  expect(it.screen).toEqual(['> /m|']);
});

test('an earlier entry that is called back opens no menu', () => {
  const it = typing({ entries: ['/model x'] });
  it.type(`${ESC}[A`);
  expect(it.line).toBe('/model x|');
  expect(it.editor.suggestible).toBeUndefined();
});

test('in a low window the chosen candidate is seen', () => {
  const it = typing({ rows: 4 });
  it.type('a\t');
  it.editor.showCompletion({
    start: 0,
    candidates: Array.from({ length: 9 }, (_, index) => ({ insert: `a${index}` })),
  });
  it.type(`${ESC}[Z${ESC}[Z`);
  expect(it.screen).toEqual(['> a|', '  a6', '› a7', '  … 1 more']);
});
