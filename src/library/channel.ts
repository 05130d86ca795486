import { createCondition } from '../platform/runtime/condition.ts';

/** Hands values from work to one reader. A value waits until it is taken, so that no more is done than is read. */
export function createChannel<Value>() {
  const changed = createCondition();
  const values: { readonly value: Value; take(): void }[] = [];
  let isOver = false;
  return {
    /** Resolves when it is taken, or nobody will. */
    put(value: Value): Promise<void> {
      if (isOver) return Promise.resolve();
      return new Promise((take) => {
        values.push({ value, take });
        changed.notifyAll();
      });
    },
    /** Values that wait are dropped. */
    close(): void {
      isOver = true;
      for (const { take } of values.splice(0)) take();
      changed.notifyAll();
    },
    /** Until `work` is done and everything is taken. Throws what it throws. */
    async *read(work: Promise<void>): AsyncGenerator<Value, void> {
      let isDone = false;
      const done = (): void => {
        isDone = true;
        changed.notifyAll();
      };
      work.then(done, done);
      for (;;) {
        const next = values.shift();
        if (next !== undefined) {
          try {
            yield next.value;
          } finally {
            next.take();
          }
        } else if (isDone) return work;
        else await changed.wait();
      }
    },
  };
}
