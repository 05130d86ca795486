import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { approvalPolicy } from '../../src/approval/policy.ts';
import { targetFiles } from '../../src/approval/targets.ts';
import type { JsonObject } from '../../src/core/json.ts';
import type { Tool } from '../../src/core/tool.ts';
import { fakePerson, NO, SHELL, tool, WRITE } from '../support/fake-person.ts';
import { call, fakeGemini, reply } from '../support/gemini.ts';
import { posixTest } from '../support/posix.ts';
import { runInTerminal } from '../support/pty.ts';
import { place } from '../tools/place.ts';

function policyWith(allowedTools: readonly string[]) {
  const allowed = allowedTools.map((tool) => ({ kind: 'tool', tool }) as const);
  return approvalPolicy({ mode: 'default', allowed, isTrusted: () => false });
}

const findTarget = async (_: Tool, args: JsonObject) => `/w/${args.file_path}`;

test('f allows every change of that file, and of no other', async () => {
  const { decide, screen } = fakePerson({ keys: ['f', 'n'] }, { findTarget });
  expect(await decide(WRITE, { file_path: 'a', content: '1' })).toEqual({ kind: 'run' });
  expect(await decide(WRITE, { file_path: 'a', content: '2' })).toEqual({ kind: 'run' });
  expect(await decide(WRITE, { file_path: 'b', content: '3' })).toEqual({ kind: 'deny', reason: NO });
  expect(screen()).toContain(
    '╰ [y]es [N]o [a]ll edits [f] always this file [e]dit [r]eply [d]iff\n  [q]uit turn [?] › f\n',
  );
});

test('in a narrow window the keys stand in rows, none of them broken', async () => {
  const { decide, screen } = fakePerson({ keys: ['f'], columns: 40 }, { findTarget });
  await decide(WRITE, { file_path: 'a', content: '1' });
  expect(screen().split('\n').slice(-5)).toEqual([
    '│ +1',
    '╰ [y]es [N]o [a]ll edits',
    '  [f] always this file [e]dit',
    '  [r]eply [d]iff [q]uit turn [?] › f',
    '',
  ]);
  const tiny = fakePerson({ keys: ['n'], columns: 9 }, { findTarget });
  await tiny.decide(WRITE, { file_path: 'a', content: '1' });
  expect(tiny.screen()).toContain('╰ [y]es\n  [N]o\n  [a]ll edits\n  [f] always this file\n');
});

test('a guarded file is asked about alone, each time, and no key allows it for later', async () => {
  const isGuarded = async (target: string) => target === '/w/AGENTS.md';
  const change = (file_path: string, content: string) => [WRITE, { file_path, content }] as const;
  const keep = async () => {};
  const first = fakePerson({ keys: ['a', 'n', 'A', 'f', 'y'], columns: 120 }, { findTarget, isGuarded, keep });
  const verdicts = await first.decideAll([
    change('notes.txt', '1'),
    change('AGENTS.md', '2'),
    change('b.txt', '3'),
    change('AGENTS.md', '4'),
    change('AGENTS.md', '5'),
    change('AGENTS.md', '6'),
  ]);
  expect(verdicts.map(({ kind }) => kind)).toEqual(['run', 'deny', 'run', 'deny', 'deny', 'run']);
  expect(first.screen()).toContain('╭ 2 changes ');
  expect(first.screen().match(/╰ .*/g)?.slice(1)).toEqual(
    ['n', 'A', 'f', 'y'].map((key) => `╰ [y]es [N]o [e]dit [r]eply [d]iff [q]uit turn [?] › ${key}`),
  );
  // As the first of a reply, too.
  const alone = fakePerson({ keys: ['y', 'y'] }, { findTarget, isGuarded });
  await alone.decideAll([change('AGENTS.md', '1'), change('a.txt', '2'), change('b.txt', '3')]);
  expect(alone.screen()).toMatch(/^╭ write_file src\/a\.ts[\s\S]*╭ 2 changes /);
});

test('what is not offered is no answer', async () => {
  const { decide } = fakePerson({ keys: ['f', 'o'] });
  expect(await decide(WRITE, { content: '1' })).toEqual({ kind: 'deny', reason: NO });
  expect(await decide(WRITE, { content: '1' })).toEqual({ kind: 'deny', reason: NO });
});

test('a change that turns out otherwise once it was approved is asked about again', async () => {
  let version = 1;
  const moving = tool('write_file', 'write', () => {
    version += 1;
    return {
      kind: 'diff',
      path: 'a',
      diff: `@@ -${Math.min(version, 4)} +1 @@\n+${version < 4 ? 'old' : 'new'}\n`,
      added: 1,
      removed: 0,
    };
  });
  // Shown in line 2, and by the time of the answer in line 3; then with other text.
  const { decide, screen } = fakePerson({ keys: ['a', 'a', 'y'] });
  expect(await decide(moving, {})).toEqual({ kind: 'run' });
  const since = '│ Something has changed since then. This is what would be done now:\n';
  expect(screen().split(since)).toEqual([
    expect.stringMatching(/@@ -2 \+1 @@\n│ \+old\n.*a\n$/),
    expect.stringMatching(/@@ -3 \+1 @@\n│ \+old\n.*a\n$/),
    expect.stringMatching(/@@ -4 \+1 @@\n│ \+new\n.*y\n$/),
  ]);
});

test('a change that cannot be made any more once it was approved is refused in its own words', async () => {
  let isGone = false;
  const going = tool('write_file', 'write', () => {
    if (isGone) return { ok: false, response: { error: 'It was changed since it was read.' } };
    isGone = true;
    return { kind: 'diff', path: 'a', diff: '@@ @@\n+x\n', added: 1, removed: 0 };
  });
  expect(await fakePerson({ keys: ['y'] }).decide(going, {})).toEqual({
    kind: 'deny',
    reason: 'It was changed since it was read.',
  });
});

const EDITS: readonly (readonly [Tool, JsonObject])[] = [
  [WRITE, { content: '1' }],
  [WRITE, { content: '2' }],
  [WRITE, { content: '3' }],
];

test('several changes of one reply are one list, and y applies all', async () => {
  const { decideAll, screen, told } = fakePerson({ keys: ['y'] });
  expect(await decideAll(EDITS)).toEqual([{ kind: 'run' }, { kind: 'run' }, { kind: 'run' }]);
  expect(screen()).toBe(
    [
      '╭ 3 changes  +3 −0',
      ...['1', '2', '3'].flatMap((text) => ['├ write_file src/a.ts  +1 −0', '│ @@ @@', `│ +${text}`]),
      '╰ [y]es to all [N]o [a]ll edits [o]ne by one [r]eply [d]iff [q]uit turn [?] › y\n',
    ].join('\n'),
  );
  expect(told).toEqual(['hold', 'close', 'resume']);
});

test.for([
  [['n'], [], ['deny', 'deny', 'deny']],
  [['r'], ['no more'], ['deny', 'deny', 'deny']],
  [['q'], [], ['stop', 'stop', 'stop']],
  [['a'], [], ['run', 'run', 'run']],
  [['e'], [], ['deny', 'deny', 'deny']],
  [['o', 'y', 'n', 'y'], [], ['run', 'deny', 'run']],
] as const)('the answers %j, %j to several changes are meant for all of them', async ([keys, lines, kinds]) => {
  const { decideAll } = fakePerson({ keys, lines });
  expect((await decideAll(EDITS)).map(({ kind }) => kind)).toEqual(kinds);
});

test('an answer to several changes is for these very calls, whatever the ids of others are', async () => {
  const { decideAll, decide } = fakePerson({ keys: ['y', 'n'] });
  await decideAll(EDITS);
  expect(await decide(WRITE, { content: '2' })).toEqual({ kind: 'deny', reason: NO });
});

test('what is not asked about, or cannot be shown yet, is left out of the list and seen in its turn', async () => {
  const { decideAll, screen } = fakePerson({ keys: ['y'] }, { policy: policyWith(['edit_file']) });
  const EDIT = tool('edit_file', 'write');
  const calls = [EDITS[0]!, [EDIT, {}], [WRITE, { content: 'bad' }], EDITS[1]!] as const;
  expect((await decideAll(calls)).map(({ kind }) => kind)).toEqual(['run', 'run', 'deny', 'run']);
  expect(screen()).toContain('╭ 2 changes');
});

test('a change of the list that others have altered by then is asked about again, or refused', async () => {
  let turn = 0;
  const later = tool('edit_file', 'write', ({ n }) => {
    turn += 1;
    if (n === 3 && turn > 3) return { ok: false, response: { error: 'Gone.' } };
    return { kind: 'diff', path: 'a', diff: `@@ @@\n+${n === 2 && turn > 3 ? 'new' : 'old'}\n`, added: 1, removed: 0 };
  });
  const { decideAll, screen } = fakePerson({ keys: ['y', 'n'] });
  const verdicts = await decideAll([
    [later, { n: 1 }],
    [later, { n: 2 }],
    [later, { n: 3 }],
  ]);
  expect(verdicts).toEqual([{ kind: 'run' }, { kind: 'deny', reason: NO }, { kind: 'deny', reason: 'Gone.' }]);
  expect(screen()).toContain('│ +new\n');
});

/** Real files, and a person who is asked about calls of one reply; those that may run do. */
async function editing(keys: readonly string[], files: Readonly<Record<string, string>>, allowedTools: string[] = []) {
  const here = await place(files);
  for (const file_path of Object.keys(files)) await here.output('read_file', { file_path });
  const one = fakePerson(
    { keys, rows: 60 },
    { ...targetFiles(here.workspace, () => false), policy: policyWith(allowedTools) },
  );
  const answer = async (
    calls: readonly (readonly [name: string, args: JsonObject])[],
    meddle: (index: number) => Promise<void> = async () => {},
  ) => {
    const pending = calls.map(([name, args]) => ({ tool: here.tools.get(name)!, call: { id: '1', name, args } }));
    const kinds: string[] = [];
    for (const [index, { tool: each, call }] of pending.entries()) {
      const context = { signal: new AbortController().signal, following: pending.slice(index + 1) };
      const verdict = await one.approve(each, call, context);
      kinds.push(verdict.kind);
      if (verdict.kind === 'run') await each.invoke(call.args, context.signal);
      await meddle(index);
    }
    return { kinds, questions: one.screen().match(/╰/g)?.length };
  };
  const text = (name: string): string => readFileSync(join(here.root, name), 'utf8');
  return { ...here, answer, text, screen: one.screen };
}

const swap = (from: string, to: string): readonly [string, JsonObject] => [
  'edit_file',
  { file_path: 'a.txt', old_string: from, new_string: to },
];

test('changes of one file are asked about once, each as it comes out after the one before', async () => {
  const { answer, text, screen } = await editing(['y'], { 'a.txt': 'a\nb\nc\n' });
  const calls = [swap('a\n', 'A\nA2\n'), swap('b', 'B'), swap('B\nc', 'B\nC')];
  expect(await answer(calls)).toEqual({ kinds: ['run', 'run', 'run'], questions: 1 });
  expect(text('a.txt')).toBe('A\nA2\nB\nC\n');
  expect(screen()).toContain('│ @@ -1,4 +1,4 @@\n│  A\n│  A2\n│ -b\n│ +B\n│  c\n');
});

test('a file that the reply makes can be changed by the same reply, in one answer', async () => {
  const { answer, text } = await editing(['y'], {});
  const calls = [
    ['write_file', { file_path: 'new/a.txt', content: 'a\nb\n' }],
    ['edit_file', { file_path: 'new/a.txt', old_string: 'a', new_string: 'A' }],
    ['write_file', { file_path: './new/a.txt', content: 'whole\n' }],
  ] as const;
  expect(await answer(calls)).toEqual({ kinds: ['run', 'run', 'run'], questions: 1 });
  expect(text('new/a.txt')).toBe('whole\n');
});

test('a change among others that runs without a question is seen by those after it', async () => {
  const { answer, text } = await editing(['y'], { 'a.txt': 'a\nb\n' }, ['write_file']);
  const calls = [swap('a', 'A'), ['write_file', { file_path: 'a.txt', content: 'x\ny\n' }], swap('y', 'Y')] as const;
  expect(await answer(calls)).toEqual({ kinds: ['run', 'run', 'run'], questions: 1 });
  expect(text('a.txt')).toBe('x\nY\n');
});

test('a change whose file is not as the list had it is asked about again', async () => {
  const { answer, text, output, root, screen } = await editing(['y', 'n'], { 'a.txt': 'a\nb\nc\n' });
  const verdicts = await answer([swap('a', 'A'), swap('c', 'C')], async (index) => {
    if (index > 0) return;
    // Somebody else adds a line, far from the change, and the model reads that.
    writeFileSync(join(root, 'a.txt'), 'A\nnew\nb\nc\n');
    await output('read_file', { file_path: 'a.txt' });
  });
  expect(verdicts).toEqual({ kinds: ['run', 'deny'], questions: 2 });
  expect(text('a.txt')).toBe('A\nnew\nb\nc\n');
  expect(screen()).toMatch(
    /to all .*\n│ Something has changed since then\. .*\n╭ edit_file a\.txt .*\n│ @@ -1,4 \+1,4 @@\n/,
  );
});

const SECTIONS = '[staging]\n# here\nopen = no\n\n[production]\nopen = no\n';

posixTest(
  'what "yes to all" writes is what the list showed, though one change moves the place of the next',
  async (t) => {
    const gemini = await fakeGemini(t, [
      reply(call('read_file', { file_path: 'a.ini' })),
      reply(
        call('edit_file', {
          file_path: 'a.ini',
          old_string: SECTIONS,
          new_string: '[staging]\nopen = no\n\n[production]\n# here\nopen = no\n',
        }),
        call('edit_file', { file_path: 'a.ini', old_string: '# here\nopen = no', new_string: '# here\nopen = yes' }),
      ),
      reply(call('read_file', { file_path: 'a.ini' })),
      reply('Done.'),
    ]);
    const terminal = runInTerminal(t, ['--tools', 'edit', 'Open staging.'], {
      gemini,
      files: { 'a.ini': SECTIONS },
      env: { NO_COLOR: '1' },
      rows: 60,
    });
    const screen = (await terminal.until(/\[\?\] › /)).replaceAll('\r\n', '\n');
    terminal.type('y');
    expect((await terminal.ended).exitCode).toBe(0);
    const second = screen.slice(screen.lastIndexOf('├ edit_file'));
    expect(second).toContain('│  [production]\n│  # here\n│ -open = no\n│ +open = yes\n');
    expect(gemini.requests[3]?.results[0].output).toBe('[staging]\nopen = no\n\n[production]\n# here\nopen = yes');
  },
);

test('if the first of the list is altered while it is asked about, it is asked about alone', async () => {
  let turn = 0;
  const first = tool('edit_file', 'write', () => {
    turn += 1;
    return { kind: 'text', text: turn > 1 ? 'new' : 'old' };
  });
  const { decideAll, screen } = fakePerson({ keys: ['y', 'y', 'y'] });
  expect(await decideAll([[first, {}], EDITS[0]!])).toEqual([{ kind: 'run' }, { kind: 'run' }]);
  expect(screen()).toContain('╭ edit_file\n│ new\n');
});

test('a list that does not fit is its titles, and approved only after all of it was shown', async () => {
  const { decideAll, screen } = fakePerson({ keys: ['y', 'd', 'y'], rows: 12 });
  expect((await decideAll(EDITS)).map(({ kind }) => kind)).toEqual(['run', 'run', 'run']);
  const title = '├ write_file src/a.ts  +1 −0';
  const few = '╰ [d]iff [N]o [o]ne by one [r]eply [q]uit turn [?] › ';
  expect(screen().split('\n').slice(0, 7)).toEqual([
    '╭ 3 changes  +3 −0',
    title,
    title,
    title,
    `${few}y`,
    '│ This is not all of it. See the rest first: d',
    `${few}d`,
  ]);
  expect(screen()).toContain('│ +2\n');
});

test('d shows what does not fit in the pager, if there is one, and then it can be approved', async () => {
  const command = Array.from({ length: 30 }, (_, index) => `line ${index}`).join('\n');
  const { decide, screen, told } = fakePerson({ keys: ['d', 'y'], rows: 10, hasPager: true });
  expect(await decide(SHELL, { command })).toEqual({ kind: 'run' });
  expect(told[1]).toMatch(/^page ╭ run_shell_command .*\n│ line 0\n(?:│ line \d+\n){28}│ line 29\n$/);
  expect(screen()).not.toContain('line 15');
});
