import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { type GitConfigEntry, parseGitConfig } from '../../../src/core/text/git-config.ts';

const directory = mkdtempSync(join(tmpdir(), 'gmn-git-config-'));
const file = join(directory, 'config');
afterAll(() => rmSync(directory, { recursive: true }));

const env = { PATH: process.env.PATH, GIT_CONFIG_NOSYSTEM: '1', HOME: directory };

/** As git reads it; undefined if git refuses it. */
function readByGit(text: string): readonly GitConfigEntry[] | undefined {
  writeFileSync(file, text);
  const { status, stdout } = spawnSync('git', ['config', '--file', file, '-z', '--list', '--no-includes'], {
    env,
    encoding: 'utf8',
  });
  if (status !== 0) return undefined;
  const entries = stdout.split('\0').slice(0, -1);
  return entries.map((entry) => {
    const end = entry.indexOf('\n');
    return end === -1 ? { key: entry, value: '' } : { key: entry.slice(0, end), value: entry.slice(end + 1) };
  });
}

const toBlanks = ({ key, value }: GitConfigEntry) => ({ key, value: value.replaceAll('\t', ' ') });

const hasGit = spawnSync('git', ['--version']).status === 0;
const gitTest = test.skipIf(!hasGit);

gitTest.for([
  '[core]\n\thooksPath = .githooks\n',
  '[Core] HooksPath=a b # comment\n[filter "L F\\"S\\\\x"]\n clean = "a # b ; c" ; d\n',
  '[a]\r\nb = c\r\n  d\r\n[a "B"]\n e\n',
  '[include]\n  path = one\\\n two\\\n  "three"\n',
  '[a.B]\nx = "\\t\\n\\"\\\\ " y   \n',
  '\uFEFF[a]\nb = 1\n[c "d"] e = 2\n; x\n# y\n\n[f]\n',
  '[a]\nb = # nothing\nc = ""\n',
])('a configuration is read as by git: %j', (text) => {
  const expected = readByGit(text);
  expect(expected).toBeDefined();
  expect(parseGitConfig(text)).toEqual(expected);
});

gitTest('what git writes is read back', () => {
  const value = fc.string({ unit: fc.constantFrom(...'ab/.~!$"\\#;= \t\n[]-é'.split('')), maxLength: 20 });
  const name = fc.string({ unit: fc.constantFrom(...'aB"\\]. é'.split('')), minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(fc.array(fc.tuple(name, value), { maxLength: 3 }), (entries) => {
      writeFileSync(file, '');
      for (const [section, written] of entries)
        spawnSync('git', ['config', '--file', file, '--add', `filter.${section}.clean`, written], { env });
      const text = spawnSync('cat', [file], { encoding: 'utf8' }).stdout;
      expect(parseGitConfig(text)).toEqual(readByGit(text));
    }),
    { numRuns: 25 },
  );
});

gitTest('any text that git takes is read as by git, and no other makes the reader throw', () => {
  const piece = fc.constantFrom(
    '[core]',
    '[a "b"]',
    'x = 1',
    'path',
    '=',
    '"',
    '\\',
    '\n',
    ' ',
    '\t',
    '#',
    ';',
    'y',
    '\\n',
    '\r\n',
    ']',
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const text = pieces.join('');
      const expected = readByGit(text);
      const found = parseGitConfig(text);
      // Until version 2.45, git made a blank of a tab.
      if (expected !== undefined) expect(found.map(toBlanks)).toEqual(expected.map(toBlanks));
    }),
    { numRuns: 150 },
  );
});
