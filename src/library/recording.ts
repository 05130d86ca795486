import { createCondition } from '../platform/runtime/condition.ts';

/** The events of one piece of work, kept for everybody who reads them, and its result. */
export interface Recording<Event, Result> {
  /** From the first event on. */
  read(): AsyncIterator<Event, undefined>;
  /** Asks for all events, whether or not somebody reads them. */
  result(): Promise<Result>;
  /** Does nothing if it is over. */
  fail(error: Error): void;
}

/** Keeps an event. Resolves when the next one is wanted, so that work waits for its readers. */
export type Emit<Event> = (event: Event) => Promise<void>;

interface RecordingOptions<Event, Result> {
  /** Is called for the first reader. What it does after the end is dropped. */
  readonly work: (emit: Emit<Event>) => Promise<Result>;
  /** The last reader has left before the end, and nobody waits for the result. */
  readonly onAbandoned: () => void;
}

export function createRecording<Event, Result>(options: RecordingOptions<Event, Result>): Recording<Event, Result> {
  const events: Event[] = [];
  const changed = createCondition();
  /** How many events somebody wants to see. */
  let wanted = 0;
  let readers = 0;
  let hasBegun = false;
  let isOver = false;
  let failure: { readonly error: Error } | undefined;
  let resolve: (result: Result) => void = () => {};
  let reject: (error: Error) => void = () => {};
  const promise = new Promise<Result>((...settle) => ([resolve, reject] = settle));
  // Who awaits the result is told; whoever reads the events is told there.
  promise.catch(() => {});

  const end = (finish: () => void): void => {
    if (isOver) return;
    isOver = true;
    finish();
    changed.notifyAll();
  };
  const fail = (error: Error): void =>
    end(() => {
      failure = { error };
      reject(error);
    });
  const emit: Emit<Event> = async (event) => {
    if (isOver) return;
    events.push(event);
    changed.notifyAll();
    while (!isOver && wanted <= events.length) await changed.wait();
  };
  const begin = (): void => {
    if (hasBegun || isOver) return;
    hasBegun = true;
    options.work(emit).then((result) => end(() => resolve(result)), fail);
  };
  const want = (count: number): void => {
    if (count > wanted) {
      wanted = count;
      changed.notifyAll();
    }
    begin();
  };

  return {
    fail,
    result() {
      want(Number.POSITIVE_INFINITY);
      return promise;
    },
    read() {
      let next = 0;
      let isReading = true;
      readers += 1;
      const leave = (): void => {
        if (isReading) readers -= 1;
        isReading = false;
      };
      return {
        async next() {
          want(next + 1);
          while (isReading && next >= events.length && !isOver) {
            await changed.wait();
            // Another call may have taken the event that this one has waited for.
            want(next + 1);
          }
          if (isReading && next < events.length) {
            next += 1;
            return { done: false, value: events[next - 1] as Event };
          }
          const wasReading = isReading;
          leave();
          if (wasReading && failure !== undefined) throw failure.error;
          return { done: true, value: undefined };
        },
        async return() {
          leave();
          if (!isOver && readers === 0 && wanted !== Number.POSITIVE_INFINITY) options.onAbandoned();
          return { done: true, value: undefined };
        },
      };
    },
  };
}
