import { yieldToRequest } from '../../../platform/runtime/clock.ts';

interface OutputFiles<Value> {
  append(delta: string): Promise<void>;
  save(value: Value): Promise<void>;
}

interface OutputWriter<Value> {
  readonly add: (delta: string) => void;
  text(): string;
  /**
   * Writes a value after the output so far, and tells whether everything until then was written. It replaces an earlier
   * value that is not written yet. `isAwaited`: somebody waits, so nothing is delayed. Never rejects.
   */
  save(value: Value, isAwaited?: boolean): Promise<boolean>;
  waitForWrites(): Promise<void>;
}

/** Joins what arrives before or during a write into the next one. A full disk does not affect the output in memory. */
export function createOutputWriter<Value>({ append, save }: OutputFiles<Value>): OutputWriter<Value> {
  let text = '';
  let unwritten = '';
  let unsaved: { readonly value: Value } | undefined;
  let isWhole = true;
  let isScheduled = false;
  let startWriting = (): void => {};
  let last: Promise<void> = Promise.resolve();
  const attempt = (write: Promise<void>): Promise<void> =>
    write.catch(() => {
      isWhole = false;
    });
  const writeAll = async (): Promise<void> => {
    isScheduled = false;
    const delta = unwritten;
    const changed = unsaved;
    unwritten = '';
    unsaved = undefined;
    if (delta !== '') await attempt(append(delta));
    if (changed !== undefined) await attempt(save(changed.value));
  };
  const schedule = (): void => {
    if (isScheduled) return;
    isScheduled = true;
    const started = new Promise<void>((resolve) => {
      startWriting = resolve;
    });
    // The request to the model goes first.
    void yieldToRequest().then(startWriting);
    last = last.then(() => started).then(writeAll);
  };
  return {
    text: () => text,
    add(delta) {
      text += delta;
      unwritten += delta;
      schedule();
    },
    async save(value, isAwaited = false) {
      unsaved = { value };
      schedule();
      if (isAwaited) startWriting();
      await last;
      return isWhole;
    },
    waitForWrites: () => last,
  };
}
