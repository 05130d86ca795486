import { expect, test } from 'vitest';
import { openAssistant } from '../../src/commands/chat/assistant.ts';
import type { App } from '../../src/core/app.ts';
import { surroundings } from '../mcp/client/support.ts';

const listeners = () => process.getActiveResourcesInfo().filter((kind) => kind === 'TCPServerWrap').length;

test('a model whose agent cannot be opened is closed', async (t) => {
  const { context } = surroundings(t);
  const out = { isTerminal: false, write: async () => {} };
  const app = {
    ...context,
    io: { out, err: out },
    random: () => 0,
    preconnect: () => {},
    signal: new AbortController().signal,
    settings: async () => ({ env: context.env, notices: [] }),
  } as unknown as App;
  const around = { app, runPaused: <Value>(work: () => Promise<Value>) => work(), onNotice: () => {} };
  const before = listeners();
  const options = { demo: true, noMcp: true, allowedTools: ['nosuch'] };
  await expect(openAssistant(options, around as never)).rejects.toMatchObject({
    message: 'there is no tool nosuch',
  });
  await expect.poll(listeners).toBe(before);
});
