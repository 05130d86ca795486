import { execFileSync } from 'node:child_process';
import { closeSync, ftruncateSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
import { searchFiles } from '../../src/tools/search/engine.ts';
import type { WalkedDirectory } from '../../src/tools/search/walk.ts';
import { isLong } from '../support/fuzz.ts';
import { posixTest } from '../support/posix.ts';
import { CALM, place, ticksDuring } from './place.ts';

const CALLS: readonly ((path: string) => readonly [name: string, args: JsonObject])[] = [
  (path) => ['list_directory', { path }],
  (path) => ['read_file', { path }],
  (path) => ['write_file', { path, content: 'x' }],
  (path) => ['edit_file', { path, old_string: 'x', new_string: 'y' }],
  (path) => ['glob', { path, pattern: '*' }],
  (path) => ['search_file_content', { path, pattern: 'x' }],
];

posixTest('eight FIFOs and a socket are refused by every tool, and hold nothing up', async () => {
  const here = await place({ 'a.txt': 'needle\n' });
  const names = Array.from({ length: 8 }, (_, index) => `fifo-${index}`);
  for (const name of names) execFileSync('mkfifo', [join(here.root, name)]);
  const server = createServer().listen(join(here.root, 'socket'));
  onTestFinished(() => {
    server.close();
  });
  const outcomes = await Promise.all(
    [...names, 'socket'].flatMap((path) => CALLS.map((call) => here.call(...call(path)))),
  );
  expect(outcomes.filter(({ ok }) => ok)).toEqual([]);
  expect(await here.output('search_file_content', { pattern: 'needle' })).toEqual({
    matches: [{ file: 'a.txt', lines: ['1: needle'] }],
  });
  expect(await here.output('glob', { pattern: '*' })).toEqual({ files: ['a.txt'] });
});

const BOMBS: readonly string[] = [
  '(a+)+$',
  '(a|a)*$',
  '(a|aa)+$',
  '^(a+)+b',
  '([a-z]+)*\\d',
  '(x+x+)+y|(a+a+)+b',
  '(a*)*c',
  '((a+)+)+$',
  // No other engine can run these, so that each takes a thread for two seconds.
  '(a+)+\\1b',
  ...(isLong ? ['(?:a?){60}a{60}b', '(?=(a+)+b)', '(.*a){25}$'] : []),
];

test('patterns that never end are answered or refused while the event loop runs', async () => {
  const here = await place({ 'a.txt': `${'a'.repeat(60)}!\n${'a'.repeat(5000)}!\n` });
  const refused: string[] = [];
  for (let from = 0; from < BOMBS.length; from += 3) {
    const some = BOMBS.slice(from, from + 3);
    const calls = some.map((pattern) => here.call('search_file_content', { pattern }));
    const { result, ticks } = await ticksDuring(Promise.all(calls));
    expect(ticks).toBeGreaterThan(0);
    for (const [index, { ok, response }] of result.entries()) {
      if (ok) expect(Object.keys(response)).toEqual(['output']);
      else refused.push(`${some[index]}: ${String(response.error).split('.')[0]}`);
    }
  }
  // All others go on in the engine that takes no longer than the text is long.
  const why = 'the pattern takes too long on a';
  expect(refused.filter((line) => !line.endsWith(why))).toEqual([]);
  expect(refused).toContain(`(a+)+\\1b: ${why}`);
  expect(refused).not.toContain(`(a+)+$: ${why}`);
}, 60_000);

test('a search that is stuck in a pattern ends at once when it is aborted', async () => {
  const here = await place({ 'a.txt': `${'a'.repeat(40)}!\n` });
  const stop = new AbortController();
  const reason = new Error('stopped');
  const search = here.call('search_file_content', { pattern: '(a+)+\\1b' }, stop.signal);
  setImmediate(() => stop.abort(reason));
  await expect(search).rejects.toBe(reason);
});

test('a search that takes too long over many files ends in time, with what it has found', async () => {
  const here = await place({ 'a.txt': 'needle\n', 'b.txt': 'nothing\n' });
  let closed = 0;
  async function* endless(): AsyncGenerator<WalkedDirectory> {
    for (;;) {
      const close = (): void => {
        closed += 1;
      };
      yield { below: '', address: here.root, files: ['a.txt', 'b.txt'], directories: [], close };
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  const hunt = { source: 'needle', flags: 'm', isFolded: false, before: 0, after: 0, perFile: 1, canSkip: true };
  const found = await searchFiles(endless(), { ...hunt, total: Number.POSITIVE_INFINITY, maxMs: 500 }, CALM);
  expect(found).toMatchObject({ isFull: false, stopped: 'after 0.5 seconds' });
  expect(new Set(found.files.map(({ path }) => path))).toEqual(new Set(['a.txt']));
  expect(closed).toBeGreaterThanOrEqual(found.files.length);
});

test.each([
  ['x$', []],
  ['$', ['2', '3']],
  ['x.*$', []],
  ['^x', ['1']],
  ['needle', ['2']],
  ['tail$', ['3']],
])('the pattern %j does not take the cut of a huge line for its end', async (pattern, expected) => {
  const here = await place();
  longLine(join(here.root, 'long.txt'), 5_000_000, '\na needle\ntail\n');
  const { matches } = (await here.output('search_file_content', { pattern, case_sensitive: true })) as {
    matches: readonly { lines: readonly string[] }[];
  };
  const lines = matches.flatMap((file) => file.lines).map((line) => line.split(':')[0]);
  expect(lines).toEqual(expected);
});

test.each(['list_directory', 'read_file', 'glob', 'search_file_content', 'write_file', 'edit_file'])(
  '%s does nothing once it is aborted',
  async (name) => {
    const here = await place({ 'a.txt': 'a\n' });
    const reason = new Error('stopped');
    const args = { path: 'a.txt', pattern: 'a', content: 'b', old_string: '', new_string: '' };
    await expect(here.call(name, args, AbortSignal.abort(reason))).rejects.toBe(reason);
  },
);

test('globs that would explode are refused or answered at once', async () => {
  const here = await place({ [`${'a'.repeat(200)}.txt`]: 'a\n' });
  expect(await here.error('glob', { pattern: '{a,b}'.repeat(30) })).toContain('too complex');
  expect(await here.output('glob', { pattern: `${'*a'.repeat(80)}*b` })).toEqual({ files: [] });
  expect(await here.output('glob', { pattern: `${'**/'.repeat(80)}*.md` })).toEqual({ files: [] });
});

test('more globs than anybody needs are refused, and many names are compared in steps that can be ended', async () => {
  const here = await place();
  for (let index = 0; index < 1500; index += 1) writeFileSync(join(here.root, `${'a'.repeat(200)}${index}`), '');
  const bomb = `*${'a'.repeat(90)}[b]`;
  const ignore = Array.from({ length: 100 }, () => bomb);
  expect(await here.error('list_directory', { path: '.', ignore: [...ignore, bomb] })).toBe(
    'ignore has more than 100 globs. Use fewer.',
  );
  const many = `{${ignore.join(',')}}`;
  expect(await here.error('glob', { pattern: `x{${ignore.join(',').slice(0, 3000)}}${'y'.repeat(900)}` })).toContain(
    'its alternatives have more than 10000 characters',
  );
  for (const [name, args] of [
    ['list_directory', { path: '.', ignore }],
    ['glob', { pattern: many.replaceAll('a'.repeat(90), 'a'.repeat(30)) }],
    ['search_file_content', { pattern: 'x', exclude_pattern: many.replaceAll('a'.repeat(90), 'a'.repeat(30)) }],
  ] as const) {
    const stop = new AbortController();
    const reason = new Error('stopped');
    const call = here.call(name, args, stop.signal);
    setTimeout(() => stop.abort(reason), 20);
    await expect(call, name).rejects.toBe(reason);
  }
}, 60_000);

test('an ignore file full of stars does not hold up a walk', async () => {
  const here = await place({ '.gitignore': `${'*a'.repeat(40)}*b\n`.repeat(500), ['a'.repeat(250)]: 'needle\n' });
  expect(await here.output('search_file_content', { pattern: 'needle', names_only: true })).toEqual({
    files: ['a'.repeat(250)],
  });
});

test('where an ignore file is too large to be asked, nothing is shown rather than too much', async () => {
  const here = await place({ 'a.txt': 'needle\n', 'sub/.gitignore': '*x\n'.repeat(5000), 'sub/b.txt': 'needle\n' });
  expect(await here.output('search_file_content', { pattern: 'needle', names_only: true })).toEqual({
    files: ['a.txt'],
    note: '1 could not be read',
  });
  expect(await here.error('list_directory', { path: 'sub' })).toContain('the ignore file in it cannot be read');
});

/** `size` bytes of one letter and no line feed, then a word. */
function longLine(path: string, size: number, end: string): void {
  const file = openSync(path, 'w');
  const block = Buffer.alloc(1_000_000, 'x');
  for (let written = 0; written < size; written += block.length) writeSync(file, block);
  writeSync(file, end);
  closeSync(file);
}

test('a line of 500 MB is read and searched in part, and the answer says so', async () => {
  const here = await place();
  longLine(join(here.root, 'long.txt'), 500_000_000, ' needle\n');
  const read = await ticksDuring(here.call('read_file', { path: 'long.txt' }));
  expect(read.result.ok).toBe(true);
  expect(JSON.stringify(read.result).length).toBeLessThan(10_000);
  expect(String(read.result.response.output)).toContain('[lines 1 to 1 of more;');
  const search = await ticksDuring(here.call('search_file_content', { pattern: 'needle' }));
  expect(search.result.response).toEqual({
    output: { matches: [], note: 'of 1 very large files only the beginning was searched' },
  });
  expect(search.ticks).toBeGreaterThan(0);
}, 60_000);

test('a file of a terabyte with nothing in it is a binary file', async () => {
  const here = await place();
  const file = openSync(join(here.root, 'sparse'), 'w');
  ftruncateSync(file, 1_000_000_000_000);
  closeSync(file);
  expect(await here.output('read_file', { path: 'sparse' })).toBe(
    'It is a binary file of 1000.0 GB and cannot be shown.',
  );
  expect(await here.output('search_file_content', { pattern: 'x' })).toEqual({ matches: [] });
});

test('thousands of files in one directory are listed in part, with their number', async () => {
  const here = await place();
  for (let index = 0; index < 2000; index += 1) writeFileSync(join(here.root, `f${index}`), '');
  const { result, ticks } = await ticksDuring(here.call('list_directory', { path: '.' }));
  expect(result.response).toMatchObject({
    output: { note: 'the first 1000 of 2000; use glob with a pattern for the rest' },
  });
  expect(ticks).toBeGreaterThan(0);
}, 60_000);

posixTest('a tree that is deeper than paths can be is walked as far as they go', async () => {
  const here = await place();
  let path = here.root;
  for (let depth = 0; depth < 60 && path.length < 3800; depth += 1) {
    path = join(path, 'd'.repeat(60));
    mkdirSync(path);
  }
  writeFileSync(join(path, 'deep.txt'), 'needle\n');
  execFileSync('sh', [
    '-c',
    'cd "$0" && mkdir -p x/y && cd x/y && mkdir "$1" && cd "$1" && mkdir "$1"',
    path,
    'e'.repeat(200),
  ]);
  const output = await here.output('search_file_content', { pattern: 'needle', names_only: true });
  expect(JSON.stringify(output)).toContain('deep.txt');
});

posixTest('names with line feeds, escapes and dashes come back as they are', async () => {
  const names = ['a\nb.txt', '\u001b[31mred.txt', '-rf', 'quote".txt', ' space ', '\u202egpj.exe', '*.txt'];
  const here = await place(Object.fromEntries(names.map((name) => [name, 'needle\n'])));
  const found = await here.output('search_file_content', { pattern: 'needle', names_only: true });
  expect(found).toEqual({ files: [...names].sort() });
  expect(JSON.parse(JSON.stringify(found))).toEqual(found);
  for (const name of names) expect(await here.output('read_file', { path: name })).toBe('needle');
});
