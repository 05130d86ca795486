import { AppError } from '../../core/error.ts';
import { isObject, tryParseJson } from '../../core/json.ts';
import { type AppendFile, openAppendFile } from '../../platform/files/append.ts';
import { readLineBatches } from '../../platform/files/lines.ts';
import { removeFile } from '../../platform/files/write.ts';
import { errorReason } from '../../platform/runtime/system.ts';
import type { Row } from '../row.ts';
import type { PlanStore } from './plan.ts';

/** What is needed to finish a row. */
type ShardRow = Pick<Row, 'id' | 'index' | 'line'>;

export interface ShardWriter {
  readonly rows: number;
  readonly bytes: number;
  /** `request` is one line. */
  add(row: ShardRow, request: string): Promise<void>;
  /** Both files are on disk when it resolves. */
  close(): Promise<void>;
}

const BUFFER_CHARACTERS = 262_144;

/**
 * Writes two files: the requests, as they are uploaded, and in the same order the rows they belong to. Replaces files of
 * that number, which a crash may have left.
 */
export async function openShardWriter(store: PlanStore, number: number): Promise<ShardWriter> {
  const requests = await openBuffered(store.requestsPath(number));
  const rows = await openBuffered(store.rowsPath(number));
  let count = 0;
  let bytes = 0;
  return {
    get rows() {
      return count;
    },
    get bytes() {
      return bytes;
    },
    async add({ id, index, line }, request) {
      count += 1;
      bytes += Buffer.byteLength(request) + 1;
      await requests.add(request);
      await rows.add(JSON.stringify({ index, id, line }));
    },
    async close() {
      await requests.close();
      await rows.close();
    },
  };
}

interface BufferedFile {
  add(line: string): Promise<void>;
  close(): Promise<void>;
}

async function openBuffered(path: string): Promise<BufferedFile> {
  const file: AppendFile = await withWriteError(path, async () => {
    await removeFile(path);
    return openAppendFile(path, { now: 0, createMode: 0o600 });
  });
  let waiting: string[] = [];
  let size = 0;
  const flush = async (): Promise<void> => {
    if (waiting.length === 0) return;
    const text = `${waiting.join('\n')}\n`;
    waiting = [];
    size = 0;
    await withWriteError(path, () => file.append(text));
  };
  return {
    async add(line) {
      waiting.push(line);
      size += line.length;
      if (size >= BUFFER_CHARACTERS) await flush();
    },
    async close() {
      try {
        await flush();
        await withWriteError(path, () => file.sync());
      } finally {
        await file.close();
      }
    },
  };
}

async function withWriteError<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    throw new AppError('internal', `cannot write ${path}: ${errorReason(cause)}`, {
      cause,
      hint: 'Make room there, then run the same command again: it continues where it stopped.',
    });
  }
}

/** The rows of a shard, in the order of its requests. */
export async function* readShardRows(store: PlanStore, number: number): AsyncGenerator<ShardRow, void> {
  for await (const text of readShardLines(store.rowsPath(number))) {
    const value = tryParseJson(text);
    if (!isObject(value)) continue;
    const { index, id, line } = value;
    yield { index: Number(index), id: String(id), line: typeof line === 'string' ? line : undefined };
  }
}

/** The requests, each with the row it belongs to. */
export async function* readShard(
  store: PlanStore,
  number: number,
): AsyncGenerator<{ readonly row: ShardRow; readonly request: string }, void> {
  const rows = readShardRows(store, number);
  for await (const request of readShardLines(store.requestsPath(number))) {
    const { value: row } = await rows.next();
    if (row !== undefined) yield { row, request };
  }
}

async function* readShardLines(path: string): AsyncGenerator<string, void> {
  const batches = readLineBatches(path);
  for (;;) {
    const next = await batches.next().catch((cause: unknown) => {
      throw new AppError('usage', `cannot read ${path}, which has rows in flight: ${errorReason(cause)}`, {
        cause,
        hint: 'Put it back, or start over: --restart',
      });
    });
    if (next.done) return;
    if (!next.value.isTorn) yield* next.value.lines;
  }
}
