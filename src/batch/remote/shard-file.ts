import { AppError } from '../../core/error.ts';
import { isCount, isObject, tryParseJson } from '../../core/json.ts';
import { openAppendFile } from '../../platform/files/append.ts';
import { openLineReader } from '../../platform/files/lines.ts';
import { removeFile } from '../../platform/files/write.ts';
import { errorReason } from '../../platform/runtime/system.ts';
import type { RedactLines } from '../output/failed-file.ts';
import { readRunLines } from '../output/run-lines.ts';
import type { Row } from '../rows/row.ts';
import type { PlanStore, StoredFile } from './plan-store.ts';

type ShardRow = Pick<Row, 'id' | 'index' | 'line'>;

export type ShardWriter = Awaited<ReturnType<typeof openShardWriter>>;

const BUFFER_CHARACTERS = 262_144;

/** Two files in the same order: the requests as they are uploaded, and their rows. Replaces what a crash may have left. */
export async function openShardWriter(store: PlanStore, number: number, redact: RedactLines) {
  const requests = await openBuffered<string>(store.locateRequests(number), async (lines) => lines);
  const rows = await openBuffered<ShardRow>(store.locateRows(number), (items) => formatShardRows(items, redact));
  let count = 0;
  let bytes = 0;
  return {
    get rows(): number {
      return count;
    },
    get bytes(): number {
      return bytes;
    },
    async add({ id, index, line }: ShardRow, request: string): Promise<void> {
      count += 1;
      bytes += Buffer.byteLength(request) + 1;
      await requests.add(request, request.length);
      await rows.add({ index, id, line }, id.length + (line?.length ?? 0));
    },
    /** Both files are on disk when it resolves. */
    async close(): Promise<void> {
      await requests.close();
      await rows.close();
    },
  };
}

async function formatShardRows(rows: readonly ShardRow[], redact: RedactLines): Promise<readonly string[]> {
  const lines = await redact(rows.map(({ line }) => line));
  return rows.map(({ index, id }, at) => JSON.stringify({ index, id, line: lines[at] }));
}

async function openBuffered<Item>(
  { path, name }: StoredFile,
  format: (items: readonly Item[]) => Promise<readonly string[]>,
) {
  const file = await withWriteError(name, async () => {
    await removeFile(path);
    return openAppendFile(path, { now: 0, createMode: 0o600 });
  });
  let waiting: Item[] = [];
  let buffered = 0;
  const flush = async (): Promise<void> => {
    if (waiting.length === 0) return;
    const items = waiting;
    waiting = [];
    buffered = 0;
    const text = `${(await format(items)).join('\n')}\n`;
    await withWriteError(name, () => file.append(text));
  };
  return {
    /** `size` is roughly that of its line, in characters. */
    async add(item: Item, size: number): Promise<void> {
      waiting.push(item);
      buffered += size;
      if (buffered >= BUFFER_CHARACTERS) await flush();
    },
    async close(): Promise<void> {
      try {
        await flush();
        await withWriteError(name, () => file.sync());
      } finally {
        await file.close();
      }
    },
  };
}

async function withWriteError<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    throw new AppError('internal', `cannot write ${name}: ${errorReason(cause)}`, {
      cause,
      hint: 'Make room there, then run the same command again: it continues where it stopped.',
    });
  }
}

/** The rows of a shard, in the order of its requests. Throws AppError `usage` for a line that gmn has not written. */
export async function* readShardRows(
  store: PlanStore,
  number: number,
): AsyncGenerator<ShardRow & { readonly start: number }, void> {
  const file = store.locateRows(number);
  let start = 0;
  for await (const text of readShardLines(file)) {
    const row = tryParseShardRow(text);
    if (row === undefined) throw new AppError('usage', `${file.name} has a line that is no row`, { hint: RESTORE });
    yield { ...row, start };
    start += Buffer.byteLength(text) + 1;
  }
}

/** The row of a shard whose line begins at this byte. */
export function openShardRows(store: PlanStore, number: number) {
  const reader = openLineReader(store.locateRows(number).path);
  return { read: (start: number) => tryParseShardRow(reader.readAt(start)), close: reader.close };
}

function tryParseShardRow(text: string): ShardRow | undefined {
  const value = tryParseJson(text);
  if (!isObject(value)) return undefined;
  const { index, id, line } = value;
  if (!isCount(index) || typeof id !== 'string' || (line !== undefined && typeof line !== 'string')) return undefined;
  return { index, id, line };
}

export async function* readShard(
  store: PlanStore,
  number: number,
): AsyncGenerator<{ readonly row: ShardRow; readonly request: string }, void> {
  const rows = readShardRows(store, number);
  try {
    for await (const request of readShardLines(store.locateRequests(number))) {
      const { value: row } = await rows.next();
      if (row !== undefined) yield { row, request };
    }
  } finally {
    await rows.return();
  }
}

const RESTORE = 'It has rows in flight. Put it back, or start over: --restart';

async function* readShardLines({ path, name }: StoredFile): AsyncGenerator<string, void> {
  for await (const { lines } of readRunLines(path, { name, hint: RESTORE })) yield* lines;
}
