import type { App } from '../../core/app.ts';
import { visible } from '../../core/text/terminal.ts';
import type { Progress } from '../../mcp/client/types.ts';
import { every } from '../../platform/runtime/clock.ts';
import { progress } from '../../render/spinner.ts';

/** Shows a waiting person what is awaited, and how far it is. */
export interface CallProgress {
  readonly onProgress: (step: Progress) => void;
  /** Runs a question to its answer: until then the screen is the person's. */
  lend<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Takes it off the screen; to be awaited before anything else is written. */
  end(): Promise<void>;
}

/** Says on stderr what is awaited, and what the server tells of its progress; nothing if `quiet`. */
export function callProgress(what: string, { quiet }: { readonly quiet: boolean }, app: App): CallProgress {
  const spinner = progress(app.io.err, {
    quiet,
    isDumb: app.env.TERM === 'dumb',
    clock: app.clock,
    ticker: { every },
    mayDraw: () => true,
  });
  let awaited = what;
  let isLent = false;
  spinner.wait(awaited);
  return {
    onProgress(step) {
      awaited = `${what} ${stepWords(step)}`.trimEnd();
      if (!isLent) spinner.wait(awaited);
    },
    async lend(work) {
      isLent = true;
      await spinner.pause();
      try {
        return await work();
      } finally {
        isLent = false;
        spinner.wait(awaited);
      }
    },
    end: async () => {
      await spinner.pause();
    },
  };
}

/** How far a call is, in a few words; nothing in them a terminal would obey. */
export function stepWords({ progress: done, total, message }: Progress): string {
  const share = total !== undefined && total > 0 ? `${Math.min(100, Math.floor((done / total) * 100))} %` : '';
  return [share, message === undefined ? '' : visible(message).slice(0, 200)].filter((word) => word !== '').join(' ');
}
