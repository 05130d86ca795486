import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, type TestContext, test } from 'vitest';
import { completionPlan, listArgumentNames, PLACEHOLDERS, SHELLS } from '../../src/cli/completion/plan.ts';
import { completionScript } from '../../src/cli/completion/script.ts';
import { TOPICS } from '../../src/cli/help.ts';
import { TOOL_SUGGESTIONS } from '../../src/cli/table/flags.ts';
import { ROOT } from '../../src/cli/table/root.ts';
import { MODELS } from '../../src/models/table.ts';
import { BUILTIN_NAMES } from '../../src/tools/builtins.ts';
import { COMMANDS, flagsOf, SETTINGS, saveSessions } from '../support/completing.ts';
import { type GmnOptions, gmnCommand, place, runGmn, runGmnIn } from '../support/gmn.ts';

test('the plan has every command, sub-command and flag of the table', () => {
  const isPlain = ({ path }: { readonly path: string }): boolean => !path.startsWith('gmn help');
  const planned = completionPlan(ROOT)
    .filter(isPlain)
    .map(({ path, commands, flags }) => ({
      path,
      commands: commands.map(({ name }) => name),
      flags: flags.flatMap(({ names }) => names),
    }));
  expect(planned).toEqual(
    COMMANDS.filter(isPlain).map((found) => ({
      path: found.path,
      commands: (found.command.subcommands ?? []).map(({ name }) => name),
      flags: flagsOf(found),
    })),
  );
});

test('behind help stand the commands and topics, and behind a command its own', () => {
  const plan = completionPlan(ROOT);
  const namesAt = (at: string) => plan.find(({ path }) => path === at)?.commands.map(({ name }) => name);
  expect(namesAt('gmn help')).toEqual(namesAt('gmn'));
  expect(namesAt('gmn help mcp')).toEqual(namesAt('gmn mcp'));
  const [topics] = plan.find(({ path }) => path === 'gmn help')?.words ?? [];
  const words = topics?.kind === 'words' ? topics.words : [];
  expect([...(namesAt('gmn help') ?? []), ...words]).toEqual(expect.arrayContaining(Object.keys(TOPICS)));
});

test('--tools is completed with the tools that there are', () => {
  expect(TOOL_SUGGESTIONS.toSorted()).toEqual(['none', 'read', 'edit', 'all', ...BUILTIN_NAMES].toSorted());
});

test('every placeholder of the table is known, so that no value is forgotten', () => {
  const used = COMMANDS.flatMap(({ command }) => [
    ...listArgumentNames(command.args ?? '').filter((name) => name !== 'command'),
    ...command.flags.flatMap(({ value, choices, suggestions }) => (value && !choices && !suggestions ? [value] : [])),
  ]);
  expect([...new Set(used)].filter((name) => !Object.hasOwn(PLACEHOLDERS, name))).toEqual([]);
});

test.for(SHELLS)('gmn completion %s prints the script made from the table', async (shell, t) => {
  const expected = { stdout: completionScript(shell, ROOT), stderr: '', exitCode: 0 };
  expect(await runGmn(t, ['completion', shell])).toMatchObject(expected);
  // The same where it does not come from the text that the build has made.
  expect(await runGmn(t, ['completion', '--', shell])).toMatchObject(expected);
});

test.for<readonly [args: readonly string[], error: string]>([
  [
    ['tcsh'],
    'Error: there is no completion for "tcsh"\nShells: bash, zsh, fish, powershell. Example: gmn completion bash\n',
  ],
  [[], "Error: missing required argument 'shell'\nRun: gmn completion --help\n"],
  [['bash', 'zsh'], 'Error: too many words: zsh\nRun: gmn completion --help\n'],
])('gmn completion %j is refused', async ([args, error], t) => {
  expect(await runGmn(t, ['completion', ...args])).toMatchObject({ stdout: '', stderr: error, exitCode: 1 });
});

async function asked(t: TestContext, what: string, options: GmnOptions = {}) {
  const { home, cwd, env } = place(t, { ...options, env: { ...options.env, GEMINI_API_KEY: 'secret-key' } });
  await saveSessions(home, cwd);
  const { status, stdout, stderr } = spawnSync(...gmnCommand(['__complete', what]), {
    ...{ cwd, env, encoding: 'utf8' },
  });
  return { status, stderr, lines: stdout.split('\n').slice(0, -1), home };
}

describe('gmn __complete', () => {
  test('models are those gmn knows and their short names', async (t) => {
    const { status, stderr, lines } = await asked(t, 'models');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const names = lines.map((line) => line.split('\t')[0]);
    for (const { id } of MODELS) expect(names).toContain(id);
    expect(lines).toContain('pro\tshort for gemini-pro-latest');
    expect(new Set(names).size).toBe(names.length);
  });

  test('models that the service listed are offered too', async (t) => {
    const models = [{ id: 'gemini-99-new' }];
    const listing = { backend: 'gemini-api', source: 'x', account: 'a', time: Date.now(), models };
    const home = { '.gmn/listed-models.json': JSON.stringify(listing) };
    expect((await asked(t, 'models', { home })).lines).toContain('gemini-99-new\tlisted by the service');
  });

  test('sessions are named, or have the beginning of their id; what a terminal would obey is escaped', async (t) => {
    const { lines } = await asked(t, 'sessions');
    expect(lines.toSorted()).toEqual([
      '0a1b2c3e\tbest month\\x1b[31m for Kyoto?',
      'it\'s "my" trip: $1\t0a1b2c3d best month\\x1b[31m for Kyoto?',
      'last\tthe newest session',
    ]);
  });

  test('servers are those of the settings, less what no line can hold', async (t) => {
    const { lines, home } = await asked(t, 'servers', SETTINGS);
    const file = join(home, '.gemini/settings.json').slice(0, 60);
    expect(lines).toEqual([`my server\t${file}`, `a:b=c\t${file}`, `two words\t${file}`]);
  });

  test('templates have what they are for', async (t) => {
    const { lines } = await asked(t, 'templates', SETTINGS);
    expect(lines).toEqual([
      'commit\tWrite a commit message for a diff',
      'empty\t',
      'explain\tExplain code, an error, a log or a word',
      'fix\tFind what is wrong, and the smallest change that repairs it',
      'review\tLooks at a change',
      'summarise\tSummarise a text, a log or a thread',
    ]);
  });

  test('tools are those the server had when it was asked, and none before', async (t) => {
    const at = place(t, SETTINGS);
    const lines = async (server: string) => (await runGmnIn(t, at, ['__complete', 'tools', server])).stdout;
    expect(await lines('two words')).toBe('');
    await runGmnIn(t, at, ['mcp', 'tools', 'two words']);
    expect(await lines('two words')).toBe('read\tThe text of a file.\nstat\tSize and time of a file.\n');
    expect(await lines('my server')).toBe('');
  });

  test('keys are those gmn reads and those that are set', async (t) => {
    const { lines } = await asked(t, 'keys', SETTINGS);
    expect(lines).toContain('model.name\t');
    expect(lines).toContain('mcpServers."my server".command\t');
  });

  test.for(['servers', 'keys', 'nonsense', ''])('it prints nothing for %j if it knows nothing', async (what, t) => {
    const { status, stderr, lines } = await asked(t, what, { home: { '.gemini/settings.json': '{ broken' } });
    expect({ status, stderr, lines }).toEqual({ status: 0, stderr: '', lines: [] });
  });
});

test('the PowerShell script has every command and flag of the table', () => {
  const script = completionScript('powershell', ROOT);
  const blocks = script
    .split(/^ {2}'(?=gmn)/m)
    .slice(1)
    .filter((block) => !block.startsWith('gmn help '));
  expect(blocks.map((block) => block.split("'")[0])).toEqual(COMMANDS.map(({ path }) => path));
  for (const [index, found] of COMMANDS.entries()) {
    const line = blocks[index]?.split('\n').find((text) => text.startsWith('    flags = ')) ?? '';
    expect(
      [...line.matchAll(/\$table\['([^']+)'\]/g)].map(([, name]) => name),
      found.path,
    ).toEqual(flagsOf(found));
  }
});
