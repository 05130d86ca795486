import { AppError } from '../core/error.ts';
import { type JsonObject, stringOf } from '../core/json.ts';
import { nearestNames } from '../core/text/names.ts';
import type { Tool, ToolOutcome } from '../core/tool.ts';

/** What the model gets for a call that was not run, or failed. */
export function refusal(error: string): ToolOutcome {
  return { ok: false, response: { error } };
}

/** What the model gets for a call that was under way, or still to come, when the turn was ended. */
export function cancelled(): ToolOutcome {
  return refusal('[cancelled]');
}

/** What the model gets for a tool that was not offered to it: the names most like it, or all. */
export function unknownTool(name: string, tools: readonly Tool[]): ToolOutcome {
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
export function edited({ response, ...outcome }: ToolOutcome, args: JsonObject): ToolOutcome {
  const own = stringOf(response.note);
  const note = [...(own === undefined ? [] : [own]), 'the user changed the arguments'].join('\n');
  return { ...outcome, response: { ...response, editedArgs: args, note } };
}
