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
import {
  beginsWith,
  isRelativeProgram,
  listProgramNames,
  parseShellLine,
} from '../../../src/core/text/command-line.ts';
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
    `#!/bin/sh\n{ printf %s ${program}; for word; do printf '\\037%s' "$word"; done; } > "${directory}/here/$LOG.$$"\n`;
  mkdirSync(join(directory, 'bin'));
  mkdirSync(join(directory, 'here/sub'), { recursive: true });
  for (const program of PROGRAMS) writeFileSync(join(directory, 'bin', program), stub(program));
  for (const place of ['here', 'here/sub'])
    writeFileSync(join(directory, place, 'run'), stub(place === 'here' ? './run' : 'evil'));
  for (const path of [...PROGRAMS.map((name) => `bin/${name}`), 'here/run', 'here/sub/run'])
    chmodSync(join(directory, path), 0o755);
});

afterAll(() => rmSync(directory, { recursive: true, force: true }));

interface Observation {
  /** How programs were called. */
  readonly calls: readonly (readonly string[])[];
  /** What else is left behind. */
  readonly made: readonly string[];
}

/** Builtins and whole paths only: the lines find no programs but those of this test. */
const DRIVER = `number=0
while IFS= read -r line; do
  cd here
  LOG="../log/$number" "$1" -c "$line" </dev/null
  for name in * .[!.]*; do
    case $name in
      run | sub | '*' | '.[!.]*') ;;
      *) printf '%s\\n' "$name" >> "../log/$number.made"; /bin/rm -r -- "$name" ;;
    esac
  done
  cd ..
  number=$((number + 1))
done`;

/** What a real shell runs for each line. One process runs them all: to start one from here takes much longer. */
function observe(shell: string, lines: readonly string[]): readonly Observation[] {
  const log = join(directory, 'log');
  mkdirSync(log);
  const { status, stderr } = spawnSync('/bin/sh', ['-c', DRIVER, 'driver', shell], {
    cwd: directory,
    env: { PATH: join(directory, 'bin'), HOME: join(directory, 'here'), LC_ALL: 'C.UTF-8' },
    input: lines.map((text) => `${text}\n`).join(''),
    encoding: 'utf8',
    timeout: 60_000,
  });
  if (status !== 0) throw new Error(`the lines were not run: ${status} ${stderr}`);
  const names = readdirSync(log);
  const readLog = (name: string): string => readFileSync(join(log, name), 'utf8');
  const seen = lines.map((_, number) => {
    const own = names.filter((name) => name.startsWith(`${number}.`));
    return {
      // A file for each process: those of a pipeline run at the same time.
      calls: own.filter((name) => !name.endsWith('.made')).map((name) => readLog(name).split('\u001f')),
      made: own.filter((name) => name.endsWith('.made')).flatMap((name) => readLog(name).trimEnd().split('\n')),
    };
  });
  rmSync(log, { recursive: true });
  return seen;
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
    'coproc',
    'xargs evil',
    'sh -c evil',
    'find . -exec evil',
    'git -c alias.ok=!evil',
    '>(evil)',
    '[[',
    ']]',
    'function ok',
    '~+',
    '$((',
    '\u0085',
    '\u2029',
    '\u001b',
    '\u007f',
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
    const seed = Number(process.env.GMN_SEED ?? Math.floor(Math.random() * 2 ** 31));
    // Only what is allowed has to be run.
    const allowed = fc.sample(line, { numRuns: 2000, seed }).filter(isAllowed);
    expect(allowed.length).toBeGreaterThan(100);
    for (const shell of SHELLS) {
      for (const [number, { calls, made }] of observe(shell, allowed).entries()) {
        const text = allowed[number] ?? '';
        expect([seed, shell, text, calls.filter((call) => !isBare(call)), made]).toEqual([seed, shell, text, [], []]);
        // It was understood: the programs that ran are among the parts, word for word.
        const parts = parseShellLine(text) ?? [];
        for (const call of calls) expect([seed, text, parts]).toEqual([seed, text, expect.arrayContaining([call])]);
        expect([seed, text, calls.length > 0]).toEqual([seed, text, true]);
      }
    }
  },
);

posixTest('the oracle sees what a line runs: chained, substituted, moved, redirected', () => {
  const [shell = ''] = SHELLS;
  const rows = [
    ['ok; evil', [['evil'], ['ok']], []],
    ['ok "$(evil)"', [['evil'], ['ok', '']], []],
    ['cd sub && ./run', [['evil']], []],
    ["npm test 'a b'", [['npm', 'test', 'a b']], []],
    ['ok > made', [['ok']], ['made']],
    ['ok > .hidden', [['ok']], ['.hidden']],
    ['nothing', [], []],
  ] as const;
  const seen = observe(
    shell,
    rows.map(([text]) => text),
  );
  expect(seen.map(({ calls, made }) => [calls.toSorted(), made])).toEqual(rows.map(([, calls, made]) => [calls, made]));
});

test('a rule knows a program by its path, its case and its ending', () => {
  expect(listProgramNames('/bin/RM.exe')).toEqual(['/bin/RM.exe', 'RM.exe', 'rm']);
  expect(['./run', 'sub/run', '/bin/run', 'run'].map(isRelativeProgram)).toEqual([true, true, false, false]);
});
