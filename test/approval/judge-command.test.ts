import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FAMILIES, isCoverable, judgeCommand } from '../../src/approval/judge-command.ts';
import { type Family, FILES, KINDS, TASKS } from '../../src/approval/known-commands.ts';

/** A word of each kind that the table has. */
const SAMPLES: Readonly<Record<string, string>> = {
  ...{ path: 'a/b.c', paths: 'a/b.c', directory: 'a', here: '.', script: 'a.py', text: 'x y', texts: 'x', number: '5' },
  ...{ word: 'x', words: 'x', names: 'a/b', ids: 'a', packages: '@a/b', task: 'a:b', tasks: 'a', phases: 'test' },
  ...{ range: '1,2p', gitformat: '%h', filter: '.a', resource: 'pods', repo: 'a/b', args: 'a.txt' },
  ...{ place: 'a.c', places: 'a.c', files: 'a.c', targets: 'a.c', revisions: 'HEAD', pattern: '@x', none: '' },
};

interface TableRow {
  readonly family: Family;
  readonly words: readonly string[];
  readonly operands: readonly string[];
  /** As the table writes them; `isLater`: after a `--`. */
  readonly options: readonly { readonly name: string; readonly value?: string; readonly isLater: boolean }[];
}

/** Read anew from the text of the table, by its description alone. */
const ROWS: readonly TableRow[] = FAMILIES.flatMap((family) =>
  Object.entries(family.rows).map(([words, text]) => {
    const [operands = '', options = ''] = text.split(':');
    const all = options.split(' ').filter((option) => option !== '');
    const border = all.includes('--') ? all.indexOf('--') : all.length;
    return {
      family,
      words: words.split(' ').map((step) => step.split(/[|,]/)[0] as string),
      operands: operands.split(' ').filter((kind) => kind !== 'none'),
      options: all
        .map((option, index) => ({
          name: option.split('=')[0] as string,
          value: option.split('=')[1],
          isLater: index > border,
        }))
        .filter(({ name }) => name !== '--'),
    };
  }),
);

const sample = (kind: string): string => SAMPLES[kind] ?? (kind.split('|')[0] as string);
const operandsOf = ({ operands }: TableRow): readonly string[] => operands.map(sample);
const judge = (words: readonly string[]) => judgeCommand([words[0] as string, ...words.slice(1)], () => false);

test('every row has a manual, known kinds, and accepts each of its options with and without operands', () => {
  for (const row of ROWS) {
    expect(row.family.page).toMatch(/^https:\/\//);
    for (const kind of row.operands) expect([row.words, kind in KINDS || kind === 'args']).toEqual([row.words, true]);
    const operands = operandsOf(row);
    expect([row.words, judge([...row.words, ...operands])]).toEqual([row.words, expect.objectContaining({})]);
    for (const { name, value, isLater } of row.options) {
      const kind = value?.replace('?', '');
      const word = name === '-#' ? '-5' : name === '+' ? '+x' : name;
      const isOptional = value?.startsWith('?');
      const words =
        kind === undefined || name === '+'
          ? [word]
          : isOptional
            ? [name.startsWith('--') || row.family.hasLongDashes ? `${name}=${sample(kind)}` : `${name}${sample(kind)}`]
            : [name, sample(kind)];
      const line = isLater ? [...row.words, ...operands, '--', ...words] : [...row.words, ...words, ...operands];
      expect([line, judge(line)]).toEqual([line, expect.objectContaining({})]);
    }
  }
});

test('the table has the programs that people use, and no kind that nobody uses', () => {
  expect(ROWS.length).toBeGreaterThan(250);
  const used = new Set(
    ROWS.flatMap(({ operands, options }) => [
      ...operands,
      ...options.flatMap(({ value }) => value?.replace('?', '') ?? []),
    ]),
  );
  expect([...Object.keys(KINDS), ...FILES, ...TASKS].filter((kind) => kind !== 'none' && !used.has(kind))).toEqual([]);
});

const DANGEROUS = [
  ...[
    'exec',
    'config',
    'plugin',
    'require',
    'import',
    'output',
    'shell',
    'eval',
    'pager',
    'prefix',
    'cwd',
    'file',
    'userconfig',
  ],
  ...[
    'upload-pack',
    'ext-diff',
    'to-command',
    'use-compress-program',
    'rcfile',
    'init-file',
    'loader',
    'wrapper',
    'pre',
  ],
];

test('no row covers a command with an option that it does not have, wherever that stands', () => {
  const letters = fc.constantFrom(...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ');
  const name = fc.oneof(
    fc.constantFrom(...DANGEROUS).map((word) => `--${word}`),
    fc.string({ unit: letters, minLength: 2, maxLength: 12 }).map((word) => `--${word}`),
    letters.map((letter) => `-${letter}`),
    fc.constantFrom(...DANGEROUS).map((word) => `-${word}`),
  );
  const strange = fc.tuple(name, fc.constantFrom('', '=x', '=./x', '=/etc/x'));
  fc.assert(
    fc.property(
      fc.constantFrom(...ROWS),
      strange,
      fc.nat(),
      fc.constantFrom([], ['x'], ['./x'], ['sh -c x']),
      (row, [option, value], place, after) => {
        const isWord = option.startsWith('--') || row.family.hasLongDashes;
        const names = row.options.map((each) => each.name);
        // Letters may be combined: one that the row does not have must come before one that takes the rest as its value.
        const isKnown = (letter: string): boolean => names.includes(`-${letter}`);
        const isOutside = isWord ? !names.includes(option) : !isKnown(option[1] as string);
        fc.pre(isOutside && !(row.words.length === 1 && isChild(row, option)));
        const rest = operandsOf(row);
        const at = place % (rest.length + 1);
        const words = [...row.words, ...rest.slice(0, at), option + value, ...after, ...rest.slice(at)];
        expect([words, judge(words)]).toEqual([words, undefined]);
      },
    ),
    { numRuns: 5000 },
  );
});

/** `python -m` and the like are rows of their own. */
function isChild({ words }: TableRow, option: string): boolean {
  const alone = option.split('=')[0] as string;
  return ROWS.some(
    (other) => words.every((word, index) => other.words[index] === word) && other.words[words.length] === alone,
  );
}

test('no row covers words behind its own that are not of its kinds', () => {
  const strange = fc.constantFrom('+x', '--', '-- x', '@args', 'X=$(id)', 'a b;c', '-', 'exec:exec', 'ext::sh');
  fc.assert(
    fc.property(fc.constantFrom(...ROWS), strange, (row, word) => {
      const last = row.operands.at(-1) ?? 'none';
      // What code gets as arguments may have colons.
      const isFree =
        ['text', 'texts', 'path', 'paths', 'place', 'places', 'files', 'targets', 'revisions'].includes(last) ||
        (last === 'args' && word.includes(':'));
      const isOption = word === '+x' && row.options.some(({ name }) => name === '+');
      fc.pre(!isFree && !isOption && word !== '--' && !KINDS[last]?.test(word));
      const words = [...row.words, ...operandsOf(row), word];
      expect([words, judge(words)]).toEqual([words, undefined]);
    }),
    { numRuns: 2000 },
  );
});

test('an unknown program never gets options, blanks, variables or programs behind its words', () => {
  const plain = fc.stringMatching(/^[a-z][a-z0-9./]{0,8}$/);
  const strange = fc.oneof(
    fc.string({ maxLength: 6 }).map((text) => `-${text}`),
    fc.string({ maxLength: 6 }).map((text) => `+${text}`),
    fc
      .tuple(plain, fc.constantFrom(' ', '=', '(', "'", '"', ';', '$', '\\', '{', '@', '\n'), plain)
      .map((all) => all.join('')),
    fc.constantFrom('--', 'npm', ''),
  );
  fc.assert(
    fc.property(
      fc.array(plain, { maxLength: 3 }),
      strange,
      fc.array(plain, { maxLength: 3 }),
      (before, word, after) => {
        const words = ['mytool', ...before, word, ...after] as const;
        const judged = judgeCommand(words, (each) => each === 'npm');
        // A permission without that word does not cover it.
        expect(judged?.least).toBeGreaterThan(1 + before.length);
      },
    ),
    { numRuns: 2000 },
  );
});

test.each([
  ['npm run build', { least: 1, tasks: [2, 3], offered: 3, names: [['npm', 'run', 'build']] }],
  ['make -k test lint', { least: 1, tasks: [2, 4], offered: 4, names: [['make', 'test', 'lint']] }],
  ['python tool.py x', { least: 2, offered: 2, names: [['python', 'tool.py', 'x']] }],
  ['git -C . log -1', { least: 1, offered: 4, here: ['.'], names: [['git', 'log']] }],
  ['npx --no-install eslint', { offered: 3, names: [['npx', '--no-install', 'eslint'], ['eslint']] }],
  ['grep x a.c', { files: [{ word: 'a.c', kind: 'places' }] }],
  ['grep a.c -e x', { files: [{ word: 'a.c', kind: 'places' }] }],
  ['NPM.exe t', { offered: 2, names: [['npm', 'test']] }],
  ['mytool -a b c', { least: 2, offered: 4, files: ['-a', '', 'b', 'b', 'c', 'c'].map((word) => ({ word })) }],
])('%s', (line, judged) => {
  expect(judge(line.split(' '))).toMatchObject(judged);
});

test('a rule of which the table does not know a word can cover nothing', () => {
  const rules = ['npm', 'npm run', 'git log --oneline', 'docker compose', 'mytool -x', 'python3.12 a.py'];
  expect(rules.filter((rule) => !isCoverable(rule.split(' ')))).toEqual([]);
  for (const rule of ['npm publish', 'git -c a=b', 'git log --output=a', 'bash -c id'])
    expect([rule, isCoverable(rule.split(' '))]).toEqual([rule, false]);
});
