import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { beginsWith, findAllowableWords, parseShellLine } from '../../../src/core/text/command-line.ts';
import { posixTest } from '../../support/posix.ts';

test.each([
  ['npm test', [['npm', 'test']]],
  ['  npm\ttest  ', [['npm', 'test']]],
  ["grep -n 'a b|c;$d`e`\\' src/a.ts", [['grep', '-n', 'a b|c;$d`e`\\', 'src/a.ts']]],
  ['git commit -m "修正: it\'s done!"', [['git', 'commit', '-m', "修正: it's done!"]]],
  ["'n'p\"m\" te''st", [['npm', 'test']]],
  ['git diff HEAD~1 HEAD^^', [['git', 'diff', 'HEAD~1', 'HEAD^^']]],
  ['a && b||c;d | e', [['a'], ['b'], ['c'], ['d'], ['e']]],
  ['make CC=gcc --x=y', [['make', 'CC=gcc', '--x=y']]],
  ['echo "" \'\'', [['echo', '', '']]],
])('%j is understood', (line, parts) => {
  expect(parseShellLine(line)).toEqual(parts);
});

/** What a shell would do with it is not in its words alone. */
const NOT_UNDERSTOOD = {
  nothing: ['', ' ', '\t', "''", '""', "'' test"],
  substitution: ['a $(b)', 'a `b`', 'a "$(b)"', 'a "`b`"', 'a $b', `a "\${b}"`, "a $'b'", 'a $((1))', '$a', '`a`'],
  redirection: ['a > b', 'a >> b', 'a < b', 'a 2>&1', 'a &> b', 'a <<E\nb\nE', 'a <<< b', 'a <(b)', 'a >| b', 'a 2>b'],
  operators: [
    'a & b',
    'a &',
    'a |& b',
    'a &&',
    '&& a',
    'a ; ; b',
    'a ;; b',
    'a;',
    '| a',
    'a || || b',
    'a &&& b',
    'a|&&b',
  ],
  groups: [
    '(a)',
    '{ a; }',
    'a() { b; }',
    '! a',
    '[[ a ]]',
    '((1))',
    'if a; then b; fi',
    'for a in b; do c; done',
    'a )',
  ],
  assignments: ['A=b c', 'PATH=. npm test', "A='b' c", 'A+=b c', 'a=b', "'A=b' c", 'x && A=b c'],
  lines: ['a\nb', 'a\rb', 'a\r\nb', 'a "b\nc"', "a 'b\nc'", 'a \\\nb', 'a\u2028b', 'a\u0085b', 'a\0b', "a '\0'"],
  blanks: ['a\u00a0b', 'a\u3000b', 'a\u200bb', 'a\vb', 'a\fb', '\u00a0a', 'à b', 'a à'],
  comments: ['a # b', '#a', 'a#b'],
  escapes: ['a \\b', 'a "b\\"', '\\a', 'a\\ b', 'a "\\$b"'],
  patterns: ['a *', 'a ?', 'a [b]', 'a {b,c}', 'a ~', 'a ~/b', 'a ~b', 'a ^b', 'a !b', 'a !!', 'a b=~'],
  programs: ['=ls', 'a =ls', '%1 &', 'a (b)'],
  quotes: ["a 'b", 'a "b', "a '", '"', 'a \'b"', "a ''' b"],
  'what changes the shell': [
    ...[
      'cd sub',
      'cd sub && npm test',
      '. ./a',
      'source a',
      'eval a',
      'exec a',
      'command a',
      'builtin cd',
      'alias a=b',
    ],
    ...[
      'export PATH',
      'printf -v PATH x',
      'read PATH',
      'set -e',
      'trap a EXIT',
      'hash -p a b',
      'test -v a',
      '[ a ]',
      'time a',
    ],
    ...[
      'unset PATH',
      'noglob a',
      'repeat 2 a',
      'coproc a',
      '- a',
      "'eval' a",
      'a | read b',
      'wait -p PATH',
      'typeset a',
    ],
  ],
} as const;

test.each(Object.entries(NOT_UNDERSTOOD))('%s: nothing of it is understood', (_, lines) => {
  for (const line of lines) expect([line, parseShellLine(line)]).toEqual([line, undefined]);
});

test.each([
  ['npm test', ['npm', 'test']],
  ['npm test -- -t x', ['npm', 'test']],
  ['npm run build:all', ['npm', 'run']],
  ['ls -la', ['ls']],
  ['ls', ['ls']],
  ['eslint --fix src', ['eslint']],
  ['eslint src/a.ts', ['eslint']],
  ['./gradlew build', ['./gradlew', 'build']],
  ['git status -s', ['git', 'status']],
  ['python3.12 manage', ['python3.12', 'manage']],
])('%j can be allowed by its words', (line, words) => {
  expect(findAllowableWords(line)).toEqual(words);
});

test.each([
  ...[
    'git',
    'git -C sub status',
    'git -c a=b status',
    'git clone x',
    'git submodule foreach',
    'git rebase -x y',
    '/usr/bin/git push',
  ],
  ...[
    'python3 -c "x"',
    'python3.12 a.py',
    'node -e 1',
    'node',
    'perl -e 1',
    'awk 1 a',
    'sed -i 1d a',
    'make',
    'make -j2',
    'tar xf a',
    'sort a',
    'rg x',
    'curl x',
  ],
  ...[
    'bash build',
    'sh -c ls',
    'sudo npm test',
    'env ls',
    'xargs rm',
    'find . -exec',
    'find',
    'timeout 5 npm',
    'npx eslint',
    'ssh host',
  ],
  ...['docker run x', 'npm exec x', 'npm x y', 'yarn dlx a', '/bin/bash', 'nice -n 5 ls', 'go run x', 'watch ls'],
  ...['npm test && ls', 'ls | cat', 'ls > a', 'cd sub', `${'a'.repeat(41)} b`, "'a b' c"],
])('no words are offered for %j', (line) => {
  expect(findAllowableWords(line)).toBeUndefined();
});

const ALLOWED = [['ok'], ['npm', 'test'], ['./run'], ['ls', '-la']];

/** As a permission is matched: each part on its own. */
function isAllowed(line: string): boolean {
  return parseShellLine(line)?.every((part) => ALLOWED.some((words) => beginsWith(part, words))) ?? false;
}

/** Programs that write down how they were called, and a shell that finds no others. */
let directory = '';
const PROGRAMS = ['ok', 'npm', 'ls', 'evil', 'E', 'a', 'test', 'HEAD'];
const found = ['sh', 'bash', 'dash', 'zsh', 'ksh', 'mksh'].flatMap((name) =>
  ['/bin', '/usr/bin', '/usr/local/bin', '/opt/homebrew/bin'].map((place) => join(place, name)).filter(existsSync),
);
const SHELLS = [...new Set(found.map((path) => realpathSync(path)))];

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'gmn-oracle-'));
  const stub = (program: string): string =>
    `#!/bin/sh\n{ printf %s ${program}; for word; do printf '\\037%s' "$word"; done; } > "${directory}/log/$$"\n`;
  mkdirSync(join(directory, 'bin'));
  mkdirSync(join(directory, 'work/sub'), { recursive: true });
  for (const program of PROGRAMS) writeFileSync(join(directory, 'bin', program), stub(program));
  for (const place of ['work', 'work/sub'])
    writeFileSync(join(directory, place, 'run'), stub(place === 'work' ? './run' : 'evil'));
  for (const path of [...PROGRAMS.map((name) => `bin/${name}`), 'work/run', 'work/sub/run'])
    chmodSync(join(directory, path), 0o755);
});

afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** What a real shell runs for a line, and what else it leaves behind. */
function observe(shell: string, line: string) {
  const log = join(directory, 'log');
  mkdirSync(log);
  spawnSync(shell, ['-c', line], {
    cwd: join(directory, 'work'),
    env: { PATH: join(directory, 'bin'), HOME: join(directory, 'work'), LC_ALL: 'C.UTF-8' },
    timeout: 10_000,
  });
  // A file for each process: those of a pipeline run at the same time.
  const calls = readdirSync(log).map((name) => readFileSync(join(log, name), 'utf8').split('\u001f'));
  rmSync(log, { recursive: true });
  const made = readdirSync(join(directory, 'work')).filter((name) => name !== 'run' && name !== 'sub');
  for (const name of made) rmSync(join(directory, 'work', name), { recursive: true });
  return { calls, made };
}

const PIECES = [
  ...['ok', 'npm', 'test', 'npm test', './run', 'ls', '-la', 'evil', 'a', 'E', 'sub', 'HEAD', 'PATH', 'x=1', '='],
  ...[' ', ' ', ' ', ' ', '\t', '\n', '\r', '\r\n', '\u00a0', '\u3000', '\u2028', '\u200b', '\v', '\0'],
  ...[
    '&&',
    '||',
    ';',
    '|',
    '&',
    '|&',
    ';;',
    '(',
    ')',
    '{',
    '}',
    '{a,b}',
    '!',
    '!!',
    '>',
    '>>',
    '<',
    '2>&1',
    '&>',
    '<<E\n',
    '<<<',
  ],
  ...[
    "'",
    '"',
    '\\',
    '\\\n',
    '$',
    '$(evil)',
    '`evil`',
    `\${x:=evil}`,
    "$'\\n'",
    '$IFS',
    '<(evil)',
    '#',
    ' # ',
    '~',
    '^',
    '*',
    '?',
    '[a]',
  ],
  ...[
    'cd sub',
    'eval',
    'exec',
    'command',
    'env',
    'alias ok=evil',
    'printf -v PATH .',
    'export',
    'time',
    'if',
    'then',
    'fi',
    'do',
    'à',
    '修',
  ],
];

const line = fc.oneof(
  fc.array(fc.constantFrom(...PIECES), { maxLength: 12 }).map((pieces) => pieces.join('')),
  fc.array(fc.constantFrom(...PIECES), { maxLength: 8 }).map((pieces) => ['ok', ...pieces].join(' ')),
  // Nearly allowed: with quotes around, and something at an end.
  fc
    .tuple(
      fc.constantFrom('ok', 'npm test', './run', 'ls -la', 'ok && npm test', 'ok | ok'),
      fc.constantFrom('', ' ', '"', "'", ' "', " '"),
      fc.array(fc.constantFrom(...PIECES), { maxLength: 3 }).map((pieces) => pieces.join('')),
      fc.constantFrom('', '"', "'", ' && ok', '; evil', ' | npm test'),
    )
    .map((parts) => parts.join('')),
);

posixTest(
  'no line that is allowed runs anything else, in any shell, nor leaves a file behind',
  { timeout: 60_000 },
  () => {
    expect(SHELLS.length).toBeGreaterThan(0);
    const isBare = (call: readonly string[]): boolean => ALLOWED.some((words) => beginsWith(call, words));
    let allowed = 0;
    fc.assert(
      fc.property(line, (text) => {
        // Only what is allowed has to be run: a shell is slow.
        if (!isAllowed(text)) return;
        allowed += 1;
        for (const shell of SHELLS) {
          const { calls, made } = observe(shell, text);
          expect([shell, text, calls.filter((call) => !isBare(call)), made]).toEqual([shell, text, [], []]);
          // It was understood: the programs that ran are among the parts, word for word.
          const parts = parseShellLine(text) ?? [];
          for (const call of calls) expect([text, parts]).toEqual([text, expect.arrayContaining([call])]);
          expect([text, calls.length > 0]).toEqual([text, true]);
        }
      }),
      { numRuns: 2000 },
    );
    expect(allowed).toBeGreaterThan(100);
  },
);

posixTest('the oracle sees what a line runs: chained, substituted, moved, redirected', () => {
  const [shell = ''] = SHELLS;
  for (const [text, expected] of [
    ['ok; evil', [['evil'], ['ok']]],
    ['ok "$(evil)"', [['evil'], ['ok', '']]],
    ['cd sub && ./run', [['evil']]],
    ["npm test 'a b'", [['npm', 'test', 'a b']]],
  ] as const) {
    expect([text, observe(shell, text).calls.toSorted()]).toEqual([text, expected]);
  }
  expect(observe(shell, 'ok > made').made).toEqual(['made']);
});
