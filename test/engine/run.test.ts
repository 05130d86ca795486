import { expect, type TestContext, test } from 'vitest';
import type { App } from '../../src/core/app.ts';
import { Run } from '../../src/engine/run.ts';
import { succeed } from '../../src/tools/define.ts';
import { surroundings } from '../mcp/client/support.ts';

const EMPTY = { model: {}, tools: {}, instruction: {}, limits: {}, answer: {}, session: {} };

const listeners = () => process.getActiveResourcesInfo().filter((kind) => kind === 'TCPServerWrap').length;

function createApp(t: TestContext): App {
  const { context } = surroundings(t);
  const out = { isTerminal: false, write: async () => {} };
  return {
    ...context,
    io: { out, err: out },
    random: () => 0,
    preconnect: () => {},
    signal: new AbortController().signal,
    settings: async () => ({ env: context.env, notices: [] }),
  } as unknown as App;
}

const unasked = () => Promise.reject(new Error('unasked'));

test('a model whose agent cannot be opened is closed', async (t) => {
  const before = listeners();
  const host = { notify: () => {}, explainDenial: unasked };
  const setup = { ...EMPTY, model: { demo: true }, tools: { tools: 'edit', allowedTools: ['nosuch'] } };
  await expect(Run.open(setup, createApp(t), host)).rejects.toMatchObject({
    message: 'there is no tool nosuch',
  });
  await expect.poll(listeners).toBe(before);
});

test('no more tools are declared than the API takes', async (t) => {
  const said: unknown[] = [];
  const ownTools = Array.from({ length: 515 }, (_, index) => ({
    name: `tool_${index}`,
    description: 'One of many.',
    effect: 'read' as const,
    input: { type: 'object' },
    invoke: async () => succeed(''),
  }));
  const host = { notify: (notice: unknown) => void said.push(notice), explainDenial: unasked };
  const run = await Run.open({ ...EMPTY, model: { demo: true }, tools: { ownTools } }, createApp(t), host);
  try {
    expect(run.facts.agent.tools).toHaveLength(512);
    expect(said).toContainEqual({
      type: 'notice',
      message: 'a model takes at most 512 tools; not offered: tool_512, tool_513, tool_514',
    });
  } finally {
    await run.close();
  }
});
