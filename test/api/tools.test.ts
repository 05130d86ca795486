import { expect, test } from 'vitest';
import type { Backend } from '../../src/api/backend.ts';
import { codeAssist, createOnboardings } from '../../src/api/code-assist.ts';
import { geminiApi } from '../../src/api/gemini-api.ts';
import { vertex } from '../../src/api/vertex.ts';
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

test('a call is refused as an answer where no tools were declared', async (t) => {
  const bad = chunks([{ functionCall: { name: 'look' } }]);
  const searching = { ...REQUEST, tools: [{ googleSearch: {} }] };
  await expect(replyTo(t, [bad, bad, bad], searching)).rejects.toThrow('but no tools were offered');
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
