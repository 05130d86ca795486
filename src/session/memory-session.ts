import type { Clock } from '../core/io.ts';
import type { Session } from '../core/session.ts';
import { randomId } from '../platform/runtime/random-id.ts';
import { createSession, type LocalSession } from './open-session.ts';

export function createMemorySession(clock: Clock): LocalSession {
  return createSession({
    ...{ clock, by: 'chat', durability: 'written', file: { id: randomId(), name: undefined } },
    writer: {
      hasBegun: false,
      isSaved: false,
      append: async () => {},
      tryPut: async () => true,
      close: async () => {},
    },
    reservation: { reserve: async (name) => name, release: async () => {} },
  });
}

/** Into an empty session. */
export async function copyConversation({ setup, records, compactions }: Session, to: Session): Promise<void> {
  to.choose(setup);
  await to.replace(records);
  for (const compaction of compactions) await to.compact(compaction);
}
