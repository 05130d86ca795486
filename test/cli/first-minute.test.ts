import { expect, test } from 'vitest';
import { runGmn } from '../support/gmn.ts';
import { runInTerminal } from '../support/pty.ts';

const CARD = (standing: string): string =>
  `gmn 0.1.0: Gemini in your shell
${standing}

  gmn "why is the sky blue?"             one prompt, one answer
  git diff | gmn "review this change"    stdin goes before the prompt
  gmn -f notes.md "summarise"            files, images, PDF, directories
  gmn chat                               a conversation; its tools ask first
  gmn --demo "hello"                     the offline model: no account needed

  gmn auth status    which credential is used
  gmn doctor         what is wrong, and how to fix it
  gmn demo           a tour of two minutes
  gmn -h             the flags used most, and the commands
`;

test.for([
  [{}, '– No API key yet: https://aistudio.google.com/apikey, then: gmn auth set-key'],
  [{ GEMINI_API_KEY: 'AIza-secret-0123456789' }, '✓ Ready: gemini-api-key, from GEMINI_API_KEY'],
  [
    { GMN_AUTH: 'nonsense' },
    '✗ authentication failed: GMN_AUTH names an unknown type: nonsense. What to do: gmn doctor',
  ],
] as const)('gmn alone on a terminal prints a card: %j', async ([env, standing], t) => {
  const { output, exitCode } = await runInTerminal(t, [], { env, columns: 100 }).ended;
  expect({ exitCode, output: output.replaceAll('\r', '').replace(/(?<=^gmn )[\d.]+/, '0.1.0') }).toEqual({
    exitCode: 0,
    output: CARD(standing),
  });
});

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
