import type { App } from '../../core/app.ts';
import { formatStep } from '../../engine/servers/tools.ts';
import type { Progress } from '../../mcp/client/types.ts';
import { callEvery } from '../../platform/runtime/clock.ts';
import { createProgress } from '../../render/spinner.ts';

export interface CallProgress {
  readonly onProgress: (step: Progress) => void;
  pause<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Must be awaited before anything else is written. */
  end(): Promise<void>;
}

export function openProgress(
  what: string,
  { quiet, json }: { readonly quiet?: boolean; readonly json?: boolean },
  app: App,
): CallProgress {
  const spinner = createProgress(app.io.err, {
    quiet: quiet === true || json === true,
    isDumb: app.env.TERM === 'dumb',
    clock: app.clock,
    ticker: { every: callEvery },
    mayDraw: () => true,
  });
  let awaited = what;
  let isPaused = false;
  spinner.wait(awaited);
  return {
    onProgress(step) {
      awaited = `${what} ${formatStep(step)}`.trimEnd();
      if (!isPaused) spinner.wait(awaited);
    },
    async pause(work) {
      isPaused = true;
      await spinner.pause();
      try {
        return await work();
      } finally {
        isPaused = false;
        spinner.wait(awaited);
      }
    },
    end: async () => {
      await spinner.pause();
    },
  };
}
