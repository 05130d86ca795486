import { expect, test } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
import type { Tool } from '../../src/core/tool.ts';
import { approvalPolicy } from '../../src/tools/policy.ts';
import { NO, SHELL, seated, tool, WRITE } from '../support/seated.ts';

function policyWith(allowedTools: readonly string[]) {
  return approvalPolicy({ mode: 'default', allowedTools, isTrusted: () => false });
}

const targetOf = async (_: Tool, args: JsonObject) => `/w/${args.file_path}`;

test('f allows every change of that file, and of no other', async () => {
  const { decide, screen } = seated({ keys: ['f', 'n'] }, { targetOf });
  expect(await decide(WRITE, { file_path: 'a', content: '1' })).toEqual({ kind: 'run' });
  expect(await decide(WRITE, { file_path: 'a', content: '2' })).toEqual({ kind: 'run' });
  expect(await decide(WRITE, { file_path: 'b', content: '3' })).toEqual({ kind: 'deny', reason: NO });
  expect(screen()).toContain('╰ [y]es [n]o [a]lways [f] always this file [e]dit [r]eply [d]iff [q]uit turn › f\n');
});

test('in a narrow window the keys stand in rows, none of them broken', async () => {
  const { decide, screen } = seated({ keys: ['f'], columns: 40 }, { targetOf });
  await decide(WRITE, { file_path: 'a', content: '1' });
  expect(screen().split('\n').slice(-5)).toEqual([
    '│ +1',
    '╰ [y]es [n]o [a]lways',
    '  [f] always this file [e]dit',
    '  [r]eply [d]iff [q]uit turn › f',
    '',
  ]);
  const tiny = seated({ keys: ['n'], columns: 9 }, { targetOf });
  await tiny.decide(WRITE, { file_path: 'a', content: '1' });
  expect(tiny.screen()).toContain('╰ [y]es\n  [n]o\n  [a]lways\n  [f] always this file\n');
});

test('what is not offered is no answer', async () => {
  const { decide } = seated({ keys: ['f', 'o'] });
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
      diff: `@@ -${version} +1 @@\n+${version < 4 ? 'old' : 'new'}\n`,
      added: 1,
      removed: 0,
    };
  });
  // Shown with 2, moved by a line: the same change. Shown with 3 …
  const calm = seated({ keys: ['y'] });
  expect(await calm.decide(moving, {})).toEqual({ kind: 'run' });
  version = 2;
  const { decide, screen } = seated({ keys: ['a', 'y'] });
  expect(await decide(moving, {})).toEqual({ kind: 'run' });
  expect(screen()).toMatch(
    /\+old\n.*a\n│ Things have changed since. This is what would be done now:\n╭.*\n.*\n│ \+new\n/,
  );
});

test('a change that cannot be made any more once it was approved is refused in its own words', async () => {
  let isGone = false;
  const going = tool('write_file', 'write', () => {
    if (isGone) return { ok: false, response: { error: 'It was changed since it was read.' } };
    isGone = true;
    return { kind: 'diff', path: 'a', diff: '@@ @@\n+x\n', added: 1, removed: 0 };
  });
  expect(await seated({ keys: ['y'] }).decide(going, {})).toEqual({
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
  const { decideAll, screen, told } = seated({ keys: ['y'] });
  expect(await decideAll(EDITS)).toEqual([{ kind: 'run' }, { kind: 'run' }, { kind: 'run' }]);
  expect(screen()).toBe(
    [
      '╭ 3 changes  +3 −0',
      ...['1', '2', '3'].flatMap((text) => ['├ write_file src/a.ts  +1 −0', '│ @@ @@', `│ +${text}`]),
      '╰ [y]es to all [a]lways [d]iff [n]o [o]ne by one [r]eply [q]uit turn › y\n',
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
  const { decideAll } = seated({ keys, lines });
  expect((await decideAll(EDITS)).map(({ kind }) => kind)).toEqual(kinds);
});

test('an answer to several changes is for these very calls, whatever the ids of others are', async () => {
  const { decideAll, decide } = seated({ keys: ['y', 'n'] });
  await decideAll(EDITS);
  expect(await decide(WRITE, { content: '2' })).toEqual({ kind: 'deny', reason: NO });
});

test('what is not asked about, or cannot be shown yet, is left out of the list and seen in its turn', async () => {
  const { decideAll, screen } = seated({ keys: ['y'] }, { policy: policyWith(['edit_file']) });
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
  const { decideAll, screen } = seated({ keys: ['y', 'n'] });
  const verdicts = await decideAll([
    [later, { n: 1 }],
    [later, { n: 2 }],
    [later, { n: 3 }],
  ]);
  expect(verdicts).toEqual([{ kind: 'run' }, { kind: 'deny', reason: NO }, { kind: 'deny', reason: 'Gone.' }]);
  expect(screen()).toContain('│ +new\n');
});

test('changes of one file are asked about once, although each alters what stands around the next', async () => {
  let lines = ['a', 'b', 'c'];
  const edit = tool('edit_file', 'write', ({ from, to }) => {
    if (!lines.includes(String(from))) return { ok: false, response: { error: 'Gone.' } };
    const diff = lines.map((line) => (line === from ? `-${line}\n+${to}\n` : ` ${line}\n`)).join('');
    return { kind: 'diff', path: 'a.txt', diff: `@@ -1,3 +1,3 @@\n${diff}`, added: 1, removed: 1 };
  });
  const calls = [
    [edit, { file_path: 'a.txt', from: 'a', to: 'A' }],
    [edit, { file_path: 'a.txt', from: 'b', to: 'B' }],
    [edit, { file_path: 'a.txt', from: 'c', to: 'C' }],
  ] as const;
  const run = async (keys: readonly string[], meddled?: string[]) => {
    lines = ['a', 'b', 'c'];
    const one = seated({ keys }, { targetOf });
    const kinds: string[] = [];
    const pending = calls.map(([, args]) => ({ tool: edit, call: { id: '1', name: 'edit_file', args: { ...args } } }));
    for (const [index, { call }] of pending.entries()) {
      const context = { signal: new AbortController().signal, following: pending.slice(index + 1) };
      const verdict = await one.approve(edit, call, context);
      kinds.push(verdict.kind);
      if (verdict.kind === 'run') lines = lines.map((line) => (line === call.args.from ? call.args.to : line));
      if (index === 0) lines = meddled ?? lines;
    }
    return { kinds, questions: one.screen().match(/╰/g)?.length };
  };
  expect(await run(['y'])).toEqual({ kinds: ['run', 'run', 'run'], questions: 1 });
  // Somebody else takes away what the second would change.
  expect(await run(['y'], ['A', 'x', 'c'])).toEqual({
    kinds: ['run', 'deny', 'run'],
    questions: 1,
  });
});

test('if the first of the list is altered while it is asked about, it is asked about alone', async () => {
  let turn = 0;
  const first = tool('edit_file', 'write', () => {
    turn += 1;
    return { kind: 'text', text: turn > 1 ? 'new' : 'old' };
  });
  const { decideAll, screen } = seated({ keys: ['y', 'y', 'y'] });
  expect(await decideAll([[first, {}], EDITS[0]!])).toEqual([{ kind: 'run' }, { kind: 'run' }]);
  expect(screen()).toContain('╭ edit_file\n│ new\n');
});

test('a list that does not fit is its titles, and approved only after all of it was shown', async () => {
  const { decideAll, screen } = seated({ keys: ['y', 'd', 'y'], rows: 12 });
  expect((await decideAll(EDITS)).map(({ kind }) => kind)).toEqual(['run', 'run', 'run']);
  const title = '├ write_file src/a.ts  +1 −0';
  const few = '╰ [d]iff [n]o [o]ne by one [r]eply [q]uit turn › ';
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
  const { decide, screen, told } = seated({ keys: ['d', 'y'], rows: 10, hasPager: true });
  expect(await decide(SHELL, { command })).toEqual({ kind: 'run' });
  expect(told[1]).toMatch(/^page ╭ run_shell_command .*\n│ line 0\n(?:│ line \d+\n){28}│ line 29\n$/);
  expect(screen()).not.toContain('line 15');
});
