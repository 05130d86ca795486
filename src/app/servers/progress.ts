import type { App } from '../../core/app.ts';
import { formatStep } from '../../engine/tools/servers/tools.ts';
import type { Progress } from '../../mcp/client/types.ts';
import { callEvery } from '../../platform/runtime/clock.ts';
import { createProgress } from '../../render/spinner.ts';

export type CallProgress = ReturnType<typeof openProgress>;

export function openProgress(
  what: string,
  { quiet, json }: { readonly quiet?: boolean; readonly json?: boolean },
  app: App,
) {
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
    onProgress(step: Progress): void {
      awaited = `${what} ${formatStep(step)}`.trimEnd();
      if (!isPaused) spinner.wait(awaited);
    },
    async pause<Result>(work: () => Promise<Result>): Promise<Result> {
      isPaused = true;
      await spinner.pause();
      try {
        return await work();
      } finally {
        isPaused = false;
        spinner.wait(awaited);
      }
    },
    /** Must be awaited before anything else is written. */
    async end(): Promise<void> {
      await spinner.pause();
    },
  };
}
