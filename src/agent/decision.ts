import { AppError } from '../core/error.ts';
import { canonicalJson, type JsonObject, stringOf } from '../core/json.ts';
import type { ReplyCall } from '../core/model.ts';
import { nearestNames } from '../core/text/names.ts';
import type { Effect, PendingCall, Tool, ToolCall, ToolOutcome } from '../core/tool.ts';
import type { Agent } from './agent.ts';

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

interface DecisionContext {
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

/** What the model gets for a call that was not run, or failed. */
function refusal(error: string): ToolOutcome {
  return { ok: false, response: { error } };
}

/** What the model gets for a call that was under way, or still to come, when the turn was ended. */
export function cancelled(): ToolOutcome {
  return refusal('[cancelled]');
}

/** What the model gets for a tool that was not offered to it: the names most like it, or all. */
function unknownTool(name: string, tools: readonly Tool[]): ToolOutcome {
  const names = tools.map((tool) => tool.name);
  const near = nearestNames(name, names);
  return refusal(
    `there is no tool ${name}; ${near.length > 0 ? `did you mean ${near.join(' or ')}?` : `there is ${names.join(', ')}`}`,
  );
}

/** What the model gets when a tool threw: a failure in our words, or a bug, which must not end the turn. */
export function failed(thrown: unknown): ToolOutcome {
  const { message } = AppError.from(thrown);
  return refusal(thrown instanceof AppError ? message : `the tool failed unexpectedly: ${message}`);
}

/** The outcome of a call whose arguments the person changed: the model must not think its own were used. */
function edited({ response, ...outcome }: ToolOutcome, args: JsonObject): ToolOutcome {
  const own = stringOf(response.note);
  const note = [...(own === undefined ? [] : [own]), 'the user changed the arguments'].join('\n');
  return { ...outcome, response: { ...response, editedArgs: args, note } };
}

const MAX_SAME = 3;

/** Notices a model that goes in circles. */
interface RepeatWatch {
  /** Counts the call; true from the third time on that it is made with the same arguments. */
  isTooOften(call: ToolCall, tool: Tool): boolean;
  /** What the model is told then. */
  readonly words: string;
  /** This call changed something: what was looked at or tried before may now turn out otherwise. */
  changed(call: ToolCall, tool: Tool): void;
  /** Throws AppError `limit` if a call was made once more after the model was told. */
  throwIfStuck(): void;
}

/** A watch over one turn. */
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
      // The same text written a third time is a circle, whatever was done in between.
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
