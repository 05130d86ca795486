import type { Budget } from './budget.ts';

/** How long a run may take, and how much it may cost. */
export interface LimitSetup {
  /** In milliseconds; 0 means no limit. Default: what the model may take. */
  readonly timeout?: number;
  /** Whether the timeout is for the run, which begins now, or for each request. Default: `run`. */
  readonly timing?: 'run' | 'request';
  /** Without a `timeout` a run gets at least so long. */
  readonly leastMs?: number;
  /** Default: the app's. */
  readonly signal?: AbortSignal;
  /** Model calls of one prompt. */
  readonly maxTurns?: number;
  /** In dollars. */
  readonly maxCost?: number;
  /** What to do when `maxCost` is used up. */
  readonly costHint?: string;
  /** Instead of `maxCost`: shared with other runs. */
  readonly budget?: Budget;
}
