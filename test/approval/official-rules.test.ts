import { expect, test } from 'vitest';
import { resolveParts } from '../../src/approval/command-parts.ts';
import { createOfficialRules } from '../../src/approval/official-rules.ts';
import { type ApprovalMode, approvalPolicy } from '../../src/approval/policy.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { NO_POLICIES, type PolicyRule } from '../../src/core/policy-rule.ts';
import type { Tool } from '../../src/core/tool.ts';
import { findToolName } from '../../src/tools/builtins.ts';
import { READ, REMOTE, SHELL, tool, WRITE } from '../support/fake-person.ts';

type Given = Partial<PolicyRule> & Pick<PolicyRule, 'decision'>;

const SERVER: Tool = {
  ...REMOTE,
  remote: { server: 'files', fingerprint: 'f', tool: 'delete' },
  annotations: { destructiveHint: true },
};
const EDIT = tool('edit_file', 'write');
const AGENT: Tool = { ...tool('tester', 'read'), isAgent: true };

interface Call {
  readonly mode?: ApprovalMode;
  readonly isInteractive?: boolean;
  readonly agent?: string;
  readonly target?: string;
  readonly broken?: boolean;
  readonly allowed?: readonly string[];
}

/** The rules in their order, the highest first. */
function policyOf(given: readonly Given[], { mode = 'yolo', isInteractive = true, broken, allowed = [] }: Call) {
  const rules = given.map(
    (rule, index): PolicyRule => ({ file: '/p/a.toml', number: index + 1, priority: 9, toolNames: ['*'], ...rule }),
  );
  const files = { ...NO_POLICIES, rules, broken: broken ? [{ file: '/p/b.toml', why: 'line 1: no' }] : [] };
  const official = createOfficialRules(files, { isInteractive, findToolName });
  const grants = allowed.map((name) => ({ kind: 'tool', tool: name }) as const);
  return { official, policy: approvalPolicy({ mode, allowed: grants, isTrusted: () => false, rules: official }) };
}

async function ruleOf(given: readonly Given[], one: Tool, args: JsonObject, call: Call = {}) {
  const { policy } = policyOf(given, call);
  const found = one.findCommand?.(args);
  const place = async (path: string) => ({ path, isSensitive: false });
  const parts = found && (await resolveParts(found.command, '/w', { place, isProgram: () => false } as never));
  const { agent, target } = call;
  return policy.rule({ tool: one, args, directory: '/w', parts, agent, target });
}

const deny = (rule: Partial<PolicyRule> = {}): Given => ({ decision: 'deny', ...rule });
const ask = (rule: Partial<PolicyRule> = {}): Given => ({ decision: 'ask_user', ...rule });
const allow = (rule: Partial<PolicyRule> = {}): Given => ({ decision: 'allow', ...rule });
const shell = { toolNames: ['run_shell_command'] };
const rm = { ...shell, commandPrefixes: ['rm'] };

test.for<[string, readonly Given[], Tool, JsonObject, Call, 'run' | 'ask' | 'deny']>([
  ['no rule', [], SHELL, { command: 'ls' }, {}, 'run'],
  ['every tool', [deny()], READ, {}, {}, 'deny'],
  ['by name', [deny({ toolNames: ['write_file'] })], WRITE, {}, {}, 'deny'],
  ['by another name', [deny({ toolNames: ['write_file'] })], READ, {}, {}, 'run'],
  ['by the name of the official CLI', [deny({ toolNames: ['replace'] })], EDIT, {}, {}, 'deny'],
  ['by one of several names', [deny({ toolNames: ['glob', 'read_file'] })], READ, {}, {}, 'deny'],
  ['ask_user', [ask({ toolNames: ['read_file'] })], READ, {}, {}, 'ask'],
  ['ask_user, whatever is allowed', [ask({ toolNames: ['read_file'] })], READ, {}, { allowed: ['read_file'] }, 'ask'],
  ['allow grants nothing', [allow()], SHELL, { command: 'ls' }, { mode: 'default' }, 'ask'],
  ['a higher allow ends the search', [allow({ toolNames: ['read_file'] }), deny()], READ, {}, {}, 'run'],
  ['of another tool it does not', [allow({ toolNames: ['glob'] }), deny()], READ, {}, {}, 'deny'],
  ['a lower allow changes nothing', [deny(), allow()], READ, {}, {}, 'deny'],
  ['its mode', [deny({ modes: ['yolo'] })], READ, {}, {}, 'deny'],
  ['another mode', [deny({ modes: ['default', 'plan'] })], READ, {}, {}, 'run'],
  ['interactive', [deny({ interactive: true })], READ, {}, {}, 'deny'],
  ['not interactive', [deny({ interactive: false })], READ, {}, {}, 'run'],
  [
    'not interactive, where nobody can be asked',
    [deny({ interactive: false })],
    READ,
    {},
    { isInteractive: false },
    'deny',
  ],
  ['a sub-agent', [deny({ subagent: 'tester' })], READ, {}, { agent: 'tester' }, 'deny'],
  ['another one', [deny({ subagent: 'tester' })], READ, {}, { agent: 'other' }, 'run'],
  ['the run itself is none', [deny({ subagent: 'tester' })], READ, {}, {}, 'run'],
  ['a sub-agent as a tool', [deny({ toolNames: ['tester'] })], AGENT, {}, {}, 'deny'],
  ['all sub-agents', [deny({ toolNames: ['invoke_agent'] })], AGENT, {}, {}, 'deny'],
  ['a server', [deny({ mcpName: 'files' })], SERVER, {}, {}, 'deny'],
  ['any server', [deny({ mcpName: '*' })], SERVER, {}, {}, 'deny'],
  ['another server', [deny({ mcpName: 'other' })], SERVER, {}, {}, 'run'],
  ['a server is none of the own tools', [deny({ mcpName: '*' })], READ, {}, {}, 'run'],
  ['its tool', [deny({ mcpName: 'files', toolNames: ['delete'] })], SERVER, {}, {}, 'deny'],
  ['its tool by the whole name', [deny({ toolNames: ['mcp_files_delete'] })], SERVER, {}, {}, 'deny'],
  ["by gmn's name", [deny({ toolNames: ['files__delete'] })], SERVER, {}, {}, 'deny'],
  ['by its short name alone it is not meant', [deny({ toolNames: ['delete'] })], SERVER, {}, {}, 'run'],
  ['all of a server', [deny({ toolNames: ['mcp_files_*'] })], SERVER, {}, {}, 'deny'],
  ['of all servers', [deny({ toolNames: ['mcp_*_delete'] })], SERVER, {}, {}, 'deny'],
  ['with several stars', [deny({ toolNames: ['m*_f*s_*te'] })], SERVER, {}, {}, 'deny'],
  [
    'with stars that do not fit',
    [deny({ toolNames: ['mcp_*x*_delete', '*_delete_*', 'mcp_files_delete*e'] })],
    SERVER,
    {},
    {},
    'run',
  ],
  ['annotations', [deny({ toolAnnotations: { destructiveHint: true } })], SERVER, {}, {}, 'deny'],
  ['other annotations', [deny({ toolAnnotations: { destructiveHint: true } })], READ, {}, {}, 'run'],
  [
    'a pattern of arguments',
    [deny({ argsPattern: '"file_path":".*\\.env' })],
    READ,
    { file_path: 'a/.env' },
    {},
    'deny',
  ],
  ['one that does not match', [deny({ argsPattern: '"file_path":".*\\.env' })], READ, { file_path: 'a' }, {}, 'run'],
  [
    'of the real path',
    [deny({ argsPattern: '"file_path":"/w/secret' })],
    WRITE,
    { file_path: 'link' },
    { target: '/w/secret' },
    'deny',
  ],
  ['in the order of the keys', [deny({ argsPattern: '"a":1,"b":2' })], READ, { b: 2, a: 1 }, {}, 'deny'],
  [
    'one that takes too long asks',
    [deny({ argsPattern: '(a|aa)+(b|bb){900}$' })],
    READ,
    { x: 'a'.repeat(90_000) },
    {},
    'ask',
  ],
  [
    'too long to allow',
    [allow({ argsPattern: '(a|aa)+(b|bb){900}$' }), deny()],
    READ,
    { x: 'a'.repeat(90_000) },
    {},
    'deny',
  ],
  ['first words', [deny(rm)], SHELL, { command: 'rm x' }, {}, 'deny'],
  ['of a part', [deny(rm)], SHELL, { command: 'git status && rm x' }, {}, 'deny'],
  ['by a path', [deny(rm)], SHELL, { command: '/bin/rm x' }, {}, 'deny'],
  ['other words', [deny(rm)], SHELL, { command: 'git status' }, {}, 'run'],
  ['longer words', [deny(rm)], SHELL, { command: 'rmx x' }, { mode: 'yolo' }, 'ask'],
  [
    'options elsewhere',
    [deny({ ...shell, commandPrefixes: ['git push'] })],
    SHELL,
    { command: 'git push origin main' },
    {},
    'deny',
  ],
  ['a wrapper asks', [deny(rm)], SHELL, { command: 'sudo rm x' }, {}, 'ask'],
  ['what is not understood asks', [deny(rm)], SHELL, { command: 'A=b ls' }, {}, 'ask'],
  ['the beginning of what is not understood', [deny(rm)], SHELL, { command: 'rm $(ls)' }, {}, 'deny'],
  ['what is not understood, with a rule that asks', [ask(rm)], SHELL, { command: '$(x)' }, {}, 'ask'],
  [
    'words that are no plain words',
    [deny({ ...shell, commandPrefixes: ['rm $X'] })],
    SHELL,
    { command: 'git status' },
    {},
    'ask',
  ],
  [
    'such words as written',
    [deny({ ...shell, commandPrefixes: ['rm $X'] })],
    SHELL,
    { command: 'rm $X y' },
    {},
    'deny',
  ],
  [
    'such words allow nothing',
    [allow({ ...shell, commandPrefixes: ['a $X'] }), deny(shell)],
    SHELL,
    { command: 'git status' },
    {},
    'deny',
  ],
  [
    'a command of the allowed beginning',
    [allow({ ...shell, commandPrefixes: ['git status'] }), deny(shell)],
    SHELL,
    { command: 'git status -s' },
    {},
    'run',
  ],
  [
    'with another one behind it',
    [allow({ ...shell, commandPrefixes: ['git'] }), deny(rm)],
    SHELL,
    { command: 'git status; rm x' },
    {},
    'deny',
  ],
  [
    'allowed, but not understood',
    [allow({ ...shell, commandPrefixes: ['git'] }), deny(shell)],
    SHELL,
    { command: 'git status $(x)' },
    {},
    'deny',
  ],
  ['an allow for all commands', [allow(shell), deny(rm)], SHELL, { command: 'sh -c "rm x"' }, {}, 'run'],
  [
    'a pattern of a command',
    [deny({ ...shell, commandRegex: 'git (push|commit)' })],
    SHELL,
    { command: 'git push' },
    {},
    'deny',
  ],
  [
    'of a part by its pattern',
    [deny({ ...shell, commandRegex: 'git push' })],
    SHELL,
    { command: 'ls; git "push"' },
    {},
    'deny',
  ],
  [
    'a pattern of another command',
    [deny({ ...shell, commandRegex: 'git push' })],
    SHELL,
    { command: 'git status' },
    {},
    'run',
  ],
  [
    'a pattern, and an unknown program',
    [deny({ ...shell, commandRegex: 'git push' })],
    SHELL,
    { command: 'mytool' },
    {},
    'ask',
  ],
  [
    'an allowed pattern of an unknown program',
    [allow({ ...shell, commandRegex: 'mytool' }), deny(shell)],
    SHELL,
    { command: 'mytool' },
    {},
    'run',
  ],
  ['a broken file', [], WRITE, {}, { broken: true }, 'ask'],
  ['a broken file, and reading', [], READ, {}, { broken: true }, 'run'],
  ['a broken file beside a rule', [deny()], WRITE, {}, { broken: true }, 'deny'],
])('%s', async ([, rules, one, args, call, kind]) => {
  expect((await ruleOf(rules, one, args, call)).kind).toBe(kind);
});

test('a denial names the policy, its message and the way to see it', async () => {
  expect(await ruleOf([deny({ message: 'Ask\u001b me' })], READ, {})).toEqual({
    kind: 'deny',
    reason:
      'read_file was not run: the policy /p/a.toml, rule 1, denies it. It says: Ask\\x1b me. Do not try it another way; tell the user what you would do.',
    advice: 'the policy /p/a.toml, rule 1, denies it. It says: Ask\\x1b me. To see the policies: gmn permissions list',
  });
  const asked = await ruleOf([ask()], READ, {});
  expect(asked).toMatchObject({
    scope: 'once',
    denial: { advice: expect.stringContaining('wants the user to be asked') },
  });
  const unclear = await ruleOf([deny(rm)], SHELL, { command: 'sudo x' });
  expect(unclear).toMatchObject({ scope: 'command', denial: { advice: expect.stringContaining('may deny it') } });
  const broken = await ruleOf([], WRITE, {}, { broken: true });
  expect(broken).toMatchObject({
    denial: { advice: expect.stringContaining('/p/b.toml may deny it, but cannot be read (line 1: no)') },
  });
});

test('a tool that is always denied is hidden; conditions and higher rules that allow keep it', () => {
  const isHidden = (rules: readonly Given[], call: Call = {}): boolean =>
    policyOf(rules, call).official.findHiding(SHELL, 'yolo') !== undefined;
  expect(isHidden([deny(shell)])).toBe(true);
  expect(isHidden([deny()])).toBe(true);
  expect(isHidden([deny(rm)])).toBe(false);
  expect(isHidden([allow(rm), deny(shell)])).toBe(true);
  expect(isHidden([allow(shell), deny(shell)])).toBe(false);
  expect(isHidden([ask(shell)])).toBe(false);
  expect(isHidden([deny({ ...shell, modes: ['plan'] })])).toBe(false);
  expect(isHidden([deny({ ...shell, subagent: 'x' })])).toBe(false);
});

test('an answer to a question that a policy asks covers nothing else', () => {
  const { policy } = policyOf([ask({ toolNames: ['write_file'] })], { mode: 'default' });
  expect(policy.remember({ tool: WRITE, args: {}, target: '/w/a' }, 'scope')).toBeUndefined();
  expect(policy.remember({ tool: EDIT, args: {}, target: '/w/a' }, 'scope')).toEqual({ kind: 'edits' });
  expect(policy.remember({ tool: SHELL, args: { command: 'x' }, harm: 'rm: /' }, 'scope')).toBeUndefined();
});
