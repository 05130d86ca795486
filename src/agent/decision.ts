import { AppError } from '../core/error.ts';
import type { ReplyCall } from '../core/model.ts';
import type { PendingCall, Tool, ToolOutcome } from '../core/tool.ts';
import type { Agent } from './agent.ts';
import { edited, refusal, unknownTool } from './outcomes.ts';
import type { RepeatWatch } from './repeats.ts';

/** More calls than this in one reply are not run. */
const MAX_CALLS = 64;

/** What becomes of a call: it has its outcome already, or it is run. */
export type Decision =
  | { readonly kind: 'refused'; readonly outcome: ToolOutcome }
  | { readonly kind: 'run'; readonly run: () => Promise<ToolOutcome> };

export interface Question {
  readonly call: ReplyCall;
  /** Its place in the reply. */
  readonly index: number;
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
  { call, index, tool }: Question,
  { agent, repeats, signal, following }: DecisionContext,
): Promise<Decision> {
  if (call.fault !== undefined) return refused(call.fault);
  if (index >= MAX_CALLS) return refused(`at most ${MAX_CALLS} calls in one reply are run`);
  if (tool === undefined) return { kind: 'refused', outcome: unknownTool(call.name, agent.tools) };
  if (repeats.isTooOften(call, tool.effect)) return refused(repeats.words);
  const verdict = await agent.approve(tool, call, {
    signal,
    ...(tool.effect === 'write' ? { following: writesAtOnce(following) } : {}),
  });
  signal.throwIfAborted();
  switch (verdict.kind) {
    case 'run':
      return { kind: 'run', run: () => tool.invoke(call.args, signal) };
    case 'run-edited':
      return { kind: 'run', run: async () => edited(await tool.invoke(verdict.args, signal), verdict.args) };
    case 'deny':
      return refused(verdict.reason);
    case 'stop':
      throw new AppError('interrupted', `stopped before ${tool.name} was run`, {
        hint: 'What was said until then is kept; say what to do instead.',
      });
  }
}

/** Those up to the first that does something else. */
function writesAtOnce(questions: readonly Question[]): readonly PendingCall[] {
  const pending: PendingCall[] = [];
  for (const { call, index, tool } of questions) {
    if (tool?.effect !== 'write' || call.fault !== undefined || index >= MAX_CALLS) break;
    pending.push({ tool, call });
  }
  return pending;
}

function refused(reason: string): Decision {
  return { kind: 'refused', outcome: refusal(reason) };
}
