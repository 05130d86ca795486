import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, type TestContext, test } from 'vitest';
import { formatTabAnswer, resolveTab } from '../../src/cli/completion/answer.ts';
import { formatBashWords, splitBashLine } from '../../src/cli/completion/bash.ts';
import { completionPlan, listArgumentNames, PLACEHOLDERS } from '../../src/cli/completion/plan.ts';
import { type Completion, resolveCompletion } from '../../src/cli/completion/resolve.ts';
import { SCRIPTS, type Shell } from '../../src/cli/completion/script.ts';
import { TOPICS } from '../../src/cli/help.ts';
import { TOOL_SUGGESTIONS } from '../../src/cli/table/flags.ts';
import { ROOT } from '../../src/cli/table/root.ts';
import { MODELS } from '../../src/models/table.ts';
import { BUILTIN_NAMES } from '../../src/tools/builtins.ts';
import { COMMANDS, flagsOf, SETTINGS, saveSessions } from '../support/completing.ts';
import { type GmnOptions, gmnCommand, place, runGmn, runGmnIn } from '../support/gmn.ts';

const PLAN = completionPlan(ROOT);
const SHELLS: readonly Shell[] = ['bash', 'zsh', 'fish', 'powershell'];
const BREAKS = ' \t\n"\'><=;|&(:';

/** What a shell is told where this is typed: the first line, and what it offers, in its own form. */
function askFor(shell: Shell, line: string): { readonly paths: string; readonly offered: readonly string[] } {
  const request = resolveTab(shell === 'bash' ? [shell, BREAKS, line] : [shell, ...line.split(' ')], PLAN);
  const [paths = '', ...offered] = request === undefined ? [] : formatTabAnswer(request, []).split('\n').slice(0, -1);
  return { paths, offered };
}

describe.for(SHELLS)('for %s', (shell) => {
  test('every command and flag of the table is offered, with its meaning where the shell shows it', () => {
    for (const found of COMMANDS.filter(({ path }) => path !== 'gmn help')) {
      const flags = askFor(shell, `${found.path} -`).offered;
      expect(
        flags.map((line) => line.split(/[\t:]/)[0]),
        found.path,
      ).toEqual(flagsOf(found));
      const names = (found.command.subcommands ?? []).map(({ name }) => name);
      const { offered } = askFor(shell, `${found.path} `);
      if (names.length > 0)
        expect(
          offered.map((line) => line.split(/[\t:]/)[0]),
          found.path,
        ).toEqual(names);
    }
    const meant = { bash: '--model', zsh: '--model:Model id or alias', fish: '--model\tModel id or alias' };
    const expected = { ...meant, powershell: '--model\t--model\tModel id or alias' };
    expect(askFor(shell, 'gmn --mo').offered).toContain(expected[shell]);
  });
});

test.for<readonly [line: string, expected: Partial<Completion>]>([
  ['gmn -f ', { paths: 'files' }],
  ['gmn --file=no', { paths: 'files', head: '--file=', typed: 'no' }],
  ['gmn -C s', { paths: 'directories' }],
  ['gmn -qf s', { paths: 'files' }],
  ['gmn -fq hello s', {}],
  ['gmn -q s --color', { candidates: expect.arrayContaining([{ value: '--color', about: expect.any(String) }]) }],
  ['gmn --template x', { paths: 'otherwise-files', list: { name: 'templates', before: '' } }],
  ['gmn mcp call files re', { list: { name: 'tools', before: 'files' } }],
  ['gmn --model=', { head: '--model=', typed: '', list: { name: 'models', before: '' } }],
  ['gmn --nonsense=a', { head: '--nonsense=', typed: 'a' }],
  ['gmn -- -f ', {}],
  ['gmn hello ', {}],
  ['gmn -p auth', {}],
  ['gmn why @src/ma', { paths: 'files', head: '@', typed: 'src/ma' }],
  ['gmn why me@src', {}],
  ['gmn --system=@ru', { paths: 'files', head: '--system=@', typed: 'ru' }],
  ['gmn mcp add files npx -f', { paths: 'files' }],
  ['gmn mcp add wiki https://wiki.example/mcp ', {}],
])('behind %j stands what the table says', ([line, expected]) => {
  const words = line.split(' ');
  const typed = words.at(-1) ?? '';
  const nothing = { head: '', typed, candidates: [], paths: 'none' };
  expect(resolveCompletion(PLAN, words.slice(1, -1), typed)).toEqual({ ...nothing, ...expected });
});

test.for<readonly [typed: string, offered: readonly string[]]>([
  ['it', ["it\\'s\\ \\$1"]],
  ['"it', ["it's \\$1"]],
  ["'it", ["it'\\''s $1"]],
  ['it\\', ["it\\'s\\ \\$1"]],
  ["it'", []],
  ['a:', ['b=c']],
  ['a:b=', ['c']],
  ['"a:', ['a:b=c']],
  ['x', []],
])('bash replaces %j by what its own rules ask for', ([typed, offered]) => {
  const candidates = ["it's $1", 'a:b=c'].map((value) => ({ value, about: '' }));
  expect(formatBashWords({ head: '', typed, candidates: [], paths: 'none' }, candidates, BREAKS)).toEqual(offered);
});

test('a line of bash is read back as what was completed', () => {
  const words = fc.array(fc.string({ unit: 'grapheme', minLength: 1 }).filter((word) => !/\p{Cc}/u.test(word)));
  fc.assert(
    fc.property(words, fc.constantFrom('', '"', "'"), (values, quote) => {
      const candidates = values.map((value) => ({ value, about: '' }));
      const formatted = formatBashWords({ head: '', typed: quote, candidates: [], paths: 'none' }, candidates, '');
      const line = ['gmn', ...formatted.map((word) => `${quote}${word}${quote}`), ''].join(' ');
      expect(splitBashLine(line)).toEqual({ words: ['gmn', ...values], typed: '' });
    }),
  );
});

test('PowerShell gets what it must replace the word by, in quotes where it needs them', () => {
  const request = resolveTab(['powershell', 'gmn', 'mcp', 'get', "''"], PLAN);
  const found = ["it's", 'l\u2019x', '@x', 'plain'].map((value) => ({ value, about: '' }));
  expect(request && formatTabAnswer(request, found).split('\n')).toEqual([
    'none\t',
    "'it''s'\tit's\tit's",
    "'l\u2019\u2019x'\tl\u2019x\tl\u2019x",
    "'@x'\t@x\t@x",
    'plain\tplain\tplain',
    '',
  ]);
});

test('behind help stand the commands and topics, and behind a command its own', () => {
  const namesAt = (at: string) => PLAN.find(({ path }) => path === at)?.commands.map(({ name }) => name);
  expect(namesAt('gmn help')).toEqual(namesAt('gmn'));
  expect(namesAt('gmn help mcp')).toEqual(namesAt('gmn mcp'));
  const [topics] = PLAN.find(({ path }) => path === 'gmn help')?.words ?? [];
  const words = topics?.kind === 'words' ? topics.words : [];
  expect([...(namesAt('gmn help') ?? []), ...words]).toEqual(expect.arrayContaining(Object.keys(TOPICS)));
});

test('--tools is completed with the tools that there are', () => {
  expect(TOOL_SUGGESTIONS.toSorted()).toEqual(['none', 'read', 'edit', 'all', ...BUILTIN_NAMES].toSorted());
});

test('every placeholder that has values to offer is one of the table', () => {
  const used = COMMANDS.flatMap(({ command }) => [
    ...listArgumentNames(command.args ?? ''),
    ...command.flags.map(({ value }) => value),
  ]);
  expect(Object.keys(PLACEHOLDERS).filter((name) => !used.includes(name))).toEqual([]);
});

test.for(SHELLS)('gmn completion %s prints the script', async (shell, t) => {
  const expected = { stdout: SCRIPTS[shell], stderr: '', exitCode: 0 };
  expect(await runGmn(t, ['completion', shell])).toMatchObject(expected);
  // The same where it does not come from the text that the build has made.
  expect(await runGmn(t, ['completion', '--', shell])).toMatchObject(expected);
});

test.for<readonly [args: readonly string[], error: string]>([
  [
    ['tcsh'],
    'Error: there is no completion for "tcsh"\nShells: bash, zsh, fish, powershell. Example: gmn completion bash\n',
  ],
  [[], "Error: missing required argument 'shell'\nUsage: gmn completion <shell>\nRun: gmn completion --help\n"],
  [['bash', 'zsh'], 'Error: too many words: zsh\nRun: gmn completion --help\n'],
])('gmn completion %j is refused', async ([args, error], t) => {
  expect(await runGmn(t, ['completion', ...args])).toMatchObject({ stdout: '', stderr: error, exitCode: 1 });
});

/** Where each list is asked for. */
const PLACES = {
  models: ['-m'],
  sessions: ['-r'],
  jobs: ['jobs', 'show'],
  servers: ['mcp', 'get'],
  templates: ['--template'],
  keys: ['config', 'get'],
} as const;

function tab(words: readonly string[]): readonly string[] {
  return ['__complete', 'fish', 'gmn', ...words, ''];
}

async function asked(t: TestContext, what: keyof typeof PLACES, options: GmnOptions = {}) {
  const { home, cwd, env } = place(t, { ...options, env: { ...options.env, GEMINI_API_KEY: 'secret-key' } });
  await saveSessions(home, cwd);
  const { status, stdout, stderr } = spawnSync(...gmnCommand(tab(PLACES[what])), {
    ...{ cwd, env, encoding: 'utf8' },
  });
  return { status, stderr, lines: stdout.split('\n').slice(1, -1), home };
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

  test('jobs have the beginning of their id; a Tab writes nothing down', async (t) => {
    const record = { job_id: '0a1b2c3d-0000-4000-8000-000000000000', prompt_sha256: 'x', timeout_ms: 0 };
    const job = { ...record, status: 'running', created_at: '2026-01-01T00:00:00Z', title: 'why\u001b[31m?' };
    const file = `.gmn/jobs/${record.job_id}.jsonl`;
    const { lines, home } = await asked(t, 'jobs', { home: { [file]: JSON.stringify(job) } });
    expect(lines).toEqual(['0a1b2c3d\tfailed why\\x1b[31m?']);
    expect(readFileSync(join(home, file), 'utf8')).toBe(JSON.stringify(job));
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
      'empty',
      'explain\tExplain code, an error, a log or a word',
      'fix\tFind what is wrong, and the smallest change that repairs it',
      'review\tLooks at a change',
      'summarise\tSummarise a text, a log or a thread',
    ]);
  });

  test('tools are those the server had when it was asked, and none before', async (t) => {
    const at = place(t, SETTINGS);
    const lines = async (server: string) => (await runGmnIn(t, at, tab(['mcp', 'call', server]))).stdout;
    expect(await lines('two words')).toBe('none\t\n');
    await runGmnIn(t, at, ['mcp', 'tools', 'two words']);
    expect(await lines('two words')).toBe('none\t\nread\tThe text of a file.\nstat\tSize and time of a file.\n');
    expect(await lines('my server')).toBe('none\t\n');
  });

  test('keys are those gmn reads and those that are set', async (t) => {
    const { lines } = await asked(t, 'keys', SETTINGS);
    expect(lines).toContain('model.name');
    expect(lines).toContain('mcpServers."my server".command');
  });

  test('settings that cannot be read offer nothing, and say nothing', async (t) => {
    for (const what of ['servers', 'keys'] as const) {
      const { status, stderr, lines } = await asked(t, what, { home: { '.gemini/settings.json': '{ broken' } });
      expect({ status, stderr, lines }).toEqual({ status: 0, stderr: '', lines: [] });
    }
  });

  test.for([[], ['models', ''], ['tcsh', 'gmn', ''], ['{}']])('it says nothing to %j', async (args, t) => {
    expect(await runGmn(t, ['__complete', ...args])).toMatchObject({ stdout: '', stderr: '', exitCode: 0 });
  });
});
