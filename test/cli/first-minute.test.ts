import { expect, test } from 'vitest';
import { ROOT } from '../../src/cli/table/root.ts';
import { screenOf } from '../support/chat-terminal.ts';
import { callGmnIn, place, runGmn } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';
import { runInTerminal } from '../support/pty.ts';

const CARD = (standing: string): string =>
  `gmn 0.1.0: Gemini in your shell
${standing}

  gmn "why is the sky blue?"           one prompt, one answer
  git diff | gmn "review this change"  stdin goes before the prompt
  gmn -f notes.md "summarise"          files, images, PDF, directories
  gmn chat                             a conversation; its tools ask first
  gmn --demo "hello"                   the offline model: no account needed

  gmn auth status  which credential is used
  gmn doctor       what is wrong, and how to fix it
  gmn demo         a tour of two minutes
  gmn -h           the flags used most, and the commands
`;

test.for([
  [{}, '– No API key yet: https://aistudio.google.com/apikey, then: gmn auth set-key'],
  [{ GMN_AUTH: 'nonsense' }, '✗ GMN_AUTH names an unknown type: nonsense. What to do: gmn doctor'],
] as const)('gmn alone on a terminal prints a card: %j', async ([env, standing], t) => {
  const { output, exitCode } = await runInTerminal(t, [], { env, columns: 100 }).ended;
  expect({ exitCode, output: output.replaceAll('\r', '').replace(/(?<=^gmn )[\d.]+/, '0.1.0') }).toEqual({
    exitCode: 0,
    output: CARD(standing),
  });
});

const OFFER = 'Enter begins a chat, or ask here › ';

posixTest(
  'where a model can be asked, gmn alone offers a chat; Enter begins it, words are its first prompt',
  async (t) => {
    const key = { GEMINI_API_KEY: 'AIza-secret-0123456789', NO_COLOR: '1' };
    const ready = runInTerminal(t, [], { env: key, columns: 100 });
    await ready.until(/ask here › /);
    ready.type('\u0003');
    const { output, exitCode } = await ready.ended;
    const card = CARD('✓ Ready: gemini-api-key, from GEMINI_API_KEY');
    const seen = screenOf(output, 100).replace(/(?<=^gmn )[\d.]+/, '0.1.0');
    expect([seen, exitCode]).toEqual([`${card}\n${OFFER.trimEnd()}`, 130]);
    const begin = async (typed: string): Promise<ReturnType<typeof runInTerminal>> => {
      const terminal = runInTerminal(t, [], { env: { GMN_DEMO: '1', NO_COLOR: '1' }, columns: 100 });
      // Typed before the offer is seen, it is meant for the shell, and never sent.
      if (typed === '\r') terminal.type('git push\r');
      await terminal.until(/ask here › /);
      terminal.type(typed);
      return terminal;
    };
    for (const leaving of ['\u0004', '\u001b', 'q\r']) {
      const left = await (await begin(leaving)).ended;
      expect([left.exitCode, left.output.includes('❯')]).toEqual([0, false]);
    }
    for (const [typed, said] of [
      ['gmn auth status\r', '"auth status" is a command of the shell. Run: gmn auth status'],
    ] as const) {
      const refused = await (await begin(typed)).ended;
      expect([refused.exitCode, refused.output.includes('❯')]).toEqual([1, false]);
      expect(refused.output).toContain(`Error: ${said}`);
    }
    for (const [typed, shown] of [
      ['\r', /\/help\n❯/],
      ['help\r', /❯ help\n {2}\/help, \/h +List the commands\n/],
      ['日本語でhello\r', /demo: 日本語でhello\n\n?❯/],
    ] as const) {
      const chat = await begin(typed);
      await chat.until((all) => shown.test(screenOf(all, 100)));
      chat.type('quit\r');
      const left = await chat.ended;
      expect([left.exitCode, left.output.includes('demo: git push')]).toEqual([0, false]);
    }
  },
);

const NO_PROMPT = { message: 'no prompt given', hint: 'Try: gmn "your question", or pipe text in: … | gmn' };

test.for<readonly [args: readonly string[], output: string]>([
  [['--demo', '--dry-run'], `Error: ${NO_PROMPT.message}\n${NO_PROMPT.hint}\n`],
  [
    ['-o', 'json', '--output-schema', '{}'],
    `${JSON.stringify({ error: { code: 1, type: 'UsageError', message: NO_PROMPT.message, suggestion: NO_PROMPT.hint } }, null, 2)}\n`,
  ],
  [
    ['--demo', '-c'],
    'Error: no prompt given\nTry: gmn --demo -c "your question", or continue in a chat: gmn chat --demo -c\n',
  ],
  [
    ['-r', 'latest'],
    'Error: no prompt given\nTry: gmn -r latest "your question", or continue in a chat: gmn chat -r latest\n',
  ],
])('flags alone on a terminal have no prompt: gmn %j', async ([args, said], t) => {
  const { output, exitCode } = await runInTerminal(t, args, { env: { NO_COLOR: '1' }, columns: 200 }).ended;
  expect({ exitCode, output: output.replaceAll('\r', '') }).toEqual({ exitCode: 1, output: said });
});

test('gmn alone without a terminal has no prompt', async (t) => {
  expect(await runGmn(t, [])).toMatchObject({
    stdout: '',
    stderr: 'Error: no prompt given\nTry: gmn "your question", or pipe text in: … | gmn\n',
    exitCode: 1,
  });
});

test('every group of commands does something alone', () => {
  const groups = (ROOT.subcommands ?? []).filter(({ subcommands }) => subcommands !== undefined);
  const idle = groups.filter(({ run, defaultSubcommand }) => run === undefined && defaultSubcommand === undefined);
  expect(idle.map(({ name }) => name)).toEqual([]);
});

test.for([
  ['sessions', 'list'],
  ['mcp', 'list'],
  ['config', 'list'],
  ['templates', 'list'],
  ['auth', 'status'],
] as const)('gmn %s alone is its subcommand %s, and says where the rest is', async ([group, child], t) => {
  const at = place(t);
  const listed = await callGmnIn(t, at, [group, child]);
  expect(await callGmnIn(t, at, [group])).toEqual({
    ...listed,
    stderr: `${listed.stderr}gmn: more: gmn ${group} --help\n`,
  });
  for (const flag of ['--json', '--quiet']) {
    expect(await callGmnIn(t, at, [group, flag])).toEqual(await callGmnIn(t, at, [group, child, flag]));
  }
  expect((await callGmnIn(t, at, [group, '-h'])).stdout).toContain(`gmn ${group}   (same as gmn ${group} ${child})\n`);
});

test('a flag of the subcommand that a group runs alone belongs to no other one', async (t) => {
  const at = place(t);
  expect(await callGmnIn(t, at, ['sessions', '--all', '--limit', '3'])).toMatchObject({ exitCode: 0 });
  expect(await callGmnIn(t, at, ['sessions', '--all', 'show', 'x'])).toMatchObject({
    stderr: 'Error: --all does not apply to "gmn sessions show"\nRun: gmn sessions show --help\n',
    exitCode: 1,
  });
});

test('gmn batch alone lists the runs of the directory, and how to begin one', async (t) => {
  const at = place(t, { files: { 'in.txt': 'hello\n', 'odd.run.json': '{}' } });
  const begin = 'gmn: to begin one: gmn batch <input> --output-file <output>; more: gmn batch -h\n';
  expect(await callGmnIn(t, at, ['batch'])).toMatchObject({
    stdout: '',
    stderr: `gmn: no batch was run in this directory\n${begin}`,
    exitCode: 0,
  });
  await callGmnIn(t, at, ['batch', '--demo', 'in.txt', '--output-file', 'out.jsonl']);
  const { stdout, stderr } = await callGmnIn(t, at, ['batch']);
  expect(stdout).toMatch(
    /^OUTPUT {5}ANSWERED {2}FAILED {2}BEGUN {5}INPUT\nout\.jsonl {2}1 {9}0 {7}just now {2}in\.txt\n$/,
  );
  expect(stderr).toBe(begin);
  expect(JSON.parse((await callGmnIn(t, at, ['batch', 'list', '--json'])).stdout)).toMatchObject({
    runs: [{ output: 'out.jsonl', answered: 1, failed: 0 }],
  });
});

test.for<readonly [args: readonly string[], answer: string]>([
  [['auth', 'sttaus'], 'Error: "sttaus" is not a command of "gmn auth"\nDid you mean: gmn auth status\n'],
  [
    ['auth', 'qqqqqq'],
    'Error: "qqqqqq" is not a command of "gmn auth"\nCommands: status, set-key, logout. Run: gmn auth --help\n',
  ],
  [['--modle', 'x', 'hi'], "Error: unknown option '--modle'\nDid you mean --model?\n"],
  [
    ['sesions', 'list'],
    'Error: "sesions" looks like the command "sessions". Run: gmn sessions list\nTo send it as a prompt: gmn -p "sesions list"\n',
  ],
])('a slip of the finger is answered: gmn %j', async ([args, answer], t) => {
  expect(await runGmn(t, args)).toMatchObject({ stdout: '', stderr: answer, exitCode: 1 });
});
