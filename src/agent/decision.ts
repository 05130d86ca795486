import { AppError } from '../core/error.ts';
import { canonicalJson, type JsonObject, toNonEmptyString } from '../core/json.ts';
import type { ReplyCall } from '../core/model.ts';
import { findNearestNames } from '../core/text/names.ts';
import { type Effect, errorResult, type PendingCall, type Tool, type ToolCall, type ToolResult } from '../core/tool.ts';
import type { Agent } from './agent.ts';

const MAX_CALLS = { inReply: 64, inTurn: 200 } as const;

/** Writing the mark into a file would destroy the credential it stands for. */
const MARK_MESSAGE =
  '‹redacted› stands for a credential that you were not shown; leave its line as it is, and edit only what is around it';

export type Decision =
  | { readonly kind: 'refused'; readonly outcome: ToolResult }
  | { readonly kind: 'run'; readonly run: () => Promise<ToolResult>; readonly args?: JsonObject };

export interface PendingDecision {
  readonly call: ReplyCall;
  readonly index: number;
  readonly count: number;
  readonly tool: Tool | undefined;
}

interface DecisionContext {
  readonly agent: Agent;
  readonly repeats: ReturnType<typeof createRepeatGuard>;
  readonly signal: AbortSignal;
  readonly following: readonly PendingDecision[];
}

/**
 * Decides about one call; asks the user if needed. Throws AppError `interrupted` if the user stops the turn, and the
 * signal's reason.
 */
export async function decide(
  question: PendingDecision,
  { agent, repeats, signal, following }: DecisionContext,
): Promise<Decision> {
  const { call, tool } = question;
  if (call.fault !== undefined) return refusedDecision(call.fault);
  const limit = findExceededLimit(question);
  if (limit !== undefined) return refusedDecision(limit);
  if (tool === undefined) return { kind: 'refused', outcome: unknownToolResult(call.name, agent.tools) };
  if (repeats.isTooOften(call, tool)) return refusedDecision(repeats.message);
  const hooked = await agent.hooks?.beforeTool(tool, call.args, signal);
  if (hooked?.denial !== undefined)
    return { kind: 'refused', outcome: { ...errorResult(hooked.denial), isReported: true } };
  const { args: changed, mustAsk, context } = hooked ?? {};
  const asked = changed === undefined ? call : { ...call, args: changed };
  if (tool.effect === 'write' && agent.redaction?.writesMark(asked.args)) return refusedDecision(MARK_MESSAGE);
  let isUnasked = false;
  const decision = await agent.approve(tool, asked, {
    signal,
    onUnasked: () => {
      isUnasked = true;
    },
    mustAsk,
    following: tool.effect === 'write' ? findFollowingWrites(following) : undefined,
  });
  signal.throwIfAborted();
  if (decision.kind === 'run' || decision.kind === 'run-edited') agent.hooks?.noteRun(tool, isUnasked);
  switch (decision.kind) {
    case 'run': {
      const run = async (): Promise<ToolResult> =>
        addHookText(addDiff(await tool.invoke(asked.args, signal), decision.diff), context);
      if (changed === undefined) return { kind: 'run', run };
      return { kind: 'run', run: async () => noteEditedArgs(await run(), changed, 'a hook'), args: changed };
    }
    case 'run-edited': {
      const { args } = decision;
      const again = await agent.hooks?.beforeTool(tool, args, signal);
      const why = again?.args === undefined ? again?.denial : 'a hook would change what the user has edited';
      if (why !== undefined) return refusedDecision(why);
      return { kind: 'run', run: async () => noteEditedArgs(await tool.invoke(args, signal), args, 'the user'), args };
    }
    case 'deny':
      return { kind: 'refused', outcome: { ...errorResult(decision.reason), isReported: decision.isReported } };
    case 'stop':
      throw new AppError('interrupted', `stopped before ${tool.name} was run`, {
        hint: 'The conversation so far is kept; say what to do instead.',
      });
  }
}

/** The writes up to the first other call: they can be approved together. */
function findFollowingWrites(questions: readonly PendingDecision[]): readonly PendingCall[] {
  const pending: PendingCall[] = [];
  for (const question of questions) {
    const { call, tool } = question;
    if (tool?.effect !== 'write' || call.fault !== undefined || findExceededLimit(question) !== undefined) break;
    pending.push({ tool, call });
  }
  return pending;
}

function findExceededLimit({ index, count }: PendingDecision): string | undefined {
  if (index >= MAX_CALLS.inReply) return `at most ${MAX_CALLS.inReply} calls in one reply are run`;
  if (count < MAX_CALLS.inTurn) return undefined;
  return `at most ${MAX_CALLS.inTurn} calls are run until the user speaks again; answer with what you have`;
}

function refusedDecision(reason: string): Decision {
  return { kind: 'refused', outcome: errorResult(reason) };
}

export function cancelledResult(): ToolResult {
  return errorResult('[cancelled]');
}

function unknownToolResult(name: string, tools: readonly Tool[]): ToolResult {
  const names = tools.map((tool) => tool.name);
  const near = findNearestNames(name, names);
  return errorResult(
    `there is no such tool; ${near.length > 0 ? `did you mean ${near.join(' or ')}?` : `the tools are ${names.join(', ')}`}`,
  );
}

/** The result of a tool that threw. Even a bug in a tool must not end the turn. */
export function failedResult(thrown: unknown): ToolResult {
  const { message } = AppError.from(thrown);
  return errorResult(thrown instanceof AppError ? message : `the tool failed unexpectedly: ${message}`);
}

function addDiff(outcome: ToolResult, diff: string | undefined): ToolResult {
  return diff === undefined || outcome.change === undefined
    ? outcome
    : { ...outcome, change: { ...outcome.change, diff } };
}

/** What hooks say about a call is beside its result. */
export function addHookText(result: ToolResult, text: string | undefined): ToolResult {
  if (text === undefined) return result;
  const before = toNonEmptyString(result.response.hook);
  return { ...result, response: { ...result.response, hook: before === undefined ? text : `${before}\n${text}` } };
}

function noteEditedArgs({ response, ...outcome }: ToolResult, args: JsonObject, who: string): ToolResult {
  const own = toNonEmptyString(response.note);
  const note = [...(own === undefined ? [] : [own]), `${who} changed the arguments`].join('\n');
  return { ...outcome, response: { ...response, editedArgs: args, note } };
}

const MAX_SAME = 3;

export function createRepeatGuard() {
  const counts = new Map<string, { count: number; readonly effect: Effect }>();
  let stuck: string | undefined;
  return {
    /** Counts the call; true from the third call with the same arguments on. */
    isTooOften(call: ToolCall, tool: Tool): boolean {
      const key = toCallKey(call, tool);
      const seen = counts.get(key) ?? { count: 0, effect: tool.effect };
      seen.count += 1;
      counts.set(key, seen);
      if (seen.count > MAX_SAME) stuck ??= call.name;
      return seen.count >= MAX_SAME;
    },
    message: `the same call was made ${MAX_SAME} times, and was not run again; use what it gave, or do something else`,
    /** Called after a call with an effect: reads and commands tried before may now give another result. */
    noteChange(call: ToolCall, tool: Tool): void {
      const own = toCallKey(call, tool);
      // Writes stay counted: writing the same text a third time is a loop whatever happened in between.
      for (const [key, { effect }] of counts) if (key !== own && effect !== 'write') counts.delete(key);
    },
    /** Throws AppError `limit` if a call was repeated once more after the message. */
    throwIfStuck(): void {
      if (stuck === undefined) return;
      throw new AppError('limit', `the model keeps making the same call of ${stuck}`, {
        hint: 'Say in the prompt what it should do instead, or choose another model with -m.',
      });
    },
  };
}

function toCallKey({ name, args }: ToolCall, tool: Tool): string {
  return `${name} ${canonicalJson(tool.plain?.(args) ?? args)}`;
}
