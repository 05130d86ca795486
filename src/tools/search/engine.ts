import { AppError } from '../../core/error.ts';
import { countProcessors, endThread, startThread, type Thread } from '../../platform/process/worker.ts';
import { callEvery } from '../../platform/runtime/clock.ts';
import { joinBelow, type WalkedDirectory } from './walk.ts';
import type { FoundFile, SearchSpec, Task, TaskResult } from './worker.ts';

/** Set by the build: the file that the threads run, made of `search-worker.ts`. */
declare const SEARCH_WORKER: string;

export interface Finding extends Omit<FoundFile, 'name'> {
  readonly path: string;
}

export interface Findings {
  readonly files: readonly Finding[];
  readonly binary: number;
  readonly unreadable: number;
  /** Files of which only the beginning was searched, without a match. */
  readonly cut: number;
  readonly isFull: boolean;
  readonly stopped?: string;
}

export interface SearchRequest extends Omit<SearchSpec, 'progress'> {
  readonly total: number;
  readonly maxMs: number;
}

const STUCK_MS = 2000;
/** Allows for a thread that was just started on a busy machine. */
const SLOW_START_MS = 10_000;
const LOOK_MS = 100;
const FILES_PER_TASK = 128;
const MAX_IN_FLIGHT = 48;
const MAX_WORKERS = 4;

/**
 * Searches the files of a walk in worker threads that can be terminated at any moment. Throws AppError `usage` if the
 * pattern takes too long on one file, and the signal's reason at once. Closes every directory it was given.
 */
export async function searchFiles(
  walk: AsyncIterable<WalkedDirectory>,
  request: SearchRequest,
  signal: AbortSignal,
): Promise<Findings> {
  const pool = createPool(request, signal);
  try {
    for await (const directory of walk) {
      if (!(await pool.add(directory))) break;
    }
    return await pool.finish();
  } finally {
    await pool.dismiss();
  }
}

interface RunningTask {
  readonly below: string;
  readonly files: readonly string[];
  readonly worker: SearchThread;
  readonly release: () => void;
}

interface SearchThread {
  readonly worker: Thread;
  readonly progress: Int32Array;
  tasks: number;
  seenProgress: number;
  seenAt: number;
}

function createPool(request: SearchRequest, signal: AbortSignal) {
  const threads: SearchThread[] = [];
  const inFlight = new Map<number, RunningTask>();
  const open = new Set<() => void>();
  const collector = createCollector(request.total);
  const waker = createWaker(signal);
  const endsAt = performance.now() + request.maxMs;
  let isLate = false;
  const isOver = (): boolean => isLate || collector.isFull();
  const stopWatching = callEvery(LOOK_MS, () => {
    isLate ||= performance.now() > endsAt;
    if (isLate) waker.wakeUp();
    const stuck = findStuckFile(threads, inFlight);
    if (stuck === undefined) return;
    waker.fail(
      new AppError('usage', `the pattern takes too long on ${stuck}`, {
        hint: 'Use a simpler pattern, without repetitions inside repetitions.',
      }),
    );
  });
  const onResult = (result: TaskResult): void => {
    const task = inFlight.get(result.id);
    if (task === undefined) return;
    inFlight.delete(result.id);
    task.worker.tasks -= 1;
    task.release();
    collector.add(result, task.below);
    waker.wakeUp();
  };
  let nextId = 0;
  const assign = ({ below, address }: WalkedDirectory, files: readonly string[], release: () => void): void => {
    const thread = pickThread(threads, () => startSearchThread(request, onResult, waker.fail));
    const task: Task = { id: nextId, address, files };
    inFlight.set(nextId, { below, files, worker: thread, release });
    nextId += 1;
    thread.tasks += 1;
    thread.worker.postMessage(task);
  };
  return {
    /** False once the limit is reached. */
    async add(directory: WalkedDirectory): Promise<boolean> {
      if (directory.files.length === 0) directory.close();
      else open.add(directory.close);
      for (const [files, release] of splitBatches(directory, open)) {
        assign(directory, files, release);
        await waker.until(() => inFlight.size <= MAX_IN_FLIGHT || isOver());
      }
      return !isOver();
    },
    async finish(): Promise<Findings> {
      await waker.until(() => inFlight.size === 0 || isOver());
      return { ...collector.findings(), stopped: isLate ? `after ${request.maxMs / 1000} seconds` : undefined };
    },
    async dismiss(): Promise<void> {
      stopWatching();
      waker.remove();
      // Only after the threads have ended: the number of a closed descriptor may soon be reused.
      await Promise.all(threads.map(({ worker }) => endThread(worker)));
      for (const close of open) close();
    },
  };
}

/** Releasing the last batch closes the directory. */
function splitBatches(
  { files, close }: WalkedDirectory,
  open: Set<() => void>,
): readonly (readonly [files: readonly string[], release: () => void])[] {
  const count = Math.ceil(files.length / FILES_PER_TASK);
  let left = count;
  const release = (): void => {
    left -= 1;
    if (left === 0 && open.delete(close)) close();
  };
  return Array.from({ length: count }, (_, index) => {
    const from = index * FILES_PER_TASK;
    return [files.slice(from, from + FILES_PER_TASK), release] as const;
  });
}

function createWaker(signal: AbortSignal) {
  let wake = (): void => {};
  let failure: { readonly reason: unknown } | undefined;
  const fail = (reason: unknown): void => {
    failure ??= { reason };
    wake();
  };
  const onAbort = (): void => fail(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  return {
    wakeUp: (): void => wake(),
    fail,
    async until(condition: () => boolean): Promise<void> {
      while (failure === undefined && !condition()) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      if (failure !== undefined) throw failure.reason;
    },
    remove: (): void => signal.removeEventListener('abort', onAbort),
  };
}

function startSearchThread(
  request: SearchRequest,
  onResult: (result: TaskResult) => void,
  fail: (reason: unknown) => void,
): SearchThread {
  const progress = new Int32Array(new SharedArrayBuffer(8));
  const { total: _, maxMs: __, ...spec } = request;
  const worker = startThread(SEARCH_WORKER, { ...spec, progress });
  worker.on('message', onResult);
  worker.on('error', fail);
  return { worker, progress, tasks: 0, seenProgress: -1, seenAt: performance.now() };
}

/** Starts another thread only when all are busy: most searches need one. */
function pickThread(threads: SearchThread[], start: () => SearchThread): SearchThread {
  const size = Math.min(MAX_WORKERS, countProcessors());
  const least = threads.reduce<SearchThread | undefined>(
    (best, thread) => (best && best.tasks <= thread.tasks ? best : thread),
    undefined,
  );
  if (least !== undefined && (least.tasks < 4 || threads.length === size)) return least;
  const thread = start();
  threads.push(thread);
  return thread;
}

function findStuckFile(
  threads: readonly SearchThread[],
  inFlight: ReadonlyMap<number, RunningTask>,
): string | undefined {
  const now = performance.now();
  for (const thread of threads) {
    const progress = Atomics.load(thread.progress, 0);
    if (thread.tasks === 0 || progress !== thread.seenProgress) {
      thread.seenProgress = progress;
      thread.seenAt = now;
    } else if (now - thread.seenAt > (progress === 0 ? SLOW_START_MS : STUCK_MS)) {
      const task = [...inFlight.values()].find(({ worker }) => worker === thread);
      const name = task?.files[Atomics.load(thread.progress, 1)] ?? '';
      return joinBelow(task?.below ?? '', name);
    }
  }
  return undefined;
}

/** Orders the results, whichever thread was first. The limit counts only results without a gap before them. */
function createCollector(total: number) {
  const waiting = new Map<number, readonly Finding[]>();
  const files: Finding[] = [];
  const counts = { binary: 0, unreadable: 0, cut: 0 };
  let next = 0;
  let matches = 0;
  return {
    add({ id, found, binary, unreadable, cut }: TaskResult, below: string): void {
      counts.binary += binary;
      counts.unreadable += unreadable;
      counts.cut += cut;
      waiting.set(
        id,
        found.map(({ name, ...rest }) => ({ ...rest, path: joinBelow(below, name) })),
      );
      for (let ready = waiting.get(next); ready !== undefined; ready = waiting.get(next)) {
        waiting.delete(next);
        next += 1;
        files.push(...ready);
        for (const { lines } of ready) matches += lines.filter(({ isMatch }) => isMatch).length;
      }
    },
    isFull: (): boolean => matches >= total,
    findings(): Findings {
      // Results behind a gap are left only if the search was stopped.
      const rest = [...waiting].sort(([left], [right]) => left - right).flatMap(([, found]) => found);
      return { ...counts, files: limitMatches([...files, ...rest], total), isFull: matches >= total };
    },
  };
}

function limitMatches(files: readonly Finding[], total: number): readonly Finding[] {
  const kept: Finding[] = [];
  let left = total;
  for (const file of files) {
    if (left === 0) break;
    const lines = file.lines.filter(({ isMatch }) => {
      if (isMatch && left > 0) left -= 1;
      else if (isMatch) return false;
      return true;
    });
    kept.push({ ...file, lines });
  }
  return kept;
}
