import { yieldToIo } from '../../../platform/runtime/clock.ts';

/** The output of a job, in memory and, as soon as the disk allows, in its file. */
interface OutputWriter {
  readonly add: (delta: string) => void;
  text(): string;
  /**
   * Makes a function that writes a value after everything queued before it, and tells whether all of that succeeded. A
   * value given while an earlier one is still last in the queue replaces it. `isAwaited`: somebody waits, so the write
   * is not delayed. Never rejects.
   */
  saver<Value>(write: (value: Value) => Promise<void>): (value: Value, isAwaited?: boolean) => Promise<boolean>;
  /** Resolves when everything is written. */
  idle(): Promise<void>;
}

/** Writes one thing at a time, and joins what arrives meanwhile. A full disk does not affect the output in memory. */
export function createOutputWriter(append: (delta: string) => Promise<void>): OutputWriter {
  let text = '';
  let unwritten = '';
  let isWhole = true;
  let last: Promise<void> = Promise.resolve();
  const enqueue = (write: () => Promise<void>, isAwaited = false): Promise<void> => {
    // The request to the model goes first; what arrives until then is written in one piece.
    last = last
      .then(isAwaited ? undefined : yieldToIo)
      .then(write)
      .catch(() => {
        isWhole = false;
      });
    return last;
  };
  const flush = async (): Promise<void> => {
    const delta = unwritten;
    unwritten = '';
    if (delta !== '') await append(delta);
  };
  return {
    text: () => text,
    add(delta) {
      text += delta;
      const isFlushing = unwritten !== '';
      unwritten += delta;
      if (!isFlushing) void enqueue(flush);
    },
    saver<Value>(write: (value: Value) => Promise<void>) {
      let waiting: { value: Value; written: Promise<void> } | undefined;
      return async (value: Value, isAwaited = false) => {
        if (waiting?.written === last) waiting.value = value;
        else {
          const next = { value, written: last };
          next.written = enqueue(() => {
            if (waiting === next) waiting = undefined;
            return write(next.value);
          }, isAwaited);
          waiting = next;
        }
        await last;
        return isWhole;
      };
    },
    idle: () => last,
  };
}
