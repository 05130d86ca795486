import { yieldToEvents } from './clock.ts';

/** Keeps long work in small steps, so that timers and keys are answered in between, and ends it in time. */
export interface Pace {
  count(): void;
  isDue(): boolean;
  /** Throws the signal's reason. */
  yieldToLoop(): Promise<void>;
  findStopReason(): string | undefined;
}

const STEP_MS = 10;

export function startPace(limits: { maxEntries: number; maxMs: number }, signal: AbortSignal): Pace {
  const { maxEntries, maxMs } = limits;
  const began = performance.now();
  let stepBegan = began;
  let lastAsked = began;
  let entries = 0;
  return {
    count: () => {
      entries += 1;
    },
    isDue: () => {
      lastAsked = performance.now();
      return lastAsked - stepBegan > STEP_MS;
    },
    yieldToLoop: async () => {
      await yieldToEvents(signal);
      stepBegan = performance.now();
    },
    findStopReason: () => {
      if (entries >= maxEntries) return `after ${maxEntries} entries`;
      return lastAsked - began > maxMs ? `after ${maxMs / 1000} seconds` : undefined;
    },
  };
}

export async function filterPaced<T>(
  pace: Pace,
  items: readonly T[],
  isWanted: (item: T) => boolean,
): Promise<readonly T[]> {
  const wanted: T[] = [];
  for (const item of items) {
    if (pace.isDue()) {
      await pace.yieldToLoop();
      if (pace.findStopReason() !== undefined) break;
    }
    if (isWanted(item)) wanted.push(item);
  }
  return wanted;
}
