import { AppError } from '../core/error.ts';
import { canonicalJson } from '../core/json.ts';
import type { Effect, Tool, ToolCall } from '../core/tool.ts';

const MAX_SAME = 3;

/** Notices a model that goes in circles. */
export interface RepeatWatch {
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
