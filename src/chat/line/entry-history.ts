import type { Clock } from '../../core/io.ts';
import { parseJson } from '../../core/json.ts';
import { tellsSecret } from '../../core/text/secrets.ts';
import { appendLine, readLines, trimLines } from '../../platform/files/append.ts';

/** What was entered before, in this chat and in others. */
export interface EntryHistory {
  /** The oldest first; read when first asked for. */
  load(): Promise<readonly string[]>;
  /** Keeps an entry, unless it looks as if a secret were in it. What cannot be kept is not; nothing is said about it. */
  add(entry: string): Promise<void>;
}

interface HistoryOptions {
  /** How many are kept; the file holds at most twice as many. */
  readonly maxEntries?: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Longer ones are remembered in this chat only. */
const MAX_LENGTH = 20_000;

/** The history in a file: a JSON string a line, for our eyes only, appended to by any number of chats at once. */
export function entryHistory(path: string, { maxEntries = 1000, ...rest }: HistoryOptions): EntryHistory {
  let entries: Promise<string[]> | undefined;
  const read = async (): Promise<string[]> => {
    const lines = await readLines(path);
    if (lines.length > 2 * maxEntries) await trimLines(path, maxEntries, rest);
    return lines.slice(-maxEntries).map(parseJson).filter(isText);
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
      if (entry.length <= MAX_LENGTH && !tellsSecret(entry)) await appendLine(path, JSON.stringify(entry));
    },
  };
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
