import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { call } from '../../support/gemini.ts';
import { fifo } from '../../support/posix.ts';
import { type Fault, PLAIN_PIPE, row, type Variant } from '../fault.ts';
import { asStranger, needsStranger } from '../poor-disks.ts';
import type { Scene } from '../scene.ts';
import { reply } from '../wire-answers.ts';
import { told } from './runs.ts';

/** The model lists, finds and searches everything; what it was told is looked at. */
const LOOKING = {
  ways: PLAIN_PIPE,
  args: ['--tools', 'read', 'go'],
  model: [
    reply(
      call('list_directory', { dir_path: '.' }),
      call('glob', { pattern: '**/*.txt' }),
      call('search_file_content', { pattern: 'needle' }),
    ),
    reply('done'),
  ],
  expect: { code: 0, text: 'done' },
} as const satisfies Partial<Variant>;

/** How often the model was told of a file, by its results alone. */
function results(scene: Scene): readonly string[] {
  const { contents } = JSON.parse(told(scene));
  return contents.at(-1).parts.map((part: object) => JSON.stringify(part));
}

/** The rows W1 to W9. */
export const WORKSPACE: readonly Fault[] = [
  row(
    'W1',
    'directory with 100,000 files',
    [],
    ['test/tools/hostile.test.ts', 'thousands of files in one directory are listed in part, with their number'],
    [
      'test/tools/search/many-files.test.ts',
      'among many thousands of files a name is found, while the event loop runs',
    ],
  ),
  row(
    'W2',
    'tree of 1 M files, depth 2,000, 4,096-byte paths',
    [],
    ['test/tools/hostile.test.ts', 'a tree that is deeper than paths can be is walked as far as they go'],
    ['test/tools/hostile.test.ts', 'a search that takes too long over many files ends in time, with what it has found'],
    [
      'test/tools/search/many-files.test.ts',
      'among many thousands of files a line is found, while the event loop runs',
    ],
  ),
  row('W3', 'symlink loops, self links, 41-deep chains', [
    {
      ...LOOKING,
      name: 'all of them around one file',
      files: { 'sub/a.txt': 'needle\n' },
      play(scene) {
        const link = (target: string, name: string): void => symlinkSync(target, join(scene.cwd, name));
        for (const [target, name] of [
          ['self', 'self'],
          ['b', 'a'],
          ['a', 'b'],
          ['..', 'sub/up'],
          ['.', 'sub/here'],
        ] as const) {
          link(target, name);
        }
        link('sub', 'chain-0');
        for (let index = 1; index <= 41; index += 1) link(`chain-${index - 1}`, `chain-${index}`);
        return scene.run();
      },
      check(scene) {
        const [, found = '', matched = ''] = results(scene);
        expect([found.split('a.txt').length, matched.split('a.txt').length]).toEqual([2, 2]);
      },
    },
  ]),
  row(
    'W4',
    'FIFO/socket/device, unreadable dirs, names with line feeds',
    [
      {
        ...LOOKING,
        name: 'FIFOs, and names with line feeds and escapes',
        files: { 'a.txt': 'needle\n' },
        play(scene) {
          fifo(...Array.from({ length: 8 }, (_, index) => join(scene.cwd, `fifo-${index}.txt`)));
          writeFileSync(join(scene.cwd, 'two\nlines\u001b[2J.txt'), 'needle\n');
          return scene.run();
        },
        check(scene) {
          const [, found = '', matched = ''] = results(scene);
          expect(found).toContain('two\\nlines\\u001b[2J.txt');
          expect(matched).toContain('a.txt');
        },
      },
      {
        ...LOOKING,
        name: 'a directory that may not be looked into',
        skip: needsStranger,
        files: { 'a.txt': 'needle\n', 'closed/b.txt': 'needle\n' },
        play(scene) {
          const under = asStranger(scene);
          chmodSync(join(scene.cwd, 'closed'), 0o000);
          return scene.run(undefined, { under });
        },
        check(scene) {
          const [, found = '', matched = ''] = results(scene);
          expect(found + matched).toContain('a.txt');
          expect(found + matched).not.toContain('b.txt');
        },
      },
    ],
    ['test/tools/hostile.test.ts', 'eight FIFOs and a socket are refused by every tool, and hold nothing up'],
    ['test/tools/search/many-files.test.ts', 'devices are refused by every tool, by whatever way they are named'],
  ),
  row(
    'W5',
    '2 GB single file, one 500 MB line, sparse 1 TB',
    [],
    ['test/tools/hostile.test.ts', 'a line of 500 MB is read and searched in part, and the answer says so'],
    ['test/tools/hostile.test.ts', 'a file of a terabyte with nothing in it is a binary file'],
    ['test/tools/files.test.ts', 'a file of more than 20 MB is read by lines'],
  ),
  row(
    'W6',
    'file changes while being read, is deleted, is truncated',
    [],
    ['test/tools/workspace/workspace.test.ts', 'a file that vanishes between two checks is reported as missing'],
    ['test/tools/workspace/workspace.test.ts', 'what somebody writes at the last moment is not lost'],
    [
      'test/tools/workspace/race.test.ts',
      'reading and searching while a directory is swapped for a link shows nothing from outside',
    ],
  ),
  row(
    'W7',
    '.gitignore bombs (10 MB, pathological patterns), missing, negations',
    [
      {
        ...LOOKING,
        name: 'stars, and a negation',
        files: {
          '.gitignore': `${'*a'.repeat(20)}b\n*.log\n!kept.log\n`,
          'a.txt': 'needle\n',
          'x.log': 'needle\n',
          'kept.log': 'needle\n',
        },
        check(scene) {
          const [, , matched = ''] = results(scene);
          expect(['a.txt', 'kept.log', 'x.log'].map((name) => matched.includes(name))).toEqual([true, true, false]);
        },
      },
      {
        ...LOOKING,
        name: '10 MB',
        files: { '.gitignore': 'x\n'.repeat(5_000_000), 'a.txt': 'needle\n' },
      },
    ],
    ['test/tools/hostile.test.ts', 'an ignore file full of stars does not hold up a walk'],
    [
      'test/tools/hostile.test.ts',
      'where an ignore file is too large to be asked, nothing is shown rather than too much',
    ],
  ),
  row(
    'W8',
    'encodings: Latin-1, Shift-JIS, UTF-16LE/BE ± BOM, UTF-32, mixed',
    [],
    ['test/tools/files.test.ts', 'UTF-16 is read as text, pictures are attached, other bytes are not shown'],
    ['test/tools/edits.test.ts', 'a file that is not Unicode is left alone'],
  ),
  row(
    'W9',
    'case-insensitive or NFD file system',
    [
      {
        name: 'protected names in other letters',
        ways: PLAIN_PIPE,
        args: ['--tools', 'edit', '--yolo', 'go'],
        model: [
          reply(
            ...['.GIT/config', '.Git/hooks/x', '.GEMINI/settings.json', '.ｇit/config', '.vsCode/tasks.json'].map(
              (path) => call('write_file', { file_path: path, content: 'x' }),
            ),
          ),
          reply('done'),
        ],
        play(scene) {
          mkdirSync(join(scene.cwd, '.git'));
          return scene.run();
        },
        expect: { code: 0, text: 'done' },
        check: (scene) => expect(results(scene).filter((result) => !result.includes('"error"'))).toEqual([]),
      },
    ],
    ['test/tools/workspace/protection.test.ts', 'none of 160 writes to protected paths lands, the file %s'],
  ),
];
