import type { App } from '../../core/app.ts';
import { formatDuration } from '../../core/text/format.ts';
import type { BatchSetup } from '../requests/batch-setup.ts';
import { createLocalEngine } from './local-engine.ts';
import { createThrottle, type ThrottleOptions } from './throttle.ts';

interface RowEngineOptions {
  readonly concurrency?: number;
  readonly rpm?: number;
  readonly tpm?: number;
  readonly dedupe?: boolean;
}

interface RowEngineParts {
  readonly app: Pick<App, 'clock' | 'random'>;
  readonly setup: Pick<BatchSetup, 'opened' | 'prepare' | 'retries'>;
  readonly notify: (message: string) => void;
}

const DEFAULT_CONCURRENCY = 100;

/** Sends one request per row, as many at once as the service takes. */
export function openRowEngine(options: RowEngineOptions, { app, setup, notify }: RowEngineParts) {
  const { clock, random } = app;
  const baseMs = setup.opened.retryBaseMs;
  const { concurrency: maxConcurrency = DEFAULT_CONCURRENCY, rpm, tpm, dedupe: dedupes = false } = options;
  const onWait = createWaitReporter(notify);
  const throttle = createThrottle({ clock, random, baseMs, maxConcurrency, rpm, tpm, onWait });
  const { prepare, retries } = setup;
  const engine = createLocalEngine({ throttle, clock, random, baseMs, prepare, retries, dedupes, notify });
  return { engine, throttle };
}

/** Waits that keep a quota come with every row, so they are said once. */
function createWaitReporter(notify: (message: string) => void): NonNullable<ThrottleOptions['onWait']> {
  let isPaceSaid = false;
  return (ms, why) => {
    if (why === 'asked') notify(`the service asks to wait; going on in ${formatDuration(ms)}`);
    else if (!isPaceSaid) notify(`to keep the quota of a minute, the next row is asked in ${formatDuration(ms)}`);
    isPaceSaid ||= why === 'paced';
  };
}
