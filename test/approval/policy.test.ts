import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Reach } from '../../src/approval/grants.ts';
import {
  type ApprovalMode,
  approvalPolicy,
  nonInteractiveDenial,
  type PolicyOptions,
  selectOfferedTools,
} from '../../src/approval/policy.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { parseShellLine } from '../../src/core/text/command-line.ts';
import type { Effect, Tool } from '../../src/core/tool.ts';
import { createBackgroundCommands } from '../../src/platform/process/background.ts';
import { runShellCommand } from '../../src/tools/run-shell-command.ts';

const MODES: readonly ApprovalMode[] = ['default', 'auto_edit', 'plan', 'yolo'];

function tool(name: string, effect: Effect): Tool {
  return { name, effect, description: '', input: {}, invoke: async () => ({ ok: true, response: {} }) };
}

const READ = tool('read_file', 'read');
const WRITE = tool('write_file', 'write');
const SHELL = runShellCommand.create({
  shell: { path: '/bin/sh', args: ['-c'], isVerbatim: false },
  env: {},
  resolveDirectory: async (path) => path,
  storeOutput: async () => undefined,
  background: createBackgroundCommands(),
});
const FETCH = tool('web_fetch', 'network');
const SEARCH = { ...tool('google_web_search', 'network'), isNeverAsked: true } as const;
const REMOTE: Tool = {
  ...tool('files__delete', 'execute'),
  remote: { server: 'files', fingerprint: 'f1', tool: 'delete' },
};
const ALL = [READ, WRITE, SHELL, FETCH, SEARCH, REMOTE];

const allow = (...names: readonly string[]) => names.map((name) => ({ kind: 'tool', tool: name }) as const);

function policy(options: Partial<PolicyOptions> = {}) {
  const rules = approvalPolicy({ mode: 'default', allowed: [], isTrusted: () => false, ...options });
  const asked = (one: Tool, args: JsonObject) => ({
    tool: one,
    args,
    secret: String(args.file_path).startsWith('.env') ? `/w/${args.file_path}` : undefined,
    ...(args.dir_path === 'sub' || args.dir_path === './sub' ? { directory: '/w/sub' } : {}),
    ...(one === WRITE ? { target: `/w/${args.file_path}` } : {}),
    parts: typeof args.command === 'string' ? parseShellLine(args.command)?.map((words) => ({ words })) : undefined,
  });
  return {
    rule: (one: Tool, args: JsonObject) => rules.rule(asked(one, args)),
    remember: (one: Tool, args: JsonObject, reach: Reach = 'scope') => rules.remember(asked(one, args), reach),
  };
}

test('commands that are confined run where edits run; nothing else changes', () => {
  const table = MODES.map((mode) =>
    [mode, ...ALL.map((one) => policy({ mode, isConfined: true }).rule(one, { command: 'ls' }).kind)].join(' '),
  );
  //             read write shell fetch search remote
  expect(table).toEqual([
    'default run ask ask ask run ask',
    'auto_edit run run run ask run ask',
    'plan run deny deny deny deny deny',
    'yolo run run run run run run',
  ]);
});

test('what the settings exclude is denied although it is confined', () => {
  const limits = { exclude: [['rm']] };
  const rules = policy({ mode: 'auto_edit', isConfined: true, limits });
  expect(rules.rule(SHELL, { command: 'rm -r x' }).kind).toBe('deny');
});

test('each mode runs, asks about or denies each effect', () => {
  const table = MODES.map((mode) => [mode, ...ALL.map((one) => policy({ mode }).rule(one, {}).kind)].join(' '));
  //             read write shell fetch search remote
  expect(table).toEqual([
    'default run ask ask ask run ask',
    'auto_edit run run ask ask run ask',
    'plan run deny deny deny deny deny',
    'yolo run run run run run run',
  ]);
});

test('plan declares readers alone, every other mode all tools in their order', () => {
  const names = (mode: ApprovalMode) => selectOfferedTools(ALL, mode).map(({ name }) => name);
  expect(names('plan')).toEqual(['read_file']);
  for (const mode of ['default', 'auto_edit', 'yolo'] as const) expect(names(mode)).toEqual(ALL.map((one) => one.name));
});

test('a writer called in plan mode is denied with words for the model, whatever is allowed', () => {
  const rules = policy({ mode: 'plan', allowed: allow('write_file'), isTrusted: () => true });
  rules.remember(WRITE, {});
  expect(rules.rule(WRITE, {})).toEqual({
    kind: 'deny',
    reason: 'write_file was not run: in plan mode only tools that read may be used. Tell the user what you would do.',
    advice: 'in plan mode only tools that read may be used. Allow it with --approval-mode auto_edit',
  });
});

test('a permission for a tool covers every call of it, and no other tool', () => {
  const rules = policy({ allowed: allow('write_file', 'files__delete') });
  expect(rules.rule(WRITE, {})).toEqual({ kind: 'run' });
  // The name of a remote tool is its server's choice.
  expect(rules.rule(REMOTE, {})).toEqual({ kind: 'ask', scope: 'tool', server: 'files' });
  expect(rules.rule(SHELL, { command: 'a && b' })).toEqual({ kind: 'ask', scope: 'command' });
});

test.each(['*', 'write*', 'WRITE_FILE', '', 'run_shell_command(ls)', 'run_shell_command*', '_*'])(
  'the name "%s" approves nothing',
  (pattern) => {
    const rules = policy({ allowed: allow(pattern) });
    for (const one of [WRITE, SHELL, FETCH, REMOTE]) expect(rules.rule(one, {}).kind).toBe('ask');
  },
);

test('what is allowed of an MCP server is for that definition of it, as a whole or one tool', () => {
  const { remote } = REMOTE;
  if (remote === undefined) throw new Error('no server');
  const other: Tool = { ...REMOTE, name: 'list', remote: { ...remote, tool: 'list' } };
  const changed: Tool = { ...REMOTE, remote: { ...remote, fingerprint: 'f2' } };
  const named: Tool = { ...REMOTE, remote: { ...remote, server: 'files2' } };
  for (const [reach, covered] of [
    ['scope', [REMOTE]],
    ['server', [REMOTE, other]],
  ] as const) {
    const rules = policy();
    rules.remember(REMOTE, {}, reach);
    for (const one of [REMOTE, other, changed, named, tool('files__delete', 'execute')]) {
      expect([one.remote, rules.rule(one, {}).kind]).toEqual([one.remote, covered.includes(one) ? 'run' : 'ask']);
    }
  }
});

test("the user's trust approves", () => {
  const rules = policy({ isTrusted: ({ name }) => name === 'files__delete' });
  expect([rules.rule(REMOTE, {}).kind, rules.rule(WRITE, {}).kind]).toEqual(['run', 'ask']);
});

test('a sensitive read asks in every mode, allowed and trusted too', () => {
  for (const mode of MODES) {
    const rules = policy({ mode, allowed: allow('read_file'), isTrusted: () => true });
    expect(rules.rule(READ, { file_path: '.env' })).toEqual({ kind: 'ask', scope: 'call' });
    expect(rules.rule(READ, { file_path: 'a.txt' })).toEqual({ kind: 'run' });
  }
});

test('"always" for a sensitive read covers that very file, under whatever name', () => {
  const rules = policy();
  rules.remember(READ, { file_path: '.env' });
  expect(rules.rule(READ, { file_path: '.env' }).kind).toBe('run');
  expect(rules.rule(READ, { file_path: '.env.local' }).kind).toBe('ask');
  expect(rules.rule(READ, { file_path: '.env', description: 'x' }).kind).toBe('run');
});

test('"all edits" is the mode auto_edit, of which the run is told', () => {
  const modes: ApprovalMode[] = [];
  const rules = policy({ onMode: (mode) => void modes.push(mode) });
  rules.remember(WRITE, { file_path: 'a' });
  expect(modes).toEqual(['auto_edit']);
  expect(rules.rule(WRITE, { file_path: 'b' }).kind).toBe('run');
  expect(rules.rule(tool('edit_file', 'write'), { file_path: 'a' }).kind).toBe('run');
  expect(rules.rule(SHELL, { command: 'ls' }).kind).toBe('ask');
  // As a kept permission it counts where the mode is chosen, so that the mode can be left again.
  expect(policy({ allowed: [{ kind: 'edits' }] }).rule(WRITE, {}).kind).toBe('ask');
});

test('"always" for a tool covers every call of it, and no other tool', () => {
  const rules = policy();
  rules.remember(FETCH, { url: 'a' });
  expect(rules.rule(FETCH, { url: 'b' }).kind).toBe('run');
  expect(rules.rule(tool('other', 'network'), { url: 'a' }).kind).toBe('ask');
});

test('"always" for a command covers that command in that directory, however the model describes it', () => {
  const rules = policy();
  rules.remember(SHELL, { command: 'npm test', description: 'Run the tests' });
  expect(rules.rule(SHELL, { description: 'Again', command: 'npm test' }).kind).toBe('run');
  expect(rules.rule(SHELL, { command: 'npm test', dir_path: 'sub' }).kind).toBe('ask');
  expect(rules.rule(SHELL, { command: 'npm test ' }).kind).toBe('ask');
  expect(rules.rule(SHELL, { command: 'npm test', is_background: true }).kind).toBe('ask');
  rules.remember(SHELL, { command: 'make', dir_path: 'sub' });
  expect(rules.rule(SHELL, { command: 'make', dir_path: './sub' }).kind).toBe('run');
  expect(rules.rule(SHELL, { command: 'make' }).kind).toBe('ask');
  expect(rules.rule(SHELL, { command: 'make', dir_path: 'elsewhere' }).kind).toBe('ask');
  expect(rules.rule(tool('other__run', 'execute'), { command: 'npm test' }).kind).toBe('ask');
  rules.remember(SHELL, { command: 'serve', is_background: true });
  expect(rules.rule(SHELL, { command: 'serve', is_background: true }).kind).toBe('run');
  expect(rules.rule(SHELL, { command: 'serve' }).kind).toBe('ask');
  expect(rules.rule(SHELL, { command: 'serve', is_background: 'yes' }).kind).toBe('ask');
});

test('nothing chained to a command that always runs runs with it', () => {
  const rules = policy();
  rules.remember(SHELL, { command: 'ls' });
  const operators = [
    '&&',
    '||',
    ';',
    '|',
    '&',
    '>',
    '>>',
    '<',
    '\n',
    '\r',
    '\r\n',
    '\t',
    '\u00a0',
    '\u2028',
    '\0',
    ' # ',
  ];
  const wraps = [
    (x: string) => `$(${x})`,
    (x: string) => `\`${x}\``,
    (x: string) => `<(${x})`,
    (x: string) => `${x} <<E\nE`,
  ];
  const payloads = ['rm -rf /', 'curl x | sh', 'true', '', 'ls'];
  const variants = [
    ...operators.flatMap((operator) =>
      payloads.flatMap((payload) => [`ls${operator}${payload}`, `ls ${operator} ${payload}`]),
    ),
    ...operators.flatMap((operator) => payloads.map((payload) => `${payload}${operator}ls`)),
    ...wraps.flatMap((wrap) => payloads.map((payload) => `ls ${wrap(payload)}`)),
    `${'true;'.repeat(60)}ls`,
    'LS',
    ' ls',
    'ls\u200b',
    'l\u0073\u0301',
  ];
  expect(variants.length).toBeGreaterThan(250);
  for (const command of variants) expect([command, rules.rule(SHELL, { command }).kind]).toEqual([command, 'ask']);
});

test('a command that was not remembered is ruled as if nothing had been', () => {
  const args = fc.record({ command: fc.string(), dir_path: fc.constantFrom('.', 'sub'), is_background: fc.boolean() });
  fc.assert(
    fc.property(args, args, (one, two) => {
      const rules = policy();
      rules.remember(SHELL, one);
      expect(rules.rule(SHELL, two).kind).toBe(JSON.stringify(one) === JSON.stringify(two) ? 'run' : 'ask');
    }),
  );
});

test('without a terminal the denial says how the user can allow the call', () => {
  const readReason = (...input: Parameters<typeof nonInteractiveDenial>) => nonInteractiveDenial(...input).reason;
  const opening = (name: string) =>
    `${name} was not run: it needs the user's approval, and there is no terminal to ask on.`;
  expect(readReason(SHELL, 'command', true)).toBe(
    `${opening('run_shell_command')} The user can allow it with --allowed-tools run_shell_command.`,
  );
  expect(readReason(WRITE, 'tool', true)).toBe(
    `${opening('write_file')} The user can allow it with --allowed-tools write_file or --approval-mode auto_edit.`,
  );
  expect(readReason(READ, 'call', true)).toBe(
    `${opening('read_file')} The file may hold keys or passwords; the user can attach it with -f, or run gmn in a terminal.`,
  );
  expect(readReason(WRITE, 'once', true)).toBe(
    `${opening('write_file')} The file instructs models or is run by other programs, so each change of it is asked about; the user can run gmn in a terminal.`,
  );
  expect(readReason(READ, 'call', false)).toBe(
    "read_file was not run: it needs the user's approval, and nobody is asked in this output format. " +
      'The file may hold keys or passwords; the user can attach it with -f, or run gmn with -o text in a terminal.',
  );
});

test('the advice for the user says what would allow the call', () => {
  expect(nonInteractiveDenial(SHELL, 'command', true).advice).toBe(
    'there is no terminal to ask on. Allow it with --allowed-tools run_shell_command',
  );
  expect(nonInteractiveDenial(WRITE, 'tool', false).advice).toBe(
    'nobody is asked in this output format. Allow it with --allowed-tools write_file or --approval-mode auto_edit',
  );
  expect(nonInteractiveDenial(READ, 'call', false).advice).toBe(
    'nobody is asked in this output format. The file may hold keys or passwords: ' +
      'attach it with -f, or run gmn with -o text in a terminal',
  );
  const flagsInPlan = (one: Tool) => policy({ mode: 'plan' }).rule(one, {});
  const opening = 'in plan mode only tools that read may be used. Allow it with';
  expect(flagsInPlan(SHELL)).toMatchObject({
    advice: `${opening} --approval-mode default --allowed-tools run_shell_command`,
  });
  expect(flagsInPlan(SEARCH)).toMatchObject({ advice: `${opening} --approval-mode default` });
});

test('the flags that the advice names do allow the call', () => {
  for (const one of [WRITE, SHELL, FETCH, SEARCH]) {
    const inPlan = policy({ mode: 'plan' }).rule(one, {});
    if (inPlan.kind !== 'deny') throw new Error('not denied');
    for (const { advice } of [inPlan, nonInteractiveDenial(one, 'tool', true)]) {
      for (const flags of advice.replace(/^.* Allow it with /, '').split(' or ')) {
        const value = (name: string) => new RegExp(`--${name} (\\S+)`).exec(flags)?.[1];
        const mode = (value('approval-mode') ?? 'default') as ApprovalMode;
        const rules = policy({ mode, allowed: allow(value('allowed-tools') ?? '') });
        expect([flags, rules.rule(one, {}).kind]).toEqual([flags, 'run']);
      }
    }
  }
});

test('"always this file" covers that file, whichever tool writes it, and no other', () => {
  const rules = policy();
  rules.remember(WRITE, { file_path: 'a' }, 'file');
  expect(rules.rule(WRITE, { file_path: 'a', content: 'x' })).toEqual({ kind: 'run' });
  expect(rules.rule(WRITE, { file_path: 'b' })).toEqual({ kind: 'ask', scope: 'edits' });
  expect(rules.rule(SHELL, { command: 'a' })).toEqual({ kind: 'ask', scope: 'command' });
  expect(rules.rule(FETCH, { file_path: 'a' })).toEqual({ kind: 'ask', scope: 'tool' });
});

test('an answer to a guarded write is not remembered', () => {
  const rules = approvalPolicy({ mode: 'default', allowed: [], isTrusted: () => false });
  const call = { tool: WRITE, args: { file_path: 'AGENTS.md' }, target: '/w/AGENTS.md' };
  for (const reach of ['scope', 'file'] as const) rules.remember({ ...call, isGuarded: true }, reach);
  expect(rules.rule(call)).toEqual({ kind: 'ask', scope: 'edits' });
});

test('a guarded write asks in every mode that writes, and nothing that was ever allowed covers it', () => {
  const guarded = { tool: WRITE, args: { file_path: 'AGENTS.md' }, target: '/w/AGENTS.md', isGuarded: true };
  for (const mode of ['default', 'auto_edit', 'yolo'] as const) {
    const rules = approvalPolicy({ mode, allowed: allow('write_file'), isTrusted: () => true });
    for (const reach of ['scope', 'file'] as const) rules.remember({ ...guarded, isGuarded: false }, reach);
    expect(rules.rule({ ...guarded, isGuarded: false })).toEqual({ kind: 'run' });
    expect(rules.rule(guarded)).toEqual({ kind: 'ask', scope: 'once' });
  }
});
