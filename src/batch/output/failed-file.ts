import { createSerial } from '../../core/async.ts';
import { AppError } from '../../core/error.ts';
import { isObject, tryParseJson } from '../../core/json.ts';
import { openAppendFile } from '../../platform/files/append.ts';
import { pathExists } from '../../platform/files/path.ts';
import { removeFile, writeAtomic } from '../../platform/files/write.ts';
import { errorReason } from '../../platform/runtime/system.ts';
import { createIdTable } from './id-table.ts';
import { readRunLines } from './run-lines.ts';

/** Takes gmn's own credentials out of rows that are saved. */
export type RedactLines = <Line extends string | undefined>(lines: readonly Line[]) => Promise<readonly Line[]>;

export type FailedFile = Awaited<ReturnType<typeof openFailedFile>>;

/**
 * `<out>.failed.jsonl`: failed rows in input form. It can be made again from input and output. Drops the rows that have an
 * answer. The file is created with the first row that is added. What is added goes through `redact`.
 */
export async function openFailedFile(path: string, isAnswered: (id: string) => boolean, redact: RedactLines) {
  const known = createIdTable();
  const isAnsweredRow = (line: string, isAnsweredId: (id: string) => boolean): boolean => {
    const id = findRowId(line);
    return id !== undefined && isAnsweredId(id);
  };
  await compact(
    path,
    (line) => isAnsweredRow(line, isAnswered),
    (line) => known.set(toRowKey(line), KEPT),
  );
  let waiting: string[] = [];
  const inOrder = createSerial();
  let failure: unknown;

  async function append(): Promise<void> {
    const lines = waiting;
    waiting = [];
    const added = (await redact(lines)).filter((line) => {
      const before = known.get(toRowKey(line));
      known.set(toRowKey(line), ADDED);
      return before === 0;
    });
    if (added.length === 0) return;
    const file = await openAppendFile(path, { now: 0, torn: 'drop', createMode: 0o666 });
    try {
      await file.append(`${added.join('\n')}\n`);
    } finally {
      await file.close();
    }
  }

  return {
    /** Adds a row unless it is there. Never throws: what cannot be written is reported by `close`. */
    add(line: string): void {
      waiting.push(line);
      if (waiting.length > 1) return;
      void inOrder(() =>
        append().catch((thrown: unknown) => {
          failure ??= thrown;
        }),
      );
    },
    /** Removes rows that have an answer by now, and with `dropsOthers` all that were not added since. Throws AppError `internal`. */
    async close(isAnsweredNow: (id: string) => boolean, dropsOthers: boolean): Promise<void> {
      const isDropped = (line: string): boolean =>
        isAnsweredRow(line, isAnsweredNow) || (dropsOthers && known.get(toRowKey(line)) !== ADDED);
      await inOrder(async () => failure === undefined && compact(path, isDropped, () => {}));
      if (failure === undefined) return;
      throw new AppError('internal', `cannot write ${path}: ${errorReason(failure)}`, {
        cause: failure,
        hint: 'The output itself is complete. Run the same command again to write this file.',
      });
    },
  };
}

/** Marks of lines: left by an earlier run, and added by this one. */
const KEPT = 1;
const ADDED = 2;

/** Two lines with the same id are the same row, however they are spelled. */
function toRowKey(line: string): string {
  const id = findRowId(line);
  return id === undefined ? `line ${line}` : `id ${id}`;
}

async function compact(
  path: string,
  isDropped: (line: string) => boolean,
  onKept: (line: string) => void,
): Promise<void> {
  if (!pathExists(path)) return;
  let dropped = 0;
  let kept = 0;
  for await (const { lines } of readRunLines(path)) {
    for (const line of lines) {
      if (isDropped(line)) dropped += 1;
      else {
        kept += 1;
        onKept(line);
      }
    }
  }
  if (kept === 0) await removeFile(path);
  else if (dropped > 0) {
    await writeAtomic(path, filterLines(path, isDropped), { mode: 0o644 });
  }
}

async function* filterLines(path: string, isDropped: (line: string) => boolean): AsyncGenerator<string, void> {
  for await (const { lines } of readRunLines(path)) {
    const kept = lines.filter((line) => !isDropped(line));
    if (kept.length > 0) yield `${kept.join('\n')}\n`;
  }
}

function findRowId(line: string): string | undefined {
  const row = tryParseJson(line);
  return isObject(row) && typeof row.id === 'string' ? row.id : undefined;
}
