import type { StoredContent } from './content.ts';
import type { PageStep } from './event.ts';
import type { Usage } from './usage.ts';

export type TurnRecord =
  | { readonly kind: 'prompt'; readonly content: StoredContent }
  | (ModelRecord & { readonly kind: 'call' })
  /** One `functionResponse`, plus any media. */
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
  readonly pages?: readonly PageStep[];
}

/** What is sent in a shorter form from now on, to make room. The contents stay as they are; indices count them. */
export interface Compaction {
  readonly outputs: readonly ShortenedOutput[];
  readonly summary?: ConversationSummary;
}

/** The result of a tool call, of which only so many characters of the beginning and the end are sent. */
export interface ShortenedOutput {
  readonly content: number;
  readonly part: number;
  readonly head: number;
  readonly tail: number;
  /** The file that has all of it; absent if it could not be written. */
  readonly path?: string;
}

export interface ConversationSummary {
  readonly text: string;
  readonly end: number;
  /** The prompt that is being worked on, if it is among them: it is sent after the summary. */
  readonly prompt?: number;
  /** At most so many characters of that prompt are sent; absent: all of it. */
  readonly promptLimit?: number;
}

export interface History {
  readonly contents: readonly StoredContent[];
  /** In the order in which they were made; a later one counts more. Absent: none can be made. */
  readonly compactions?: readonly Compaction[];
  /** Resolves when it is as durable as the history makes it. Never throws. Absent: none can be made. */
  compact?(compaction: Compaction): Promise<void>;
  /** Writes a text to a file that lasts as long as the conversation; undefined if that fails. Absent: it has no files. */
  keepOutput?(text: string): Promise<string | undefined>;
  /** Of a reply without calls, in characters. A longer one is dropped: `dropReply` is called instead of `append`. */
  readonly replyLimit: number;
  /** Resolves when the record is as durable as the history makes it. Never throws. */
  append(record: TurnRecord): Promise<void>;
  dropReply?(): void;
  /** So that an unfinished reply survives a crash; the record of the reply replaces all of these. Never throws. */
  appendDelta?(delta: string): Promise<void>;
}
