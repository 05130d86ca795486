import type { BatchState } from '../../core/batches.ts';
import type { Clock } from '../../core/io.ts';
import type { RedactLines } from '../output/failed-file.ts';
import type { EngineRun } from '../rows/row-engine.ts';
import type { PlanStore } from './plan-store.ts';
import type { BatchService, RowCodec } from './service.ts';

export interface RemoteOptions {
  readonly store: PlanStore;
  readonly service: BatchService;
  readonly codec: RowCodec;
  readonly redact: RedactLines;
  readonly limits: RemoteLimits;
  readonly timing: RemoteTiming;
  readonly clock: Clock;
  readonly notify: (message: string) => void;
  readonly onStatus?: (status: RemoteStatus) => void;
  readonly budget?: CostLimit;
  /**
   * - `run`: asks rows, and waits for all jobs.
   * - `wait`: reads no rows.
   * - `once`: the same, and looks at every job only once.
   */
  readonly mode: 'run' | 'wait' | 'once';
}

export interface RemoteStatus {
  readonly jobs: number;
  readonly rows: number;
  readonly states: ReadonlyMap<BatchState, number>;
}

export interface RemoteLimits {
  /** Rows of a shard. Smaller ones give earlier results. */
  readonly rows: number;
  readonly bytes: number;
  readonly jobs: number;
  readonly attempts: number;
}

/** The service takes files of 2 GB, and 100 jobs at a time; lower limits leave room for other programs. */
export const DEFAULT_LIMITS: RemoteLimits = { rows: 10_000, bytes: 256_000_000, jobs: 50, attempts: 3 };

export interface RemoteTiming {
  readonly pollMs: number;
  readonly maxPollMs: number;
  /** How long a new job may be missing from the list. */
  readonly lagMs: number;
}

/** These are in retry delays, of a second each unless GMN_RETRY_DELAY is set. */
const POLL_DELAYS = 10;
const MAX_POLL_DELAYS = 300;
/** The list of jobs may lag by 30 s, and a request may arrive a little after it was sent. */
const LAG_DELAYS = 35;
/** The offline model answers at once, so waiting for it is kept short. */
const DEMO_SPEEDUP = 20;

export function toRemoteTiming(retryBaseMs: number, isDemo: boolean): RemoteTiming {
  const unit = isDemo ? retryBaseMs / DEMO_SPEEDUP : retryBaseMs;
  return { pollMs: POLL_DELAYS * unit, maxPollMs: MAX_POLL_DELAYS * unit, lagMs: LAG_DELAYS * unit };
}

/** In US dollars. */
export interface CostLimit {
  readonly max: number;
  readonly spent: () => number;
}

/** A run at the service, with the output that its rows go to. */
export interface RemoteRun extends Omit<RemoteOptions, 'mode'>, Omit<EngineRun, 'rows'> {
  /** The number of a new shard. */
  nextNumber(): number;
}

export function createRemoteRun(
  options: Omit<RemoteOptions, 'mode'>,
  { finish, sync, signal }: Omit<EngineRun, 'rows'>,
): RemoteRun {
  let { lastNumber } = options.store.plan;
  const nextNumber = (): number => {
    lastNumber += 1;
    return lastNumber;
  };
  return { ...options, finish, sync, signal, nextNumber };
}
