import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import { call, fakeGemini, reply } from '../support/gemini.ts';
import { callGmn, callGmnIn, type GmnOptions, place } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';

const run = (command: string) => call('run_shell_command', { command });
const POLICY = '.gemini/policies/team.toml';

const rule = (fields: Readonly<Record<string, unknown>>, decision = 'deny'): string =>
  [
    '[[rule]]',
    ...Object.entries({ decision, priority: 100, ...fields }).map(
      ([key, value]) => `${key} = ${JSON.stringify(value)}`,
    ),
    '',
  ].join('\n');

async function runCalls(
  t: TestContext,
  calls: readonly ReturnType<typeof call>[],
  { flags = ['--yolo'], ...options }: GmnOptions & { readonly flags?: readonly string[] },
) {
  const gemini = await fakeGemini(t, [reply(...calls), reply('done')]);
  const at = place(t, { ...options, gemini });
  const gmn = await callGmnIn(t, at, ['--tools', 'all', '-o', 'json', ...flags, 'go']);
  const errors = gemini.requests[1]?.results.map(({ error = '' }) => error) ?? [];
  return { errors, tools: gemini.requests[0]?.tools ?? [], warnings: JSON.parse(gmn.stdout).warnings ?? [], at, gmn };
}

posixTest('with --yolo, what a policy denies is not run, and what it asks about is denied', async (t) => {
  const policy =
    rule({ toolName: 'run_shell_command', commandPrefix: ['touch a', 'touch e'] }) +
    rule({ toolName: 'run_shell_command', commandPrefix: 'touch b' }, 'ask_user') +
    rule({ toolName: ['write_file', 'replace'], argsPattern: '"file_path":".*secret', denyMessage: 'Not that one' });
  const { errors, warnings, at } = await runCalls(
    t,
    [
      ...[run('touch a'), run('git status && touch a'), run('touch b'), run('touch c'), run('env touch a')],
      call('write_file', { path: 'secret.txt', content: 'x' }),
    ],
    { home: { [POLICY]: policy } },
  );
  expect(errors).toEqual([
    expect.stringMatching(/team\.toml, rule 1, denies it/),
    expect.stringMatching(/team\.toml, rule 1, denies it/),
    expect.stringMatching(/team\.toml, rule 2, wants the user to be asked/),
    '',
    expect.stringMatching(/rule 1, may deny it/),
    expect.stringMatching(/rule 3, denies it\. It says: Not that one/),
  ]);
  for (const name of ['a', 'b', 'secret.txt']) expect(existsSync(join(at.cwd, name))).toBe(false);
  expect(existsSync(join(at.cwd, 'c'))).toBe(true);
  expect(warnings.join('\n')).toContain('gmn permissions list');
});

posixTest('what a policy allows is granted by nothing', async (t) => {
  const { errors, at } = await runCalls(t, [run('touch a')], {
    flags: [],
    home: { [POLICY]: rule({ toolName: '*' }, 'allow') },
  });
  expect(errors[0]).toContain("needs the user's approval");
  expect(existsSync(join(at.cwd, 'a'))).toBe(false);
});

test('a tool that is always denied is hidden; named, a notice says why', async (t) => {
  const policy = rule({ toolName: ['write_file', 'replace', 'tester'] });
  const agent = '---\nname: tester\ndescription: d\n---\nx\n';
  const gmn = await callGmn(t, ['--tools', 'edit,write_file', 'x'], {
    home: { [POLICY]: policy, '.gemini/agents/tester.md': agent },
    script: [reply('hi')],
  });
  expect(gmn.requests[0]?.tools).toContain('read_file');
  for (const name of ['write_file', 'edit_file', 'tester']) expect(gmn.requests[0]?.tools).not.toContain(name);
  expect(gmn.stderr).toContain('write_file is not offered: the policy ');
});

test('a rule of a sub-agent holds for its calls alone', async (t) => {
  const home = {
    [POLICY]: rule({ toolName: 'read_file', subagent: 'tester' }),
    '.gemini/agents/tester.md': '---\nname: tester\ndescription: d\n---\nx\n',
  };
  const read = reply(call('read_file', { file_path: 'a.txt' }));
  const gemini = await fakeGemini(t, [
    reply(call('tester', { prompt: 'look' })),
    read,
    reply('no'),
    read,
    reply('done'),
  ]);
  await callGmn(t, ['--tools', 'read', 'x'], { gemini, home, files: { 'a.txt': 'A' } });
  expect(gemini.requests[2]?.results[0].error).toMatch(/rule 1, denies it/);
  expect(gemini.requests[4]?.results[0]).toEqual({ output: 'A' });
});

posixTest('a broken policy is reported in every run, and until it is mended only reading goes unasked', async (t) => {
  const { errors, warnings, at } = await runCalls(t, [run('touch a'), call('read_file', { file_path: 'r.txt' })], {
    home: { [POLICY]: '[[rule]\n' },
    files: { 'r.txt': 'R' },
  });
  expect(errors).toEqual([expect.stringMatching(/team\.toml may deny it, but cannot be read/), '']);
  expect(warnings[0]).toMatch(
    /^the policy .*team\.toml cannot be read: line 1: .* every call that does more than read is asked about$/,
  );
  expect(existsSync(join(at.cwd, 'a'))).toBe(false);
});

posixTest('policies that system settings name count, and those of a folder do not', async (t) => {
  const at = place(t, {
    files: {
      '.gemini/policies/x.toml': rule({ toolName: '*' }),
      '.gemini/settings.json': '{"policyPaths": ["/nowhere"]}',
    },
    home: { 'admin/p.toml': rule({ toolName: 'run_shell_command', commandPrefix: 'touch' }), [POLICY]: '' },
  });
  const gemini = await fakeGemini(t, [reply(run('touch a'), run('git status')), reply('done')]);
  const { writeFileSync } = await import('node:fs');
  const system = join(at.root, 'system.json');
  writeFileSync(system, JSON.stringify({ adminPolicyPaths: [join(at.home, 'admin')] }));
  const env = {
    ...at.env,
    GEMINI_API_KEY: 'test-key-0123456789',
    GOOGLE_GEMINI_BASE_URL: gemini.url,
    GEMINI_CLI_SYSTEM_SETTINGS_PATH: system,
  };
  await callGmnIn(t, { ...at, env }, ['--tools', 'all', '--yolo', '-o', 'json', 'x']);
  const results = gemini.requests[1]?.results ?? [];
  expect(results[0].error).toMatch(/p\.toml, rule 1, denies it/);
  expect(results[1]).not.toHaveProperty('error');
});

posixTest('a template asks a policy, too', async (t) => {
  const gmn = await callGmn(t, ['--yolo', '-p', '/make'], {
    home: {
      [POLICY]: rule({ toolName: 'run_shell_command', commandPrefix: 'touch' }),
      '.gemini/commands/make.toml': 'prompt = "!{touch a}"',
    },
    script: [],
  });
  expect(gmn.exitCode).toBe(1);
  expect(gmn.stderr).toContain('team.toml, rule 1, denies it');
});

test('gmn permissions list and gmn doctor show the policies, and which is broken', async (t) => {
  const at = place(t, {
    home: {
      [POLICY]:
        rule({ toolName: 'run_shell_command', commandPrefix: 'git push', modes: ['yolo'], interactive: false }) +
        rule({ toolName: 'glob' }, 'allow'),
      '.gemini/policies/mcp.toml': rule({ mcpName: 'files', subagent: 'tester', priority: 2 }, 'ask_user'),
      '.gemini/policies/no.toml': 'x',
    },
  });
  const list = await callGmnIn(t, at, ['permissions', 'list']);
  expect(list.stdout).toMatch(
    /Policies, which hold in every mode:\ndenied +run_shell_command: git push · yolo · not interactive +~\/.gemini\/policies\/team\.toml, rule 1\nasked +files: \* · sub-agent tester/,
  );
  expect(list.stdout).not.toContain('glob');
  expect(list.stderr).toMatch(/no\.toml cannot be read/);
  const json = JSON.parse((await callGmnIn(t, at, ['permissions', 'list', '--json'])).stdout);
  expect(json.policies).toEqual([
    expect.objectContaining({
      rule: 1,
      decision: 'deny',
      toolNames: ['run_shell_command'],
      commandPrefixes: ['git push'],
      priority: 4.1,
    }),
    expect.objectContaining({ decision: 'ask_user', mcpName: 'files', subagent: 'tester' }),
  ]);
  expect(json.warnings).toEqual([expect.stringContaining('no.toml cannot be read')]);
  const doctor = await callGmnIn(t, at, ['doctor']);
  expect(doctor.stdout).toMatch(/1 rule that denies or asks \(.*team\.toml\)/);
  expect(doctor.stdout).toMatch(/no\.toml cannot be read/);
});
