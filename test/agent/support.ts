import { type Agent, createMemoryHistory } from '../../src/agent/agent.ts';
import { runTurn } from '../../src/agent/turn.ts';
import { geminiModel } from '../../src/api/call.ts';
import { geminiApi } from '../../src/api/gemini-api.ts';
import type { AppError } from '../../src/core/error.ts';
import { settle, type TurnEvent } from '../../src/core/event.ts';
import type { History, TurnRecord } from '../../src/core/history.ts';
import type { Clock } from '../../src/core/io.ts';
import type { JsonObject } from '../../src/core/json.ts';
import type { Model, ModelRequest, Reply, ReplyCall, ReplyEvent } from '../../src/core/model.ts';
import type { Effect, Tool, ToolResult } from '../../src/core/tool.ts';
import { createHttpClient } from '../../src/platform/http/send.ts';
import { KEY, keyIdentity } from '../api/conversation.ts';

export const CLOCK: Clock = { now: () => 1_000_000, sleep: async (_ms, signal) => signal.throwIfAborted() };

/** A real client of a server on this machine. */
export function clientOf(baseUrl: URL): Model {
  const timers = { connectMs: 10_000, headersMs: 10_000, idleMs: 10_000 };
  return geminiModel({
    backend: geminiApi({ baseUrl, userAgent: 'gmn/test' }, keyIdentity(KEY)),
    send: createHttpClient({ timers, env: {}, trace: () => {}, clock: CLOCK }).send,
    clock: CLOCK,
    random: () => 0.5,
    trace: () => {},
    retryBaseMs: 1,
    showsThoughts: false,
  });
}

/** What a scripted model says in one reply. */
export interface Line {
  readonly text?: readonly string[];
  readonly calls?: readonly (Pick<ReplyCall, 'name'> & Partial<ReplyCall>)[];
  readonly throws?: unknown;
}

/** A model that says its lines, and what it was asked. */
export function scripted(lines: readonly Line[]): Model & { readonly requests: ModelRequest[] } {
  const requests: ModelRequest[] = [];
  async function* stream(request: ModelRequest): AsyncGenerator<ReplyEvent, Reply> {
    const { text = [], calls = [], throws } = lines[requests.length] ?? { throws: new Error('no more lines') };
    requests.push(request);
    yield { type: 'wait', what: request.model };
    yield { type: 'begin', model: request.model };
    for (const delta of text) yield { type: 'text', delta };
    if (throws !== undefined) throw throws;
    const made = calls.map((call, index) => ({ id: `c${requests.length}.${index}`, args: {}, ...call }));
    const parts = [
      ...text.map((one) => ({ text: one })),
      ...made.map(({ name, args, givenId }) => ({
        functionCall: { name, args, ...(givenId === undefined ? {} : { id: givenId }) },
      })),
    ];
    const usage = { promptTokenCount: 10, totalTokenCount: 12 };
    const content = { role: 'model', parts } as const;
    const isKept = text.join('').length < (request.keepLimit ?? 0);
    const reply = { finishReason: 'STOP', usage, model: 'gemini-said', ...(isKept ? { content } : {}) };
    return made.length === 0 ? reply : { ...reply, calls: made };
  }
  return { stream, requests };
}

/** A tool that does what it is told. */
export function tool(
  name: string,
  effect: Effect,
  invoke: (args: JsonObject, signal: AbortSignal) => Promise<ToolResult> | ToolResult = () => ok('done'),
): Tool {
  const input = { type: 'object', properties: {} };
  return {
    name,
    description: `The tool ${name}.`,
    effect,
    input,
    invoke: async (args, signal) => invoke(args, signal),
  };
}

export function ok(output: string): ToolResult {
  return { ok: true, response: { output } };
}

export function agentOf(model: Model, tools: readonly Tool[], rest: Partial<Agent> = {}): Agent {
  return {
    model,
    request: { model: 'gemini-test', generationConfig: { temperature: 1 } },
    origin: () => 'here',
    tools,
    approve: async () => ({ kind: 'run' }),
    maxTurns: 25,
    ...rest,
  };
}

export function userContent(text: string) {
  return { role: 'user', parts: [{ text }] } as const;
}

/** A whole turn: its events, and how it failed if it did. */
export async function play(
  agent: Agent,
  history: History,
  { text = 'hi', signal = new AbortController().signal, onEvent = (_: TurnEvent): void => {} } = {},
): Promise<{ readonly events: readonly TurnEvent[]; readonly error?: AppError }> {
  const events: TurnEvent[] = [];
  for await (const event of settle(runTurn(agent, { history, prompt: userContent(text), signal }))) {
    events.push(event);
    onEvent(event);
  }
  const last = events.at(-1);
  return { events, ...(last?.type === 'failure' ? { error: last.error } : {}) };
}

export function textOf(events: readonly TurnEvent[]): string {
  return events.map((event) => (event.type === 'text' ? event.delta : '')).join('');
}

/** A history that also keeps the records. */
export function recorded(keepsReplies = false): History & { readonly records: TurnRecord[] } {
  const history = createMemoryHistory({ keepsReplies });
  const records: TurnRecord[] = [];
  return {
    ...history,
    records,
    async append(record) {
      records.push(record);
      await history.append(record);
    },
  };
}

export function call(name: string, args: object = {}) {
  return { name, args: { ...args } };
}
