import { afterUrgent } from '../../../platform/runtime/clock.ts';

/** What a job says, in memory and, as soon as the disk takes it, in its file. */
interface OutputKeeper {
  readonly add: (delta: string) => void;
  text(): string;
  /**
   * Makes a function that writes what it is given after all that came before it, and tells whether all of that succeeded. What
   * is given while an earlier one waits, and nothing else behind it, is written in its place. `isAwaited`: somebody waits
   * for it, so it gives way to nothing. Never rejects.
   */
  saver<Value>(write: (value: Value) => Promise<void>): (value: Value, isAwaited?: boolean) => Promise<boolean>;
  /** Resolves when nothing is left to write. */
  idle(): Promise<void>;
}

/** Writes one thing at a time, and what comes meanwhile in one piece. A disk that is full takes nothing from the answer. */
export function outputKeeper(append: (delta: string) => Promise<void>): OutputKeeper {
  let text = '';
  let unwritten = '';
  let isWhole = true;
  let last: Promise<void> = Promise.resolve();
  const enqueue = (write: () => Promise<void>, isAwaited = false): Promise<void> => {
    // The request goes first; and what is asked for until then is written at once.
    last = last
      .then(isAwaited ? undefined : afterUrgent)
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
