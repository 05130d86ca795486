import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { expect, test } from 'vitest';
import { createOutputStore } from '../../../src/platform/files/run-directory.ts';
import { posixTest } from '../../support/posix.ts';
import { place, placeAt, temporary } from '../../tools/place.ts';

const NOW = Date.UTC(2030, 0, 2);
const now = () => NOW;

/** More files than one answer lists. */
function crowded(text = `${'x'.repeat(480)}\n`.repeat(3)): string {
  return temporary(Object.fromEntries(Array.from({ length: 1005 }, (_, index) => [`f${index}`, text])));
}

test('what is kept can be read, and neither be written, listed, searched, nor run in', async () => {
  const shelf = createOutputStore(join(temporary(), 'output'), now);
  const here = await place({}, { outputs: shelf });
  const path = (await here.workspace.keep('one\ntwo\n'))!;
  expect(await here.output('read_file', { file_path: path })).toBe('one\ntwo');
  expect(await here.output('read_file', { file_path: path, start_line: 2 })).toContain('two');
  for (const [name, args] of [
    ['write_file', { file_path: path, content: 'x' }],
    ['edit_file', { file_path: path, old_string: 'one', new_string: 'x' }],
    ['list_directory', { dir_path: join(path, '..') }],
    ['glob', { pattern: '*', dir_path: join(path, '..') }],
    ['search_file_content', { pattern: 'o', dir_path: join(path, '..') }],
  ] as const) {
    expect(await here.error(name, args)).toContain('is outside the workspace');
  }
  await expect(here.workspace.openDirectory(join(path, '..'))).rejects.toThrow('is outside the workspace');
  expect(readFileSync(path, 'utf8')).toBe('one\ntwo\n');
});

test('only this run can read it, and only by this very path', async () => {
  const parent = join(temporary(), 'output');
  const mine = createOutputStore(parent, now);
  const other = await place({}, { outputs: createOutputStore(parent, now) });
  const here = await place({}, { outputs: mine });
  const path = (await here.workspace.keep('canary'))!;
  expect(await other.error('read_file', { file_path: path })).toContain('is outside the workspace');
  for (const spelling of [
    join(path, '../2.txt'),
    `${path}/../1.txt`,
    path.replace(/(?=[\\/]1\.txt)/, sep),
    join(path, '..'),
  ])
    expect(await here.error('read_file', { file_path: spelling })).toContain('is outside the workspace');
});

posixTest('it is for the eyes of the user alone', async () => {
  const parent = join(temporary(), 'output');
  const path = (await createOutputStore(parent, now).save('text'))!;
  expect([path, join(path, '..'), parent].map((each) => statSync(each).mode & 0o777)).toEqual([0o600, 0o700, 0o700]);
});

test('what a run left behind goes after a day, what is younger stays', async () => {
  const parent = join(temporary(), 'output');
  for (const [name, hours] of [
    ['old', 25],
    ['young', 23],
  ] as const) {
    mkdirSync(join(parent, name), { recursive: true });
    writeFileSync(join(parent, name, '1.txt'), 'text');
    const time = NOW / 1000 - hours * 3600;
    utimesSync(join(parent, name), time, time);
  }
  const path = (await createOutputStore(parent, now).save('text'))!;
  expect(existsSync(path)).toBe(true);
  expect(readdirSync(parent).filter((name) => ['old', 'young'].includes(name))).toEqual(['young']);
});

test('a text that cannot be kept is lost, and nothing else', async () => {
  const file = join(temporary({ file: '' }), 'file');
  expect(await createOutputStore(file, now).save('text')).toBe(undefined);
});

test('texts that are kept at the same time have paths of their own', async () => {
  const shelf = createOutputStore(join(temporary(), 'output'), now);
  const texts = Array.from({ length: 20 }, (_, index) => `text ${index}`);
  const paths = await Promise.all(texts.map((text) => shelf.save(text)));
  expect(paths.map((path) => readFileSync(path!, 'utf8'))).toEqual(texts);
});

test('a line of any length can be read to its end', async () => {
  const here = await place({}, { outputs: createOutputStore(join(temporary(), 'output'), now) });
  const path = (await here.workspace.keep(`${'😀'.repeat(3000)}\nshort\n`))!;
  const text = String(await here.output('read_file', { file_path: path }));
  expect(text.replaceAll('\n', '')).toBe(`${'😀'.repeat(3000)}short`);
});

test('names that a list leaves out, and lines that a search leaves out, are in a file the model is told of', async () => {
  const root = crowded();
  const here = await placeAt(root, { outputs: createOutputStore(join(temporary(), 'output'), now) });
  const list = (await here.output('list_directory', { dir_path: '.' })) as { entries: unknown[]; note: string };
  expect(list.entries).toHaveLength(1000);
  const [, names] = /^the first 1000 of 1005; read_file (.*) shows all names$/.exec(list.note) ?? [];
  expect(readFileSync(names!, 'utf8').split('\n').sort()).toEqual(readdirSync(root).sort());

  const args = { pattern: 'x', total_max_matches: 1000 };
  const found = (await here.output('search_file_content', args)) as {
    matches: { lines: string[] }[];
    note: string;
  };
  const [, told, file] = /the first (\d+) of 1000 lines; read_file (.*) shows all$/.exec(found.note) ?? [];
  expect(found.matches.flatMap(({ lines }) => lines)).toHaveLength(Number(told));
  expect(JSON.stringify(found.matches).length).toBeLessThan(300_000);
  expect(readFileSync(file!, 'utf8').match(/^\d: x/gm)).toHaveLength(1000);
});

test('where no output is stored, the model learns how to ask for less', async () => {
  const root = crowded();
  const here = await placeAt(root);
  const list = (await here.output('list_directory', { dir_path: '.' })) as { note: string };
  expect(list.note).toBe('the first 1000 of 1005; use glob with a pattern for the rest');
  const args = { pattern: 'x', total_max_matches: 1000 };
  const found = (await here.output('search_file_content', args)) as { note: string };
  expect(found.note).toMatch(/of 1000 lines; ask for fewer, or in a smaller directory$/);
});

test('names that a glob leaves out are in a file the model is told of', async () => {
  const root = crowded('');
  const here = await placeAt(root, { outputs: createOutputStore(join(temporary(), 'output'), now) });
  const { files, note } = (await here.output('glob', { pattern: '*' })) as { files: string[]; note: string };
  expect(files).toHaveLength(1000);
  const [, path] = /^the first 1000 of 1005; read_file (.*) shows all$/.exec(note) ?? [];
  expect(readFileSync(path!, 'utf8').split('\n').sort()).toEqual(readdirSync(root).sort());
});
