import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { formatDuration } from '../../core/text/format.ts';
import { createDeadline, type Deadline } from '../../platform/runtime/clock.ts';
import type { Host } from '../host.ts';
import type { Budget } from './budget.ts';
import type { LimitSetup } from './setup.ts';

export function deadlineError(timeoutMs: number): AppError {
  return new AppError('api', `timed out after ${formatDuration(timeoutMs)}`, {
    isTimeout: true,
    hint: 'Give it longer with --timeout, e.g. --timeout 15m; 0 means no limit.',
  });
}

/** The clock and the budget of a run. */
export class Limits {
  readonly setup: LimitSetup;
  readonly budget: Budget | undefined;
  readonly #deadline: Deadline;
  #ms: number;

  private constructor(setup: LimitSetup, budget: Budget | undefined, signal: AbortSignal, modelMs: number) {
    this.setup = setup;
    this.budget = budget;
    this.#ms = this.#choose(modelMs);
    this.#deadline = createDeadline(signal, this.#ms, deadlineError);
  }

  /** The clock begins now; `modelMs` is what an ordinary model may take. Throws AppError `usage`. */
  static async open(setup: LimitSetup, app: App, modelMs: number): Promise<Limits> {
    const { maxCost, costHint: hint = '', signal = app.signal } = setup;
    let { budget } = setup;
    if (budget === undefined && maxCost !== undefined)
      budget = await (await import('./budget.ts')).openBudget({ maxCost, hint }, app);
    return new Limits(setup, budget, signal, modelMs);
  }

  /** Aborts when the run must end. */
  get signal(): AbortSignal {
    return this.#deadline.signal;
  }

  /** Stops the clock until the returned function is called. */
  readonly pause = (): (() => void) => this.#deadline.pause();

  readonly endsAt = (): number | undefined => this.#deadline.endsAt();

  /** Gives a model that takes longer than others its time. */
  allow(modelMs: number): void {
    const ms = this.#choose(modelMs);
    if (ms === this.#ms) return;
    this.#ms = ms;
    this.#deadline.restart(ms);
  }

  /** A host whose questions stop the clock: time spent with a person does not count. */
  pauseWhileAsked(host: Host): Host {
    const { withPerson, elicit } = host;
    const runPaused = <Result>(work: () => Promise<Result>): Promise<Result> => work().finally(this.pause());
    return {
      ...host,
      withPerson: withPerson && ((work) => withPerson((person) => runPaused(() => work(person)))),
      elicit: elicit && ((question, signal) => runPaused(() => elicit(question, signal))),
    };
  }

  close(): void {
    this.#deadline.clear();
  }

  #choose(modelMs: number): number {
    const { timing, timeout, leastMs = 0 } = this.setup;
    if (timing === 'request') return 0;
    return timeout ?? Math.max(modelMs, leastMs);
  }
}
