import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import { sharedHome } from '../support/chat.ts';
import { chatInTerminal, screenOf } from '../support/chat-terminal.ts';
import { emulator } from '../support/emulator.ts';
import { call, fakeGemini, reply } from '../support/gemini.ts';
import { callGmn, callGmnIn, place } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';
import { runInTerminal } from '../support/pty.ts';

const CTRL_D = '\u0004';

/** A command that prints six lines, waits for a file, prints two more and fails. */
function failsAfter(file: string): string {
  return `for i in 1 2 3 4 5 6; do echo 行-$i; done; until [ -e ${file} ] || [ ! -d ${dirname(file)} ]; do sleep 0.05; done; echo 行-7; echo 終わり; exit 3`;
}

/** The rows of a screen, without the time that commands took. */
function rowsOf(output: string): readonly string[] {
  return screenOf(output)
    .replace(/(?<= · )\d+\.\ds$/gm, '0.0s')
    .split('\n');
}

posixTest('a command is seen while it runs, and its end, its exit code and its last lines stay', async (t) => {
  const { env, path } = sharedHome(t);
  const command = failsAfter(join(path, 'go'));
  const gemini = await fakeGemini(t, [
    reply(call('run_shell_command', { command, description: 'Builds everything' })),
    reply(call('glob', { pattern: '*.none' })),
    reply('It failed.'),
  ]);
  const chat = chatInTerminal(t, ['--tools', 'all', '--session-name', 'build'], { gemini, env });
  await chat.until(/❯ /);
  chat.enter('build');
  expect(screenOf(await chat.until(/› $/))).toContain('│ The model says: Builds everything\n│ for i in');
  chat.type('y');
  const during = screenOf(await chat.until(/行-6/)).split('\n');
  // An empty row to type in and the status are below.
  expect(during.slice(-7, -2)).toEqual([expect.stringMatching(/^\S run_shell_command for i/), ...tailOf(3)]);
  writeFileSync(join(path, 'go'), '');
  await chat.until(/It failed\.[\s\S]*❯ /);
  chat.enter('/output');
  await chat.until(/\/output 2: run_shell_command[\s\S]*❯ /);
  chat.enter('/output 2');
  await chat.until(/exit_code: 3[\s\S]*❯ /);
  chat.type(CTRL_D);
  const rows = rowsOf((await chat.ended).output);
  expect(
    rows.slice(
      rows.findIndex((row) => row.startsWith('✗')),
      -2,
    ),
  ).toEqual([
    expect.stringMatching(/^✗ run_shell_command for i .*…/),
    expect.stringMatching(/· exit 3 · 8 lines · 0\.0s$/),
    '  … 4 more lines above: /output',
    ...['  行-5', '  行-6', '  行-7', '  終わり'],
    expect.stringMatching(/^✓ glob \*\.none/),
    '',
    'It failed.',
    '',
    '❯ /output',
    'glob *.none',
    'files:',
    expect.stringMatching(/^\/output 2: run_shell_command for i/),
    expect.stringMatching(/^ {4}.*…$/),
    '❯ /output 2',
    expect.stringMatching(/^run_shell_command for i/),
    ...[1, 2, 3, 4, 5, 6, 7].map((number) => `行-${number}`),
    '終わり',
    'exit_code: 3',
    '❯',
    expect.stringMatching(/^1 turn · /),
  ]);
});

function tailOf(first: number): readonly string[] {
  return [0, 1, 2, 3].map((index) => `  行-${first + index}`);
}

posixTest('!command shows what it prints while it runs', async (t) => {
  const { env, path } = sharedHome(t);
  const chat = chatInTerminal(t, ['--demo'], { env });
  await chat.until(/❯ /);
  chat.enter(
    `!printf 'fi%s' rst; until [ -e ${join(path, 'go')} ] || [ ! -d ${path} ]; do sleep 0.05; done; echo; exit 4`,
  );
  await chat.until(/first/);
  writeFileSync(join(path, 'go'), '');
  await chat.until(/drops it[\s\S]*❯ /);
  chat.type(CTRL_D);
  expect(screenOf((await chat.ended).output)).toContain('\nfirst\n✗ exit code 4\nThis goes with your next prompt');
});

posixTest('a chat that is continued begins with its last turns, and its first line fits the window', async (t) => {
  const { env } = sharedHome(t);
  const long = `It rains.\n\n${'A long answer. '.repeat(40)}`;
  const script = [reply('One.'), reply(call('list_directory', { dir_path: '.' })), reply('Two.'), reply(long)];
  const gemini = await fakeGemini(t, script);
  const first = await callGmn(t, ['chat', '--session-name', 'trip'], {
    ...{ gemini, env, stdin: 'first\nsecond\nthird?\n' },
  });
  expect(first.exitCode).toBe(0);
  const chat = chatInTerminal(t, ['-r', 'trip'], { gemini, env });
  await chat.until(/third\?[\s\S]*❯ /);
  chat.enter('/new');
  await chat.until(/new session[\s\S]*❯ /);
  chat.enter('/load trip');
  await chat.until(/Continuing trip: 3 turns[\s\S]*third\?[\s\S]*❯ /);
  chat.type(CTRL_D);
  const rows = screenOf((await chat.ended).output).split('\n');
  expect(rows[0]).toMatch(/^gmn .* · …\/work · edits ask first · \/help$/);
  const recap = [
    ...['… 1 earlier turn', '', '❯ second', '1 tool call', 'Two.', ''],
    ...['❯ third?', 'It rains.', ...Array(3).fill(expect.stringMatching(/^\S.*(?:long|answer\.|A)$/)), '…', ''],
  ];
  const begun = rows.findIndex((row) => row.startsWith('this session was started in')) + 1;
  expect(rows.slice(begun, begun + recap.length)).toEqual(recap);
  const loaded = rows.indexOf('Continuing trip: 3 turns.') + 1;
  expect(rows.slice(loaded, loaded + recap.length)).toEqual(recap);
});

const MARKDOWN = `Some **bold** words and a [link](https://x.y).

| Name | Country |
|---|---|
| 横浜 | 日本 |

- one
`;

/** Two turns of Markdown; the answer to the second is cut by a call. */
async function saveMarkdown(t: TestContext, env: Readonly<Record<string, string>>): Promise<void> {
  const looking = { text: 'Let me **look**.' };
  const code = `\`\`\`js\nconst wide = '${'x'.repeat(200)}';\n\`\`\`\n\n港は**船**が${'停泊できる場所'.repeat(30)}`;
  const gemini = await fakeGemini(t, [
    reply(MARKDOWN),
    reply(looking, call('list_directory', { dir_path: '.' })),
    reply(code),
  ]);
  const saved = await callGmn(t, ['chat', '--session-name', 'port'], { gemini, env, stdin: 'first\nsecond\n' });
  expect(saved.exitCode).toBe(0);
}

/** What is between the banner and the prompt of a chat that is continued, as a terminal shows it. */
async function readRecap(
  t: TestContext,
  args: readonly string[],
  options: { readonly env: Readonly<Record<string, string>>; readonly columns: number; readonly rows: number },
): Promise<{ readonly rows: readonly string[]; readonly output: string }> {
  const chat = chatInTerminal(t, ['--demo', '-r', 'port', ...args], options);
  await chat.until(/second[\s\S]*…[\s\S]*(?:❯|>) /);
  chat.type(CTRL_D);
  const { output } = await chat.ended;
  const screen = emulator(options);
  await screen.write(output);
  const { window } = await screen.shown();
  const end = window.lastIndexOf('…') + 1;
  return {
    rows: window.slice(
      window.findIndex((row) => /^(?:❯|>) first/.test(row)),
      end,
    ),
    output,
  };
}

posixTest.for([
  [80, 24],
  [120, 40],
] as const)('the last turns of a chat that is continued are laid out at %i columns', async ([columns, rows], t) => {
  const { env } = sharedHome(t);
  await saveMarkdown(t, env);
  const recap = await readRecap(t, [], { env, columns, rows });
  expect(recap.rows).toEqual([
    '❯ first',
    expect.stringMatching(/^Some bold words and a link .*https:\/\/x\.y/),
    'Name │ Country',
    '─────┼────────',
    '横浜 │ 日本',
    '…',
    '',
    '❯ second',
    '1 tool call',
    'Let me look.',
    'js',
    expect.stringMatching(/^const wide = 'x+$/),
    expect.stringMatching(/^x+(?:';)?$/),
    '…',
  ]);
  // All of it stays dim, bold words too.
  expect(recap.output).toContain('\u001b[2mSome \u001b[1mbold\u001b[22m\u001b[2m words');
});

posixTest('the last turns have links where the terminal shows them, and no styles with NO_COLOR', async (t) => {
  const { env } = sharedHome(t);
  await saveMarkdown(t, env);
  const size = { columns: 80, rows: 24 };
  const linked = await readRecap(t, [], { ...size, env: { ...env, VTE_VERSION: '7600' } });
  expect(linked.output).toContain('\u001b]8;;https://x.y');
  const plain = await readRecap(t, [], { ...size, env: { ...env, NO_COLOR: '1' } });
  expect(plain.rows[1]).toMatch(/^Some bold words/);
  expect(plain.output).not.toMatch(/\u001b\[[\d;]*m/);
});

posixTest.for([
  [['--plain'], {}],
  [[], { TERM: 'dumb' }],
] as const)('the last turns are plain text with %j %j', async ([args, set], t) => {
  const { env } = sharedHome(t);
  await saveMarkdown(t, env);
  const { rows } = await readRecap(t, args, { env: { ...env, ...set }, columns: 80, rows: 40 });
  expect(rows.slice(0, 8)).toEqual([
    '> first',
    'Some **bold** words and a [link](https://x.y).',
    '| Name | Country |',
    '|---|---|',
    '| 横浜 | 日本 |',
    '…',
    '',
    '> second',
  ]);
});

posixTest('in a one-shot on a terminal a command is seen while it runs, and one line of it stays', async (t) => {
  const { env, path } = sharedHome(t);
  const gemini = await fakeGemini(t, [
    reply(call('run_shell_command', { command: failsAfter(join(path, 'go')) })),
    reply('It failed.'),
  ]);
  const terminal = runInTerminal(t, ['--tools', 'all', '--yolo', 'build'], { gemini, env });
  await terminal.until(/行-6/);
  writeFileSync(join(path, 'go'), '');
  const { output, exitCode } = await terminal.ended;
  expect(exitCode).toBe(0);
  expect(rowsOf(output)).toEqual([
    expect.stringMatching(/^✗ run_shell_command for i .*…/),
    expect.stringMatching(/· exit 3 · 8 lines · 0\.0s$/),
    '',
    'It failed.',
  ]);
});

test.for([
  [[], /^✗ run_shell_command exit 3 · exit 3 · no output · \d+\.\ds\n$/],
  [['-q'], /^$/],
  [['-o', 'stream-json'], /^$/],
] as const)('in a pipe a call is one line on stderr when it has ended; %j', async ([flags, lines], t) => {
  const gemini = await fakeGemini(t, [reply(call('run_shell_command', { command: 'exit 3' })), reply('It failed.')]);
  const { stdout, stderr } = await callGmn(t, ['--tools', 'all', '--yolo', ...flags, 'go'], { gemini });
  expect(stderr).toMatch(lines);
  if (!flags.includes('-o' as never)) expect(stdout).toBe('It failed.\n');
  else expect(stdout).toContain('"name":"run_shell_command","result":{"output":"","exit_code":3}}\n');
});

posixTest('a call that failed looks the same in a one-shot, in a chat, and when that is continued', async (t) => {
  const calls = [
    call('read_file', { file_path: 'a/path/that/is/wider/than/the/window/no.txt' }),
    call('write_file', { file_path: '.git/config', content: 'x' }),
  ];
  const gemini = await fakeGemini(t, [reply(...calls), reply('Sorry.'), reply(...calls), reply('Sorry.')]);
  const at = place(t, { gemini });
  const failed = [
    '✗ read_file a/path/that/is/wider/than/',
    '    the/window/no\\.txt: there is no[^\n]*',
    '(?:    [^\n]*\n)*✗ write_file \\.git/config: \\.git/config is',
    '    protected\\. Files that other[^\n]*',
    '(?:    [^\n]*\n)*\nSorry\\.',
  ].join('\n');
  const shot = runInTerminal(t, ['--tools', 'edit', '--yolo', 'go'], { at, columns: 40 });
  const { output } = await shot.ended;
  expect(screenOf(output, 40)).toMatch(new RegExp(`^${failed}`));
  const chat = chatInTerminal(t, ['--yolo', '--session-name', 'kept', 'go'], { at, columns: 40 });
  await chat.shows(new RegExp(`❯ go\n${failed}\n\n❯\n`));
  chat.type(CTRL_D);
  await chat.ended;
  const resumed = chatInTerminal(t, ['-r', 'kept'], { at, columns: 40 });
  await resumed.shows(/❯ go\n2 tool calls \(2 failed\)\nSorry\.\n\n❯\n/);
  resumed.type(CTRL_D);
  await resumed.ended;
  const { stdout } = await callGmnIn(t, at, ['sessions', 'show', 'kept']);
  expect(stdout).toContain('[✗ write_file: .git/config is protected.');
});
