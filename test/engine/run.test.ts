import { expect, test } from 'vitest';
import type { App } from '../../src/core/app.ts';
import { openRun } from '../../src/engine/run.ts';
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
  const before = listeners();
  const host = { notify: () => {}, explainDenial: () => Promise.reject(new Error('unasked')) };
  const setup = { demo: true, tools: 'edit', allowedTools: ['nosuch'] };
  await expect(openRun(setup, app, host)).rejects.toMatchObject({
    message: 'there is no tool nosuch',
  });
  await expect.poll(listeners).toBe(before);
});
