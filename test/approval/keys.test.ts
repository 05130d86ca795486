import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { KEY_ROWS } from '../../src/approval/keys.ts';
import { approvalPolicy } from '../../src/approval/policy.ts';
import { askPerson } from '../../src/approval/question.ts';
import { AppError } from '../../src/core/error.ts';
import type { Permission } from '../../src/core/permission.ts';
import { fakePerson, NO, READ, SHELL, tool, WRITE } from '../support/fake-person.ts';

const REMOTE = {
  ...tool('files__delete', 'execute'),
  remote: { server: 'files', fingerprint: 'f1', tool: 'delete' },
};

function keeping(keys: readonly string[], options: Parameters<typeof fakePerson>[1] = {}) {
  const kept: Permission[] = [];
  const keep = async (permission: Permission): Promise<void> => void kept.push(permission);
  return { ...fakePerson({ keys, columns: 120 }, { keep, ...options }), kept };
}

test.each([
  [['a'], 'all edits', 'run'],
  [['\u001b'], '', 'stop'],
  [['\r'], '', 'deny'],
] as const)('a change: %j', async ([key], _, kind) => {
  const { decide, screen } = keeping([key, 'n']);
  expect((await decide(WRITE, { content: '1' })).kind).toBe(kind);
  expect(screen()).toContain('╰ [y]es [N]o [a]ll edits [e]dit [r]eply [d]iff [q]uit turn [?] › ');
  expect((await decide(WRITE, { content: '2' })).kind).toBe(kind === 'run' ? 'run' : 'deny');
});

test('p covers what begins with the words of its label, and nothing else', async () => {
  const { decide, screen, kept } = keeping(['p', 'n', 'n']);
  expect(await decide(SHELL, { command: 'npm test -- a' })).toEqual({ kind: 'run' });
  expect(screen()).toContain('[a]lways this command [p] npm test … [e]dit');
  expect(await decide(SHELL, { command: 'npm test' })).toEqual({ kind: 'run' });
  expect(await decide(SHELL, { command: 'npm run x' })).toEqual({ kind: 'deny', reason: NO });
  expect(await decide(SHELL, { command: 'npm test; evil' })).toEqual({ kind: 'deny', reason: NO });
  expect(kept).toEqual([]);
});

test('for a tool of an MCP server a covers the tool, s the server, by a name that cannot look like other keys', async () => {
  const one = keeping(['s']);
  expect(await one.decide(REMOTE, { path: 'a' })).toEqual({ kind: 'run' });
  expect(one.screen()).toContain('[a]lways this tool [s] all tools of files [e]dit');
  expect(await one.decide({ ...REMOTE, name: 'x', remote: { ...REMOTE.remote, tool: 'x' } }, {})).toEqual({
    kind: 'run',
  });
  for (const [server, label] of [
    ['a [y]es', '[s] all tools of "a [y]es" [e]dit'],
    ['x'.repeat(40), `[s] all tools of ${'x'.repeat(30)}… [e]dit`],
    ['a\u202eb', '[s] all tools of "a\\\\u202eb" [e]dit'],
  ] as const) {
    const { decide, screen } = keeping(['n']);
    await decide({ ...REMOTE, remote: { ...REMOTE.remote, server } }, {});
    expect(screen().replaceAll('\\\\', '\\')).toContain(label.replaceAll('\\\\', '\\'));
  }
});

test('the capital keys keep it for the project, and say so', async () => {
  const { decide, screen, kept } = keeping(['A', 'P', 'S', 'A', 'A']);
  await decide(WRITE, { content: '1' });
  await decide(SHELL, { command: 'npm test x' });
  await decide(REMOTE, {});
  await decide({ ...REMOTE, remote: { ...REMOTE.remote, fingerprint: 'f2' } }, {});
  await decide(SHELL, { command: 'a | b' });
  expect(kept).toEqual([
    { kind: 'edits' },
    { kind: 'prefix', words: ['npm', 'test'], directory: '/w/app' },
    { kind: 'server', server: 'files', fingerprint: 'f1' },
    { kind: 'server-tool', server: 'files', fingerprint: 'f2', tool: 'delete' },
    { kind: 'command', command: 'a | b', directory: '/w/app' },
  ]);
  expect(screen()).toContain('› P\n│ Kept for this project: npm test … (in /w/app)\n');
});

test('what cannot be kept holds for this run, with the reason; where nothing is kept, capitals are no answer', async () => {
  const keep = async () => {
    throw new AppError('config', '/h/permissions.json: it is damaged', { hint: 'Remove it.' });
  };
  const { decide, screen } = fakePerson({ keys: ['A'] }, { keep });
  expect((await decide(SHELL, { command: 'a | b' })).kind).toBe('run');
  expect((await decide(SHELL, { command: 'a | b' })).kind).toBe('run');
  expect(screen()).toContain('│ Only for this run: /h/permissions.json: it is damaged. Remove it.\n');
  const bare = fakePerson({ keys: ['A'] }, { keep: async () => Promise.reject(new AppError('config', 'full')) });
  await bare.decide(SHELL, { command: 'ls' });
  expect(bare.screen()).toContain('│ Only for this run: full.');
  expect((await fakePerson({ keys: ['A'] }).decide(SHELL, { command: 'ls' })).kind).toBe('deny');
  // What lets a file with secrets be read is never kept.
  const secret = keeping(['A']);
  expect((await secret.decide(READ, { file_path: '.env' })).kind).toBe('deny');
  expect(secret.kept).toEqual([]);
});

test('an edited command is offered by its own words', async () => {
  const kept: Permission[] = [];
  const { decide, screen } = fakePerson(
    { keys: ['e', 'P'], edits: ['make test'], columns: 120 },
    { keep: async (permission) => void kept.push(permission) },
  );
  await decide(SHELL, { command: 'npm test' });
  expect(screen()).toContain('[p] make test …');
  expect(kept).toEqual([{ kind: 'prefix', words: ['make', 'test'], directory: '/w/app' }]);
  // One that is excluded is denied, whoever wrote it.
  const policy = approvalPolicy({
    mode: 'default',
    allowed: [],
    isTrusted: () => false,
    limits: { exclude: [['rm']] },
  });
  const other = fakePerson({ keys: ['e'], edits: ['rm x'], columns: 120 }, { policy });
  expect(await other.decide(SHELL, { command: 'npm test' })).toMatchObject({ kind: 'deny' });
  expect(other.screen()).not.toContain('│ rm x');
});

test.each([
  ['npm test', SHELL, { command: 'npm test' }, ['a', 'p', 'A, P'], 'like a and p, and kept'],
  ['a line that p cannot cover', SHELL, { command: 'a | b' }, ['a', 'A'], 'like a, and kept'],
  ['a tool of a server', REMOTE, { path: 'a' }, ['a', 's', 'A, S'], 'like a and s, and kept'],
])('? explains exactly the keys that are offered, and asks again: %s', async (_, asked, args, keys, kept) => {
  const { decide, screen } = keeping(['?', 'n']);
  await decide(asked, args);
  const explained = screen()
    .split('\n')
    .filter((row) => /^│ \S.* {2}\S/.test(row));
  expect(explained.map((row) => row.slice(2).split('  ')[0])).toEqual([
    ...['y', 'n, Enter', ...keys, 'e', 'r', 'd', 'q, Esc, Ctrl+C', '?'],
  ]);
  expect(screen()).toContain(`${kept} for this project`);
  expect(screen().match(/╰/g)).toHaveLength(2);
});

test('what ? explains stays in the frame of a narrow window', async () => {
  const narrow = fakePerson({ keys: ['?', 'n'], columns: 40 });
  await narrow.decide(WRITE, { content: '1' });
  const rows = narrow
    .screen()
    .split('\n')
    .filter((row) => /^[│┊]/.test(row));
  expect(rows.filter((row) => row.length > 40)).toEqual([]);
});

test('a question with yes and no only: Esc gives neither, and ? explains', async () => {
  const { tty, err, screen } = fakePerson({ keys: ['?', '\u001b'] });
  const preview = { kind: 'command', command: 'ls', directory: '/w' } as const;
  const question = { items: [{ name: 'This would run', preview }], hasFile: false };
  expect(await askPerson(question, { tty, err, env: {} }, new AbortController().signal)).toEqual({ kind: 'stop' });
  expect(screen()).toMatch(/│ y {9}yes.*\n│ n, Enter {2}no/);
  expect(screen()).not.toContain('stops the turn');
});

test('docs/tools.md has the same keys with the same words', () => {
  const page = readFileSync(new URL('../../docs/tools.md', import.meta.url), 'utf8');
  for (const { about } of KEY_ROWS) expect(page).toContain(`${about} |`);
});

test('a change that nobody was asked about comes with its diff, one that was shown does not', async () => {
  const allowed = [{ kind: 'tool', tool: 'write_file' }] as const;
  const policy = approvalPolicy({ mode: 'default', allowed, isTrusted: () => false });
  const unasked = fakePerson({}, { policy, showsChanges: true });
  expect(await unasked.decide(WRITE, { content: '1' })).toEqual({ kind: 'run', diff: '@@ @@\n+1\n' });
  expect(await unasked.decide(WRITE, { content: 'bad' })).toEqual({ kind: 'run' });
  expect(await unasked.decide(READ, { file_path: 'a' })).toEqual({ kind: 'run' });
  expect(await fakePerson({}, { policy }).decide(WRITE, { content: '1' })).toEqual({ kind: 'run' });
  const plain = { ...tool('write_file', 'write') };
  expect(await unasked.decide(plain, {})).toEqual({ kind: 'run' });
  const asked = fakePerson({ keys: ['a'] }, { showsChanges: true });
  const verdicts = await asked.decideAll([
    [WRITE, { content: '1' }],
    [WRITE, { content: '2' }],
  ]);
  expect(verdicts).toEqual([{ kind: 'run' }, { kind: 'run' }]);
  expect(await asked.decide(WRITE, { content: '3' })).toEqual({ kind: 'run', diff: '@@ @@\n+3\n' });
});
