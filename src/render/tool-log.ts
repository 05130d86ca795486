import type { TurnEvent } from '../core/event.ts';
import type { JsonObject } from '../core/json.ts';

type Call = Extract<TurnEvent, { type: 'call' }>;
type Answer = Extract<TurnEvent, { type: 'answer' }>;

/** What `toolCalls` of the json format lists. */
export interface ToolLog {
  call(event: Call): void;
  answer(event: Answer): void;
  /** The calls in their order, each with its answer; a call that was never answered has no `result`. */
  entries(): readonly JsonObject[];
}

/** Pairs calls with answers by id. */
export function toolLog(): ToolLog {
  const calls: Call[] = [];
  const answers = new Map<string, Answer>();
  return {
    call: (event) => void calls.push(event),
    answer: (event) => void answers.set(event.id, event),
    entries: () =>
      calls.map(({ id, name, args }) => {
        const answer = answers.get(id);
        return answer === undefined ? { id, name, args } : { id, name, args, ...resultFields(answer) };
      }),
  };
}

/** `result`, and `isError` only on a failure: the same in both JSON formats. */
export function resultFields({ outcome }: Answer): JsonObject {
  return { result: outcome.response, ...(outcome.ok ? {} : { isError: true }) };
}
