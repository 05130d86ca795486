import type { App } from '../core/app.ts';
import { createHttpClient } from '../platform/http/send.ts';

/** How long the first byte of an answer may take: as long as the flex tier may. */
const SLOW_HEADERS_MS = 900_000;

/** A client for answers that take minutes before they begin. `GMN_HEADERS_TIMEOUT` still decides if it is set. */
export function createSlowClient({ env, httpTimers, trace, clock }: App): App['send'] {
  const timers = env.GMN_HEADERS_TIMEOUT ? httpTimers : { ...httpTimers, headersMs: SLOW_HEADERS_MS };
  return createHttpClient({ timers, env, trace, clock }).send;
}
