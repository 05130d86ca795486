import type { Hook } from '../../../config/conventions/hooks.ts';
import { AppError } from '../../../core/error.ts';
import { isObject, type JsonObject, toNonEmptyString, tryParseJson } from '../../../core/json.ts';
import { sanitize } from '../../../core/text/terminal.ts';
import type { FilterResult } from '../../../platform/process/filter.ts';

/** What a hook answered. */
export interface HookAnswer {
  /** It says no: by its exit code 2, or in JSON. */
  readonly isDenial: boolean;
  readonly reason?: string;
  /** A person has to be asked. */
  readonly asks?: boolean;
  /** The turn ends. */
  readonly ends?: boolean;
  /** For the user. */
  readonly message?: string;
  /** For the model. */
  readonly context?: string;
  /** In place of the arguments of the call, or of some of them. */
  readonly input?: { readonly args: JsonObject; readonly isWhole: boolean };
}

/** Why the answer of a hook cannot be used: it failed, or it printed what means nothing. */
export interface HookFailure {
  readonly failure: string;
  /** It was not run; that is reported once. */
  readonly isRefusal?: boolean;
}

/** Exit code of a hook that says no; its reason is on stderr. */
const DENIAL_CODE = 2;
/** Of what a hook says, in characters. */
const MAX_REASON = 4000;
const MAX_CONTEXT = 20_000;

const DECISIONS: readonly unknown[] = ['allow', 'approve', 'deny', 'block', 'ask', undefined];
const PERMISSIONS: readonly unknown[] = ['allow', 'deny', 'ask', undefined];

/** At these events plain text is for the model, as in Claude Code. */
const TEXT_EVENTS: readonly Hook['event'][] = ['BeforeAgent', 'SessionStart'];

/** By the contract of the official CLI and of Claude Code, which differ in names only. */
export function readHookAnswer({ event }: Pick<Hook, 'event'>, result: FilterResult): HookAnswer | HookFailure {
  const { stdout, stderr, exitCode, signal, hasTimedOut, isCut } = result;
  if (hasTimedOut) return { failure: 'it took too long' };
  if (signal !== null || exitCode === null) return { failure: `it was ended by ${signal ?? 'a signal'}` };
  if (exitCode === DENIAL_CODE) return { isDenial: true, reason: limitText(stderr, MAX_REASON) };
  if (exitCode !== 0)
    return { failure: [`exit code ${exitCode}`, limitText(stderr, MAX_REASON)].filter(Boolean).join(': ') };
  if (isCut) return { failure: 'it printed too much' };
  const text = stdout.trim();
  if (text === '') return { isDenial: false };
  if (!text.startsWith('{') && TEXT_EVENTS.includes(event))
    return { isDenial: false, context: limitText(text, MAX_CONTEXT) };
  const value = tryParseJson(text);
  const answer = isObject(value) ? parseHookFields(value as JsonObject) : undefined;
  return answer ?? { failure: 'its output must be empty or a JSON object' };
}

/** Undefined if a field that decides something has a value that means nothing. */
function parseHookFields(value: JsonObject): HookAnswer | undefined {
  const { decision, reason, continue: goesOn = true, stopReason, systemMessage, hookSpecificOutput: more = {} } = value;
  if (!isObject(more) || typeof goesOn !== 'boolean' || !DECISIONS.includes(decision)) return undefined;
  const { permissionDecision, permissionDecisionReason, additionalContext, updatedInput, tool_input } =
    more as JsonObject;
  if (!PERMISSIONS.includes(permissionDecision)) return undefined;
  const args = updatedInput ?? tool_input;
  if (args !== undefined && !isObject(args)) return undefined;
  const words = [decision, permissionDecision];
  const why = toNonEmptyString(permissionDecisionReason) ?? toNonEmptyString(goesOn ? reason : (stopReason ?? reason));
  const context = toNonEmptyString(additionalContext);
  return {
    isDenial: words.includes('deny') || words.includes('block'),
    asks: words.includes('ask') || undefined,
    ends: !goesOn || undefined,
    reason: why && limitText(why, MAX_REASON),
    message: toNonEmptyString(systemMessage),
    context: context && limitText(context, MAX_CONTEXT),
    input: args === undefined ? undefined : { args: args as JsonObject, isWhole: updatedInput !== undefined },
  };
}

export function hookEnding({ name }: Pick<Hook, 'name'>, { reason }: HookAnswer): AppError {
  const why = reason ? `a hook has ended this: ${reason}` : `the hook ${name} has ended this`;
  return new AppError('limit', sanitize(why), { hint: 'To see the hooks: gmn doctor' });
}

function limitText(text: string, limit: number): string {
  const trimmed = text.trim();
  return trimmed.length <= limit ? trimmed : `${trimmed.slice(0, limit)}…`;
}
