import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Backend } from '../../src/api/backend.ts';
import { codeAssist, createOnboardings } from '../../src/api/code-assist.ts';
import { geminiApi } from '../../src/api/gemini-api.ts';
import { createContentCollector } from '../../src/api/reply.ts';
import { createCallIds } from '../../src/api/reply-calls.ts';
import { vertex } from '../../src/api/vertex.ts';
import type { Part } from '../../src/core/content.ts';
import { AppError } from '../../src/core/error.ts';
import type { ModelRequest, Reply } from '../../src/core/model.ts';
import { clientOf } from '../agent/support.ts';
import { events, fakeGemini, finish, type Scripted } from '../support/gemini.ts';
import { KEY, keyIdentity, REQUEST } from './conversation.ts';

const TOOLS = [
  { functionDeclarations: [{ name: 'look', description: 'Looks.', parametersJsonSchema: { type: 'object' } }] },
];
const KEPT: ModelRequest = { ...REQUEST, tools: TOOLS, keepLimit: 1e6 };

async function replyTo(
  t: Parameters<typeof fakeGemini>[0],
  script: readonly Scripted[],
  request = KEPT,
): Promise<Reply> {
  const server = await fakeGemini(t, script);
  const stream = clientOf(new URL(server.url)).stream(request, new AbortController().signal);
  for (;;) {
    const step = await stream.next();
    if (step.done) return step.value;
  }
}

const chunks = (...lists: readonly (readonly object[])[]): Scripted =>
  events([...lists.map((parts) => ({ candidates: [{ content: { role: 'model', parts } }] })), finish()]);

test('the parts of a reply are kept exactly as they came, plain neighbours joined', async (t) => {
  const call = { functionCall: { name: 'look', args: { a: 1 }, id: 'x' }, thoughtSignature: 'Yw==', isNew: [1] };
  const reply = await replyTo(t, [
    chunks(
      [{ text: 'hm', thought: true }],
      [{ text: ' hm', thought: true }, { text: 'So' }],
      [{ text: ', ' }, { text: 'look', thoughtSignature: 'cw==' }, { text: '.' }],
      [{ text: '', thoughtSignature: 'ZQ==' }, call, { brandNew: { deep: null } }],
    ),
  ]);
  expect(reply.content).toEqual({
    role: 'model',
    parts: [
      { text: 'hm hm', thought: true },
      { text: 'So, ' },
      { text: 'look', thoughtSignature: 'cw==' },
      { text: '.' },
      { text: '', thoughtSignature: 'ZQ==' },
      call,
      { brandNew: { deep: null } },
    ],
  });
  expect(reply.calls).toEqual([{ id: 'x', givenId: 'x', name: 'look', args: { a: 1 } }]);
});

test('a reply is not kept unless that is asked for', async (t) => {
  const { keepLimit: _, ...request } = KEPT;
  const call = { functionCall: { name: 'look' } };
  const bare = { finishReason: 'STOP', usage: expect.anything(), model: expect.anything() };
  expect(await replyTo(t, [chunks([{ text: 'hi' }])], REQUEST)).toEqual(bare);
  expect(await replyTo(t, [chunks([call])], request)).toEqual({ ...bare, calls: expect.anything() });
});

test('odd calls are told apart: no id, no arguments, text for arguments, no name, an id used twice', async (t) => {
  const calls = [
    { name: 'look' },
    { name: 'look', args: null },
    { name: 'look', args: '{"a":1}', id: 's' },
    { id: 'n' },
  ];
  const twice = { name: 'look', args: { a: 1 }, id: 'd' };
  const { calls: made } = await replyTo(t, [
    chunks([...calls, twice, twice].map((functionCall) => ({ functionCall }))),
  ]);
  expect(made).toEqual([
    { id: 'look_1000000_1', name: 'look', args: {} },
    { id: 'look_1000000_2', name: 'look', args: {} },
    { id: 's', givenId: 's', name: 'look', args: {}, fault: 'args must be an object; nothing was run' },
    { id: 'n', givenId: 'n', name: 'generic_tool', args: {}, fault: 'the call names no function; nothing was run' },
    { id: 'd', givenId: 'd', name: 'look', args: { a: 1 } },
    {
      id: 'd_3',
      givenId: 'd',
      name: 'look',
      args: { a: 1 },
      fault: 'another call in this reply has the same id; nothing was run',
    },
  ]);
});

test('a reply that ends with a malformed or unexpected call is no answer, and is asked for twice more', async (t) => {
  for (const reason of ['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL']) {
    for (const parts of [[], [{ functionCall: { name: 'look' } }]]) {
      const bad = events([finish(reason, parts)]);
      await expect(replyTo(t, [bad, bad, bad])).rejects.toThrow(reason);
      expect((await replyTo(t, [bad, bad, chunks([{ text: 'ok' }])])).finishReason).toBe('STOP');
    }
  }
});

test('a call is refused as an answer where no tools were declared', async (t) => {
  const bad = chunks([{ functionCall: { name: 'look' } }]);
  const searching = { ...REQUEST, tools: [{ googleSearch: {} }] };
  await expect(replyTo(t, [bad, bad, bad], searching)).rejects.toThrow('but no tools were offered');
});

test('ids that were used before in the run are made different', () => {
  const ids = createCallIds(() => 7);
  expect(['a', 'a', undefined, undefined, 'a'].map((id) => ids.claim(id, 'look'))).toEqual([
    'a',
    'a_1',
    'look_7_2',
    'look_7_3',
    'a_4',
  ]);
});

test('a refusal that names the signature says so', async (t) => {
  const message = 'Function call is missing a thought_signature in functionCall parts.';
  const refuse =
    (words: string): Scripted =>
    (response) => {
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { code: 400, status: 'INVALID_ARGUMENT', message: words } }));
    };
  await expect(replyTo(t, [refuse(message)])).rejects.toMatchObject({ details: { objection: 'signature' } });
  await expect(replyTo(t, [refuse('no')])).rejects.toMatchObject({ details: { objection: undefined } });
});

test('all three backends send the declarations', async () => {
  const identity = keyIdentity(KEY);
  const cache = { read: () => undefined, write: async () => {} };
  const never = (): never => {
    throw new AppError('internal', 'nobody is asked');
  };
  const place = { userAgent: 'gmn/test' };
  const backends: readonly Backend[] = [
    geminiApi(place, identity),
    vertex(place, identity),
    codeAssist({ place: {}, ...place, identity, onboardings: createOnboardings(cache, never), sessionId: 's' }),
  ];
  for (const backend of backends) {
    const { body } = await backend.preview(KEPT);
    const sent = JSON.parse(String(body));
    expect((sent.request ?? sent).tools).toEqual(TOOLS);
    expect(body).not.toContain('keepLimit');
  }
});

const part: fc.Arbitrary<object> = fc.oneof(
  fc.record({ text: fc.string() }),
  fc.record({ text: fc.string(), thought: fc.boolean() }),
  fc.record({ text: fc.string(), thoughtSignature: fc.base64String() }),
  fc.record({ functionCall: fc.record({ name: fc.string() }), thoughtSignature: fc.base64String() }),
  fc.record({ text: fc.string(), isNew: fc.jsonValue() }),
  fc.record({ isNew: fc.jsonValue() }),
);

test('joining keeps the text, the order, the signatures and every unknown key', () => {
  fc.assert(
    fc.property(fc.array(part), (parts) => {
      const keeper = createContentCollector(Number.POSITIVE_INFINITY);
      for (const one of parts) keeper.add(one as Part);
      const kept = keeper.content()?.parts ?? [];
      const isPlain = (one: object): boolean => Object.keys(one).every((key) => key === 'text' || key === 'thought');
      const textOf = (list: readonly object[], thought: unknown): string =>
        list
          .map((one) => ('text' in one && (one as { thought?: unknown }).thought === thought ? one.text : ''))
          .join('');
      for (const thought of [undefined, true, false]) expect(textOf(kept, thought)).toBe(textOf(parts, thought));
      expect(kept.filter((one) => !isPlain(one))).toEqual(parts.filter((one) => !isPlain(one)));
    }),
  );
});
