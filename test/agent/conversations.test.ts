import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createMemoryHistory } from '../../src/agent/agent.ts';
import { runTurn } from '../../src/agent/turn.ts';
import { AppError } from '../../src/core/error.ts';
import { settle, type TurnEvent } from '../../src/core/event.ts';
import type { CallDecision, ToolResult } from '../../src/core/tool.ts';
import { FUZZ_TIMEOUT, fuzz } from '../support/fuzz.ts';
import { chunk, END, type FakeGemini, fakeGemini, finish, type Scripted, stream } from '../support/gemini.ts';
import { SKIP, type WirePart } from '../support/gemini-rules.ts';
import { agentOf, clientOf, ok, tool, userContent } from './support.ts';

/** Chunks of parts. A reply that is held stops before its end until the client leaves. */
interface PlayedReply {
  readonly chunks: readonly (readonly WirePart[])[];
  readonly isHeld?: boolean;
  readonly finishReason?: string;
}

function revoke(part: WirePart): WirePart {
  return part.thoughtSignature === undefined ? part : { ...part, thoughtSignature: SKIP };
}

/** What remains to be said, and the signatures on parts of complete replies that must come back, in order. */
const played: { replies: PlayedReply[]; signatures: unknown[] } = { replies: [], signatures: [] };

const playNext: Scripted = (response, request) => {
  const { chunks, isHeld = false, finishReason = 'STOP' } = played.replies.shift() ?? { chunks: [] };
  if (!isHeld && finishReason === 'STOP') {
    const back = chunks.flat().filter((part) => part.thought !== true || part.functionCall !== undefined);
    played.signatures.push(...back.flatMap(({ thoughtSignature }) => thoughtSignature ?? []));
  }
  const events = chunks.map((parts, index) =>
    index === chunks.length - 1 && !isHeld ? finish(finishReason, parts) : chunk(parts),
  );
  return stream(...events, ...(isHeld ? [] : ([END] as const)))(response, request);
};

const BEHAVIOURS = ['ok', 'ok', 'ok', 'media', 'error', 'throw', 'deny', 'edit', 'cancel', 'stop', 'leave'] as const;
type Behaviour = (typeof BEHAVIOURS)[number];

interface MadeCall {
  readonly name: string;
  readonly behaviour: Behaviour;
  readonly id: 'given' | 'none' | 'same';
  readonly args: 'object' | 'missing' | 'string';
}

interface MadeReply {
  readonly before: readonly WirePart[];
  readonly calls: readonly MadeCall[];
  readonly isSigned: boolean;
  readonly after: readonly WirePart[];
}

interface MadeTurn {
  readonly replies: readonly MadeReply[];
  readonly ending: 'answer' | 'held' | 'malformed';
  readonly maxTurns: number;
  /** Whether it takes place with another account than the one before. */
  readonly isElsewhere: boolean;
}

const text = fc.constantFrom('a', 'b\n', 'ü', ' ');
const part: fc.Arbitrary<WirePart> = fc.oneof(
  text.map((one) => ({ text: one })),
  text.map((one) => ({ text: one, thought: true })),
  text.map((one) => ({ text: one, thought: true, thoughtSignature: 'dGhvdWdodA==' })),
  text.map((one) => ({ text: one, thoughtSignature: `dGV4dA${one.length}==` })),
  fc.constant({ text: '', thoughtSignature: 'ZW1wdHk=' }),
  fc.constant({ text: '' }),
  fc.constant({ executableCode: { language: 'PYTHON', code: '1' }, isNew: [1, { two: null }] }),
  fc.constant({ somethingNew: { deep: [true] }, thoughtSignature: 'bmV3' }),
);
const call: fc.Arbitrary<MadeCall> = fc.record({
  name: fc.constantFrom('look', 'look', 'look', 'change', 'change', 'lok', ''),
  behaviour: fc.constantFrom(...BEHAVIOURS),
  id: fc.constantFrom('given', 'given', 'none', 'none', 'same'),
  args: fc.constantFrom('object', 'object', 'object', 'object', 'missing', 'string'),
});
const reply: fc.Arbitrary<MadeReply> = fc.record({
  before: fc.array(part, { maxLength: 4 }),
  calls: fc.array(call, { minLength: 1, maxLength: 5 }),
  isSigned: fc.boolean(),
  after: fc.array(part, { maxLength: 2 }),
});
const turn: fc.Arbitrary<MadeTurn> = fc.record({
  replies: fc.array(reply, { maxLength: 4 }),
  ending: fc.constantFrom('answer', 'answer', 'held', 'malformed'),
  maxTurns: fc.constantFrom(1, 3, 25, 25),
  isElsewhere: fc.constantFrom(false, false, false, true),
});

/** The replies as the server plays them; every call has a number of its own, under which its behaviour is found. */
function makeReplies({ replies, ending }: MadeTurn, behaviours: Behaviour[]): readonly PlayedReply[] {
  const asked = replies.map(({ before, calls, isSigned, after }) => {
    const made = calls.map(({ name, behaviour, id, args }, index) => {
      const n = behaviours.push(behaviour) - 1;
      return {
        functionCall: {
          ...(id === 'none' ? {} : { id: id === 'given' ? `id${n}` : `same${behaviours.length - index}` }),
          ...(name === '' ? {} : { name }),
          ...(args === 'missing' ? {} : { args: args === 'object' ? { n } : `{"n":${n}}` }),
        },
        ...(isSigned && index === 0 ? { thoughtSignature: `Y2FsbA${n}==` } : {}),
      };
    });
    return { chunks: [before, made.slice(0, 1), made.slice(1), after] };
  });
  const words = [[{ text: 'The ' }], [{ text: 'end.' }, { text: '', thoughtSignature: 'ZW5k' }]];
  if (ending === 'held') return [...asked, { chunks: words, isHeld: true }];
  if (ending === 'malformed') {
    const cut = { chunks: words, finishReason: 'MALFORMED_FUNCTION_CALL' };
    return [...asked, cut];
  }
  return [...asked, { chunks: words }];
}

const MEDIA = { inlineData: { mimeType: 'image/png', data: 'AAAA' } };

function outcomeOf(behaviour: Behaviour, cancel: () => never): ToolResult {
  if (behaviour === 'media') return { ...ok('a picture'), media: [MEDIA, MEDIA] };
  if (behaviour === 'error') return { ok: false, response: { error: 'no' } };
  if (behaviour === 'throw') throw new TypeError('a bug');
  if (behaviour === 'cancel') cancel();
  return ok('fine');
}

async function converse(server: FakeGemini, turns: readonly MadeTurn[]): Promise<void> {
  for (const list of [server.issued, server.refusals]) list.length = 0;
  Object.assign(played, { replies: [], signatures: [] });
  const first = server.requests.length;
  let history = createMemoryHistory({ keepsReplies: true });
  let account = 0;
  const behaviours: Behaviour[] = [];
  const model = clientOf(new URL(server.url));
  for (const [index, made] of turns.entries()) {
    // As if it were saved and resumed.
    history = createMemoryHistory({ keepsReplies: true, earlier: JSON.parse(JSON.stringify(history.contents)) });
    if (made.isElsewhere) {
      account += 1;
      // No signature issued so far is valid for another account.
      server.issued.splice(0, Infinity, ...server.issued.map(revoke));
      played.signatures = [];
    }
    played.replies = [...makeReplies(made, behaviours)];
    const controller = new AbortController();
    const { signal } = controller;
    const cancel = (): never => {
      controller.abort(new AppError('interrupted', 'Interrupted.'));
      throw signal.reason;
    };
    const behaviourOf = (args: unknown): Behaviour => behaviours[(args as { n?: number }).n ?? -1] ?? 'ok';
    const invoke = (args: unknown): ToolResult => outcomeOf(behaviourOf(args), cancel);
    const agent = agentOf(model, [tool('look', 'read', invoke), tool('change', 'write', invoke)], {
      maxTurns: made.maxTurns,
      origin: () => `account ${account}`,
      approve: async (_tool, { args }): Promise<CallDecision> => {
        const behaviour = behaviourOf(args);
        if (behaviour === 'deny') return { kind: 'deny', reason: 'not allowed' };
        if (behaviour === 'stop') return { kind: 'stop' };
        return behaviour === 'edit' ? { kind: 'run-edited', args: { edited: true } } : { kind: 'run' };
      },
    });
    const events: TurnEvent[] = [];
    for await (const event of settle(runTurn(agent, { history, prompt: userContent(`prompt ${index}`), signal }))) {
      events.push(event);
      if (event.type === 'call' && behaviourOf(event.args) === 'leave') break;
      // The last thing a held reply says.
      if (event.type === 'text' && event.delta.endsWith('end.') && made.ending === 'held') {
        controller.abort(new AppError('interrupted', 'Interrupted.'));
      }
    }
    expect(server.refusals).toEqual([]);
    expect(events.filter(({ type }) => type === 'begin')).toHaveLength(1);
  }
  // One more turn, so that the last ending is seen by the server too.
  played.replies = [{ chunks: [[{ text: 'bye' }]] }];
  const agent = agentOf(model, [tool('look', 'read')], { origin: () => `account ${account}` });
  for await (const _event of settle(
    runTurn(agent, { history, prompt: userContent('last'), signal: new AbortController().signal }),
  ));
  expect(server.refusals).toEqual([]);
  const requests = server.requests.slice(first);
  const contents: readonly { parts: readonly WirePart[] }[] = requests.at(-1)?.body.contents;
  const returned = contents.flatMap(({ parts }) => parts.map((one) => one.thoughtSignature));
  // Every answer was recorded when it was due, not made up when it was missed.
  expect(JSON.stringify(requests)).not.toContain('no answer was recorded');
  expect(returned.filter((one) => one !== undefined && one !== SKIP)).toEqual(played.signatures);
}

test(
  'conversations with parallel calls, failures, denials, cancels, resumes and bugs are never refused',
  async (t) => {
    const server = await fakeGemini(t, playNext);
    const turns = fc.array(turn, { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(turns, (made) => converse(server, made)),
      fuzz(30, 3000),
    );
  },
  FUZZ_TIMEOUT,
);
