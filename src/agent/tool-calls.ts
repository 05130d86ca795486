import { createLimit } from '../core/async.ts';
import type { Content, StoredContent } from '../core/content.ts';
import type { AppError } from '../core/error.ts';
import { type TurnEvent, toNotices } from '../core/event.ts';
import type { History } from '../core/history.ts';
import type { ReplyCall } from '../core/model.ts';
import { type Tool, type ToolResult, toOfficialName } from '../core/tool.ts';
import type { Agent, PromptCount, Turn } from './agent.ts';
import {
  cancelledResult,
  createRepeatGuard,
  type Decision,
  decide,
  failedResult,
  type PendingDecision,
} from './decision.ts';
import { addNestedContext } from './nested-context.ts';

interface Slot extends PendingDecision {
  isAnnounced: boolean;
  isAnswered: boolean;
  decision?: Decision;
  outcome?: ToolResult;
  /** A hook ends the turn. */
  ending?: AppError;
  elapsedMs?: number;
}

/** Each call may hold a whole file in memory. */
const MAX_AT_ONCE = 8;

type Events = AsyncGenerator<TurnEvent, void>;

/**
 * Runs the calls of a reply and records each result in the history, in order. Neighbouring reads run in parallel,
 * others one by one. However it ends, every call then has its result in the history. Throws the signal's reason;
 * AppError `limit` if the model keeps repeating a call, `interrupted` if the user stops the turn.
 */
export function createToolCallRunner(
  agent: Agent,
  { history, signal, count }: Turn & { readonly count: PromptCount },
): (calls: readonly ReplyCall[]) => Events {
  const repeats = createRepeatGuard();
  const limit = createLimit({ maxRunning: MAX_AT_ONCE });
  const record = async (slot: Slot): Promise<ToolResult> => {
    const outcome = slot.outcome ?? cancelledResult();
    slot.isAnswered = true;
    await history.append({ kind: 'answer', content: toResponseContent(slot.call, outcome) });
    return outcome;
  };

  const redact = async (result: ToolResult): Promise<ToolResult> => (await agent.redaction?.redact(result)) ?? result;

  /** Hooks are programs: they get no credentials, either, and what they add may hold some. */
  const addHooked = async (slot: Slot, result: ToolResult): Promise<ToolResult> => {
    const { tool, call, decision } = slot;
    if (agent.hooks === undefined || tool === undefined || decision?.kind !== 'run') return result;
    const hooked = await agent.hooks.afterTool(tool, decision.args ?? call.args, result, signal);
    slot.ending ??= hooked.ending;
    return redact(hooked.result);
  };

  async function finish(slot: Slot): Promise<void> {
    if (slot.decision?.kind !== 'run') return;
    const startedMs = agent.now?.();
    const stopTimer = (): void => {
      if (agent.now !== undefined && startedMs !== undefined) slot.elapsedMs = agent.now() - startedMs;
    };
    try {
      const { tool, decision } = slot;
      const { endsTurn, ...outcome } = await decision.run().finally(stopTimer);
      slot.ending = endsTurn;
      slot.outcome = await addHooked(slot, await redact(outcome));
      if (slot.outcome.ok && (tool?.effect === 'write' || tool?.effect === 'execute'))
        repeats.noteChange(slot.call, tool);
    } catch (thrown) {
      if (!signal.aborted) slot.outcome = failedResult(thrown);
    }
  }

  /** One call after the other: context files of one result must be in the history before the next result is checked. */
  async function* addContext(slot: Slot): Events {
    const { tool, call, decision, outcome } = slot;
    if (agent.findNestedContext === undefined || tool === undefined || outcome === undefined) return;
    const args = (decision?.kind === 'run' ? decision.args : undefined) ?? call.args;
    const added = await addNestedContext(agent, { tool, args, outcome }, await readSent(history));
    slot.outcome = added.outcome;
    yield* toNotices(added.notices);
  }

  async function* answerBatch(batch: readonly Slot[], slots: readonly Slot[]): Events {
    for (const slot of batch) {
      const { id, name, args } = slot.call;
      slot.isAnnounced = true;
      yield { type: 'call', id, name, args };
      slot.decision = await decide(slot, { agent, repeats, signal, following: slots.slice(slot.index + 1) });
      if (slot.decision.kind === 'refused') slot.outcome = slot.decision.outcome;
    }
    const started = batch.filter(({ decision }) => decision?.kind === 'run').map(({ call }) => call);
    const names = [...new Set(started.map(({ name }) => name))];
    if (names.length > 0) yield { type: 'wait', what: names.join(', '), calls: started.map(({ id }) => id) };
    await Promise.allSettled(batch.map((slot) => limit.run(() => finish(slot), { signal })));
    signal.throwIfAborted();
    for (const slot of batch) {
      yield* addContext(slot);
      yield toAnswerEvent(slot, await record(slot));
    }
    const ended = batch.find(({ ending }) => ending !== undefined);
    if (ended?.ending !== undefined) throw ended.ending;
  }

  return async function* answer(calls) {
    const tools = [...agent.tools, ...(agent.withheld ?? [])];
    const slots = calls.map((call, index): Slot => {
      const tool = tools.find(({ name }) => name === call.name) ?? findByOfficialName(tools, call.name);
      return { call, index, count: count.calls + index, tool, isAnnounced: false, isAnswered: false };
    });
    count.calls += calls.length;
    const rest = (): readonly Slot[] => slots.filter(({ isAnswered }) => !isAnswered);
    try {
      for (const batch of toBatches(slots)) yield* answerBatch(batch, slots);
    } catch (thrown) {
      for (const slot of rest().filter(({ isAnnounced }) => isAnnounced)) yield toAnswerEvent(slot, await record(slot));
      throw thrown;
    } finally {
      // The consumer may stop early, and the conversation may still be continued.
      for (const slot of rest()) await record(slot);
    }
    repeats.throwIfStuck();
  };
}

/** Models know the official CLI's names of MCP tools. A name that could be two tools is none. */
function findByOfficialName(tools: readonly Tool[], wanted: string): Tool | undefined {
  if (!wanted.startsWith('mcp_')) return undefined;
  const meant = tools.filter(({ remote }) => remote !== undefined && toOfficialName(remote) === wanted);
  return meant.length === 1 ? meant[0] : undefined;
}

/** Without what a summary has replaced: context files in there are sent again. */
async function readSent(history: History): Promise<readonly StoredContent[]> {
  const { contents, compactions = [] } = history;
  return compactions.length === 0 ? contents : (await import('./compacted.ts')).listSent(history);
}

function toBatches(slots: readonly Slot[]): readonly (readonly Slot[])[] {
  const result: Slot[][] = [];
  for (const slot of slots) {
    const last = result.at(-1);
    if (isShared(slot.tool) && isShared(last?.[0]?.tool)) last?.push(slot);
    else result.push([slot]);
  }
  return result;
}

function isShared(tool: Tool | undefined): boolean {
  return tool?.effect === 'read' && !tool.runsAlone;
}

function toResponseContent({ id, givenId, name }: ReplyCall, { response, media = [] }: ToolResult): Content {
  return { role: 'user', parts: [{ functionResponse: { id: givenId ?? id, name, response } }, ...media] };
}

function toAnswerEvent({ call: { id, name }, decision, elapsedMs }: Slot, outcome: ToolResult): TurnEvent {
  const args = decision?.kind === 'run' ? decision.args : undefined;
  return { type: 'answer', id, name, args, elapsedMs, outcome };
}
