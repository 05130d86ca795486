import { expect, test } from 'vitest';
import { approvalPolicy } from '../../src/approval/policy.ts';
import { createProgramPerson } from '../../src/approval/program.ts';
import { askPerson } from '../../src/approval/question.ts';
import { AppError } from '../../src/core/error.ts';
import { CONTINUED, INTERRUPT, OTHER_KEY } from '../../src/platform/terminal/tty.ts';
import { fakePerson, NO, READ, REMOTE, SHELL, tool, WRITE } from '../support/fake-person.ts';

test('what the policy lets run is not asked about', async () => {
  const { decide, told } = fakePerson({});
  expect(await decide(READ, { file_path: 'a' })).toEqual({ kind: 'run' });
  expect(told).toEqual([]);
});

test('what the policy denies is not asked about', async () => {
  const policy = approvalPolicy({ mode: 'plan', allowed: [], isTrusted: () => false });
  const { decide, told } = fakePerson({}, { policy });
  expect(await decide(WRITE, {})).toMatchObject({ kind: 'deny' });
  expect(told).toEqual([]);
});

test('without a terminal nobody is asked', async () => {
  const { err } = fakePerson({});
  const openTty = () => undefined;
  for (const terminal of [{ openTty }, { err: { ...err, isTerminal: false } }]) {
    const { decide, told } = fakePerson({}, {}, terminal);
    expect(await decide(SHELL, { command: 'ls' })).toMatchObject({
      kind: 'deny',
      reason: expect.stringMatching(/--allowed-tools run_shell_command\.$/),
    });
    expect(told).toEqual([]);
  }
});

test('the clock is held and the terminal given back whatever the answer is', async () => {
  for (const [key, kind] of [
    ['y', 'run'],
    ['n', 'deny'],
    ['q', 'stop'],
    [INTERRUPT, 'stop'],
    ['?', 'deny'],
  ] as const) {
    const { decide, told } = fakePerson({ keys: [key] });
    expect((await decide(SHELL, { command: 'ls' })).kind).toBe(kind);
    expect(told).toEqual(['hold', 'close', 'resume']);
  }
});

test('a sensitive read is let through once for a yes, and each time after "always"', async () => {
  const { decide, told } = fakePerson({ keys: ['a'] });
  expect(await decide(READ, { file_path: '.env' })).toEqual({ kind: 'run' });
  expect(await decide(READ, { file_path: '.env' })).toEqual({ kind: 'run' });
  expect(told).toEqual(['hold', 'permit /w/.env', 'close', 'resume', 'permit /w/.env']);
});

test('calls made at the same time are asked about one after the other, and "always" counts at once', async () => {
  const { decide, screen } = fakePerson({ keys: ['a'] });
  const verdicts = await Promise.all([decide(WRITE, { content: '1' }), decide(WRITE, { content: '2' })]);
  expect(verdicts).toEqual([{ kind: 'run' }, { kind: 'run' }]);
  expect(screen()).not.toContain('+2');
});

test('a reply goes to the model, an empty one asks again', async () => {
  const { decide } = fakePerson({ keys: ['r', 'r'], lines: ['  ', ' in French '] });
  expect(await decide(WRITE, { content: '1' })).toEqual({
    kind: 'deny',
    reason: 'The user said no to this call, and wrote: in French',
  });
  expect(await fakePerson({ keys: ['r'] }).decide(WRITE, { content: '1' })).toEqual({ kind: 'stop' });
});

test('the question is drawn again after a return from the background', async () => {
  const { decide, screen } = fakePerson({ keys: [CONTINUED, 'n'] });
  expect(await decide(SHELL, { command: 'ls' })).toEqual({ kind: 'deny', reason: NO });
  expect(screen().match(/│ ls\n/g)).toHaveLength(2);
});

test('what was edited is what runs, and what "always" remembers', async () => {
  const { decide, told } = fakePerson({ keys: ['e', 'a'], edits: ['echo 2'] });
  expect(await decide(SHELL, { command: 'echo 1', description: 'x' })).toEqual({
    kind: 'run-edited',
    args: { command: 'echo 2', description: 'x' },
  });
  expect(await decide(SHELL, { command: 'echo 2' })).toEqual({ kind: 'run' });
  expect(told[1]).toBe('edit command.sh: echo 1');
});

test('an edit that cannot be used leaves the call as it was', async () => {
  const { decide, told, screen } = fakePerson({ keys: ['e', 'e', 'y'], edits: [undefined, 'bad'] });
  expect(await decide(WRITE, { content: 'good' })).toEqual({ kind: 'run' });
  expect(told[1]).toBe('edit a.ts: good');
  expect(screen()).toContain('│ Nothing was changed: the editor failed. VISUAL or EDITOR names the one to use.\n');
  expect(screen()).toContain('│ Bad\\ncontent.\n');
});

test('the arguments of a tool without a preview are shown and edited as they are', async () => {
  const edits = [undefined, 'no json', '[1]', '{"path":"b"}'];
  const { decide, screen, told } = fakePerson({ keys: ['e', 'e', 'e', 'e', 'y'], edits });
  expect(await decide(REMOTE, { path: 'a' })).toEqual({ kind: 'run-edited', args: { path: 'b' } });
  expect(told[1]).toBe('edit arguments.json: {\n  "path": "a"\n}');
  expect(screen()).toContain('╭ files__delete\n│ {\n│   "path": "a"\n│ }\n╰ [y]es');
});

test('what a model puts beside the arguments that a tool knows does not hide them from the editor', async () => {
  const { decide, told } = fakePerson({ keys: ['e', 'y'], edits: ['{"path":"b"}'] });
  expect(await decide(REMOTE, { path: 'a', command: 'x' })).toEqual({ kind: 'run-edited', args: { path: 'b' } });
  expect(told[1]).toBe('edit arguments.json: {\n  "path": "a",\n  "command": "x"\n}');
});

test('a preview that refuses asks nobody, and its words go to the model', async () => {
  expect(await fakePerson({}).decide(WRITE, { content: 'bad' })).toEqual({ kind: 'deny', reason: 'Bad\ncontent.' });
  const odd = tool('odd', 'write', () => ({ ok: false, response: { code: 7 } }));
  expect(await fakePerson({}).decide(odd, {})).toEqual({ kind: 'deny', reason: '{"code":7}' });
});

test('a call that its preview refuses is reported; one that the person refuses is not', async () => {
  const notices: string[] = [];
  const onDenied = (notice: string): void => void notices.push(notice);
  await fakePerson({}, { onDenied }).decide(WRITE, { file_path: 'a', content: 'bad' });
  expect(notices).toEqual([expect.stringMatching(/^write_file a: Bad[^\n]*$/)]);
  await fakePerson({ keys: ['n'] }, { onDenied }).decide(WRITE, { file_path: 'a', content: 'good' });
  expect(notices).toHaveLength(1);
});

test('a fault denies, an abort stops; neither is thrown, and the next call is decided as usual', async () => {
  const { decide } = fakePerson({ keys: ['y'] });
  const broken = tool('broken', 'write', () => {
    throw new AppError('usage', 'No such place.');
  });
  expect(await decide(broken, {})).toEqual({ kind: 'deny', reason: 'No such place.' });
  expect(await decide(broken, {}, AbortSignal.abort())).toEqual({ kind: 'stop' });
  expect(await decide(SHELL, { command: 'ls' })).toEqual({ kind: 'run' });
});

test('what does not fit is cut in the middle, and approved only after it was shown', async () => {
  const command = Array.from({ length: 30 }, (_, index) => `line ${index}`).join('\n');
  const { decide, screen } = fakePerson({ keys: ['y', 'a', CONTINUED, 'd', 'y'], rows: 10 });
  expect(await decide(SHELL, { command })).toEqual({ kind: 'run' });
  const cut = ['╭ run_shell_command in /w', '│ line 0', '│ line 1', '┆ 26 more lines', '│ line 28', '│ line 29'];
  const few = '╰ [d] all of it [N]o [e]dit [r]eply [q]uit turn [?] › ';
  const hint = '│ This is not all of it. See the rest first: d';
  const all = ['╭ run_shell_command in /w', ...command.split('\n').map((line) => `│ ${line}`)];
  const many = '╰ [y]es [N]o [a]lways this command [e]dit [r]eply [q]uit turn [?] › ';
  expect(screen().split('\n')).toEqual([
    ...cut,
    `${few}y`,
    hint,
    `${few}a`,
    hint,
    few,
    ...cut,
    `${few}d`,
    ...all,
    `${many}y`,
    '',
  ]);
});

test('a title that does not fit is cut like that, too', async () => {
  const path = `src/${'a\u202e'.repeat(1000)}/end.ts`;
  const long = tool('write_file', 'write', () => ({ kind: 'diff', path, diff: '@@ @@\n+x\n', added: 1, removed: 0 }));
  const { decide, screen } = fakePerson({ keys: ['y', 'd', 'n'] });
  expect(await decide(long, {})).toEqual({ kind: 'deny', reason: NO });
  const [question = '', , whole = ''] = screen().split('› ');
  expect(question.split('\n').length).toBeLessThan(20);
  expect(question).toMatch(/^╭ write_file src\/a[\s\S]*\n┆ \d+ more lines\n[\s\S]*end\.ts[\s\S]*\[d\]/);
  expect(question).not.toContain('[y]es');
  expect(screen()).toContain('This is not all of it.');
  expect(whole.replaceAll('\n┊ ', '')).toContain(path.replaceAll('\u202e', '\\u202e'));
});

test('after the window has changed the question is drawn for it, and nothing is approved before', async () => {
  const { decide, screen } = fakePerson({ keys: ['y', 'y'], nextColumns: 40 });
  const command = 'a'.repeat(50);
  expect(await decide(SHELL, { command })).toEqual({ kind: 'run' });
  const keys = '╰ [y]es [N]o [a]lways this command [e]dit [r]eply [q]uit turn [?] › y';
  const title = '╭ run_shell_command in /w';
  expect(screen().split('\n')).toEqual([
    ...[title, `│ ${command}`, keys],
    ...['│ The window has changed since.', title, `│ ${'a'.repeat(37)}`, `┊ ${'a'.repeat(13)}`],
    ...['╰ [y]es [N]o [a]lways this command', '  [e]dit [r]eply [q]uit turn [?] › y', ''],
  ]);
  const other = fakePerson({ keys: [CONTINUED, 'n'], columns: 40, nextColumns: 20, rows: 9 });
  expect(await other.decide(SHELL, { command })).toEqual({ kind: 'deny', reason: NO });
  expect(other.screen()).toContain('┊ aaaa');
});

test('a diff keeps its tabs wide, and says when lines end in an odd way', async () => {
  const odd = tool('write_file', 'write', () => ({
    kind: 'diff',
    path: 'Makefile',
    diff: '--- a/Makefile\n+++ b/Makefile\n@@ -1,2 +1 @@\n all:\r\n-\tone\n\\ No newline at end of file\n+\ttw\u200bo\n',
    added: 1,
    removed: 1,
  }));
  const { decide, screen } = fakePerson({ keys: ['n'] });
  await decide(odd, {});
  expect(screen()).toBe(
    [
      '╭ write_file Makefile  +1 −1',
      '│ 1 character that cannot be seen: shown as escapes',
      '│ @@ -1,2 +1 @@',
      '│  all:\\r',
      '│ -→   one',
      '│ \\ No newline at end of file',
      '│ +→   tw\\u200bo',
      '╰ [y]es [N]o [a]ll edits [e]dit [r]eply [d]iff [q]uit turn [?] › n\n',
    ].join('\n'),
  );
});

test('a narrow terminal gets short lines, each painted on its own, none without its frame', async () => {
  const { decide, screen } = fakePerson({ keys: ['n'], columns: 13, isStyled: true });
  await decide(WRITE, { content: '日本語のコード\n' });
  const bold = (text: string) => `\u001b[1m${text}\u001b[22m`;
  const green = (text: string) => `\u001b[32m${text}\u001b[39m`;
  const [question = ''] = screen().split('╰');
  expect(question.split('\n').slice(0, -1)).toEqual([
    `╭ ${bold('write_file')}`,
    `┊ ${bold(' src/a.ts ')}`,
    `┊ ${bold(' +1 −0')}`,
    '│ \u001b[2m@@ @@\u001b[22m',
    `│ ${green('+日本語の')}`,
    `┊ ${green('コード')}`,
    '│',
  ]);
});

test('a key that is none says what the keys are, and answers nothing', async () => {
  const { decide, screen } = fakePerson({ keys: [OTHER_KEY, 'y'] });
  expect(await decide(SHELL, { command: 'ls' })).toEqual({ kind: 'run' });
  expect(screen()).toMatch(/ › \n│ That is none of the keys\. .*\n╰ \[y\]es .* › y\n$/);
});

test('a question without a scope has yes, no and no answer; other keys mean no', async () => {
  const ask = async (keys: readonly string[], command = 'ls') => {
    const { tty, err, screen } = fakePerson({ keys });
    const preview = { kind: 'command', command, directory: '/w' } as const;
    const question = { items: [{ name: 'This would run', preview }], hasFile: false };
    const { kind, ...how } = await askPerson(question, { tty, err, env: {} }, new AbortController().signal);
    return [kind, screen(), how] as const;
  };
  expect(await ask(['y'])).toEqual(['yes', '╭ This would run in /w\n│ ls\n╰ [y]es [N]o › y\n', {}]);
  for (const key of ['n', '\r', '\n', 'a', 'q']) expect((await ask([key]))[0]).toBe('no');
  for (const key of ['\u001b', '\u0004']) {
    const [kind, screen, how] = await ask([key]);
    expect([kind, screen.endsWith(' [N]o › \n'), how]).toEqual(['stop', true, {}]);
  }
  expect((await ask([INTERRUPT]))[2]).toEqual({ isInterrupt: true });
  const [kind, screen] = await ask(['y', 'd', 'y'], 'ls\n'.repeat(50));
  expect(kind).toBe('yes');
  expect(screen).toMatch(/╰ \[d\] all of it \[N\]o › y\n│ This is not all of it\. See the rest first: d\n/);
});

/** What would happen is only asked about here: nothing is run. */
const HARM = { findHarm: ({ command }: { command: string }) => (command.startsWith('harm') ? 'rm: /' : undefined) };

test.for([
  ['run', { kind: 'run' }],
  [' run ', { kind: 'run' }],
  ['RUN', { kind: 'deny', reason: NO }],
  ['y', { kind: 'deny', reason: NO }],
  ['', { kind: 'deny', reason: NO }],
  [INTERRUPT, { kind: 'stop' }],
] as const)('of a command that would destroy more than the workspace, %j decides', async ([line, verdict]) => {
  const { decide, screen, told } = fakePerson({ lines: [line] }, HARM);
  expect(await decide(SHELL, { command: 'harm it' })).toEqual(verdict);
  expect(screen()).toContain('│ harm it\n│ Nothing brings back what it destroys: rm: /\n╰ To run it, type run');
  expect(told).toEqual(['hold', 'close', 'resume']);
});

test('nothing that was allowed lets such a command run', async () => {
  const allowed = [
    { kind: 'tool', tool: 'run_shell_command' },
    { kind: 'prefix', words: ['harm'] },
    { kind: 'command', command: 'harm it', directory: '.' },
  ] as const;
  for (const mode of ['default', 'auto_edit', 'yolo', 'plan'] as const) {
    const policy = approvalPolicy({ mode, allowed, isTrusted: () => true });
    const { decide, screen } = fakePerson({ lines: ['no'] }, { ...HARM, policy });
    expect(await decide(SHELL, { command: 'harm it' })).toMatchObject({ kind: 'deny' });
    expect(screen().includes('type run')).toBe(mode === 'default' || mode === 'auto_edit');
  }
});

test('where nobody can type a word it is denied, with the way out', async () => {
  const notices: string[] = [];
  const { decide } = fakePerson(
    {},
    { ...HARM, withPerson: async () => undefined, onDenied: (text) => notices.push(text) },
  );
  expect(await decide(SHELL, { command: 'harm it' })).toMatchObject({ kind: 'deny', reason: /would destroy more/ });
  expect(notices).toEqual([
    expect.stringMatching(/would destroy more than the workspace \(rm: \/\)\. Run it yourself/),
  ]);
  const asked: string[] = [];
  const withPerson = createProgramPerson(async ({ args }) => {
    asked.push(String(args.command));
    return { decision: 'yes', args: { command: 'harm it' } };
  });
  const program = fakePerson({}, { ...HARM, withPerson });
  expect(await program.decide(SHELL, { command: 'harm it' })).toMatchObject({ kind: 'deny' });
  expect(asked).toEqual([]);
  // Nor may a program put it in place of another.
  expect(await program.decide(SHELL, { command: 'ls' })).toMatchObject({ kind: 'deny' });
  expect(asked).toEqual(['ls']);
});

test('what is edited is looked at anew', async () => {
  const worse = fakePerson({ keys: ['e'], edits: ['harm it'], lines: [''] }, HARM);
  expect(await worse.decide(SHELL, { command: 'ls' })).toEqual({ kind: 'deny', reason: NO });
  const policy = approvalPolicy({
    mode: 'default',
    allowed: [],
    isTrusted: () => false,
    limits: { exclude: [['rm']] },
  });
  const excluded = fakePerson({ keys: ['e'], edits: ['rm x'] }, { policy });
  expect(await excluded.decide(SHELL, { command: 'ls' })).toMatchObject({
    reason: expect.stringContaining('tools.exclude'),
  });
});

test('a question that is too long to be shown whole is none, and one in a new window is asked again', async () => {
  const long = fakePerson({ lines: ['run'], rows: 12 }, HARM);
  expect(await long.decide(SHELL, { command: `harm${'\nx'.repeat(30)}` })).toEqual({ kind: 'deny', reason: NO });
  expect(long.screen()).toContain('too long to be shown whole');
  let columns = 80;
  const { err } = fakePerson({});
  let screen = '';
  const out = {
    ...err,
    write: async (text: string) => {
      screen += text;
    },
  };
  const tty = {
    ...fakePerson({}).tty,
    rows: 24,
    get columns() {
      return columns;
    },
    line: async () => {
      columns = 60;
      return 'run';
    },
  };
  const preview = { kind: 'command', command: 'harm it', directory: '/w' } as const;
  const question = {
    items: [{ name: 'run_shell_command', preview }],
    offer: { scope: 'once', harm: 'rm: /' },
    hasFile: false,
  } as const;
  expect(await askPerson(question, { tty, err: out, env: {} }, new AbortController().signal)).toEqual({ kind: 'yes' });
  expect(screen.match(/harm it/g)).toHaveLength(2);
  expect(screen).toContain('The window has changed since.');
});
