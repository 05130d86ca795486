import { AppError } from '../../core/error.ts';
import { readLineBatches } from '../../platform/files/lines.ts';
import { errorReason } from '../../platform/runtime/system.ts';

interface RunLines {
  readonly lines: readonly string[];
  readonly end: number;
}

/** The complete lines of a file of a run, in batches. Throws AppError `usage` if it cannot be read. */
export async function* readRunLines(
  path: string,
  { name = path, hint = 'Move it away, or use another --output-file.' } = {},
): AsyncGenerator<RunLines, void> {
  const batches = readLineBatches(path);
  try {
    for (;;) {
      const next = await batches.next().catch((cause: unknown) => {
        throw new AppError('usage', `cannot read ${name}: ${errorReason(cause)}`, { cause, hint });
      });
      // What follows the last line break was cut off by a crash.
      if (next.done || next.value.isTorn) return;
      yield next.value;
    }
  } finally {
    await batches.return(undefined);
  }
}
