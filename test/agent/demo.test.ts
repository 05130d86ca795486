import { expect, test } from 'vitest';
import { createMemoryHistory } from '../../src/agent/agent.ts';
import { AppError } from '../../src/core/error.ts';
import { startDemo } from '../../src/demo/server.ts';
import { agentOf, CLOCK, clientOf, ok, play, textOf, tool } from './support.ts';

test.each(['gemini-2.5-flash', 'gemini-3-flash-preview'])(
  'the demo, which checks signatures and pairs, takes every history of %s',
  async (model) => {
    const log: string[] = [];
    const demo = await startDemo({ clock: CLOCK, log: (line) => log.push(line) });
    try {
      let controller = new AbortController();
      const look = tool('look', 'read', ({ at }) => ({ ...ok(`saw ${at}`), media: [] }));
      const change = tool('change', 'write', ({ cancel }) => {
        if (cancel) controller.abort(new AppError('interrupted', 'Interrupted.'));
        return ok('changed');
      });
      const agent = agentOf(clientOf(new URL(demo.url)), [look, change], {
        request: { model, generationConfig: {} },
        approve: async (_tool, { args }) => (args.no ? { kind: 'deny', reason: 'no' } : { kind: 'run' }),
      });
      const history = createMemoryHistory({ keepsReplies: true });
      const ask = (text: string) => play(agent, history, { text, signal: controller.signal });
      const first = await ask('call look {"at":1}\ncall look {"at":2}\nthen call change {"no":true}');
      expect(textOf(first.events)).toBe('demo: change failed: no');
      expect((await ask('Hello')).error).toBeUndefined();
      expect((await ask('call change {"n":1}\ncall change {"cancel":true}\ncall look')).error?.fault).toBe(
        'interrupted',
      );
      controller = new AbortController();
      expect((await ask('What was that?')).error).toBeUndefined();
      const last = await ask('call look {"at":3}\nthen call look {"at":4}');
      expect(textOf(last.events)).toBe('demo: look answered: saw 4');
      expect(log.filter((line) => !line.endsWith(' 200'))).toEqual([]);
    } finally {
      await demo.close();
    }
  },
);
