import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { completionPlan } from '../../src/cli/completion/plan.ts';
import { helpText } from '../../src/cli/help.ts';
import { toOutline } from '../../src/cli/invocation.ts';
import { guardNearMiss } from '../../src/cli/near-miss.ts';
import { parseCommandLine } from '../../src/cli/parse.ts';
import { matchPromptLine } from '../../src/cli/prompt-line.ts';
import type { Command } from '../../src/cli/table/command.ts';
import { IGNORED_FLAGS, REFUSED_FLAGS } from '../../src/cli/table/refused.ts';
import { ROOT } from '../../src/cli/table/root.ts';
import type { Flag } from '../../src/core/flag.ts';
import { fakeGemini, reply } from '../support/gemini.ts';
import { callGmn, callGmnIn, place } from '../support/gmn.ts';

function parse(argv: readonly string[]) {
  const found = parseCommandLine(ROOT, argv, {});
  if (found.kind !== 'run') throw new Error(`${found.kind} is no run`);
  return { path: found.path, ...found.options };
}

describe('a line for another program means here what it means there', () => {
  test.for<readonly [line: string, options: Readonly<Record<string, unknown>>]>([
    ['-p why', { prompt: 'why' }],
    ['--model pro why -p', { model: 'pro', args: ['why'] }],
    ['why --system -p', { system: '-p', args: ['why'] }],
    ['-p -p', { prompt: '-p', args: [] }],
    ['why -- -p', { args: ['why', '-p'] }],
    ['--print why', { args: ['why'] }],
    ['-p why --output-format stream-json --verbose', { prompt: 'why', outputFormat: 'stream-json' }],
    ['--verbose --include-partial-messages -o stream-json why', { outputFormat: 'stream-json', args: ['why'] }],
    ['--input-format text why', { inputFormat: 'text', args: ['why'] }],
    ['--input-format stream-json --output-format stream-json', { inputFormat: 'stream-json' }],
    ['--dangerously-skip-permissions why', { yolo: true }],
    ['--dangerously-bypass-approvals-and-sandbox why', { yolo: true }],
    ['--permission-mode acceptEdits why', { approvalMode: 'auto_edit' }],
    ['--permission-mode=bypassPermissions why', { approvalMode: 'yolo' }],
    ['--full-auto why', { approvalMode: 'auto_edit', tools: 'edit', args: ['why'] }],
    ['--tools all --full-auto why', { approvalMode: 'auto_edit', tools: 'all' }],
    ['--full-auto --tools read why', { approvalMode: 'auto_edit', tools: 'read' }],
    ['--full-auto --permission-mode acceptEdits why', { approvalMode: 'auto_edit' }],
    ['--approval-mode plan chat --approval-mode auto_edit', { approvalMode: 'auto_edit' }],
    ['chat -i why', { path: 'gmn chat', prompt: 'why' }],
    ['chat --prompt-interactive why', { path: 'gmn chat', prompt: 'why' }],
    ['--tools read chat --full-auto', { path: 'gmn chat', approvalMode: 'auto_edit', tools: 'read' }],
    ['-o json --json why', { outputFormat: 'json' }],
    ['--json why', { outputFormat: 'json', args: ['why'] }],
    ['--experimental-json why', { outputFormat: 'stream-json', args: ['why'] }],
    ['--effort max why', { thinkingLevel: 'xhigh' }],
    ['--effort xhigh why', { thinkingLevel: 'xhigh' }],
    ['--thinking minimal why', { thinkingLevel: 'minimal' }],
    ['--max-budget-usd 0.5 --fallback-model flash why', { maxCost: 0.5, fallback: 'flash' }],
    ['--allowedTools read_file --allowedTools glob why', { allowedTools: ['read_file', 'glob'] }],
    ['--add-dir a --include-directories b why', { includeDirectories: ['a', 'b'] }],
    [
      '--append-system-prompt-file r.md --system-prompt-file s.md why',
      { appendSystemPrompt: '@r.md', system: '@s.md' },
    ],
    ['--json-schema {} --output-last-message out why', { outputSchema: '{}', outputFile: 'out' }],
    ['--image a.png --cd sub --skip-git-repo-check why', { file: ['a.png'], cwd: 'sub', args: ['why'] }],
    ['-n trip --fork-session --last why', { sessionName: 'trip', fork: true, continue: true }],
    ['--no-session-persistence why', { noSession: true }],
    ['--conversation 7c1e --print-timeout 10m why', { resume: '7c1e', timeout: 600_000 }],
    ['--add-dir .. chat why', { path: 'gmn chat', includeDirectories: ['..'], args: ['why'] }],
    ['chat --dangerously-skip-permissions', { path: 'gmn chat', yolo: true }],
  ])('%s', ([line, options]) => {
    expect(parse(line.split(' '))).toMatchObject(options);
  });
});

test('-p takes the next word, whatever that is', () => {
  const outline = toOutline(ROOT);
  const names = ROOT.flags.flatMap(({ long, short }) => [`--${long}`, `--${long}=x`, ...(short ? [`-${short}`] : [])]);
  fc.assert(
    fc.property(fc.oneof(fc.constantFrom(...names, '--', '-', '--help', '--version', 'chat'), fc.string()), (text) => {
      for (const line of [
        ['-p', text],
        ['--tools', 'edit', '-p', text, '--approval-mode', 'plan'],
      ]) {
        expect(parse(line)).toMatchObject({ path: 'gmn', prompt: text, args: [] });
        expect(matchPromptLine(outline, line, {})).toMatchObject({ path: 'gmn', options: { prompt: text, args: [] } });
      }
    }),
  );
});

test('a prompt in a variable is no flag', async (t) => {
  const at = place(t);
  const gmn = await callGmnIn(t, at, ['--demo', '-p', '--output-file=out.txt']);
  expect(gmn).toMatchObject({ stdout: 'demo: --output-file=out.txt\n', exitCode: 0 });
  expect(existsSync(join(at.cwd, 'out.txt'))).toBe(false);
  const hello = await callGmnIn(t, at, ['--demo', 'hi']);
  expect(await callGmnIn(t, at, ['--demo', '-p'], 'hi')).toMatchObject({ stdout: hello.stdout, exitCode: 0 });
});

test.for<readonly [line: string, thinkingConfig: object]>([
  // The default takes a budget, other models levels; each gets what is nearest.
  ['--thinking high', { thinkingBudget: 24_576 }],
  ['--effort low', { thinkingBudget: 1024 }],
  ['--thinking minimal -m gemini-2.5-pro', { thinkingBudget: 512 }],
  ['--effort max -m gemini-3-pro-preview', { thinkingLevel: 'HIGH' }],
  ['--thinking minimal -m gemini-3-pro-preview', { thinkingLevel: 'LOW' }],
  ['--thinking medium -m my-own-model', { thinkingLevel: 'MEDIUM' }],
])('%s asks for what the model takes', async ([line, thinkingConfig], t) => {
  const { stdout, exitCode } = await callGmn(t, [...line.split(' '), '--demo', '--dry-run', 'why']);
  expect([exitCode, JSON.parse(stdout).body.generationConfig.thinkingConfig]).toEqual([0, thinkingConfig]);
});

test.for([
  ['--effort max -m gemini-4-argon', 'gmn: gemini-4-argon has no thinking level xhigh: it gets high\n'],
  ['--effort max -m gemini-4-hydrogen', ''],
] as const)('what the model gets for %s is said where it is less', async ([line, notice], t) => {
  expect((await callGmn(t, [...line.split(' '), '--demo', 'why'])).stderr).toBe(notice);
});

test('a level in words of gmn itself is still checked against the model', async (t) => {
  const { stderr, exitCode } = await callGmn(t, ['--demo', '--dry-run', '--thinking-level', 'high', 'why']);
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining('has no thinking levels')]);
});

test.for([[], ['chat']])('%j -p before other flags says where it goes', async (command, t) => {
  expect(await callGmn(t, [...command, '--demo', '-p', '--model', 'x', 'q'])).toMatchObject({
    stdout: '',
    stderr:
      'Error: -p cannot be combined with a positional prompt\n' +
      '-p takes the prompt that follows it, here --model: put it after the other flags, as in gmn --model … -p "…"\n',
    exitCode: 1,
  });
});

test.for<readonly [line: string, message: string]>([
  ['--ide why', '--ide: gmn connects to no editor'],
  ['--all-files why', '--all-files: gmn attaches no files that are not named'],
  ['--bg why', '--bg: a prompt runs in the foreground'],
  ['--approve-for-me why', '--approve-for-me: no model answers questions for you here'],
  [
    '--permission-prompts none why',
    '--permission-prompts: the program that runs gmn is asked only with --relay-approvals',
  ],
  ['--restricted why', '--restricted: tools are named here'],
  ['--input-format xml why', '--input-format: "xml" is not one of text, stream-json'],
  ['--disallowedTools Bash why', '--disallowedTools: the tools of a run are named, not excluded'],
  ['--permission-mode dontAsk why', '--permission-mode: "dontAsk" is not one of default, acceptEdits, plan'],
  ['--thinking off why', '--thinking: "off" is not one of minimal, low, medium, high'],
  ['--yolo --permission-mode plan why', '--yolo cannot be combined with --approval-mode plan'],
  ['--approval-mode plan --full-auto why', '--full-auto cannot be combined with --approval-mode plan'],
  ['--full-auto --permission-mode plan why', '--full-auto cannot be combined with --approval-mode plan'],
  ['--approval-mode plan chat --full-auto', '--full-auto cannot be combined with --approval-mode plan'],
  ['--full-auto chat --approval-mode plan', '--full-auto cannot be combined with --approval-mode plan'],
  ['--full-auto --yolo why', '--yolo cannot be combined with --approval-mode auto_edit'],
  ['-o text --json why', '--json cannot be combined with --output-format text'],
  ['--experimental-json --json why', '--experimental-json cannot be combined with --output-format json'],
  ['chat --print', '--print: a chat goes on'],
  ['--print models', '--print does not apply to "gmn models"'],
  ['--skip-git-repo-check models', '--skip-git-repo-check does not apply to "gmn models"'],
])('%s is an error that says what to do', ([line, message]) => {
  expect(() => parse(line.split(' '))).toThrow(expect.objectContaining({ fault: 'usage', hint: expect.any(String) }));
  expect(() => parse(line.split(' '))).toThrow(message);
});

function everyCommand(command: Command): readonly Command[] {
  return [command, ...(command.subcommands ?? []).flatMap(everyCommand)];
}

const OTHERS = ROOT.flags.flatMap(({ otherNames = [] }) => otherNames);

test('names of other programs are in no help and no completion, and none is a name of gmn', () => {
  expect(OTHERS.length).toBeGreaterThan(15);
  const plan = completionPlan(ROOT).find(({ path }) => path === 'gmn');
  const offered = plan?.flags.flatMap(({ names }) => names) ?? [];
  const help = helpText(ROOT, 'gmn').replaceAll('gmn help --json', '');
  for (const { long } of [...OTHERS, ...REFUSED_FLAGS, ...IGNORED_FLAGS]) {
    expect(offered).not.toContain(`--${long}`);
    expect(help).not.toMatch(new RegExp(`--${long}(?![\\w-])`));
  }
  for (const { name, flags, refused = [], ignored = [] } of everyCommand(ROOT)) {
    const names = [...flags, ...refused, ...ignored.map((flag): Flag => ({ ...flag, help: '' }))].flatMap(
      ({ long, short, aliases = [], ...flag }) => [
        ...[long, ...aliases],
        ...('otherNames' in flag ? (flag.otherNames ?? []) : []).flatMap((other) =>
          [other.long, other.short ?? []].flat(),
        ),
        ...(short === undefined ? [] : [short]),
      ],
    );
    expect(
      names.filter((each, index) => names.indexOf(each) !== index),
      name,
    ).toEqual([]);
  }
});

test('docs/migration.md lists all of them', () => {
  const page = readFileSync(new URL('../../docs/migration.md', import.meta.url), 'utf8');
  const refused = REFUSED_FLAGS.filter(({ of }) => of !== undefined);
  for (const { long } of [...OTHERS, ...refused, ...IGNORED_FLAGS])
    expect(page).toMatch(new RegExp(`^\\| .*\`--${long}\``, 'm'));
});

test('codex exec, -c with a setting and --sandbox with a mode are not sent as a prompt', async (t) => {
  const exec = (words: readonly string[]) => () => guardNearMiss({ commands: {}, groups: [] }, words, () => false);
  expect(exec(['exec', 'fix the tests'])).toThrow('gmn needs no "exec"');
  expect(exec(['exec', 'family', 'of', 'functions'])).not.toThrow();
  const gemini = await fakeGemini(t, [reply('hi')]);
  const gmn = await callGmn(t, ['-c', 'model=o3', 'why'], { gemini });
  expect(gmn).toMatchObject({ exitCode: 1, stdout: '' });
  expect(gmn.stderr).toContain('-c continues a session here, and takes no setting such as model=o3');
  for (const args of [
    ['--sandbox', 'read-only', 'why'],
    ['chat', '-s', 'workspace-write', 'why'],
  ]) {
    const { exitCode, stderr } = await callGmn(t, args, { gemini });
    expect([exitCode, stderr]).toEqual([
      1,
      expect.stringMatching(/is not one of auto,[\s\S]* To read only: --approval-mode/),
    ]);
  }
  expect(await callGmn(t, ['--json', 'hello'], { gemini })).toMatchObject({ exitCode: 0 });
});
