import { type CallPart, UNNAMED_TOOL } from '../core/content.ts';
import { isObject, type JsonObject, toNonEmptyString } from '../core/json.ts';
import type { ReplyCall } from '../core/model.ts';

export interface CallIds {
  /** The given id if it is free, else the id with a number added; without one, an id made from the tool's name. */
  claim(given: string | undefined, tool: string): string;
}

/** Ids unique in this run; the time makes a clash with another run unlikely. */
export function createCallIds(now: () => number): CallIds {
  const taken = new Set<string>();
  let made = 0;
  return {
    claim(given, tool) {
      let id = given;
      while (id === undefined || taken.has(id)) {
        made += 1;
        id = given === undefined ? `${tool}_${now()}_${made}` : `${given}_${made}`;
      }
      taken.add(id);
      return id;
    },
  };
}

/** The calls of one reply. A call that cannot run has a `fault`, and so does the repetition of an id. */
export function toReplyCalls(parts: readonly CallPart[], ids: CallIds): readonly ReplyCall[] {
  const seen = new Set<string | undefined>();
  return parts.map(({ functionCall }) => {
    const name = toNonEmptyString(functionCall.name);
    const given = toNonEmptyString(functionCall.id);
    const { args, fault } = checkArgs(functionCall.args);
    const isRepeated = given !== undefined && seen.has(given);
    seen.add(given);
    const why =
      name === undefined
        ? 'the call names no function'
        : isRepeated
          ? 'another call in this reply has the same id'
          : fault;
    return {
      id: ids.claim(given, name ?? UNNAMED_TOOL),
      name: name ?? UNNAMED_TOOL,
      args,
      givenId: given,
      fault: why === undefined ? undefined : `${why}; nothing was run`,
    };
  });
}

function checkArgs(value: unknown): { readonly args: JsonObject; readonly fault?: string } {
  if (value === undefined || value === null) return { args: {} };
  if (!isObject(value)) return { args: {}, fault: 'args must be an object' };
  // The value comes from JSON.parse.
  return { args: value as JsonObject };
}
