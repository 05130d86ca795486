import type { Content, StoredContent } from '../core/content.ts';
import { AppError } from '../core/error.ts';
import type { TurnEvent } from '../core/event.ts';
import type { History } from '../core/history.ts';
import type { JsonObject } from '../core/json.ts';
import type { Reply, ReplyEvent } from '../core/model.ts';
import type { Tool } from '../core/tool.ts';
import { addUsage, NO_USAGE } from '../core/usage.ts';
import type { Agent, Turn } from './agent.ts';

export const REDACTED_NOTICE = "gmn's own credentials were in it; ‹redacted› is sent instead";

/**
 * Runs one turn: asks the model, runs its tool calls and asks again, until a reply has no calls. Every content is in
 * the history before the next request, and however the turn ends, every call has its result there. `begin` comes once,
 * `end` last. Throws AppError: what the model throws, `limit` after too many replies, `interrupted` if the user stops
 * it.
 */
export async function* runTurn(agent: Agent, turn: Turn): AsyncGenerator<TurnEvent, void> {
  const given = { prompt: turn.prompt, earlier: [...turn.history.contents], ...takeConfig(agent) };
  const redacted = (await agent.redaction?.redact(given)) ?? given;
  if (redacted !== given) yield { type: 'notice', message: REDACTED_NOTICE };
  await turn.history.append({ kind: 'prompt', content: redacted.prompt });
  const ask = askModel(agent, turn, redacted);
  let answer: RunCalls | undefined;
  let usage = NO_USAGE;
  for (let step = turn.repliesBefore ?? 0; step < agent.maxTurns; step += 1) {
    const { calls, finishReason, model, ...reply } = yield* ask();
    agent.onReply?.(reply);
    usage = addUsage(usage, reply.usage);
    if (calls === undefined) {
      const { grounding } = reply;
      const sources = grounding && { sources: (await import('./grounding.ts')).toSources(grounding) };
      yield { type: 'end', finishReason, usage, model, ...sources };
      return;
    }
    answer ??= (await import('./tool-calls.ts')).runToolCalls(agent, turn);
    for await (const event of answer(calls)) {
      if (event.type === 'answer') usage = addUsage(usage, event.outcome.usage ?? NO_USAGE);
      yield event;
    }
  }
  throw new AppError('limit', `stopped after ${agent.maxTurns} model ${agent.maxTurns === 1 ? 'turn' : 'turns'}`, {
    hint: 'Raise --max-turns, or ask for less at once.',
  });
}

interface Surroundings {
  /** The conversation before the turn: it may be from a time when a value in it was not yet a credential. */
  readonly earlier: readonly StoredContent[];
  readonly config: Omit<Agent['request'], 'model'>;
}

function takeConfig({ request: { model: _, ...config }, tools }: Agent): Pick<Surroundings, 'config'> {
  return { config: { ...config, ...declareTools(tools) } };
}

type RunCalls = ReturnType<typeof import('./tool-calls.ts').runToolCalls>;

interface PartialReply {
  /** The text in pieces; undefined once it exceeds the history's limit. */
  text: string[] | undefined;
  length: number;
  last: string;
  model: string;
}

type TextEvent = Extract<ReplyEvent, { type: 'text' }>;

/** What a stream that is closed early returns; never used. */
const NO_REPLY: Reply = { finishReason: '', usage: NO_USAGE, model: '' };

/**
 * Requests the next reply to the history and records it; a reply that breaks off is recorded as far as it came. Yields
 * `begin` once, and ends the line of text before calls. If the server rejects the signatures before any text, the request
 * is sent once more without them. Throws what the model throws.
 */
function askModel(
  agent: Agent,
  { history, signal }: Turn,
  { earlier, config }: Surroundings,
): () => AsyncGenerator<TurnEvent, Reply> {
  const { model } = agent.request;
  const limit = history.replyLimit;
  const keepLimit = agent.tools.length > 0 ? Number.POSITIVE_INFINITY : limit;
  let hasBegun = false;
  let unsignedCount = 0;

  async function openStream(): Promise<AsyncGenerator<ReplyEvent, Reply>> {
    const all = [...earlier, ...history.contents.slice(earlier.length)];
    const contents = await prepareContents(all, { origin: agent.origin, distrusted: unsignedCount });
    return agent.model.stream({ ...config, model, contents, ...(keepLimit > 0 ? { keepLimit } : {}) }, signal);
  }

  /** Notes what the event says of the reply; false for a `begin` that the turn already had. */
  function takeEvent(event: ReplyEvent, partial: PartialReply): boolean {
    if (event.type === 'text') keepText(partial, event, limit);
    if (event.type !== 'begin') return true;
    partial.model = event.model;
    const isFirst = !hasBegun;
    hasBegun = true;
    return isFirst;
  }

  async function record(reply: Reply, { last }: PartialReply): Promise<readonly TurnEvent[]> {
    if (reply.content === undefined && limit > 0) history.dropReply?.();
    if (reply.content !== undefined) await history.append(toHistoryRecord(reply, reply.content, agent.origin));
    return reply.calls && last !== '' && last !== '\n' ? [{ type: 'text', delta: '\n' }] : [];
  }

  return async function* ask(): AsyncGenerator<TurnEvent, Reply> {
    for (let isRetry = false; ; isRetry = true) {
      const partial: PartialReply = { text: [], length: 0, last: '', model };
      const stream = await openStream();
      let reply: Reply | undefined;
      try {
        let step = await stream.next();
        for (; !step.done; step = await stream.next()) {
          if (!takeEvent(step.value, partial)) continue;
          yield step.value;
          if (history.appendDelta && step.value.type === 'text') await history.appendDelta(step.value.delta);
        }
        reply = step.value;
      } catch (thrown) {
        if (isRetry || partial.last !== '' || !isSignatureError(thrown)) throw thrown;
      } finally {
        // The consumer may have stopped, and an open stream would keep its connection.
        await stream.return(NO_REPLY);
        if (reply === undefined) await recordPartial(partial, history);
      }
      for (const event of reply === undefined ? [UNSIGNED_NOTICE] : await record(reply, partial)) yield event;
      if (reply !== undefined) return reply;
      unsignedCount = history.contents.length;
    }
  };
}

const UNSIGNED_NOTICE: TurnEvent = {
  type: 'notice',
  message: 'the server refused the signatures of earlier replies; asked again without them',
};

function keepText(partial: PartialReply, { delta, pieces }: TextEvent, limit: number): void {
  partial.last = (pieces?.at(-1) ?? delta).at(-1) ?? partial.last;
  if (limit === 0) return;
  partial.length += delta.length;
  if (partial.length > limit) partial.text = undefined;
  partial.text?.push(delta);
}

async function recordPartial({ text, length, model }: PartialReply, history: History): Promise<void> {
  if (text === undefined) history.dropReply?.();
  else if (length > 0) {
    const content: StoredContent = { role: 'model', parts: [{ text: text.join('') }] };
    await history.append({ kind: 'reply', content, usage: NO_USAGE, model });
  }
}

/** A single prompt needs no preparation, so a one-shot run does not load the module for it. */
export async function prepareContents(
  contents: readonly StoredContent[],
  options: { readonly origin: () => string; readonly distrusted: number },
): Promise<readonly Content[]> {
  if (contents.length === 1) return [...contents];
  const { toContents } = await import('./history.ts');
  return toContents(contents, options);
}

export function declareTools(tools: readonly Tool[]): { readonly tools?: readonly JsonObject[] } {
  if (tools.length === 0) return {};
  const functionDeclarations = tools.map(({ name, description, input }) => ({
    name,
    description,
    parametersJsonSchema: input,
  }));
  return { tools: [{ functionDeclarations }] };
}

function toHistoryRecord({ calls, usage, model, finishReason }: Reply, received: Content, origin: () => string) {
  // Only signatures depend on the origin, and finding the account takes time at startup.
  const isSigned = received.parts.some((part) => 'thoughtSignature' in part);
  const content: StoredContent = isSigned ? { ...received, origin: origin() } : received;
  if (calls !== undefined) return { kind: 'call', content, usage, model } as const;
  return { kind: 'reply', content, usage, model, finishReason } as const;
}

function isSignatureError(thrown: unknown): boolean {
  return thrown instanceof AppError && thrown.objection === 'signature';
}
