import type { StoredContent } from './content.ts';
import type { Usage } from './usage.ts';

export type TurnRecord =
  | { readonly kind: 'prompt'; readonly content: StoredContent }
  | (ModelRecord & { readonly kind: 'call' })
  /** The result of one call: one `functionResponse`, plus any media. */
  | { readonly kind: 'answer'; readonly content: StoredContent }
  | (ModelRecord & {
      readonly kind: 'reply';
      /** Absent if the reply was cut off and this is what had arrived. */
      readonly finishReason?: string;
    });

interface ModelRecord {
  readonly content: StoredContent;
  readonly usage: Usage;
  readonly model: string;
}

export interface History {
  readonly contents: readonly StoredContent[];
  /**
   * How many characters of a reply without calls to keep; 0 keeps none, and the reply is never held in memory as a
   * whole. A longer reply is dropped, and `dropReply` is called instead of `append`.
   */
  readonly replyLimit: number;
  /** Resolves when the record is as durable as it will get. Never throws. */
  append(record: TurnRecord): Promise<void>;
  dropReply?(): void;
  /**
   * Receives each piece of text as it arrives, so that an unfinished reply survives a crash. The record of the reply
   * replaces all of these. Never throws.
   */
  appendDelta?(delta: string): Promise<void>;
}
