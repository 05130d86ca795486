import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Content } from '../../src/core/content.ts';
import type { TurnRecord } from '../../src/core/history.ts';
import { systemClock } from '../../src/platform/runtime/clock.ts';
import { createMemorySession } from '../../src/session/memory-session.ts';

const textContent = (role: Content['role'], text: string): Content => ({ role, parts: [{ text }] });

async function talk(turns: number) {
  const session = createMemorySession(systemClock);
  for (let turn = 0; turn < turns; turn += 1) {
    await session.append({ kind: 'prompt', content: textContent('user', `p${turn}`) });
    await session.append({ kind: 'reply', content: textContent('model', `r${turn}`), usage: {}, model: 'm' });
  }
  return session;
}

test('rewinding drops whole exchanges, never more than there are', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(8), fc.nat(12), async (turns, dropped) => {
      const session = await talk(turns);
      await session.rewind(dropped);
      const left = Math.max(0, turns - dropped);
      expect([session.turns, session.contents.length]).toEqual([left, 2 * left]);
    }),
  );
});

test('the conversation continues from replaced records, which can be rewound', async () => {
  const session = await talk(3);
  const records: readonly TurnRecord[] = [
    { kind: 'prompt', content: textContent('user', 'summary') },
    { kind: 'reply', content: textContent('model', 'yes'), usage: {}, model: 'm', finishReason: 'STOP' },
  ];
  await session.replace(records);
  expect(session.turns).toBe(1);
  await session.append({ kind: 'prompt', content: textContent('user', 'next') });
  await session.rewind(1);
  expect(session.records).toMatchObject(records);
  expect(session.contents).toEqual([textContent('user', 'summary'), textContent('model', 'yes')]);
  await session.rename('trip');
  expect(session.name).toBe('trip');
});
