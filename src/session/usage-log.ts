import { join } from 'node:path';
import type { BilledCall } from '../core/usage.ts';
import { tryAppendSync } from '../platform/files/write-sync.ts';

export const USAGE_KINDS = ['prompt', 'chat', 'serve', 'batch', 'embed', 'decide', 'research'] as const;

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

/** In one write, so that several processes can do it at once. No prices are loaded here. Never throws. */
export function appendUsage(home: string, record: UsageRecord): void {
  // Begins with the line feed, so that a line cut off by a full disk does not spoil the next one.
  if (record.calls.length > 0) tryAppendSync(join(home, USAGE_FILE), `\n${JSON.stringify(record)}`);
}
