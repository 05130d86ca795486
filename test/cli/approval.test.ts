import { expect, type TestContext } from 'vitest';
import type { Script } from '../support/approval-program.ts';
import { approvalScene, command, NO, PROMPT, WAITED, write } from '../support/approval-scene.ts';
import { type AskingOptions, verdictsIn } from '../support/asking.ts';
import { posixTest } from '../support/posix.ts';
import { statesIn } from '../support/pty.ts';

const start = approvalScene();

/** Answers the only question with these keys, typed once it stands there. */
async function answered(t: TestContext, script: Script, keys: readonly string[], options?: AskingOptions) {
  const terminal = start(t, script, options);
  const screens: string[] = [];
  for (const key of keys) {
    screens.push(await terminal.until(PROMPT));
    terminal.type(key);
  }
  const { exitCode, output } = await terminal.ended;
  const [before, after] = statesIn(output);
  expect(after).toBe(before);
  return { screens, exitCode, verdicts: verdictsIn(output), directory: terminal.directory, output };
}

posixTest('y runs the command that was shown, and the person is not kept on the clock', async (t) => {
  const {
    screens,
    verdicts,
    directory: cwd,
  } = await answered(t, { calls: [command('echo 1 > made; cat made')] }, ['y']);
  expect(screens[0]?.replace(/^STATE .*\n/, '')).toBe(
    [
      `╭ run_shell_command in ${cwd}`,
      '│ echo 1 > made; cat made',
      '╰ [y]es [N]o [a]lways this command [e]dit [r]eply [q]uit turn [?] › ',
    ].join('\n'),
  );
  expect(verdicts).toEqual([{ verdict: { kind: 'run' }, response: { output: '1\n', exit_code: 0 }, told: WAITED }]);
});

posixTest.for([
  ['n', 'n', { kind: 'deny', reason: NO }],
  ['Enter', '\r', { kind: 'deny', reason: NO }],
  ['Esc', '\u001b', { kind: 'stop' }],
  ['Ctrl+D', '\u0004', { kind: 'deny', reason: NO }],
  ['q', 'q', { kind: 'stop' }],
  ['Q', 'Q', { kind: 'stop' }],
  ['q in full width', 'ｑ', { kind: 'stop' }],
  ['Ctrl+C', '\u0003', { kind: 'stop' }],
  ['Ctrl+C among other keys', 'xx\u0003y', { kind: 'stop' }],
] as const)('%s answers, and nothing is run', async ([, key, verdict], t) => {
  const { verdicts, exitCode } = await answered(t, { calls: [command('touch made')] }, [key]);
  expect(verdicts).toEqual([{ verdict, told: WAITED }]);
  expect(exitCode).toBe(0);
});

posixTest.for(['x', '\u001b[A', '\u001bOP', 'yes\r', 'yy', 'や', ' '])(
  'the keys %j mean nothing: the question goes on',
  async (keys, t) => {
    const terminal = start(t, { calls: [command('touch made')] });
    await terminal.until(PROMPT);
    terminal.type(keys);
    terminal.type('\u0003');
    expect(verdictsIn((await terminal.ended).output)).toEqual([{ verdict: { kind: 'stop' }, told: WAITED }]);
  },
);

posixTest('any other key says what the keys are and is no answer, and neither is what is typed with it', async (t) => {
  const terminal = start(t, { calls: [command('touch made')] });
  await terminal.until(PROMPT);
  for (const key of ['\u001b[A', '1', 'x', '\t', 'yes\r']) {
    terminal.type(key);
    expect(await terminal.until(PROMPT)).toMatch(
      /^\n│ That is none of the keys\. They are these, and \? explains them:\n╰ \[y\]es \[N\]o /,
    );
  }
  terminal.type('y');
  expect(verdictsIn((await terminal.ended).output)).toMatchObject([{ verdict: { kind: 'run' } }]);
});

posixTest('a diff is shown with its counts, in colour, and y writes it', async (t) => {
  const script: Script = { calls: [write('console.log("こんにちは");')], color: 'always' };
  const { screens, verdicts } = await answered(t, script, ['y']);
  expect(screens[0]?.replace(/^STATE .*\n/, '')).toBe(
    [
      '╭ \u001b[1mwrite_file hello.js  +1 −1\u001b[22m',
      '│ \u001b[2m@@ -1 +1 @@\u001b[22m',
      '│ \u001b[31m-old\u001b[39m',
      '│ \u001b[32m+console.log("こんにちは");\u001b[39m',
      '╰ [y]es [N]o [a]ll edits [e]dit [r]eply [d]iff [q]uit turn [?] › ',
    ].join('\n'),
  );
  expect(verdicts).toEqual([
    { verdict: { kind: 'run' }, response: { written: 'console.log("こんにちは");' }, told: WAITED },
  ]);
});

posixTest('a allows the same command, and no other, for the rest of the run', async (t) => {
  const calls = ['echo 1', 'echo 1', 'echo 1; echo 2'].map(command);
  const { verdicts } = await answered(t, { calls }, ['a', 'n']);
  expect(verdicts).toEqual([
    { verdict: { kind: 'run' }, response: { output: '1\n', exit_code: 0 }, told: WAITED },
    { verdict: { kind: 'run' }, response: { output: '1\n', exit_code: 0 }, told: [] },
    { verdict: { kind: 'deny', reason: NO }, told: WAITED },
  ]);
});

posixTest('a allows every call of another tool', async (t) => {
  const { verdicts } = await answered(t, { calls: [write('a'), write('b', 'other')] }, ['a']);
  expect(verdicts).toMatchObject([{ verdict: { kind: 'run' } }, { verdict: { kind: 'run' }, told: [] }]);
});

posixTest('r hands a line to the model as the reason', async (t) => {
  const terminal = start(t, { calls: [write('x')] });
  await terminal.until(PROMPT);
  terminal.type('r');
  await terminal.until('Tell the model: ');
  terminal.type('日本語で書い\u007fいて x\u007f\r');
  const { output } = await terminal.ended;
  expect(verdictsIn(output)).toEqual([
    { verdict: { kind: 'deny', reason: 'The user said no to this call, and wrote: 日本語で書いて' }, told: WAITED },
  ]);
  expect(new Set(statesIn(output)).size).toBe(1);
});

posixTest('an empty reply asks again, Ctrl+C in it stops', async (t) => {
  const terminal = start(t, { calls: [write('x')] });
  await terminal.until(PROMPT);
  terminal.type('r');
  await terminal.until('Tell the model: ');
  terminal.type('\r');
  await terminal.until(PROMPT);
  terminal.type('r');
  await terminal.until('Tell the model: ');
  terminal.type('no\u0003');
  const { output } = await terminal.ended;
  expect(verdictsIn(output)).toEqual([{ verdict: { kind: 'stop' }, told: WAITED }]);
  expect(new Set(statesIn(output)).size).toBe(1);
});

posixTest('e changes the command in the editor, shows it again, and runs what was shown then', async (t) => {
  const editor = '[ "$(cat "$1")" = "rm -rf x" ] && [ -t 0 ] && [ -t 1 ] && echo "echo safe" > "$1"';
  const { screens, verdicts } = await answered(t, { calls: [command('rm -rf x')] }, ['e', 'y'], { editor });
  expect(screens[1]).toContain('│ echo safe\n');
  expect(verdicts).toEqual([
    {
      verdict: { kind: 'run-edited', args: { command: 'echo safe' } },
      response: { output: 'safe\n', exit_code: 0 },
      told: WAITED,
    },
  ]);
});

posixTest('e changes the content of a file, and all arguments of a tool that has neither', async (t) => {
  const editor =
    'case "$1" in */hello.js) echo "edited" > "$1";; */arguments.json) echo \'{"path":"b"}\' > "$1";; esac';
  const calls = [write('x'), { name: 'files__delete', args: { path: 'a' } }];
  const { screens, verdicts } = await answered(t, { calls }, ['e', 'y', 'e', 'y'], { editor });
  expect(screens[1]).toContain('│ +edited\n');
  expect(screens[3]).toContain('│   "path": "b"\n');
  expect(verdicts).toMatchObject([
    { verdict: { kind: 'run-edited', args: { file_path: 'hello.js', content: 'edited' } } },
    { verdict: { kind: 'run-edited', args: { path: 'b' } } },
  ]);
});

posixTest('an editor that fails, or an edit the tool refuses, changes nothing', async (t) => {
  const editor = '[ -e tried ] && echo refused > "$1" || { touch tried; echo x > "$1"; exit 1; }';
  const { screens, verdicts } = await answered(t, { calls: [write('first')] }, ['e', 'e', 'y'], { editor });
  expect(screens[1]).toContain('│ Nothing was changed: the editor failed. VISUAL or EDITOR names the one to use.\n');
  expect(screens[2]).toContain('│ This cannot be written.\n');
  expect(verdicts).toEqual([{ verdict: { kind: 'run' }, response: { written: 'first' }, told: WAITED }]);
});

posixTest('a call that its own preview refuses asks nobody', async (t) => {
  const { verdicts } = await answered(t, { calls: [write('refused')] }, []);
  expect(verdicts).toEqual([{ verdict: { kind: 'deny', reason: 'This cannot be written.' }, told: WAITED }]);
});

posixTest('a sensitive read asks in every mode, and is let through by a yes', async (t) => {
  const calls = [{ name: 'read_file', args: { file_path: '.env' } }];
  const { screens, verdicts } = await answered(t, { calls, mode: 'yolo' }, ['y']);
  expect(screens[0]).toContain('[a]lways this file');
  expect(verdicts).toMatchObject([{ verdict: { kind: 'run' }, told: ['hold', 'permit', 'resume'] }]);
});

posixTest('several changes of one reply stand in one list, and one key applies them all', async (t) => {
  const calls = [write('a', 'a.js'), write('b', 'b.js')];
  const { screens, verdicts } = await answered(t, { calls, isTogether: true }, ['y']);
  expect(screens[0]?.replace(/^STATE .*\n/, '')).toBe(
    [
      '╭ 2 changes  +2 −2',
      ...['a', 'b'].flatMap((name) => [`├ write_file ${name}.js  +1 −1`, '│ @@ -1 +1 @@', '│ -old', `│ +${name}`]),
      '╰ [y]es to all [N]o [a]ll edits [o]ne by one [r]eply [d]iff [q]uit turn [?] › ',
    ].join('\n'),
  );
  expect(verdicts).toEqual([
    { verdict: { kind: 'run' }, response: { written: 'a' }, told: WAITED },
    { verdict: { kind: 'run' }, response: { written: 'b' }, told: [] },
  ]);
});

posixTest(
  'd shows a long diff in the pager on the same terminal, and the question stands again after it',
  async (t) => {
    const content = Array.from({ length: 40 }, (_, index) => `line ${index}`).join('\n');
    const before = 'export PAGER="[ -t 0 ] && [ -t 1 ] && tail -n 1"';
    const { screens, verdicts } = await answered(t, { calls: [write(content)] }, ['d', 'y'], { before });
    expect(screens[1]).toMatch(/^d\n│ \+line 39\n╭ write_file hello\.js .*\n/);
    expect(screens[1]).not.toContain('line 20');
    expect(verdicts).toMatchObject([{ verdict: { kind: 'run' } }]);
  },
);
