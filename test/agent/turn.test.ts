import { expect, test } from 'vitest';
import { createMemoryHistory } from '../../src/agent/agent.ts';
import { AppError } from '../../src/core/error.ts';
import type { Approve, Tool, ToolCall } from '../../src/core/tool.ts';
import { agentOf, call, ok, play, recorded, scripted, textOf, tool, userContent } from './support.ts';

const BEGIN = [
  { type: 'wait', what: 'gemini-test' },
  { type: 'begin', model: 'gemini-test' },
];
const USAGE = { promptTokenCount: 10, totalTokenCount: 12 };

test('a turn without calls is one request, and its reply is not kept unless wanted', async () => {
  const model = scripted([{ text: ['hi', '!'] }]);
  const history = recorded();
  const { events } = await play(agentOf(model, []), history);
  expect(events).toEqual([
    ...BEGIN,
    { type: 'text', delta: 'hi' },
    { type: 'text', delta: '!' },
    { type: 'end', finishReason: 'STOP', usage: USAGE, model: 'gemini-said' },
  ]);
  expect(model.requests).toEqual([
    { model: 'gemini-test', generationConfig: { temperature: 1 }, contents: [userContent('hi')] },
  ]);
});

test('calls are answered and the model is asked again: one begin, one ending, usage summed', async () => {
  const model = scripted([{ text: ['Let me look.'], calls: [call('look', { at: 1 })] }, { text: ['Done.'] }]);
  const history = recorded(true);
  const { events } = await play(agentOf(model, [tool('look', 'read', ({ at }) => ok(`saw ${at}`))]), history);
  const outcome = ok('saw 1');
  expect(events).toEqual([
    ...BEGIN,
    { type: 'text', delta: 'Let me look.' },
    { type: 'text', delta: '\n' },
    { type: 'call', id: 'c1.0', name: 'look', args: { at: 1 } },
    { type: 'wait', what: 'look', calls: ['c1.0'] },
    { type: 'answer', id: 'c1.0', name: 'look', outcome },
    { type: 'wait', what: 'gemini-test' },
    { type: 'text', delta: 'Done.' },
    {
      type: 'end',
      finishReason: 'STOP',
      usage: { promptTokenCount: 20, totalTokenCount: 24 },
      model: 'gemini-said',
    },
  ]);
  const asked = { functionCall: { name: 'look', args: { at: 1 } } };
  expect(history.records).toEqual([
    { kind: 'prompt', content: userContent('hi') },
    {
      kind: 'call',
      content: { role: 'model', parts: [{ text: 'Let me look.' }, asked] },
      usage: USAGE,
      model: 'gemini-said',
    },
    {
      kind: 'answer',
      content: {
        role: 'user',
        parts: [{ functionResponse: { id: 'c1.0', name: 'look', response: { output: 'saw 1' } } }],
      },
    },
    {
      kind: 'reply',
      content: { role: 'model', parts: [{ text: 'Done.' }] },
      usage: USAGE,
      model: 'gemini-said',
      finishReason: 'STOP',
    },
  ]);
});

test('tools are declared in the order of the list, with their schemas', async () => {
  const model = scripted([{ text: ['ok'] }]);
  await play(agentOf(model, [tool('b', 'write'), tool('a', 'read')]), createMemoryHistory());
  const parametersJsonSchema = { type: 'object', properties: {} };
  expect(model.requests[0]?.tools).toEqual([
    {
      functionDeclarations: [
        { name: 'b', description: 'The tool b.', parametersJsonSchema },
        { name: 'a', description: 'The tool a.', parametersJsonSchema },
      ],
    },
  ]);
});

test.each([
  ['ends its line', ['one\n'], 'one\ntwo'],
  ['says nothing', [], 'two'],
])('no line break is added after a reply that %s', async (_name, text, whole) => {
  const model = scripted([{ text, calls: [call('look')] }, { text: ['two'] }]);
  const { events } = await play(agentOf(model, [tool('look', 'read')]), createMemoryHistory());
  expect(textOf(events)).toBe(whole);
});

/** Tools that write down when they begin and end; `look` ends when the test says so. */
function witnesses(): { readonly log: string[]; readonly tools: readonly Tool[]; readonly release: () => void } {
  const log: string[] = [];
  let release = (): void => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const run = async (name: string, n: unknown) => {
    log.push(`+${name}${n}`);
    if (name === 'look') await gate;
    log.push(`-${name}${n}`);
    return ok('');
  };
  const tools = [tool('look', 'read', ({ n }) => run('look', n)), tool('change', 'write', ({ n }) => run('change', n))];
  return { log, tools, release };
}

test('neighbouring readers run together, writers one after the other, answers in order', async () => {
  const { log, tools, release } = witnesses();
  const calls = [call('look', { n: 1 }), call('look', { n: 2 }), call('change', { n: 3 }), call('change', { n: 4 })];
  const model = scripted([{ calls }, { text: ['done'] }]);
  const { events } = await play(agentOf(model, tools), createMemoryHistory(), {
    onEvent: ({ type }) => void (type === 'wait' && setImmediate(release)),
  });
  expect(log).toEqual(['+look1', '+look2', '-look1', '-look2', '+change3', '-change3', '+change4', '-change4']);
  expect(events.flatMap((event) => (event.type === 'answer' ? [event.id] : []))).toEqual([
    'c1.0',
    'c1.1',
    'c1.2',
    'c1.3',
  ]);
  expect(model.requests[1]?.contents.map(({ role, parts }) => [role, parts.length])).toEqual([
    ['user', 1],
    ['model', 4],
    ['user', 4],
  ]);
});

test('a call that cannot run gets an error as its result, and the turn continues', async () => {
  const calls = [
    call('lok'),
    call('zzzzzzzzzz'),
    { ...call('look'), fault: 'args must be an object; nothing was run' },
    call('look', { throws: 'bug' }),
    call('look', { throws: 'known' }),
    call('look', { denied: true }),
    call('look', { edited: true }),
  ];
  const model = scripted([{ calls }, { text: ['ok'] }]);
  const look = tool('look', 'read', ({ throws, mine }) => {
    if (throws === 'bug') throw new TypeError('x is not a function');
    if (throws === 'known') throw new AppError('usage', 'no such file: a');
    return ok(mine ? 'mine' : 'yours');
  });
  const { events } = await play(
    agentOf(model, [look], {
      approve: async (_tool, { args }) => {
        if (args.denied) return { kind: 'deny', reason: 'the user said no' };
        return args.edited ? { kind: 'run-edited', args: { mine: true } } : { kind: 'run' };
      },
    }),
    createMemoryHistory(),
  );
  expect(events.flatMap((event) => (event.type === 'answer' ? [event.outcome] : []))).toEqual([
    { ok: false, response: { error: 'there is no such tool; did you mean look?' } },
    { ok: false, response: { error: 'there is no such tool; the tools are look' } },
    { ok: false, response: { error: 'args must be an object; nothing was run' } },
    { ok: false, response: { error: 'the tool failed unexpectedly: x is not a function' } },
    { ok: false, response: { error: 'no such file: a' } },
    { ok: false, response: { error: 'the user said no' } },
    {
      ok: true,
      response: { output: 'mine', editedArgs: { mine: true }, note: 'the user changed the arguments' },
    },
  ]);
  expect(events.at(-1)?.type).toBe('end');
});

test('after 64 calls in one reply the rest are not run', async () => {
  const calls = Array.from({ length: 66 }, (_, n) => call('look', { n }));
  const model = scripted([{ calls }, { text: ['ok'] }]);
  let runs = 0;
  const look = tool('look', 'read', () => {
    runs += 1;
    return ok('');
  });
  const { events } = await play(agentOf(model, [look]), createMemoryHistory());
  expect(runs).toBe(64);
  expect(events.findLast(({ type }) => type === 'answer')).toMatchObject({
    id: 'c1.65',
    outcome: { ok: false, response: { error: 'at most 64 calls in one reply are run' } },
  });
});

test('the same call is refused the third time, and ends the turn the fourth', async () => {
  const same = { calls: [call('look', { a: 1, b: 2 })] };
  const other = { calls: [call('look', { b: 2, a: 1 })] };
  const model = scripted([same, other, same, other, { text: ['never'] }]);
  const history = createMemoryHistory({ keepsReplies: true });
  const { events, error } = await play(agentOf(model, [tool('look', 'read')]), history);
  expect(events.flatMap((event) => (event.type === 'answer' ? [event.outcome.ok] : []))).toEqual([
    true,
    true,
    false,
    false,
  ]);
  expect(error).toMatchObject({ fault: 'limit', message: 'the model keeps making the same call of look' });
  expect(history.contents).toHaveLength(9);
});

function verdicts(events: Awaited<ReturnType<typeof play>>['events']): readonly boolean[] {
  return events.flatMap((event) => (event.type === 'answer' ? [event.outcome.ok] : []));
}

test('what was changed in between makes the same question a new one', async () => {
  const lines = [1, 2, 3, 4].flatMap((n) => [call('look'), call('try'), call('change', { n })]);
  const model = scripted([...lines.map((one) => ({ calls: [one] })), { text: ['done'] }]);
  const tools = [tool('look', 'read'), tool('try', 'execute'), tool('change', 'write')];
  const { events } = await play(agentOf(model, tools), createMemoryHistory());
  expect(verdicts(events)).toEqual(Array(12).fill(true));
});

test('the same change, or command without a change in between, is refused the third time', async () => {
  const changes = [1, 2, 3].flatMap((n) => [call('change'), call('change', { n })]);
  const tools = [tool('try', 'execute'), tool('change', 'write')];
  const ending = { text: ['done'] };
  const changing = scripted([...changes.map((one) => ({ calls: [one] })), ending]);
  const { events } = await play(agentOf(changing, tools), createMemoryHistory());
  expect(verdicts(events)).toEqual([true, true, true, true, false, true]);
  const trying = scripted([{ calls: [call('try'), call('try'), call('try')] }, ending]);
  expect(verdicts((await play(agentOf(trying, tools), createMemoryHistory())).events)).toEqual([true, true, false]);
});

test('an answer carries the id that the model gave, its events the one that is unique', async () => {
  const model = scripted([{ calls: [{ name: 'look', id: 'x_2', givenId: 'x' }] }, { text: ['ok'] }]);
  const { events } = await play(agentOf(model, [tool('look', 'read')]), createMemoryHistory());
  expect(events.flatMap((event) => (event.type === 'answer' ? [event.id] : []))).toEqual(['x_2']);
  expect(model.requests[1]?.contents[2]?.parts).toEqual([
    { functionResponse: { id: 'x', name: 'look', response: { output: 'done' } } },
  ]);
});

test('a turn that does not come to an end is stopped, with every call answered', async () => {
  const model = scripted([1, 2, 3].map((n) => ({ calls: [call('look', { n })] })));
  const history = createMemoryHistory();
  const { events, error } = await play(agentOf(model, [tool('look', 'read')], { maxTurns: 2 }), history);
  expect(error).toMatchObject({
    fault: 'limit',
    message: 'stopped after 2 model turns',
    hint: 'Raise --max-turns, or ask for less at once.',
  });
  expect(events.filter(({ type }) => type === 'end' || type === 'failure')).toHaveLength(1);
  expect(history.contents.map(({ role }) => role)).toEqual(['user', 'model', 'user', 'model', 'user']);
});

test('the approver of a change also gets the changes that follow it in the same reply', async () => {
  const names = ['change', 'change', 'look', 'change'];
  const calls = [...names.map((name, n) => call(name, { n })), { ...call('change', { n: 4 }), fault: 'broken' }];
  const seen: { readonly call: ToolCall; readonly following: readonly ToolCall[] | undefined }[] = [];
  const approve: Approve = async (_tool, one, { following }) => {
    seen.push({ call: one, following: following?.map((pending) => pending.call) });
    return { kind: 'run' };
  };
  const tools = [tool('change', 'write', () => ok('')), tool('look', 'read', () => ok(''))];
  await play(agentOf(scripted([{ calls }, { text: ['ok'] }]), tools, { approve }), createMemoryHistory());
  expect(seen.map(({ following }) => following?.map(({ args }) => args.n))).toEqual([[1], [], undefined, []]);
  expect(seen[0]?.following?.[0]).toBe(seen[1]?.call);
});
