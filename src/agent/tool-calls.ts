import type { Content } from '../core/content.ts';
import type { TurnEvent } from '../core/event.ts';
import type { ReplyCall } from '../core/model.ts';
import type { Tool, ToolOutcome } from '../core/tool.ts';
import type { Agent, Turn } from './agent.ts';
import { cancelled, type Decision, decide, failed, type Question, repeatWatch } from './decision.ts';

/** A call on its way to its answer. */
interface Slot extends Question {
  isAnnounced: boolean;
  isAnswered: boolean;
  decision?: Decision;
  outcome?: ToolOutcome;
}

const MAX_AT_ONCE = 8;

type Events = AsyncGenerator<TurnEvent, void>;

/**
 * Answers the calls of one reply after another, each call with one record of the history, in order. Neighbours that only
 * read run together, others one by one. Whatever happens, every call is answered in the history before this ends.
 * Throws the signal's reason; AppError `limit` if the same call is made again and again, `interrupted` at a `stop`.
 */
export function answerer(agent: Agent, { history, signal }: Turn): (calls: readonly ReplyCall[]) => Events {
  const repeats = repeatWatch();
  let count = 0;
  const record = async (slot: Slot): Promise<ToolOutcome> => {
    const outcome = slot.outcome ?? cancelled();
    slot.isAnswered = true;
    await history.append({ kind: 'answer', content: answerTo(slot.call, outcome) });
    return outcome;
  };

  /** Fills in the outcome; none if the run was cut off by the signal. */
  async function finish(slot: Slot): Promise<void> {
    if (slot.decision?.kind !== 'run') return;
    try {
      const outcome = await slot.decision.run();
      slot.outcome = (await agent.withholding?.conceal(outcome)) ?? outcome;
      const { tool } = slot;
      if (slot.outcome.ok && (tool?.effect === 'write' || tool?.effect === 'execute')) repeats.changed(slot.call, tool);
    } catch (thrown) {
      if (!signal.aborted) slot.outcome = failed(thrown);
    }
  }

  async function* answerBatch(batch: readonly Slot[], slots: readonly Slot[]): Events {
    for (const slot of batch) {
      const { id, name, args } = slot.call;
      slot.isAnnounced = true;
      yield { type: 'call', id, name, args };
      slot.decision = await decide(slot, { agent, repeats, signal, following: slots.slice(slot.index + 1) });
      if (slot.decision.kind === 'refused') slot.outcome = slot.decision.outcome;
    }
    const names = new Set(batch.filter(({ decision }) => decision?.kind === 'run').map(({ call }) => call.name));
    if (names.size > 0) yield { type: 'wait', what: [...names].join(', ') };
    await eachOf(batch, finish, signal);
    signal.throwIfAborted();
    for (const slot of batch) yield answerEvent(slot, await record(slot));
  }

  return async function* answer(calls) {
    const slots = calls.map((call, index) =>
      slotFor({ call, index, count: count + index, tool: toolFor(call, agent) }),
    );
    count += calls.length;
    const rest = (): readonly Slot[] => slots.filter(({ isAnswered }) => !isAnswered);
    try {
      for (const batch of batches(slots)) yield* answerBatch(batch, slots);
    } catch (thrown) {
      for (const slot of rest().filter(({ isAnnounced }) => isAnnounced)) yield answerEvent(slot, await record(slot));
      throw thrown;
    } finally {
      // Whoever listens may just leave, and the conversation may still go on.
      for (const slot of rest()) await record(slot);
    }
    repeats.throwIfStuck();
  };
}

/** So many at a time, as each may hold a whole file; after an abort no other is begun. */
async function eachOf<T>(items: readonly T[], work: (item: T) => Promise<void>, signal: AbortSignal): Promise<void> {
  const queue = items.values();
  const worker = async (): Promise<void> => {
    for (const item of queue) {
      if (signal.aborted) return;
      await work(item);
    }
  };
  await Promise.all(Array.from({ length: MAX_AT_ONCE }, worker));
}

function slotFor(question: Question): Slot {
  return { ...question, isAnnounced: false, isAnswered: false };
}

function toolFor({ name }: ReplyCall, { tools, withheld = [] }: Agent): Tool | undefined {
  return [...tools, ...withheld].find((tool) => tool.name === name);
}

/** Readers next to each other as one batch, everything else alone. */
function batches(slots: readonly Slot[]): readonly (readonly Slot[])[] {
  const result: Slot[][] = [];
  for (const slot of slots) {
    const last = result.at(-1);
    if (slot.tool?.effect === 'read' && last?.[0]?.tool?.effect === 'read') last.push(slot);
    else result.push([slot]);
  }
  return result;
}

function answerTo({ id, givenId, name }: ReplyCall, { response, media = [] }: ToolOutcome): Content {
  return { role: 'user', parts: [{ functionResponse: { id: givenId ?? id, name, response } }, ...media] };
}

function answerEvent({ call: { id, name }, decision }: Slot, outcome: ToolOutcome): TurnEvent {
  const args = decision?.kind === 'run' ? decision.args : undefined;
  return { type: 'answer', id, name, ...(args === undefined ? {} : { args }), outcome };
}
