import type { Clock } from '../../core/io.ts';
import { tryParseJson } from '../../core/json.ts';
import { hasSecret } from '../../core/text/secrets.ts';
import { appendLine, readLines, trimLines } from '../../platform/files/append.ts';

export interface EntryHistory {
  /** The oldest first; read at the first call. */
  load(): Promise<readonly string[]>;
  /** Stores an entry, unless it seems to contain a secret. A failure to write is ignored. */
  add(entry: string): Promise<void>;
}

interface HistoryOptions {
  /** How many entries are kept; the file holds at most twice as many. */
  readonly maxEntries?: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Longer entries are kept in memory only. */
const MAX_LENGTH = 20_000;

/** History in a private file, one JSON string per line; any number of chats may append to it at once. */
export function createEntryHistory(path: string, { maxEntries = 1000, ...rest }: HistoryOptions): EntryHistory {
  let entries: Promise<string[]> | undefined;
  const read = async (): Promise<string[]> => {
    const lines = await readLines(path);
    if (lines.length > 2 * maxEntries) await trimLines(path, maxEntries, rest);
    return lines
      .slice(-maxEntries)
      .map(tryParseJson)
      .filter((entry): entry is string => typeof entry === 'string');
  };
  const load = (): Promise<string[]> => {
    entries ??= read();
    return entries;
  };
  return {
    load,
    async add(entry) {
      const known = await load();
      if (entry === known.at(-1)) return;
      known.push(entry);
      if (entry.length <= MAX_LENGTH && !hasSecret(entry)) await appendLine(path, JSON.stringify(entry));
    },
  };
}
