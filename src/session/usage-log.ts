import { join } from 'node:path';
import type { BilledCall } from '../core/usage.ts';
import { tryAppendSync } from '../platform/files/write-sync.ts';

export const USAGE_KINDS = ['prompt', 'chat', 'serve', 'batch', 'embed'] as const;

/** One saved run, or one turn of a chat. Has no text of the conversation. */
export interface UsageRecord {
  readonly at: number;
  readonly kind: (typeof USAGE_KINDS)[number];
  /** The session's. */
  readonly id: string;
  readonly cwd: string;
  readonly calls: readonly BilledCall[];
}

export const USAGE_FILE = 'usage.jsonl';

/**
 * Adds a line to the usage log in one write, so that several processes can do it at the same time. The cost is computed when it
 * is shown, so no prices are loaded here. Never throws, because the answer does not depend on it.
 */
export function appendUsage(home: string, record: UsageRecord): void {
  // Begins with the line feed, so that a line cut off by a full disk does not spoil the next one.
  if (record.calls.length > 0) tryAppendSync(join(home, USAGE_FILE), `\n${JSON.stringify(record)}`);
}
