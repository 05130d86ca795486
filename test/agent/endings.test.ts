import { expect, test } from 'vitest';
import { createMemoryHistory } from '../../src/agent/agent.ts';
import { runTurn } from '../../src/agent/turn.ts';
import { AppError } from '../../src/core/error.ts';
import type { History } from '../../src/core/history.ts';
import type { Model } from '../../src/core/model.ts';
import type { Tool } from '../../src/core/tool.ts';
import { agentOf, call, ok, play, recorded, scripted, textOf, tool, userContent } from './support.ts';

const CANCELLED = { ok: false, response: { error: '[cancelled]' } };

function answersIn({ contents }: History): readonly unknown[] {
  return contents.flatMap(({ parts }) =>
    parts.flatMap((part) => ('functionResponse' in part ? [part.functionResponse.response] : [])),
  );
}

test('cancelling while a tool runs keeps what it gave, and answers the rest as cancelled', async () => {
  const controller = new AbortController();
  const slow = tool('slow', 'read', (_args, signal) => {
    controller.abort(new AppError('interrupted', 'Interrupted.'));
    throw signal.reason;
  });
  const model = scripted([{ calls: [call('look'), call('slow'), call('change')] }]);
  const history = createMemoryHistory();
  const tools = [tool('look', 'read'), slow, tool('change', 'write')];
  const { events, error } = await play(agentOf(model, tools), history, { signal: controller.signal });
  expect(error?.fault).toBe('interrupted');
  expect(events.filter(({ type }) => type === 'answer')).toEqual([
    { type: 'answer', id: 'c1.0', name: 'look', outcome: ok('done') },
    { type: 'answer', id: 'c1.1', name: 'slow', outcome: CANCELLED },
  ]);
  expect(answersIn(history)).toEqual([{ output: 'done' }, CANCELLED.response, CANCELLED.response]);
});

test('what was approved after the cancel is not run', async () => {
  const controller = new AbortController();
  let runs = 0;
  const change = tool('change', 'write', () => {
    runs += 1;
    return ok('');
  });
  const approve = async () => {
    controller.abort(new AppError('interrupted', 'Interrupted.'));
    return { kind: 'run' } as const;
  };
  const agent = agentOf(scripted([{ calls: [call('change')] }]), [change], { approve });
  const { error } = await play(agent, createMemoryHistory(), { signal: controller.signal });
  expect([error?.fault, runs]).toEqual(['interrupted', 0]);
});

test('stop ends the turn, and nothing more is run', async () => {
  let runs = 0;
  const change = tool('change', 'write', () => {
    runs += 1;
    return ok('');
  });
  const model = scripted([{ calls: [call('change', { n: 1 }), call('change', { n: 2 }), call('change', { n: 3 })] }]);
  const history = createMemoryHistory();
  const approve = async (_tool: Tool, { args }: { readonly args: { readonly n?: unknown } }) =>
    ({ kind: args.n === 1 ? 'run' : 'stop' }) as const;
  const { error } = await play(agentOf(model, [change], { approve }), history);
  expect(error).toMatchObject({ fault: 'interrupted', message: 'stopped before change was run' });
  expect(runs).toBe(1);
  expect(answersIn(history)).toEqual([{ output: '' }, CANCELLED.response, CANCELLED.response]);
});

test('a reader that leaves during a call leaves a whole history behind', async () => {
  const model = scripted([{ calls: [call('look', { n: 1 }), call('look', { n: 2 })] }]);
  const history = createMemoryHistory();
  const turn = { history, prompt: userContent('hi'), signal: new AbortController().signal };
  for await (const event of runTurn(agentOf(model, [tool('look', 'read')]), turn)) if (event.type === 'call') break;
  expect(answersIn(history)).toEqual([CANCELLED.response, CANCELLED.response]);
});

test('a reply that is cut off is kept as far as it came, where replies are kept', async () => {
  const lines = [{ text: ['half ', 'of'], throws: new AppError('api', 'cut') }];
  const kept = recorded(true);
  expect((await play(agentOf(scripted(lines), []), kept)).error?.message).toBe('cut');
  expect(kept.records[1]).toEqual({
    kind: 'reply',
    content: { role: 'model', parts: [{ text: 'half of' }] },
    usage: {},
    model: 'gemini-test',
  });
  for (const tools of [[], [tool('look', 'read')]]) {
    const plain = recorded(false);
    await play(agentOf(scripted(lines), tools), plain);
    expect(plain.records).toHaveLength(1);
  }
});

test('a reply that is cut off is that of the model which began to answer', async () => {
  const model: Model = {
    async *stream() {
      yield { type: 'begin', model: 'gemini-successor' };
      yield { type: 'text', delta: 'half' };
      throw new AppError('api', 'cut');
    },
  };
  const kept = recorded(true);
  await play(agentOf(model, []), kept);
  expect(kept.records[1]).toMatchObject({ kind: 'reply', model: 'gemini-successor' });
});

const REFUSED = new AppError('api', 'invalid', { status: 400, objection: 'signature' });

test('refused signatures are left out once, those of later replies are sent', async () => {
  const parts = [{ functionCall: { name: 'look', id: 'x' }, thoughtSignature: 'b2xk' }];
  const answer = { functionResponse: { id: 'x', name: 'look', response: {} } };
  const earlier = [
    userContent('a'),
    { role: 'model', parts, origin: 'here' },
    { role: 'user', parts: [answer] },
  ] as const;
  const history = createMemoryHistory({ earlier });
  const model = scripted([{ throws: REFUSED }, { calls: [{ name: 'look', givenId: 'y' }] }, { text: ['ok'] }]);
  const { events } = await play(agentOf(model, [tool('look', 'read')]), history);
  const signatures = model.requests.map(({ contents }) =>
    contents.flatMap((content) =>
      content.parts.flatMap((part) => ('functionCall' in part ? [part.thoughtSignature] : [])),
    ),
  );
  const skip = 'skip_thought_signature_validator';
  expect(signatures).toEqual([['b2xk'], [skip], [skip, skip]]);
  expect(events.filter(({ type }) => type === 'notice' || type === 'begin')).toHaveLength(2);
  expect(events.at(-1)?.type).toBe('end');
});

test('a notice of the loop is an event of its turn, in its place, whatever other turns of the run do meanwhile', async () => {
  const model: Model = {
    async *stream({ contents }) {
      yield { type: 'begin', model: 'gemini-test' };
      if (JSON.stringify(contents).includes('b2xk')) throw REFUSED;
      yield { type: 'text', delta: 'ok' };
      return { finishReason: 'STOP', usage: {}, model: 'gemini-test' };
    },
  };
  const signed = { role: 'model', parts: [{ text: 'b', thoughtSignature: 'b2xk' }], origin: 'here' } as const;
  const agent = agentOf(model, []);
  const turns = await Promise.all([
    play(agent, createMemoryHistory({ earlier: [userContent('a'), signed] })),
    play(agent, createMemoryHistory()),
  ]);
  expect(turns.map(({ events }) => events.map(({ type }) => type))).toEqual([
    ['begin', 'notice', 'text', 'end'],
    ['begin', 'text', 'end'],
  ]);
});

test('a refusal after text is final: nothing is shown twice', async () => {
  const model = scripted([{ text: ['half'], throws: REFUSED }, { text: ['half of it'] }]);
  for (const history of [createMemoryHistory(), recorded(true)]) {
    const { events, error } = await play(agentOf(model, []), history);
    expect([textOf(events), error]).toEqual(['half', REFUSED]);
    model.requests.length = 0;
  }
});

test('a second refusal of the signatures is final', async () => {
  const model = scripted([{ throws: REFUSED }, { throws: REFUSED }]);
  const { error } = await play(agentOf(model, []), createMemoryHistory());
  expect(error).toBe(REFUSED);
  expect(model.requests).toHaveLength(2);
});

test('a reply that is longer than the history can hold is let go of, however it ends', async () => {
  for (const isCut of [false, true]) {
    const long = ['x'.repeat(60), 'y'.repeat(60)];
    const model = scripted([isCut ? { text: long, throws: new AppError('api', 'cut') } : { text: long }]);
    const lost: number[] = [];
    const history = { ...recorded(true), replyLimit: 100, dropReply: () => void lost.push(1) };
    const { events } = await play(agentOf(model, []), history);
    expect([textOf(events).length, lost.length, history.records.map(({ kind }) => kind)]).toEqual([120, 1, ['prompt']]);
  }
});
