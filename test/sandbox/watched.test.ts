import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { ENGINE, ENV, GMN, HOME, hasProgram, PLACE, runBare, runConfined, runProgram } from './scene.ts';

/** Names that are given to nothing, and what the configuration of a repository names: each command is tried without the sandbox first. */
const ROOT = join(PLACE, 'watched');
const RECORDS = join(HOME, '.gmn/sandbox');

beforeEach(() => {
  rmSync(ROOT, { recursive: true, force: true });
  mkdirSync(ROOT, { recursive: true });
});

const at = (command: string): string => `cd "${ROOT}" && ${command}`;
const confine = (command: string) =>
  runProgram(process.execPath, [GMN, 'sandbox', '--engine', ENGINE, '--', '/bin/sh', '-c', command], { cwd: ROOT });

function write(files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(ROOT, name)), { recursive: true });
    writeFileSync(join(ROOT, name), text, { mode: 0o755 });
  }
}

async function waitUntil(isSo: () => boolean): Promise<void> {
  for (const end = Date.now() + 20_000; !isSo() && Date.now() < end; )
    await new Promise((resolve) => setTimeout(resolve, 10));
  expect(isSo()).toBe(true);
}

const NAMES = ['.gmn', '.gemini', '.mcp.json', '.vscode', '.git', '.husky', '.envrc', '.claude', '.github/workflows'];

test.for(NAMES)('%s that is not there yet cannot be made, in any way, and is not there afterwards', async (name) => {
  const [top = ''] = name.split('/');
  const ways = [
    `mkdir -p ${name} && echo x > ${name}/x`,
    ...[`echo x > ${top}`, `ln -s /tmp ${top}`, `mv made ${top}`, `mv -T dir ${top}`, `ln made ${top}`],
    `rmdir ${top}; mkdir ${top} && touch ${top}/x`,
    `mv ${top} away && mkdir ${top} && touch ${top}/x`,
  ];
  for (const way of ways) {
    const command = `mkdir -p dir; touch made dir/x; { ${way}; } 2>/dev/null; [ -s ${top} ] && [ ! -d ${top} ] || [ -L ${top} ] || [ -e ${name}/x ] || [ -e ${top}/made ] || [ -e ${top}/x ] || [ -f ${top} ]`;
    const bare = await runBare(at(command));
    rmSync(join(ROOT, top), { recursive: true, force: true });
    const confined = await confine(command);
    const isLeft = existsSync(join(ROOT, top));
    expect({ way, isMade: confined.status === 0, isLeft }, confined.output).toEqual({
      way,
      isMade: false,
      isLeft: false,
    });
    // Where the way needs that there is something, it proves nothing without.
    if (!/^(?:rmdir|mv \.)/.test(way)) expect({ way, status: bare.status }).toEqual({ way, status: 0 });
  }
  expect(readdirSync(RECORDS)).toEqual([]);
});

test('commands that overlap, of several processes, keep each other from nothing, and leave nothing', async () => {
  const script = (turns: number): string =>
    `for i in $(seq ${turns}); do mkdir .vscode/x && echo ESCAPED; touch .vscode/y && echo ESCAPED; sleep 0.02; done 2>/dev/null; exit 0`;
  const results = await Promise.all(Array.from({ length: 12 }, (_, index) => confine(script(5 + 5 * index))));
  expect(results.filter(({ status, output }) => status !== 0 || output.includes('ESCAPED'))).toEqual([]);
  expect([readdirSync(ROOT), readdirSync(RECORDS)]).toEqual([[], []]);
});

test('of short commands of several processes, none ends another, and nothing is told', async () => {
  const chain = async (): Promise<readonly string[]> => {
    const outputs: string[] = [];
    for (let turn = 0; turn < 10; turn += 1)
      outputs.push((await confine('[ -d .vscode ] && ! mkdir .vscode/x 2>&-')).output);
    return outputs;
  };
  const outputs = (await Promise.all(Array.from({ length: 6 }, chain))).flat();
  expect(outputs.filter((output) => output !== '')).toEqual([]);
  expect([readdirSync(ROOT), readdirSync(RECORDS)]).toEqual([[], []]);
});

test('of a gmn that is killed, empty directories are left at most, until the next start', async () => {
  const words = [GMN, 'sandbox', '--engine', ENGINE, '--', 'sh', '-c', 'touch started; sleep 100'];
  const child = spawn(process.execPath, words, { cwd: ROOT, env: ENV, stdio: 'ignore' });
  await waitUntil(() => existsSync(join(ROOT, 'started')));
  child.kill('SIGKILL');
  await new Promise((resolve) => child.once('exit', resolve));
  const left = readdirSync(ROOT).filter((name) => name !== 'started');
  expect(left.length).toBeGreaterThan(0);
  expect(left.flatMap((name) => readdirSync(join(ROOT, name)))).toEqual([]);
  // Somewhere else, too.
  await runConfined('true');
  expect(readdirSync(ROOT)).toEqual(['started']);
  expect(readdirSync(RECORDS)).toEqual([]);
});

test('what the user puts there meanwhile stays, and the next command cannot write it', async () => {
  const running = confine('touch started; while [ ! -e go ]; do sleep 0.02; done');
  await waitUntil(() => existsSync(join(ROOT, 'started')));
  write({ '.vscode/settings.json': '{}', go: '' });
  expect((await running).output).toContain('.vscode (new)');
  expect(readdirSync(ROOT).sort()).toEqual(['.vscode', 'go', 'started']);
  expect((await confine('echo x > .vscode/settings.json')).status).not.toBe(0);
  expect(readFileSync(join(ROOT, '.vscode/settings.json'), 'utf8')).toBe('{}');
});

const git = (command: string) => runBare(at(command));
const SETUP = 'git init -q . && git config user.name a && git config user.email a@b.c';

/** Where the configuration of a repository names a program, and what makes git run it. Each program makes MARK. */
const PROGRAMS: Readonly<Record<string, readonly [setup: string, program: string, trigger: string]>> = {
  'a hook behind core.hooksPath': [
    'git config core.hooksPath tools/hooks',
    'tools/hooks/pre-commit',
    'git commit -qm x --allow-empty',
  ],
  'a hook of an included file': [
    'printf "[core]\\nhooksPath = more\\n" > extra.ini; git config include.path ../extra.ini; mkdir more; touch more/pre-commit',
    'more/pre-commit',
    'git commit -qm x --allow-empty',
  ],
  'a filter': [
    'git config filter.f.clean "sh tools/clean.sh"; echo "*.bin filter=f" > .gitattributes; touch a.bin',
    'tools/clean.sh',
    'echo x >> a.bin; git add a.bin',
  ],
  'a program for differences': [
    'git config diff.external "$PWD/tools/diff"; echo a > f; git add f',
    'tools/diff',
    'echo b > f; git diff',
  ],
  'an alias that goes to another directory': ['git config alias.x "!cd tools && sh al"', 'tools/al', 'git x'],
  'a watcher of files': ['git config core.fsmonitor tools/watch', 'tools/watch', 'git status'],
  'a hook of another work tree': [
    'rm -r sub; git commit -qm x --allow-empty; git worktree add -q sub; git config core.hooksPath tools/hooks',
    'sub/tools/hooks/pre-commit',
    'cd sub && git commit -qm y --allow-empty',
  ],
};

test.for(Object.entries(PROGRAMS))(
  'git runs nothing that a command planted: %s',
  async ([, [setup, program, trigger]], t) => {
    if (!hasProgram('git')) t.skip('there is no git');
    const plant = `printf '#!/bin/sh\\ntouch "${ROOT}/MARK"\\n' > ${program} && chmod +x ${program}`;
    write({ [program]: '#!/bin/sh\nexit 0\n' });
    const prepared = await git(`${SETUP} && { ${setup}; }`);
    expect(prepared.status, prepared.output).toBe(0);
    // The work tree may have been made over it.
    write({ [program]: '#!/bin/sh\nexit 0\n' });
    const confined = await confine(plant);
    await git(trigger);
    expect({ status: confined.status === 0, isRun: existsSync(join(ROOT, 'MARK')) }).toEqual({
      status: false,
      isRun: false,
    });
    await git(plant);
    await git(trigger);
    expect(existsSync(join(ROOT, 'MARK'))).toBe(true);
  },
);

test('what git would run if it were there is told when a command makes it', async (t) => {
  if (!hasProgram('git')) t.skip('there is no git');
  await git(`${SETUP}; git config core.hooksPath later/hooks`);
  const { output } = await confine('mkdir -p later/hooks && touch later/hooks/post-commit');
  expect(output).toContain('later/hooks (new)');
});

test('what the instruction was read from cannot be written', async () => {
  write({
    'AGENTS.md': '@docs/rules.md',
    'docs/rules.md': 'a',
    'docs/other.md': 'a',
    'sub/GEMINI.md': '@../docs/sub.md',
    'docs/sub.md': '',
  });
  const env = { ...ENV, GEMINI_CLI_TRUST_WORKSPACE: 'true' };
  const plant = (name: string) => {
    const words = [GMN, 'sandbox', '--engine', ENGINE, '--', 'sh', '-c', `echo planted >> ${name}`];
    return runProgram(process.execPath, words, { cwd: ROOT, env });
  };
  expect((await plant('docs/other.md')).status).toBe(0);
  for (const name of ['docs/rules.md', 'docs/sub.md', 'AGENTS.md', 'sub/GEMINI.md']) {
    expect((await plant(name)).status, name).not.toBe(0);
    expect(readFileSync(join(ROOT, name), 'utf8')).not.toContain('planted');
  }
});
