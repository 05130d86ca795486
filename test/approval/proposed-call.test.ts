import { expect, test } from 'vitest';
import type { ProposedCall } from '../../src/approval/keys.ts';
import { createRelay } from '../../src/process/relay.ts';
import { fakePerson, READ, WRITE } from '../support/fake-person.ts';

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

const GUARDED = {
  findTarget: async (_: unknown, args: { readonly [key: string]: unknown }) => `/w/${String(args.file_path)}`,
  isGuarded: async (target: string) => target === '/w/AGENTS.md',
};
