import type { Content, StoredContent } from '../core/content.ts';
import { AppError } from '../core/error.ts';
import type { TurnEvent } from '../core/event.ts';
import type { History } from '../core/history.ts';
import type { JsonObject } from '../core/json.ts';
import type { Reply, ReplyCall, ReplyEvent } from '../core/model.ts';
import type { Tool } from '../core/tool.ts';
import { addUsage, NO_USAGE, type Usage } from '../core/usage.ts';
import { type Agent, PromptCount, type Turn } from './agent.ts';
import { type PreparedTurn, trackConversation } from './conversation.ts';

export const REDACTED_NOTICE = "gmn's own credentials were in it; ‹redacted› is sent instead";

/**
 * Runs one turn: asks the model, runs its tool calls and asks again, until a reply has no calls. Every content is in
 * the history before the next request, and however the turn ends, every call has its result there. `begin` comes once,
 * `end` last. Throws AppError: what the model throws, `limit` after too many replies, `interrupted` if the user stops
 * it.
 */
export async function* runTurn(agent: Agent, given: Turn): AsyncGenerator<TurnEvent, void> {
  const { count = new PromptCount(agent.maxTurns) } = given;
  const turn = { ...given, count };
  const { contents, compactions = [] } = turn.history;
  const prepared = { prompt: turn.prompt, earlier: [...contents], compacted: [...compactions], ...takeConfig(agent) };
  const redacted = (await agent.redaction?.redact(prepared)) ?? prepared;
  if (redacted !== prepared) yield { type: 'notice', message: REDACTED_NOTICE };
  await turn.history.append({ kind: 'prompt', content: redacted.prompt });
  const ask = createAsk(agent, turn, redacted);
  let answer: RunCalls | undefined;
  let usage = NO_USAGE;
  if (turn.firstCall !== undefined) {
    yield { type: 'begin', model: agent.request.model };
    answer = (await import('./tool-calls.ts')).createToolCallRunner(agent, turn);
    for await (const event of answer([await recordFirstCall(turn.firstCall, agent, turn)])) {
      if (event.type === 'answer') usage = addUsage(usage, event.outcome.usage ?? NO_USAGE);
      yield event;
    }
  }
  for (let step = 0; step < agent.maxTurns && count.turns < count.limit; step += 1) {
    count.turns += 1;
    const { calls, finishReason, model, roomUsage, ...reply } = yield* ask();
    agent.onReply?.(reply);
    usage = addUsage(addUsage(usage, roomUsage), reply.usage);
    if (calls === undefined) {
      const { grounding, citations, serviceTier } = reply;
      const sources =
        (grounding ?? citations) && (await import('./grounding.ts')).toSources(grounding ?? {}, citations);
      yield { type: 'end', finishReason, usage, model, sources, serviceTier };
      return;
    }
    answer ??= (await import('./tool-calls.ts')).createToolCallRunner(agent, turn);
    for await (const event of answer(calls)) {
      if (event.type === 'answer') usage = addUsage(usage, event.outcome.usage ?? NO_USAGE);
      yield event;
    }
  }
  const most = Math.min(agent.maxTurns, count.limit);
  throw new AppError('limit', `stopped after ${most} model ${most === 1 ? 'turn' : 'turns'}`, {
    hint: 'Raise --max-turns, or ask for less at once.',
    isTurnsSpent: true,
  });
}

/** As if the model had asked for it. */
async function recordFirstCall(
  { name, args }: NonNullable<Turn['firstCall']>,
  { request: { model } }: Agent,
  { history }: Turn,
): Promise<ReplyCall> {
  const content: StoredContent = { role: 'model', parts: [{ functionCall: { name, args } }] };
  await history.append({ kind: 'call', content, usage: NO_USAGE, model });
  return { id: `${name}_${history.contents.length}`, name, args };
}

function takeConfig({ request: { model: _, ...config }, tools }: Agent): Pick<PreparedTurn, 'config'> {
  return { config: { ...config, ...declareTools(tools, config.tools) } };
}

type RunCalls = ReturnType<typeof import('./tool-calls.ts').createToolCallRunner>;

interface PartialReply {
  /** The text in pieces; undefined once it exceeds the history's limit. */
  text: string[] | undefined;
  length: number;
  last: string;
  model: string;
}

/** What a stream that is closed early returns; never used. */
const NO_REPLY: Reply = { finishReason: '', usage: NO_USAGE, model: '' };

interface RecordedReply extends Reply {
  /** The tokens of a summary that was made before it. */
  readonly roomUsage: Usage;
}

/**
 * Requests the next reply to the history and records it; a reply that breaks off is recorded as far as it came. Makes
 * room in the model's window before. Yields `begin` once, and ends the line of text before calls. If the server rejects
 * the signatures or the length before any text, the request is sent once more without them, or with more room. Throws
 * what the model throws.
 */
function createAsk(agent: Agent, turn: Turn, prepared: PreparedTurn): () => AsyncGenerator<TurnEvent, RecordedReply> {
  const { history, signal } = turn;
  const { model } = agent.request;
  const { config } = prepared;
  const conversation = trackConversation(agent, turn, prepared);
  const limit = history.replyLimit;
  const keepLimit = agent.tools.length > 0 ? Number.POSITIVE_INFINITY : limit;
  let hasBegun = turn.firstCall !== undefined;
  let unsignedCount = 0;

  async function openStream(sent: readonly StoredContent[]): Promise<AsyncGenerator<ReplyEvent, Reply>> {
    // Contents that a summary replaces are not sent.
    const distrusted = Math.max(0, unsignedCount - (history.contents.length - sent.length));
    const contents = await prepareContents(sent, { origin: agent.origin, distrusted });
    return agent.model.stream({ ...config, model, contents, keepLimit: keepLimit || undefined }, signal);
  }

  function takeEvent(event: ReplyEvent, partial: PartialReply): boolean {
    if (event.type === 'text') keepText(partial, event.delta, limit);
    if (event.type !== 'begin') return true;
    partial.model = event.model;
    const isFirst = !hasBegun;
    hasBegun = true;
    return isFirst;
  }

  async function record(reply: Reply, { last }: PartialReply): Promise<readonly TurnEvent[]> {
    if (reply.content === undefined && limit > 0) history.dropReply?.();
    if (reply.content !== undefined) await history.append(toHistoryRecord(reply, reply.content, agent.origin));
    const files = (reply.files ?? []).map((file) => ({ type: 'file', file }) as const);
    return reply.calls && last !== '' && last !== '\n' ? [{ type: 'text', delta: '\n' }, ...files] : files;
  }

  return async function* ask(): AsyncGenerator<TurnEvent, RecordedReply> {
    let { usage: roomUsage } = yield* conversation.makeRoom();
    const refusals: AppError<'api'>[] = [];
    for (;;) {
      const partial: PartialReply = { text: [], length: 0, last: '', model };
      const sent = await conversation.listSent();
      const stream = await openStream(sent);
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
        if (partial.last !== '' || !isRepairable(thrown, refusals)) throw thrown;
        refusals.push(thrown);
      } finally {
        // The consumer may have stopped, and an open stream would keep its connection.
        await stream.return(NO_REPLY);
        if (reply === undefined) await recordPartial(partial, history);
      }
      if (reply !== undefined) {
        for (const event of await record(reply, partial)) yield event;
        conversation.noteCount(reply, sent);
        return { ...reply, roomUsage };
      }
      const refusal = refusals.at(-1);
      if (refusal?.details.objection === 'length') {
        const { made, usage } = yield* conversation.makeRoom(refusal);
        if (made.length === 0) throw refusal;
        roomUsage = addUsage(roomUsage, usage);
      } else {
        yield UNSIGNED_NOTICE;
        unsignedCount = history.contents.length;
      }
    }
  };
}

/** Each kind of objection is repaired once. */
function isRepairable(thrown: unknown, before: readonly AppError<'api'>[]): thrown is AppError<'api'> {
  if (!(thrown instanceof AppError) || thrown.fault !== 'api') return false;
  const { objection } = thrown.details;
  if (before.some(({ details }) => details.objection === objection)) return false;
  return objection === 'signature' || objection === 'length';
}

const UNSIGNED_NOTICE: TurnEvent = {
  type: 'notice',
  message: 'the server refused the signatures of earlier replies; asked again without them',
};

function keepText(partial: PartialReply, delta: string, limit: number): void {
  partial.last = delta.at(-1) ?? partial.last;
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
  if (contents.length === 1) return contents.map(({ role, parts }) => ({ role, parts }));
  const { toContents } = await import('./history.ts');
  return toContents(contents, options);
}

/** `others` are the service's own tools, which are sent beside them. */
export function declareTools(
  tools: readonly Tool[],
  others: readonly JsonObject[] = [],
): { readonly tools?: readonly JsonObject[] } {
  if (tools.length === 0) return {};
  const functionDeclarations = tools.map(({ name, description, input }) => ({
    name,
    description,
    parametersJsonSchema: input,
  }));
  return { tools: [{ functionDeclarations }, ...others] };
}

function toHistoryRecord({ calls, usage, model, finishReason, pages }: Reply, received: Content, origin: () => string) {
  // Only signatures depend on the origin, and finding the account takes time at startup.
  const isSigned = received.parts.some((part) => 'thoughtSignature' in part);
  const content: StoredContent = isSigned ? { ...received, origin: origin() } : received;
  if (calls !== undefined) return { kind: 'call', content, usage, model, pages } as const;
  return { kind: 'reply', content, usage, model, finishReason, pages } as const;
}
