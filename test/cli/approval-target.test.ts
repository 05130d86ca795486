import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { targetFiles } from '../../src/approval/targets.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { place } from '../tools/place.ts';

test('the file a call would write is given by its real path, under every name, and for writers only', async () => {
  const { root, tools, workspace } = await place({ 'a.txt': 'a\n' });
  symlinkSync('a.txt', join(root, 'link'));
  const { findTarget } = targetFiles(workspace, () => false);
  const target = (name: string, args: JsonObject) => findTarget?.(tools.get(name)!, args);
  for (const name of ['a.txt', './a.txt', 'link', join(root, 'x/../a.txt')])
    expect(await target('edit_file', { path: name })).toBe(join(root, 'a.txt'));
  expect(await target('write_file', { file_path: 'new/b.txt' })).toBe(join(root, 'new/b.txt'));
  for (const args of [{ file_path: '../b' }, { file_path: '.git/config' }, { file_path: 7 }, {}])
    expect(await target('write_file', args)).toBe(undefined);
  expect(await target('read_file', { file_path: 'a.txt' })).toBe(undefined);
});

test('the directory of a command is given by its real path', async () => {
  const { root, tools, workspace } = await place({ 'sub/a.txt': 'a\n' });
  symlinkSync('sub', join(root, 'link'));
  const { findDirectory } = targetFiles(workspace, () => false);
  const shell = tools.get('run_shell_command')!;
  for (const dir_path of ['sub', './sub/', 'link', join(root, 'sub')])
    expect(await findDirectory(shell, { dir_path })).toBe(join(root, 'sub'));
  expect(await findDirectory(shell, {})).toBe(root);
  expect(await findDirectory(shell, { dir_path: '..' })).toBe(undefined);
  expect(await findDirectory(tools.get('read_file')!, {})).toBe(undefined);
});

test('the programs of a command are found with what they may do, for shells that read as POSIX ones do', async () => {
  const { root, tools, workspace } = await place({ 'a.txt': 'a\n' });
  const { findParts } = targetFiles(workspace, () => false);
  const find = (name: string, command: string) => findParts(tools.get(name)!, { command }, root);
  const parts = await find('run_shell_command', 'cat a.txt | wc');
  expect(parts).toMatchObject([
    { words: ['cat', 'a.txt'], allows: { least: 1, offered: 1 } },
    { words: ['wc'], allows: { least: 1, offered: 1 } },
  ]);
  expect([['cat'], ['cat', 'a.txt'], ['wc']].map((rule) => parts?.[0]?.compare?.(rule))).toEqual(['yes', 'yes', 'no']);
  expect(await find('run_shell_command', 'cat $x')).toBeUndefined();
  expect(await find('read_file', 'cat a.txt')).toBeUndefined();
});
