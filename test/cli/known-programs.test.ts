import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findPrefix, isGranted } from '../../src/approval/grants.ts';
import { FAMILIES, judgeCommand } from '../../src/approval/judge-command.ts';
import { findProgram } from '../../src/platform/process/program-path.ts';
import { commandScene } from '../approval/command-scene.ts';
import { posixTest } from '../support/posix.ts';

/** A directory with a small project, and programs first on PATH that write down how they were called. */
let root = '';
let work = '';
let log = '';
const FAKES = [
  'evil',
  'less',
  'more',
  'vi',
  'vim',
  'nano',
  'editor',
  'gpg',
  'gpgsm',
  'ssh',
  'ssh-keygen',
  'man',
  'xdg-open',
  'meld',
];

beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'gmn-known-')));
  work = join(root, 'work');
  log = join(root, 'log');
  mkdirSync(join(root, 'bin'));
  mkdirSync(join(work, 'sub'), { recursive: true });
  for (const name of FAKES) {
    writeFileSync(join(root, 'bin', name), `#!/bin/sh\necho ${name} "$@" >> '${log}'\n`);
    chmodSync(join(root, 'bin', name), 0o755);
  }
  const files = {
    'a.c': 'int main(void) { return 0; }\n',
    'a.txt': 'a\nb\n',
    'sub/a.txt': 'a\n',
    Makefile: 'test:\n\t@true\n',
    'evil.mk': 'test:\n\t@evil\n',
    'CMakeLists.txt': 'cmake_minimum_required(VERSION 3.0)\nproject(x NONE)\n',
    'evil.cmake': 'execute_process(COMMAND evil)\n',
    'package.json': '{"name":"x","version":"1.0.0","scripts":{"build":"true","deploy":"evil","test":"true"}}',
    'b.js': '',
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(work, name), text);
});

afterAll(() => rmSync(root, { recursive: true, force: true }));

const PATH = [dirname(process.execPath), process.env.PATH].join(delimiter);
const has = (program: string): boolean => findProgram(program, { PATH }, '/') !== undefined;

/** What the real programs start when a shell runs these lines in a new copy of the project, and how many lines end well. */
function observe(lines: readonly string[]): { readonly started: string; readonly succeeded: number } {
  rmSync(log, { force: true });
  const env = {
    ...{ PATH: `${join(root, 'bin')}${delimiter}${PATH}`, HOME: root, TMPDIR: root, LC_ALL: 'C' },
    ...{
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: join(root, 'gitconfig'),
      GIT_TERMINAL_PROMPT: '0',
      GIT_EDITOR: ':',
    },
    ...{ GIT_ALLOW_PROTOCOL: 'file', npm_config_offline: 'true', npm_config_update_notifier: 'false' },
  };
  const script = `rm -rf ../copy && cp -r . ../copy && cd ../copy || exit 1
    ${REPOSITORY}
    ${lines.map((line) => `(git reset -q --hard main; ${line}) </dev/null >/dev/null 2>&1 && echo ok`).join('\n')}
    exit 0`;
  const { status, stdout, stderr } = spawnSync('/bin/sh', ['-c', script], {
    cwd: work,
    env,
    encoding: 'utf8',
    timeout: 100_000,
  });
  if (status !== 0) throw new Error(`the lines were not run: ${status} ${stderr}`);
  return { started: existsSync(log) ? readFileSync(log, 'utf8') : '', succeeded: stdout.split('ok').length - 1 };
}

const REPOSITORY = `git init -q -b main . && git config user.name x && git config user.email x@x && git config gpg.program evil &&
  git config core.pager evil && git config pager.log evil && git add . && git commit -qm one && echo c >> a.txt && git commit -qam two && git branch other HEAD~1 || exit 1`;

/** What was allowed, and a line that runs `evil` with the real programs. */
const ATTACKS: readonly (readonly [allowed: string, attack: string])[] = [
  ['gcc -O2 a.c', 'gcc -wrapper evil -c a.c'],
  ['gcc -O2 a.c', 'gcc -O2 a.c -wrapper evil'],
  ['cmake --build sub', 'cmake -E env evil'],
  ['cmake --build sub', 'cmake -P evil.cmake'],
  ['make test', 'make test SHELL=evil'],
  ['make test', 'make test -f evil.mk'],
  ['make test', "make test '--eval=$(shell evil)'"],
  ['git status', 'git -c alias.x=!evil x'],
  ['git status', 'git -c core.fsmonitor=evil status'],
  ['git status', 'git --config-env=alias.x=EVIL x'],
  ['git log', 'git rebase --exec evil HEAD~1'],
  ['git tag x', 'git tag -s signed -m x'],
  ['git diff', 'git difftool -y -x evil HEAD~1'],
  ['git fetch', 'git fetch --upload-pack=evil .'],
  ['git grep x', 'git grep -Oevil a'],
  ['npm run build', 'npm run deploy'],
  ['npm run build', 'npm run build --script-shell=evil'],
  ['npm run build', 'npm run build -script-shell evil'],
  ['npm test', 'npm exec -c evil'],
  ['find . -name x', 'find . -maxdepth 0 -exec evil {} +'],
  ['rg x', 'rg --pre evil a'],
  ['node b.js', `node -e "require('child_process').spawnSync('evil')" b.js`],
  ['perl b.pl', `perl -e 'system("evil")'`],
  ['python b.py', `python3 -c 'import os; os.system("evil")'`],
  ['awk 1 a.txt', `awk 'BEGIN { system("evil") }'`],
  ['tar tf a.tar', 'tar cf x.tar a.txt --checkpoint=1 --checkpoint-action=exec=evil'],
  ['timeout 5 ls', 'timeout 5 evil'],
  ['xargs', 'echo evil | xargs -n1 env'],
];

posixTest(
  'real programs run another one by words that nobody allowed, and gmn asks about each',
  { timeout: 120_000 },
  async () => {
    const { toCall } = await commandScene();
    const here = ATTACKS.filter(([, attack]) => has(attack.split(' ')[0] as string) && has('git'));
    expect(here.length).toBeGreaterThan(10);
    for (const [allowed, attack] of here) {
      expect([attack, observe([`export EVIL=!evil; ${attack}`]).started]).toEqual([
        attack,
        expect.stringMatching(/evil|gpg/),
      ]);
      const words = findPrefix(await toCall(allowed)) ?? allowed.split(' ');
      const later = await toCall(attack);
      expect([attack, isGranted([{ kind: 'prefix', words }], later)]).toEqual([attack, false]);
    }
  },
);

const SAMPLES: Readonly<Record<string, string>> = {
  ...{
    path: 'a.txt',
    paths: 'a.txt',
    text: 'x',
    number: '1',
    word: 'x',
    names: 'main',
    here: '.',
    gitformat: '%H',
    task: 'build',
  },
};

/** Operands with which these succeed. */
const OPERANDS: Readonly<Record<string, string>> = {
  ...{
    'git add': 'a.txt',
    'git blame': 'a.txt',
    'git cat-file': 'HEAD',
    'git checkout -b': 'new',
    'git cherry-pick': 'other',
  },
  ...{
    'git grep': 'a',
    'git ls-tree': 'HEAD',
    'git merge': 'other',
    'git merge-base': 'main other',
    'git mv': 'a.txt new',
  },
  ...{
    'git rev-list': 'HEAD',
    'git rev-parse': 'HEAD',
    'git revert': '--no-edit HEAD',
    'git rm': 'a.txt',
    'git switch': 'other',
  },
  ...{ 'npm run': 'build', 'npm explain': 'x' },
};

/** Each option of the program's rows once, with a value that the table takes. */
function listLines(program: string): readonly string[] {
  const lines = new Map<string, string>();
  for (const { rows } of FAMILIES) {
    for (const [row, text] of Object.entries(rows)) {
      const words = row.split(' ').map((step) => step.split('|')[0] as string);
      if (words[0] !== program) continue;
      const [operands = '', options = ''] = text.split(':');
      const operand = OPERANDS[words.join(' ')] ?? '';
      for (const option of ['', ...options.split(' ')].filter((each) => each !== '--')) {
        const [name = '', value] = option.split('=');
        const kind = value?.replace('?', '');
        const sample = kind === undefined ? '' : (SAMPLES[kind] ?? kind.split('|')[0] ?? '');
        const joined = name.startsWith('--') ? `${name}=${sample}` : name + sample;
        const shown = name === '-#' ? '-1' : value?.startsWith('?') ? joined : `${name} ${sample}`;
        const line = [...words, ...(words[1] === 'commit' ? ['-m', 'x'] : []), shown, ...operand]
          .join(' ')
          .replace(/ +/g, ' ');
        // The same option of rows that share a list is tried once.
        const key = option === '' ? row : `${operands}${option}`;
        if (!lines.has(key)) lines.set(key, line.trim());
      }
    }
  }
  return [...lines.values()];
}

test.each([
  ['git', 200],
  ['npm', 20],
])('no option of the table lets the real %s start a program', { timeout: 120_000 }, (program, least) => {
  if (!has(program) || process.platform === 'win32') return;
  const lines = listLines(program);
  expect(lines.length).toBeGreaterThan(least);
  for (const line of lines) {
    const [first = '', ...others] = line.split(' ');
    expect([line, judgeCommand([first, ...others], () => false)]).toEqual([line, expect.objectContaining({})]);
  }
  // What needs the network is left out; a value that means nothing here only fails.
  const offline = lines.filter((line) => !/^npm (?:view|outdated|audit|start)\b/.test(line));
  const { started, succeeded } = observe(offline);
  expect(started).toBe('');
  expect(succeeded / offline.length).toBeGreaterThan(0.4);
});
