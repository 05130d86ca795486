import { AppError } from '../core/error.ts';
import type { JsonObject } from '../core/json.ts';
import type { ReplyCall } from '../core/model.ts';
import type { PendingCall, Tool, ToolOutcome } from '../core/tool.ts';
import type { Agent } from './agent.ts';
import { edited, refusal, unknownTool } from './outcomes.ts';
import type { RepeatWatch } from './repeats.ts';

/** More calls than this are not run. */
const MAX_CALLS = { inReply: 64, inTurn: 200 } as const;

/** A file that holds a credential would lose it. */
const MARK_WRITTEN =
  '‹redacted› stands for a credential that you were not shown; leave its line as it is, and edit only what is around it';

/** What becomes of a call: it has its outcome already, or it is run. */
export type Decision =
  | { readonly kind: 'refused'; readonly outcome: ToolOutcome }
  /** `args` if the person changed them. */
  | { readonly kind: 'run'; readonly run: () => Promise<ToolOutcome>; readonly args?: JsonObject };

export interface Question {
  readonly call: ReplyCall;
  /** Its place in the reply. */
  readonly index: number;
  /** Its place in the turn. */
  readonly count: number;
  readonly tool: Tool | undefined;
}

export interface DecisionContext {
  readonly agent: Agent;
  readonly repeats: RepeatWatch;
  readonly signal: AbortSignal;
  /** The calls of the same reply that come after it. */
  readonly following: readonly Question[];
}

/**
 * Decides about one call; asks where that is needed. Throws AppError `interrupted` if the person says stop, and the
 * signal's reason.
 */
export async function decide(
  question: Question,
  { agent, repeats, signal, following }: DecisionContext,
): Promise<Decision> {
  const { call, tool } = question;
  if (call.fault !== undefined) return refused(call.fault);
  const limit = limitOf(question);
  if (limit !== undefined) return refused(limit);
  if (tool === undefined) return { kind: 'refused', outcome: unknownTool(call.name, agent.tools) };
  if (repeats.isTooOften(call, tool)) return refused(repeats.words);
  if (tool.effect === 'write' && agent.withholding?.writesMark(call.args)) return refused(MARK_WRITTEN);
  const verdict = await agent.approve(tool, call, {
    signal,
    ...(tool.effect === 'write' ? { following: writesAtOnce(following) } : {}),
  });
  signal.throwIfAborted();
  switch (verdict.kind) {
    case 'run':
      return { kind: 'run', run: () => tool.invoke(call.args, signal) };
    case 'run-edited':
      return runEdited(tool, verdict.args, signal);
    case 'deny':
      return refused(verdict.reason);
    case 'stop':
      throw new AppError('interrupted', `stopped before ${tool.name} was run`, {
        hint: 'What was said until then is kept; say what to do instead.',
      });
  }
}

function runEdited(tool: Tool, args: JsonObject, signal: AbortSignal): Decision {
  return { kind: 'run', run: async () => edited(await tool.invoke(args, signal), args), args };
}

/** Those up to the first that does something else. */
function writesAtOnce(questions: readonly Question[]): readonly PendingCall[] {
  const pending: PendingCall[] = [];
  for (const question of questions) {
    const { call, tool } = question;
    if (tool?.effect !== 'write' || call.fault !== undefined || limitOf(question) !== undefined) break;
    pending.push({ tool, call });
  }
  return pending;
}

/** Why a call is too many; undefined: it is not. */
function limitOf({ index, count }: Question): string | undefined {
  if (index >= MAX_CALLS.inReply) return `at most ${MAX_CALLS.inReply} calls in one reply are run`;
  if (count < MAX_CALLS.inTurn) return undefined;
  return `at most ${MAX_CALLS.inTurn} calls are run until the user speaks again; answer with what you have`;
}

function refused(reason: string): Decision {
  return { kind: 'refused', outcome: refusal(reason) };
}
