import type { KeptContent } from './content.ts';
import type { Usage } from './usage.ts';

/** One step of a conversation, recorded in the order things happen. */
export type TurnRecord =
  | { readonly kind: 'prompt'; readonly content: KeptContent }
  /** What the model said with calls in it. */
  | (Said & { readonly kind: 'call' })
  /** The answer to one call: one `functionResponse`, and what media came with it. */
  | { readonly kind: 'answer'; readonly content: KeptContent }
  | (Said & {
      readonly kind: 'reply';
      /** Why it ended; absent if it was cut off, and this is what had come. */
      readonly finishReason?: string;
    });

interface Said {
  readonly content: KeptContent;
  readonly usage: Usage;
  /** The model that answered. */
  readonly model: string;
}

/** A conversation that a turn adds to. */
export interface History {
  /** The content of every record, in order. */
  readonly contents: readonly KeptContent[];
  /**
   * How many characters of a reply without calls are wanted; 0: none, and it is never held in memory as a whole. One that
   * turns out to be longer is let go of, and `letGo` told in the place of its record.
   */
  readonly replyLimit: number;
  /** Resolves when the record is as durable as it is going to be. Does not throw. */
  append(record: TurnRecord): Promise<void>;
  /** Told that a reply was longer than `replyLimit`. Does not throw. */
  letGo?(): void;
  /**
   * Told every piece of text as it comes, so that a reply which is never finished is not lost with the process; the reply's
   * own record takes the place of all of them. Does not throw.
   */
  overhear?(delta: string): Promise<void>;
}
