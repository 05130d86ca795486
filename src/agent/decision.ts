import { AppError } from '../core/error.ts';
import { canonicalJson, type JsonObject, stringOf } from '../core/json.ts';
import type { ReplyCall } from '../core/model.ts';
import { nearestNames } from '../core/text/names.ts';
import type { Effect, PendingCall, Tool, ToolCall, ToolOutcome } from '../core/tool.ts';
import type { Agent } from './agent.ts';

/** Calls beyond these limits are not run. */
const MAX_CALLS = { inReply: 64, inTurn: 200 } as const;

/** Writing the mark into a file would destroy the credential it stands for. */
const MARK_WRITTEN =
  '‹redacted› stands for a credential that you were not shown; leave its line as it is, and edit only what is around it';

/** What happens to a call: refused with a result, or run. */
export type Decision =
  | { readonly kind: 'refused'; readonly outcome: ToolOutcome }
  /** `args` if the user changed them. */
  | { readonly kind: 'run'; readonly run: () => Promise<ToolOutcome>; readonly args?: JsonObject };

export interface Question {
  readonly call: ReplyCall;
  /** Position in the reply. */
  readonly index: number;
  /** Position in the turn. */
  readonly count: number;
  readonly tool: Tool | undefined;
}

interface DecisionContext {
  readonly agent: Agent;
  readonly repeats: RepeatWatch;
  readonly signal: AbortSignal;
  readonly following: readonly Question[];
}

/**
 * Decides about one call; asks the user if needed. Throws AppError `interrupted` if the user stops the turn, and the
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
        hint: 'The conversation so far is kept; say what to do instead.',
      });
  }
}

function runEdited(tool: Tool, args: JsonObject, signal: AbortSignal): Decision {
  return { kind: 'run', run: async () => edited(await tool.invoke(args, signal), args), args };
}

/** The calls up to the first that is not a write: they can be approved together. */
function writesAtOnce(questions: readonly Question[]): readonly PendingCall[] {
  const pending: PendingCall[] = [];
  for (const question of questions) {
    const { call, tool } = question;
    if (tool?.effect !== 'write' || call.fault !== undefined || limitOf(question) !== undefined) break;
    pending.push({ tool, call });
  }
  return pending;
}

/** Why a call exceeds a limit; undefined if it does not. */
function limitOf({ index, count }: Question): string | undefined {
  if (index >= MAX_CALLS.inReply) return `at most ${MAX_CALLS.inReply} calls in one reply are run`;
  if (count < MAX_CALLS.inTurn) return undefined;
  return `at most ${MAX_CALLS.inTurn} calls are run until the user speaks again; answer with what you have`;
}

function refused(reason: string): Decision {
  return { kind: 'refused', outcome: refusal(reason) };
}

function refusal(error: string): ToolOutcome {
  return { ok: false, response: { error } };
}

/** The result of a call that was in flight, or had not started, when the turn ended. */
export function cancelled(): ToolOutcome {
  return refusal('[cancelled]');
}

/** Suggests the tools with the most similar names, or lists all. */
function unknownTool(name: string, tools: readonly Tool[]): ToolOutcome {
  const names = tools.map((tool) => tool.name);
  const near = nearestNames(name, names);
  return refusal(
    `there is no tool ${name}; ${near.length > 0 ? `did you mean ${near.join(' or ')}?` : `there is ${names.join(', ')}`}`,
  );
}

/** The result of a tool that threw. Even a bug in a tool must not end the turn. */
export function failed(thrown: unknown): ToolOutcome {
  const { message } = AppError.from(thrown);
  return refusal(thrown instanceof AppError ? message : `the tool failed unexpectedly: ${message}`);
}

/** Tells the model that the user changed its arguments. */
function edited({ response, ...outcome }: ToolOutcome, args: JsonObject): ToolOutcome {
  const own = stringOf(response.note);
  const note = [...(own === undefined ? [] : [own]), 'the user changed the arguments'].join('\n');
  return { ...outcome, response: { ...response, editedArgs: args, note } };
}

const MAX_SAME = 3;

/** Detects a model that repeats itself. */
interface RepeatWatch {
  /** Counts the call; true from the third call with the same arguments on. */
  isTooOften(call: ToolCall, tool: Tool): boolean;
  /** The message to the model in that case. */
  readonly words: string;
  /** Called after a call with an effect: reads and commands tried before may now give another result. */
  changed(call: ToolCall, tool: Tool): void;
  /** Throws AppError `limit` if a call was repeated once more after the message. */
  throwIfStuck(): void;
}

export function repeatWatch(): RepeatWatch {
  const counts = new Map<string, { count: number; readonly effect: Effect }>();
  let stuck: string | undefined;
  return {
    isTooOften(call, tool) {
      const key = keyOf(call, tool);
      const seen = counts.get(key) ?? { count: 0, effect: tool.effect };
      seen.count += 1;
      counts.set(key, seen);
      if (seen.count > MAX_SAME) stuck ??= call.name;
      return seen.count >= MAX_SAME;
    },
    words: `the same call was made ${MAX_SAME} times, and was not run again; use what it gave, or do something else`,
    changed(call, tool) {
      const own = keyOf(call, tool);
      // Writes stay counted: writing the same text a third time is a loop whatever happened in between.
      for (const [key, { effect }] of counts) if (key !== own && effect !== 'write') counts.delete(key);
    },
    throwIfStuck() {
      if (stuck === undefined) return;
      throw new AppError('limit', `the model keeps making the same call of ${stuck}`, {
        hint: 'Say in the prompt what it should do instead, or choose another model with -m.',
      });
    },
  };
}

function keyOf({ name, args }: ToolCall, tool: Tool): string {
  return `${name} ${canonicalJson(tool.plain?.(args) ?? args)}`;
}
