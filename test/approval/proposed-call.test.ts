import { expect, test } from 'vitest';
import type { ProposedCall } from '../../src/approval/keys.ts';
import { approvalPolicy } from '../../src/approval/policy.ts';
import { createRelay } from '../../src/process/relay.ts';
import { fakePerson, READ, SHELL, tool, WRITE } from '../support/fake-person.ts';

/** Who asks is told which call it is, and of a file that is asked about in every mode the real path. */
test.for([
  ['a.txt', WRITE, undefined],
  ['AGENTS.md', WRITE, '/w/AGENTS.md'],
  ['.env', READ, '/w/.env'],
] as const)('the question about %s says what would run', async ([path, tool, guarded], _t) => {
  const asked: (ProposedCall | undefined)[] = [];
  const person = {
    ask: async ({ items }: { readonly items: readonly { readonly call?: ProposedCall }[] }) => {
      asked.push(items[0]?.call);
      return { kind: 'no' } as const;
    },
    say: async () => {},
    edit: async () => undefined,
  };
  const args = { file_path: path, content: 'x' };
  const { decide } = fakePerson({}, { ...GUARDED, withPerson: (work) => work(person) });
  await decide(tool, args);
  expect(asked).toEqual([{ id: '1', name: tool.name, args, guarded }]);
});

test('a program that changes arguments is asked again only about a file that is always asked about', async () => {
  const events: object[] = [];
  const relay = createRelay(async (event) => {
    events.push(event);
    if (event.type !== 'approval') return;
    const path = events.length === 1 ? 'AGENTS.md' : 'b.txt';
    queueMicrotask(() => relay.answer({ type: 'approve', call: '1', decision: 'yes', args: { file_path: path } }));
  });
  const { decide } = fakePerson({}, { ...GUARDED, withPerson: relay.withPerson });
  const decision = await decide(WRITE, { file_path: 'a.txt' });
  expect(decision).toEqual({ kind: 'run-edited', args: { file_path: 'b.txt' } });
  expect(events).toMatchObject([{ args: { file_path: 'a.txt' } }, { args: { file_path: 'AGENTS.md' } }]);
  relay.close();
  expect(await decide(WRITE, { file_path: 'c.txt' })).toMatchObject({ kind: 'deny', reason: /the input has ended/ });
  expect(events).toHaveLength(2);
});

test('what the policy denies does not run after a change of the arguments either', async () => {
  const policy = approvalPolicy({
    mode: 'default',
    allowed: [],
    isTrusted: () => false,
    limits: { exclude: [['touch']] },
  });
  const relay = createRelay(async () => {
    const args = { command: 'touch MARK' };
    queueMicrotask(() => relay.answer({ type: 'approve', call: '1', decision: 'yes', args }));
  });
  const { decide } = fakePerson({}, { policy, withPerson: relay.withPerson });
  expect(await decide(SHELL, { command: 'wc a.txt' })).toMatchObject({ kind: 'deny', reason: /tools.exclude/ });
  const onTerminal = fakePerson({ keys: ['e'], edits: ['touch MARK'] }, { policy });
  expect(await onTerminal.decide(SHELL, { command: 'wc a.txt' })).toMatchObject({
    kind: 'deny',
    reason: /tools.exclude/,
  });
});

test('an answer allows no more than was offered: always for a hook’s question is this once', async () => {
  const policy = approvalPolicy({ mode: 'default', allowed: [], isTrusted: (tool) => tool === WRITE });
  const relay = createRelay(async (event) => {
    if (event.type === 'approval')
      queueMicrotask(() => relay.answer({ type: 'approve', call: '1', decision: 'always' }));
  });
  const { approve } = fakePerson({}, { policy, withPerson: relay.withPerson });
  const call = { id: '1', name: 'write_file', args: { content: 'x' } };
  expect(await approve(WRITE, call, { signal: new AbortController().signal, mustAsk: true })).toEqual({ kind: 'run' });
  const other = tool('other', 'write');
  expect(policy.rule({ tool: other, args: {} }).kind).toBe('ask');
});

test('the path of a file with secrets is shown with escapes, also in a title', async () => {
  const titles: unknown[] = [];
  const relay = createRelay(async ({ title }) => {
    titles.push(title);
    queueMicrotask(() => relay.answer({ type: 'approve', call: '1', decision: 'no' }));
  });
  const findSecret = async (): Promise<string> => '/w/\u202e.env';
  await fakePerson({}, { findSecret, withPerson: relay.withPerson }).decide(READ, { file_path: 'x' });
  expect(titles).toEqual([
    'read_file /w/\\u202e.env: this file may hold keys or passwords, and would be sent to the model',
  ]);
});

const GUARDED = {
  findTarget: async (_: unknown, args: { readonly [key: string]: unknown }) => `/w/${String(args.file_path)}`,
  isGuarded: async (target: string) => target === '/w/AGENTS.md',
};
