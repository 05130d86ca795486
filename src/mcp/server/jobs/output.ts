import { yieldToIo } from '../../../platform/runtime/clock.ts';

interface OutputWriter {
  readonly add: (delta: string) => void;
  text(): string;
  /**
   * The returned function writes a value after everything queued before it, and tells whether all of that succeeded. A
   * value replaces an earlier one that is still last in the queue. `isAwaited`: somebody waits, so the write is not
   * delayed. Never rejects.
   */
  createSaver<Value>(write: (value: Value) => Promise<void>): (value: Value, isAwaited?: boolean) => Promise<boolean>;
  waitForWrites(): Promise<void>;
}

/** Joins what arrives during a write into the next one. A full disk does not affect the output in memory. */
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
    createSaver<Value>(write: (value: Value) => Promise<void>) {
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
    waitForWrites: () => last,
  };
}
