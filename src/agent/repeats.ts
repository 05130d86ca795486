import { AppError } from '../core/error.ts';
import { canonicalJson } from '../core/json.ts';
import type { ToolCall } from '../core/tool.ts';

const MAX_SAME = 3;

/** Notices a model that goes in circles. */
export interface RepeatWatch {
  /** Counts the call; true from the third time on that it is made with the same arguments. */
  isTooOften(call: ToolCall): boolean;
  /** What the model is told then. */
  readonly words: string;
  /** Something was changed: what was asked before may now have another answer. */
  forgetOthers(call: ToolCall): void;
  /** Throws AppError `limit` if a call was made once more after the model was told. */
  throwIfStuck(): void;
}

/** A watch over one turn. */
export function repeatWatch(): RepeatWatch {
  const counts = new Map<string, number>();
  let stuck: string | undefined;
  return {
    isTooOften(call) {
      const key = keyOf(call);
      const count = (counts.get(key) ?? 0) + 1;
      counts.set(key, count);
      if (count > MAX_SAME) stuck ??= call.name;
      return count >= MAX_SAME;
    },
    words: `the same call was made ${MAX_SAME} times, and was not run again; use what it gave, or do something else`,
    forgetOthers(call) {
      const key = keyOf(call);
      for (const other of counts.keys()) if (other !== key) counts.delete(other);
    },
    throwIfStuck() {
      if (stuck === undefined) return;
      throw new AppError('limit', `the model keeps making the same call of ${stuck}`, {
        hint: 'Say in the prompt what it should do instead, or choose another model with -m.',
      });
    },
  };
}

function keyOf({ name, args }: ToolCall): string {
  return `${name} ${canonicalJson(args)}`;
}
