import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { App } from '../../src/core/app.ts';
import type { TurnEvent } from '../../src/core/event.ts';
import { createTurnNotices } from '../../src/engine/answer/turn-notices.ts';
import type { Run } from '../../src/engine/run.ts';
import { createUnsavedConversation } from '../../src/engine/session/conversation.ts';
import { createAbortable } from '../../src/platform/runtime/abort.ts';
import type { PromptRequest } from '../../src/process/request.ts';
import { createTurnQueue } from '../../src/process/turns.ts';

function prompt(id: string): PromptRequest {
  return { type: 'prompt', id, content: { role: 'user', parts: [{ text: 'x' }] }, choice: {} };
}

/** A run that answers without end, and an output that has room for one line at a time. */
function createScene() {
  const lines: string[] = [];
  let pulled = 0;
  let makeRoom = (): void => {};
  async function* turn(): AsyncGenerator<TurnEvent, void> {
    for (;;) {
      pulled += 1;
      yield { type: 'text', delta: `${pulled}` };
    }
  }
  const write = (line: string): Promise<void> => {
    lines.push(line);
    return new Promise((resolve) => {
      makeRoom = resolve;
    });
  };
  const setup = { model: {}, tools: {}, instruction: {} };
  const run = { facts: { setup, agent: { tools: [] } }, turn } as unknown as Run;
  const app = { io: { out: { write } } } as unknown as App;
  const turns = createTurnQueue(
    {},
    {
      ...{ app, run, conversation: createUnsavedConversation(), notices: createTurnNotices(), onLost: () => {} },
      ...{ write: async (event: object) => void lines.push(JSON.stringify(event)) },
      signal: createAbortable().signal,
    },
  );
  return { turns, lines, pulled: () => pulled, makeRoom: () => makeRoom() };
}

test('a reader that takes nothing holds the turn', async () => {
  const scene = createScene();
  void scene.turns.add(prompt('1'), 1);
  for (let step = 1; step < 5; step += 1) {
    for (let look = 0; look < 20; look += 1) await setImmediate();
    expect(scene.pulled()).toBe(step);
    scene.makeRoom();
  }
});

test('too many prompts that wait are refused, not kept', () => {
  const { turns } = createScene();
  void turns.add(prompt('first'), 40_000_000);
  expect(() => turns.add(prompt('large'), 40_000_000)).toThrow(expect.objectContaining({ fault: 'limit' }));
  for (let count = 1; count < 1000; count += 1) void turns.add(prompt(`${count}`), 1);
  expect(() => turns.add(prompt('one more'), 1)).toThrow('1000 prompts, or 64 MB of them, are waiting');
});
